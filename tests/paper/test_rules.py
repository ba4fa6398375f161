"""Outcomes follow from numbers by rule, and every kind of outcome can be reached."""

import numpy as np
import pytest
import xarray as xr
from scipy.stats import ttest_1samp

from headstart.intervals import interval
from headstart.paper.rules import (
    AboutEqual,
    Lower,
    Nearer,
    OutcomeKind,
    Rule,
    Side,
    all_equal,
    below_zero,
)


def regrets(**learners: tuple[float, float]) -> xr.DataArray:
    """Mean regrets at λ = 1 and 100, with the same ripple of size 1 in every replication."""
    ripple = np.array([-1.0, 1.0, -1.0, 1.0])
    own = np.array([-0.1, -0.1, 0.1, 0.1])
    values = [
        [mean + 10 * ripple + (i + 1) * own for mean in means]
        for i, means in enumerate(learners.values())
    ]
    return xr.DataArray(
        values,
        dims=("learner", "regularization", "replication"),
        coords={"learner": list(learners), "regularization": [1.0, 100.0]},
    )


def test_differences_are_paired() -> None:
    # The ripple of ±10 that both share would drown a difference of 1; pairing removes it.
    found = Lower(Side("A", 1.0), Side("B", 1.0)).judge(regrets(A=(5.0, 0.0), B=(6.0, 0.0)))
    assert found.kind == "holds"
    assert found.difference.mean == pytest.approx(-1.0)
    assert found.difference.error == pytest.approx(0.1 / np.sqrt(3))
    assert found.difference.replications == 4


@pytest.mark.parametrize(
    ("rule", "kind"),
    [
        (Lower(Side("A", 1.0), Side("B", 1.0)), "holds"),
        (Lower(Side("B", 1.0), Side("A", 1.0)), "fails"),
        (Lower(Side("A", 100.0), Side("B", 100.0)), "undecided"),
        (Lower(Side("A", None), Side("B", None)), "undecided"),
        (Lower(Side("B", 100.0), Side("B", 1.0)), "holds"),
        (Nearer("B", "A", 1.0, 100.0), "holds"),
        (Nearer("B", "A", 100.0, 1.0), "fails"),
        (Nearer("B", "C", 1.0, 1.0), "undecided"),
        (AboutEqual(Side("A", 100.0), Side("B", 100.0)), "holds"),
        (AboutEqual(Side("A", 1.0), Side("B", 1.0)), "fails"),
        (AboutEqual(Side("C", 1.0), Side("B", 1.0)), "undecided"),
    ],
)
def test_every_outcome_can_be_reached(rule: Rule, kind: OutcomeKind) -> None:
    # 5 % of B's 20 at λ = 1 is a margin of 1; C lies 1.05 ± 0.18 above B.
    given = regrets(A=(12.0, 9.0), B=(20.0, 9.05), C=(21.05, 30.0))
    assert rule.judge(given).kind == kind


def test_nearer_measures_distance_from_either_side() -> None:
    # From 1 below the target to 3 above it is farther away, though the signed gap grew.
    given = regrets(A=(9.0, 13.0), B=(10.0, 10.0))
    found = Nearer("A", "B", 1.0, 100.0).judge(given)
    assert found.kind == "fails"
    assert found.difference.mean == pytest.approx(2.0)


def test_best_regularization_is_each_sides_own() -> None:
    given = regrets(A=(5.0, 3.0), B=(2.0, 7.0))
    found = Lower(Side("B", None), Side("A", None)).judge(given)
    # The first of four replications chooses; the ripples of the others have means of 1/30.
    assert found.difference.mean == pytest.approx(2.0 - 3.0 + 0.1 / 3)
    assert found.difference.replications == 3


def test_an_outcome_is_that_of_the_interval() -> None:
    rng = np.random.default_rng(1)
    for _ in range(200):
        values = rng.normal(-0.5, 1.0, 12)
        found = below_zero(interval(values))
        expected = ttest_1samp(values, 0.0, alternative="less").pvalue
        assert found.p == pytest.approx(min(2.0 * expected, 1.0))
        assert (found.kind == "holds") == (found.difference.high < 0)
        assert (found.kind == "fails") == (found.difference.low > 0)


def test_learners_that_are_all_about_equal_say_nothing() -> None:
    # 5 % of 20 is 1: A and B differ by 0.3, C by 5.
    given = regrets(A=(20.3, 20.0), B=(20.0, 20.0), C=(25.0, 20.1))
    rule = Lower(Side("B", 1.0), Side("A", 1.0))
    assert rule.judge(given).kind == "holds"
    assert all_equal(given, ["A", "B"], rule.sides)
    assert not all_equal(given, ["A", "C", "B"], rule.sides)
    assert all_equal(given, ["A", "C", "B"], [Side("A", 100.0)])
    assert not all_equal(given, ["A", "C", "B"], [Side("A", 1.0), Side("A", 100.0)])


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (Lower(Side("A", 1.0), Side("B", 1.0)), "A − B"),
        (Lower(Side("A", 1.0), Side("A", 100.0)), "A at λ = 1 minus at λ = 100"),
        (AboutEqual(Side("A", None), Side("B", None)), "A − B"),
        (Nearer("A", "B", 1.0, 100.0), "|A − B| at λ = 100 minus at λ = 1"),
    ],
)
def test_a_difference_says_what_is_subtracted_from_what(rule: Rule, words: str) -> None:
    assert rule.difference == words
