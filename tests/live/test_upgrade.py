"""Policies and priors of saved files of formats 1 and 2 are known by their old names."""

import pytest

from headstart import specs
from headstart.live.upgrades import upgrade_spec
from headstart.policies import OFUL, BayesUCB, NormBound
from headstart.priors import Corollary2, Pooled, SingleModel


@pytest.mark.parametrize(
    ("table", "package", "made"),
    [
        ({"class": "Credible", "z": None}, "policies", BayesUCB(z="growing")),
        ({"class": "Credible", "z": 2.0}, "policies", BayesUCB(z=2.0)),
        ({"class": "OFUL", "radius_of": "mixture"}, "policies", OFUL(fixed_bias=True)),
        (
            {
                "class": "OFUL",
                "radius_of": "sum",
                "bias_error": {"class": "Split", "parameter_bound": 2.0},
            },
            "policies",
            OFUL(bias_error=NormBound(parameter_bound=2.0)),
        ),
        ({"class": "OneModel"}, "priors", SingleModel()),
        (
            {"class": "FromVariance", "bias": {"class": "Pooled"}},
            "priors",
            Corollary2(bias=Pooled()),
        ),
    ],
)
def test_old_names_become_todays(table: object, package: str, made: object) -> None:
    rebuilt = specs.rebuild(upgrade_spec(table), package, where="it")
    assert specs.describe(rebuilt, package) == specs.describe(made, package)


def test_todays_names_stay() -> None:
    for made in (BayesUCB(z="growing"), OFUL(fixed_bias=True, bias_error=0.5)):
        table = specs.describe(made, "policies").plain()
        assert upgrade_spec(table) == table
