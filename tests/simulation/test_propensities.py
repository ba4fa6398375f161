"""Propensities that agents tell are in the results, and those that cannot be are refused."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.simulation import Rounds, State

TASK = hs.environments.Synthetic(dimension=3).sample(4, 2, np.random.default_rng(0))


@dataclass(frozen=True)
class Lottery:
    """Chooses uniformly, and says so."""

    name: str = "lottery"

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 1

    def begin(self, dimension: int, replications: int) -> State:
        return {}

    def play(self, state: State, rounds: Rounds) -> None:
        k = rounds.n_arms
        while not rounds.over:
            chosen = (rounds.uniforms[:, 0] * k).astype(np.int64)
            rounds.choose(chosen, np.full(rounds.replications, 1.0 / k))

    def learn(self, state: State, played: None) -> State:
        return state


def test_results_have_the_propensities_of_agents_that_tell_them() -> None:
    environment = hs.environments.Synthetic(dimension=3, n_arms=4)
    itl = hs.Learner("ITL", hs.policies.OFUL(), hs.priors.Fixed.zero())
    results = hs.simulate(environment, [Lottery(), itl], n_tasks=2, horizon=5, replications=3)
    assert results.propensity.dims == results.choice.dims
    assert (results.propensity.sel(learner="lottery") == 0.25).all()
    assert results.propensity.sel(learner="ITL").isnull().all()
    silent = hs.simulate(environment, [itl], n_tasks=1, horizon=5)
    assert "propensity" not in silent


@pytest.mark.parametrize(
    ("told", "words"),
    [
        ([0.5, 0.0], "above 0 and at most 1, got 0.0"),
        ([0.5, 1.5], "above 0 and at most 1, got 1.5"),
        ([0.5], r"shape \(R,\) = \(2,\), got \(1,\)"),
        ([0.5, np.nan], "finite, got nan"),
    ],
)
def test_propensities_are_checked_before_anything_is_played(told: Any, words: str) -> None:
    rounds = Rounds(TASK, np.zeros((2, 4, 1)))
    with pytest.raises(ValueError, match=words):
        rounds.choose([0, 0], told)
    assert rounds.choices.shape == (2, 0)
    rounds.choose([0, 1], [0.5, 1.0])
    np.testing.assert_array_equal(rounds.propensities, [[0.5], [1.0]])
