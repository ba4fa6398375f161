"""Rounds: what an agent sees of a task, and what it may ask for."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.simulation import Rounds, State

TASK = hs.environments.Synthetic(dimension=3, n_arms=4, reward="linear").sample(
    5, 2, np.random.default_rng(0)
)
UNIFORMS = np.random.default_rng(1).random((2, 5, 3))


def test_every_choice_shows_the_next_round() -> None:
    rounds = Rounds(TASK, UNIFORMS)
    assert (rounds.replications, rounds.horizon, rounds.n_arms, rounds.dimension) == (2, 5, 4, 3)
    for t in range(5):
        assert not rounds.over
        np.testing.assert_array_equal(rounds.arms, TASK.arms[:, t])
        np.testing.assert_array_equal(rounds.uniforms, UNIFORMS[:, t, :2])
        rewards = rounds.choose([t % 4, 3])
        np.testing.assert_array_equal(rewards, TASK.rewards[[0, 1], t, [t % 4, 3]])
        np.testing.assert_array_equal(rounds.features, TASK.arms[[0, 1], t, [t % 4, 3]])
    assert rounds.over
    np.testing.assert_array_equal(rounds.choices, [[0, 1, 2, 3, 0], [3] * 5])
    episode = rounds.episode()
    chosen = np.take_along_axis(TASK.arms, rounds.choices[..., None, None], -2)[..., 0, :]
    expected = hs.TaskStatistics.from_data(chosen, rounds.rewards)
    np.testing.assert_allclose(episode.statistics.gram, expected.gram)
    np.testing.assert_allclose(episode.statistics.moment, expected.moment)


def test_the_largest_score_is_chosen() -> None:
    one, two = Rounds(TASK, UNIFORMS), Rounds(TASK, UNIFORMS)
    for t in range(5):
        scores = TASK.arms[:, t, :, 0]
        choices, rewards = one.choose_largest(scores)
        np.testing.assert_array_equal(choices, scores.argmax(-1))
        np.testing.assert_array_equal(rewards, two.choose(scores.argmax(-1)))


@pytest.mark.parametrize(
    ("choices", "words"),
    [
        ([0], "2 integers, one per replication, got int64 of shape (1,)"),
        ([[0, 1]], "got int64 of shape (1, 2)"),
        ([0.0, 1.0], "got float64 of shape (2,)"),
        ([True, False], "got bool of shape (2,)"),
        ([0, 4], "from 0 to 3, got 4"),
        ([-1, 0], "from 0 to 3, got -1"),
    ],
)
def test_choices_are_checked(choices: Any, words: str) -> None:
    rounds = Rounds(TASK, UNIFORMS)
    with pytest.raises(ValueError, match="choices must be") as caught:
        rounds.choose(choices)
    assert words in str(caught.value)
    assert rounds.choices.shape == (2, 0)


def test_scores_of_another_size_are_refused() -> None:
    with pytest.raises(ValueError, match=r"\(2, 4\), got \(2, 3\)"):
        Rounds(TASK, UNIFORMS).choose_largest(np.zeros((2, 3)))


@pytest.mark.parametrize(
    "ask",
    [
        lambda rounds: rounds.arms,
        lambda rounds: rounds.uniforms,
        lambda rounds: rounds.choose([0, 0]),
        lambda rounds: rounds.choose_largest(np.zeros((2, 4))),
    ],
)
def test_nothing_comes_after_the_last_round(ask: Callable[[Rounds], object]) -> None:
    rounds = Rounds(TASK, UNIFORMS)
    for _ in range(5):
        rounds.choose([0, 0])
    with pytest.raises(ValueError, match="5 rounds, all of which are played"):
        ask(rounds)


def test_features_need_a_choice() -> None:
    with pytest.raises(ValueError, match="nothing was chosen yet"):
        _ = Rounds(TASK, UNIFORMS).features


def test_an_agent_must_play_all_rounds() -> None:
    @dataclass(frozen=True)
    class Lazy:
        name: str = "lazy"

        def n_uniforms(self, n_arms: int, dimension: int) -> int:
            return 0

        def begin(self, dimension: int, replications: int) -> State:
            return {}

        def play(self, state: State, rounds: Rounds) -> None:
            rounds.choose(np.zeros(rounds.replications, dtype=np.int64))

        def learn(self, state: State, played: None) -> State:
            return state

    with pytest.raises(ValueError, match="lazy must play all 3 rounds of a task, got 1"):
        hs.simulate(hs.environments.Synthetic(dimension=2), [Lazy()], n_tasks=1, horizon=3)


def test_arms_do_not_lead_to_later_arms() -> None:
    rounds = Rounds(TASK, UNIFORMS)
    for shown in (rounds.arms, rounds.uniforms):
        assert shown.base is None
