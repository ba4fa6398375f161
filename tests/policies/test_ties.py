"""Uniform is uniform, and ties break at random under the seed, not towards arm 0."""

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import chi2
from tests.playing import play

from headstart import kernels
from headstart.arrays import Floats
from headstart.core.task import Task
from headstart.policies import OFUL, Greedy, Uniform
from headstart.priors import Fixed
from headstart.simulation import Learner, Optimal

REPLICATIONS, N_ARMS = 20_000, 4


def _chi_square(counts: NDArray[np.int64]) -> float:
    expected = counts.sum() / len(counts)
    return float(((counts - expected) ** 2 / expected).sum())


def _threshold(cells: int) -> float:
    # One fair run in a million is above it. Always playing arm 0 scores 60,000.
    return float(chi2.isf(1e-6, cells - 1))


def _tied(horizon: int) -> Task:
    """All arms equal, in all rounds."""
    arms = np.ones((REPLICATIONS, horizon, N_ARMS, 2))
    paid = np.ones((REPLICATIONS, horizon, N_ARMS))
    return Task(arms=arms, rewards=paid, means=paid)


@pytest.mark.parametrize(
    "learner", [Optimal(), *(Learner("it", p, Fixed.zero()) for p in (OFUL(), Greedy(), Uniform()))]
)
def test_ties_break_evenly(learner: Learner | Optimal) -> None:
    task = _tied(2)
    episode = play(learner, learner.begin(2, REPLICATIONS), task, np.random.default_rng(0))
    first, second = episode.choices.T
    assert _chi_square(np.bincount(first, minlength=N_ARMS)) < _threshold(N_ARMS)
    # And the rounds are independent: all pairs are as frequent.
    pairs = np.bincount(first * N_ARMS + second, minlength=N_ARMS**2)
    assert _chi_square(pairs) < _threshold(N_ARMS**2)


def test_uniform_is_uniform_whatever_the_rewards() -> None:
    rng = np.random.default_rng(1)
    arms = rng.standard_normal((REPLICATIONS, 3, N_ARMS, 2))
    means = arms.sum(-1)
    task = Task(arms=arms, rewards=means, means=means)
    learner = Learner("it", Uniform(), Fixed.zero())
    choices = play(learner, learner.begin(2, REPLICATIONS), task, rng).choices
    assert _chi_square(np.bincount(choices.ravel(), minlength=N_ARMS)) < _threshold(N_ARMS)


def _choose(scores: Floats, uniforms: Floats) -> NDArray[np.int64]:
    choices, rewards = np.empty(len(scores), dtype=np.int64), np.empty(len(scores))
    kernels.choose(scores, uniforms, scores, choices, rewards)
    np.testing.assert_array_equal(rewards, scores[np.arange(len(scores)), choices])
    return choices


def test_only_the_best_are_tied() -> None:
    scores = np.tile([1.0, 3.0, 2.0, 3.0], (1_000, 1))
    choices = _choose(scores, np.random.default_rng(2).random(1_000))
    counts = np.bincount(choices, minlength=4)
    assert counts[0] == counts[2] == 0
    # A fair coin's 1,000 throws are within five standard deviations, 79, of 500.
    assert abs(counts[1] - 500) < 79


def test_rounding_does_not_decide() -> None:
    # The same sum in another order: equal up to the last bit, and tied.
    scores = np.tile([0.1 + 0.2 + 0.3, 0.3 + 0.2 + 0.1], (1_000, 1))
    assert scores[0, 0] != scores[0, 1]
    counts = np.bincount(_choose(scores, np.random.default_rng(3).random(1_000)), minlength=2)
    assert abs(counts[0] - 500) < 79
    # A real difference decides, however negative the scores are.
    apart = np.tile([-1.0, -1.0 + 1e-6], (100, 1))
    assert (_choose(apart, np.random.default_rng(4).random(100)) == 1).all()


def test_extreme_uniforms_stay_in_range() -> None:
    scores = np.zeros((2, 3))
    assert _choose(scores, np.array([0.0, np.nextafter(1.0, 0.0)])).tolist() == [0, 2]
