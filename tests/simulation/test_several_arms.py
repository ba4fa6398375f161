"""Several arms per round: which are chosen, what is learned of them, and their regret."""

from dataclasses import dataclass, field
from itertools import combinations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as npst

import headstart as hs
from headstart.arrays import Floats
from headstart.interfaces import ArmEstimates
from headstart.simulation import Rounds

WORLD = hs.environments.Synthetic(dimension=3, n_arms=5, reward="linear")
SHORT: dict[str, Any] = {"n_tasks": 3, "horizon": 6, "replications": 4}


def _rounds(n_chosen: int, replications: int = 2) -> tuple[hs.Task, Rounds]:
    rng = np.random.default_rng(0)
    task = WORLD.sample(4, replications, rng)
    return task, Rounds(task, rng.random((replications, 4, 1)), n_chosen)


@given(scores=npst.arrays(np.float64, (2, 5), elements=st.integers(-3, 3)), m=st.integers(2, 5))
def test_the_largest_scores_are_chosen_first(scores: Floats, m: int) -> None:
    task, rounds = _rounds(m)
    choices, rewards = rounds.choose_largest(scores)
    picked = np.take_along_axis(scores, choices, 1)
    np.testing.assert_array_equal(picked, -np.sort(-scores, axis=1)[:, :m])
    assert all(len(set(row)) == m for row in choices.tolist())
    np.testing.assert_array_equal(rewards, np.take_along_axis(task.rewards[:, 0], choices, 1))
    np.testing.assert_array_equal(
        rounds.features, np.take_along_axis(task.arms[:, 0], choices[..., None], 1)
    )


def test_ties_are_broken_at_random() -> None:
    n = 60_000
    rng = np.random.default_rng(1)
    task = WORLD.sample(1, n, rng)
    choices, _ = Rounds(task, rng.random((n, 1, 1)), 2).choose_largest(np.zeros((n, 5)))
    counts = np.zeros((5, 5))
    np.add.at(counts, tuple(choices.T), 1)
    off = ~np.eye(5, dtype=bool)
    assert not counts[~off].any()
    expected = n / 20
    assert ((counts[off] - expected) ** 2 / expected).sum() < 43.8  # χ² with 19 degrees, p = 0.001


def test_regret_is_against_the_best_arms() -> None:
    task, rounds = _rounds(2)
    while not rounds.over:
        rounds.choose([[0, 3], [4, 1]])
    regrets = task.regrets(rounds.choices)
    for r, chosen in enumerate([[0, 3], [4, 1]]):
        for t in range(4):
            means = task.means[r, t]
            best = max(means[list(pair)].sum() for pair in combinations(range(5), 2))
            assert regrets[r, t] == pytest.approx(best - means[chosen].sum())
    results = hs.simulate(WORLD, hs.Optimal(), n_chosen=3, **SHORT)
    assert not results["regret"].any()
    assert results["choice"].dims[-1] == "position"
    assert results["reward"].sizes["position"] == 3


def test_all_arms_of_a_round_are_no_choice() -> None:
    agents = [hs.learners.itl(), hs.learners.lin_ts(), hs.learners.ours()]
    results = hs.simulate(WORLD, agents, n_chosen=5, **SHORT)
    assert not results["regret"].any()


@dataclass(frozen=True)
class Watched:
    """Keeps the predictions of every round."""

    seen: list[Floats] = field(default_factory=list)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 0

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        self.seen.append(estimates.predictions.copy())
        return estimates.predictions


@pytest.mark.parametrize("prior", [hs.priors.Fixed.zero(), hs.priors.Pooled(), hs.priors.Average()])
def test_every_reward_is_learned(prior: Any) -> None:
    policy = Watched()
    learner = hs.Learner("watched", policy, prior)
    task, rounds = _rounds(2)
    memory = learner.begin(3, 2)
    episode = learner.play(memory, rounds)
    chosen = np.take_along_axis(task.arms, rounds.choices[..., None], 2)
    for t in range(4):
        seen = hs.TaskStatistics.from_data(
            chosen[:, :t].reshape(2, 2 * t, 3), rounds.rewards[:, :t].reshape(2, 2 * t)
        )
        bias = prior.prior(prior.absorb(memory, seen)).bias if t else np.zeros((2, 3))
        start = hs.Prior(bias=bias, regularization=prior.prior(memory).regularization)
        expected = hs.RidgeEstimate(seen, start).read(task.arms[:, t]).predictions
        np.testing.assert_allclose(policy.seen[t], expected, atol=1e-9)
    np.testing.assert_allclose(episode.statistics.count, 8.0)
    np.testing.assert_allclose(episode.statistics.gram, rounds.episode().statistics.gram)


def test_tests_after_training_choose_several_too() -> None:
    settings: Any = {"n_training_tasks": [0, 2], "n_test_tasks": 2, "horizon": 5, "n_chosen": 2}
    found = hs.evaluate(WORLD, [hs.learners.ours(), hs.learners.meta_ts()], **settings)
    assert found["reward"].dims[-2:] == ("round", "position")
    assert (found["regret"] >= 0).all()


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ([0, 1], "4 integers, 2 in a row per replication"),
        ([[0, 1, 2], [0, 1, 2]], "4 integers"),
        ([[0, 0], [1, 2]], "different arms"),
        ([[0, 5], [1, 2]], "from 0 to 4, got 5"),
    ],
)
def test_choices_are_checked(choices: Any, words: str) -> None:
    _, rounds = _rounds(2)
    with pytest.raises(ValueError, match="choices must be") as caught:
        rounds.choose(choices)
    assert words in str(caught.value)
    with pytest.raises(ValueError, match="scores must be finite"):
        rounds.choose_largest(np.full((2, 5), -np.inf))


def test_what_cannot_be_chosen_is_named() -> None:
    with pytest.raises(ValueError, match="n_chosen must be at most the number of arms, 5, got 6"):
        hs.simulate(WORLD, hs.Optimal(), n_chosen=6, **SHORT)
    with pytest.raises(ValueError, match="n_chosen must be 1 for LinEXP3, which chooses one arm"):
        hs.simulate(WORLD, hs.learners.lin_exp3(), n_chosen=2, **SHORT)
    with pytest.raises(ValueError, match="n_chosen must be an integer of at least 1, got 0"):
        hs.simulate(WORLD, hs.Optimal(), n_chosen=0, **SHORT)
    reacting = hs.environments.NonStochastic(adversary="reacting")
    with pytest.raises(ValueError, match="must be 1 against an adversary that reacts, got 2"):
        hs.simulate(reacting, hs.learners.itl(), n_chosen=2, **SHORT)
