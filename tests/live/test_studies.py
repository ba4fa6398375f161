"""The studies of `benchmarks.live_studies`, reduced: what tasks teach, and what is forgotten."""

import numpy as np
import pytest
from benchmarks.live_studies import (
    HOUR,
    MONTH,
    Cold,
    Drift,
    Stream,
    clicks,
    clicks_of_refits,
    rewards_by_month,
)

pytestmark = pytest.mark.slow

STREAM = Stream(n_users=250, visits=12, dimension=8, days=8.0, n_arms=10)


@pytest.fixture(scope="module")
def refitted() -> float:
    return clicks_of_refits(STREAM, 0)


@pytest.mark.parametrize("hours", [None, 2.0, 24.0])
def test_every_idle_time_earns_what_a_prior_refitted_on_everybody_earns(
    hours: float | None, refitted: float
) -> None:
    """The same visits and draws, so that the two differ by a few clicks in 3,000.

    The standard error of a share of clicks is √(0.7·0.3/3000) < 0.01; that of the difference of two
    runs that share most of their draws is smaller. A bandit that learns nothing is far below.
    """
    found = clicks(STREAM, 0, idle_seconds=None if hours is None else hours * HOUR)
    assert found > refitted - 0.02


def test_a_bandit_whose_tasks_teach_nothing_earns_less(refitted: float) -> None:
    assert clicks(STREAM, 0, prior=Cold()) < refitted - 0.05


@pytest.mark.nightly
def test_a_half_life_follows_tastes_that_turn() -> None:
    """Half as many users as in the full study, two seeds; rewards there are 2.6 against 1.1."""
    drift = Drift(users_per_month=20, rounds=8)
    none, fresh, month = (
        np.mean([rewards_by_month(drift, seed, **given) for seed in (0, 1)], 0)
        for given in ({}, {"fresh_months": 3}, {"half_life_seconds": MONTH})
    )
    # 1,000 rounds in three months and two seeds: a standard error of 1.7/√1000 = 0.05.
    assert month[-3:].mean() > fresh[-3:].mean() - 0.1
    assert month.mean() > fresh.mean() - 0.05
    assert none[-3:].mean() < month[-3:].mean() - 0.5
