"""Paired differences, their p-values and Holm's correction."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import ttest_rel
from tests.studies.tiny import SEQUENCE

from headstart.specs import Spec
from headstart.studies.comparisons import (
    compare,
    compare_pairs,
    corrected,
    default_reference,
    paired_p_value,
    playing,
)
from headstart.studies.results import at_best
from headstart.studies.study import LearnerSpec


def values(**by_learner: list[float]) -> xr.DataArray:
    return xr.DataArray(
        np.array(list(by_learner.values())),
        dims=("learner", "replication"),
        coords={"learner": list(by_learner)},
    )


def test_holm_by_hand() -> None:
    # Sorted 0.01, 0.02, 0.04 times 3, 2, 1; in the given order.
    assert corrected([0.04, 0.01, 0.02]) == pytest.approx([0.04, 0.03, 0.04])
    # 0.03 × 1 is below 0.02 × 2: a larger p-value is never corrected to a smaller one.
    assert corrected([0.02, 0.03]) == pytest.approx([0.04, 0.04])
    assert corrected([0.7, 0.8]) == [1.0, 1.0]
    assert corrected([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=8))
def test_holm_never_lowers_and_keeps_the_order(p_values: list[float]) -> None:
    found = corrected(p_values)
    n = len(p_values)
    for p, q in zip(p_values, found, strict=True):
        assert p <= q <= min(1.0, n * p) + 1e-15
    order = np.argsort(p_values, kind="stable")
    assert (np.diff(np.array(found)[order]) >= 0).all()


def test_a_p_value_is_scipys_and_agrees_with_the_interval() -> None:
    rng = np.random.default_rng(0)
    for shift in (0.0, 0.3, 0.6):
        one, other = rng.normal(shift, size=20), rng.normal(size=20)
        assert paired_p_value(one - other) == pytest.approx(ttest_rel(one, other).pvalue)
        (found,) = compare(values(a=list(one), b=list(other)), "b")
        inside = found.difference.low <= 0.0 <= found.difference.high
        assert inside == (found.p_value > 0.05)
        assert found.p_value == found.corrected
        assert found.certain != inside


def test_differences_are_paired_and_have_a_sign() -> None:
    # Replications differ by thousands, the learners by one: unpaired nothing would be certain.
    common = 1000.0 * np.arange(6)
    more = np.array([1.0, 1.1, 0.9, 1.0, 1.1, 0.9])
    table = values(a=list(common + more), b=list(common), c=list(common))
    a, c = compare(table, "b")
    assert (a.learner, a.reference) == ("a", "b")
    assert a.difference.mean == pytest.approx(1.0)
    assert a.certain
    assert (c.difference.mean, c.p_value, c.corrected, c.certain) == (0.0, 1.0, 1.0, False)
    assert a.corrected == pytest.approx(2 * a.p_value)
    (back,) = compare_pairs(table, [("b", "a")])
    assert back.difference.mean == -a.difference.mean
    assert back.corrected == pytest.approx(a.p_value)


def test_one_replication_decides_nothing() -> None:
    (found,) = compare(values(a=[1.0], b=[2.0]), "b")
    assert (found.p_value, found.corrected, found.certain) == (1.0, 1.0, False)
    assert "nan" not in f"{found.difference:.2f}"


def test_an_unknown_reference_is_named() -> None:
    with pytest.raises(ValueError, match="reference must be one of a, b, got 'c'"):
        compare(values(a=[1.0, 2.0], b=[1.0, 2.0]), "c")


def test_every_learner_is_taken_at_its_own_best() -> None:
    table = xr.DataArray(
        [[[3.0, 0.0], [1.0, 2.0]], [[1.0, 1.0], [4.0, 4.0]], [[7.0, 8.0], [7.0, 8.0]]],
        dims=("learner", "regularization", "replication"),
        coords={"learner": ["a", "b", "same"], "regularization": [0.5, 2.0]},
    )
    best = at_best(table)
    assert best.dims == ("learner", "replication")
    # The first replication chooses, the second measures.
    np.testing.assert_array_equal(best, [[2.0], [1.0], [8.0]])
    np.testing.assert_array_equal(best["regularization"], [2.0, 0.5, np.nan])
    np.testing.assert_array_equal(at_best(table, largest=True)["regularization"][:2], [0.5, 2.0])
    single = at_best(table.isel(regularization=[1]))
    np.testing.assert_array_equal(single["regularization"], [2.0, 2.0, 2.0])
    assert [one.learner for one in compare(best, "b", ["same", "a"])] == ["same", "a"]
    assert compare(table, "b") == compare(best, "b")
    gained = at_best(table, of=10 * table.sel(learner=["b", "a"]))
    np.testing.assert_array_equal(gained, [[10.0], [20.0]])


def test_where_nothing_is_chosen_all_replications_measure() -> None:
    table = values(a=[1.0, 2.0, 3.0], b=[1.0, 2.0, 4.0]).expand_dims(
        regularization=[0.5, 1.0], axis=1
    )
    np.testing.assert_array_equal(at_best(table), [[1.0, 2.0, 3.0], [1.0, 2.0, 4.0]])
    assert at_best(table, swept=["a"]).sizes["replication"] == 2
    assert at_best(table.isel(regularization=[0]), swept=["a"]).sizes["replication"] == 3
    assert at_best(table.isel(replication=[0]), swept=["a"]).sizes["replication"] == 1


@pytest.mark.nightly
@pytest.mark.parametrize("correlation", [0.0, 0.8])
def test_a_choice_among_many_values_of_lambda_keeps_the_level(correlation: float) -> None:
    """Equal means, one learner with 13 λ and one without: 5 % are found different."""
    rng = np.random.default_rng(0)
    n, shape = 1000, (100, 13)
    found = 0
    for _ in range(n):
        swept = rng.normal(size=shape)
        for k in range(1, 13):
            swept[:, k] = correlation * swept[:, k - 1] + np.sqrt(1 - correlation**2) * swept[:, k]
        plain = np.broadcast_to(rng.normal(size=(100, 1)), shape)
        table = xr.DataArray(
            np.stack([swept, plain]),
            dims=("learner", "replication", "regularization"),
            coords={"learner": ["swept", "plain"], "regularization": range(13)},
        )
        found += compare(table, "plain")[0].certain
    # In hindsight it is 16 % without correlation, and 10 % with 0.8.
    assert found / n <= 0.05 + 2 * np.sqrt(0.05 * 0.95 / n)


def test_the_reference_is_the_learner_that_starts_from_zero() -> None:
    assert default_reference(SEQUENCE) == "ITL"
    assert playing(SEQUENCE) == ["Oracle", "AVG-OFUL", "RR-OFUL", "ITL"]
    assert default_reference(replace(SEQUENCE, learners=SEQUENCE.learners[:3])) == "Oracle"
    assert default_reference(replace(SEQUENCE, learners=SEQUENCE.learners[:1])) is None
    zero = Spec(kind="Fixed.zero")
    uniform = LearnerSpec(name="random", policy=Spec(kind="Uniform"), prior=zero)
    assert default_reference(replace(SEQUENCE, learners=(uniform, *SEQUENCE.learners))) == "ITL"
    assert default_reference(replace(SEQUENCE, learners=(uniform,))) == "random"


def test_agents_with_another_model_are_compared_too() -> None:
    agent = LearnerSpec(name="weights", method=Spec(kind="MetaLinEXP3"))
    study = replace(SEQUENCE, learners=(agent, *SEQUENCE.learners))
    assert playing(study) == ["weights", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL"]
    assert default_reference(study) == "ITL"
    # LinEXP3 starts every task from zero.
    for cold in (
        LearnerSpec(name="cold", method=Spec(kind="lin_exp3")),
        LearnerSpec(name="cold", method=Spec(kind="MetaLinEXP3", settings={"start": "none"})),
        LearnerSpec(name="cold", method=Spec(kind="lin_ts")),
    ):
        assert default_reference(replace(SEQUENCE, learners=(agent, cold))) == "cold"
    zero = Spec(kind="Fixed", settings={"bias": [0.0, 0.0]})
    given = Spec(kind="Fixed", settings={"bias": [1.0, 0.0]})
    oful = Spec(kind="OFUL")
    both = tuple(
        LearnerSpec(name=name, policy=oful, prior=prior)
        for name, prior in (("given", given), ("zero", zero))
    )
    assert default_reference(replace(SEQUENCE, learners=both)) == "zero"


RESULTS = xr.Dataset(
    {
        name: (
            ("learner", "replication", "task", "round"),
            np.random.default_rng(seed).normal(size=(3, 5, 2, 4)),
        )
        for seed, name in enumerate(("reward", "regret"))
    },
    coords={"learner": ["a", "b", "c"]},
)


def test_results_are_compared_by_their_summed_regrets() -> None:
    summed = RESULTS.regret.sum(["task", "round"])
    expected = compare(summed, "b")
    assert compare(RESULTS, "b") == expected
    assert compare(RESULTS.regret, "b") == expected
    assert compare_pairs(RESULTS, [("a", "b"), ("c", "b")]) == expected
    assert [one.reference for one in compare(RESULTS)] == ["a", "a"]
    frame = expected.to_frame()
    assert frame["learner"].tolist() == ["a", "c"]
    difference = (summed.sel(learner="a") - summed.sel(learner="b")).mean("replication")
    assert frame["mean"][0] == pytest.approx(float(difference))
    assert "<table" in expected._repr_html_()


def test_all_pairs_are_one_family() -> None:
    found = compare(RESULTS, all_pairs=True)
    assert [(one.learner, one.reference) for one in found] == [("a", "b"), ("a", "c"), ("b", "c")]
    assert [one.corrected for one in found] == corrected([one.p_value for one in found])
    with pytest.raises(ValueError, match="not both, got reference 'a'"):
        compare(RESULTS, "a", all_pairs=True)


def test_replications_of_a_cohort_are_compared_as_one() -> None:
    cohorts = RESULTS.assign_coords(cohort=("replication", [0, 0, 1, 1, 1]))
    assert compare(cohorts)[0].difference.replications == 2


def test_a_frame_of_results_is_compared_as_the_array() -> None:
    ordered = RESULTS.sel(learner=["c", "a", "b"])
    cohorts = ordered.assign_coords(cohort=("replication", [0, 0, 1, 1, 1]))
    swept = ordered.expand_dims(regularization=[0.1, 1.0]) * xr.DataArray(
        [1.0, 2.0], dims="regularization"
    )
    for each in (ordered, cohorts, swept):
        frame = each.to_dataframe()
        assert compare(frame) == compare(frame.reset_index()) == compare(each)
    trained = ordered.expand_dims(trained=[0, 10]).to_dataframe()
    with pytest.raises(ValueError, match="choose with values"):
        compare(trained)
    with pytest.raises(ValueError, match="values must not be missing"):
        compare(ordered.to_dataframe().iloc[1:])


@pytest.mark.parametrize(
    ("values", "message"),
    [
        (RESULTS.regret.to_numpy(), "values must be a labelled array .* got ndarray"),
        (RESULTS.drop_vars("regret"), "values must be a labelled array .* got Dataset"),
        (
            RESULTS.expand_dims(trained=[0, 10]),
            r"got dimensions .*; choose with values.sel\(trained=…\)",
        ),
        (RESULTS.regret.isel(replication=0), r"over \(learner, replication\), got dimensions"),
        (RESULTS.isel(learner=[0]), "at least two learners to compare, got .'a'."),
    ],
)
def test_what_cannot_be_compared_is_named(values: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        compare(values)
