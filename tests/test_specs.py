"""A class by name as plain data becomes an object, and an object becomes plain data."""

import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest

from headstart import specs
from headstart.policies import OFUL, BayesUCB, NormBound
from headstart.priors import Average, Fixed, Hierarchical
from headstart.specs import Spec


@dataclass(frozen=True)
class Mine:
    """A policy outside of headstart."""

    inner: Sequence[object] = ()


def test_a_spec_may_hold_another_and_placeholders() -> None:
    bound = Spec(kind="NormBound", settings={"parameter_bound": "@bound"})
    spec = Spec(kind="OFUL", settings={"bias_error": bound})
    assert spec.placeholders() == {"bound"}
    made = specs.build(spec, "policies", where="policy", resolve={"bound": 3.0}.__getitem__)
    assert made == OFUL(bias_error=NormBound(parameter_bound=3.0))
    with pytest.raises(ValueError, match=r"bias_error\.parameter_bound must be a plain value"):
        specs.build(spec, "policies", where="policy")


def test_a_check_goes_as_far_as_placeholders_let_it() -> None:
    bound = Spec(kind="NormBound", settings={"parameter_bound": "@bound"})
    specs.check(Spec(kind="OFUL", settings={"bias_error": bound}), "policies", where="policy")
    wrong = Spec(kind="OFUL", settings={"bias_error": bound, "noise_scale": -1.0})
    with pytest.raises(ValueError, match="noise_scale must be"):
        specs.check(wrong, "policies", where="policy")
    nested = Spec(kind="NormBound", settings={"bound": "@b"})
    wrong = Spec(kind="OFUL", settings={"bias_error": nested})
    with pytest.raises(ValueError, match=r"policy\.bias_error\.bound = '@b' is not a setting"):
        specs.check(wrong, "policies", where="policy")


def test_a_class_of_another_module_is_named_by_it() -> None:
    spec = Spec(kind="headstart.policies.oful:OFUL", settings={"scale": 2.0})
    assert specs.build(spec, "policies", where="policy") == OFUL(scale=2.0)


@pytest.mark.parametrize(
    ("made", "package"),
    [
        (OFUL(bias_error=NormBound(parameter_bound=2.0), fixed_bias=False), "policies"),
        (BayesUCB(z="slow", z_mean="arms"), "policies"),
        (Hierarchical(covariance="isotropic"), "priors"),
    ],
)
def test_what_is_described_is_rebuilt(made: object, package: str) -> None:
    table = json.loads(json.dumps(specs.describe(made, package).plain()))
    assert specs.rebuild(table, package, where="it") == made


def test_arrays_survive_bit_for_bit() -> None:
    matrix = np.random.default_rng(0).standard_normal((3, 3))
    prior = Average(regularization=np.eye(3) + 0.01 * (matrix + matrix.T))
    table = json.loads(json.dumps(specs.describe(prior, "priors").plain()))
    assert list(table["regularization"]) == ["array"]
    rebuilt = specs.rebuild(table, "priors", where="prior")
    assert isinstance(rebuilt, Average)
    np.testing.assert_array_equal(rebuilt.regularization, prior.regularization)
    assert specs.read(table, "prior") == specs.describe(prior, "priors")


def test_nothing_is_imported_for_a_file() -> None:
    described = specs.describe(Mine(inner=[Fixed()]), "policies").plain()
    assert described["class"] == f"{__name__}:Mine"
    assert json.loads(json.dumps(described)) == described
    with pytest.raises(ValueError, match=r"policy\.class .*Mine' is not part of headstart"):
        specs.rebuild(described, "policies", where="policy")
    inner = {"class": "OFUL", "bias_error": {"class": "os:system"}}
    with pytest.raises(ValueError, match=r"policy\.bias_error\.class 'os:system' is not part of"):
        specs.rebuild(inner, "policies", where="policy")
    with pytest.raises(ValueError, match=r"'Fixed\.zero' is not part of headstart"):
        specs.rebuild({"class": "Fixed.zero"}, "priors", where="prior")


def test_only_plain_values_can_be_described() -> None:
    with pytest.raises(ValueError, match=r"only a dataclass of plain values .* got <object"):
        specs.describe(Mine(inner=[object()]), "policies")
