"""Verdicts follow from numbers by rule, and every outcome can be reached."""

import numpy as np
import pytest
import xarray as xr

from headstart.intervals import Interval
from headstart.paper.claims import LASTFM, MOVIELENS, SYNTHETIC, at_best
from headstart.paper.verdicts import (
    AboutEqual,
    Judged,
    Judgement,
    Lower,
    Nearer,
    Outcome,
    Rule,
    Side,
)
from headstart.studies.results import totals


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
    judged = Lower(Side("A", 1.0), Side("B", 1.0)).judge(regrets(A=(5.0, 0.0), B=(6.0, 0.0)))
    assert judged.outcome == "holds"
    assert judged.difference.mean == pytest.approx(-1.0)
    assert judged.difference.error == pytest.approx(0.1 / np.sqrt(3))
    assert judged.difference.replications == 4


@pytest.mark.parametrize(
    ("rule", "outcome"),
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
def test_every_outcome_can_be_reached(rule: Rule, outcome: Outcome) -> None:
    # 5 % of B's 20 at λ = 1 is a margin of 1; C lies 1.05 ± 0.18 above B.
    found = regrets(A=(12.0, 9.0), B=(20.0, 9.05), C=(21.05, 30.0))
    assert rule.judge(found).outcome == outcome


def test_nearer_measures_distance_from_either_side() -> None:
    # From 1 below the target to 3 above it is farther away, though the signed gap grew.
    found = regrets(A=(9.0, 13.0), B=(10.0, 10.0))
    judged = Nearer("A", "B", 1.0, 100.0).judge(found)
    assert judged.outcome == "fails"
    assert judged.difference.mean == pytest.approx(2.0)


def test_best_regularization_is_each_sides_own() -> None:
    found = regrets(A=(5.0, 3.0), B=(2.0, 7.0))
    judged = Lower(Side("B", None), Side("A", None)).judge(found)
    assert judged.difference.mean == pytest.approx(-1.0)


def _judgement(outcome: Outcome) -> Judgement:
    return Judgement(outcome, Interval(0.0, 1.0, -2.0, 2.0, 9))


@pytest.mark.parametrize(
    ("main", "other", "verdict"),
    [
        ("holds", "fails", "reproduced"),
        ("fails", "holds", "reproduced under another reading"),
        ("undecided", "holds", "reproduced under another reading"),
        ("undecided", "fails", "not reproduced"),
        ("fails", "undecided", "not reproduced"),
    ],
)
def test_verdict(main: Outcome, other: Outcome, verdict: str) -> None:
    judged = Judged("claim", {"main": _judgement(main), "other": _judgement(other)})
    assert judged.verdict == verdict
    assert judged.holds_under == (["other"] if other == "holds" else [])


def test_claims_about_the_grid_have_no_best() -> None:
    rules = [claim.rule for claim in (*SYNTHETIC, *LASTFM, *MOVIELENS)]
    moved = [at_best(rule) for rule in rules]
    about_grid = [rule for rule, best in zip(rules, moved, strict=True) if best is None]
    assert len(about_grid) == 4
    first = at_best(LASTFM[0].rule)
    assert first == Lower(Side("AVG-OFUL", None), Side("ITL", None))


def test_totals_sum_rounds_and_tasks() -> None:
    results = xr.Dataset({"regret": (("replication", "task", "round"), np.ones((2, 3, 4)))})
    assert totals(results).to_numpy().tolist() == [12.0, 12.0]
