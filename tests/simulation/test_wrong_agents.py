"""Agents and schedules that do what they must not are named, and change no other's numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.schedules import InParallel

WORLD = hs.environments.Synthetic(dimension=3, n_arms=4, reward="linear")


def _play(state: Any, rounds: Any) -> Any:
    while not rounds.over:
        rounds.choose(np.zeros(rounds.replications, dtype=int))


@dataclass
class Own:
    """An agent that chooses the first arm, with any part exchanged."""

    play_with: Callable[[Any, Any], Any] = _play
    name: Any = "own"
    uniforms: Any = 0

    def n_uniforms(self, n_arms: int, dimension: int) -> Any:
        return self.uniforms

    def begin(self, dimension: int, replications: int) -> Any:
        return {}

    def play(self, state: Any, rounds: Any) -> Any:
        return self.play_with(state, rounds)

    def learn(self, state: Any, played: Any) -> Any:
        return state


@dataclass
class OwnJoint:
    """A joint agent with a loop of its own."""

    play_with: Callable[[Any, Any], Any]
    name: str = "joint"

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 0

    def begin(self, dimension: int, replications: int) -> Any:
        return {}

    def play_jointly(self, state: Any, turns: Any) -> Any:
        return self.play_with(state, turns)


def _scales_arms(_: Any, rounds: Any) -> Any:
    while not rounds.over:
        arms = rounds.arms
        arms /= np.linalg.norm(arms, axis=-1, keepdims=True)
        rounds.choose(np.zeros(rounds.replications, dtype=int))


def _centres_rewards(_: Any, rounds: Any) -> Any:
    while not rounds.over:
        _, rewards = rounds.choose_largest(np.zeros((rounds.replications, rounds.n_arms)))
        rewards -= 1.0


def _scores_nan(_: Any, rounds: Any) -> Any:
    scores = np.zeros((rounds.replications, rounds.n_arms))
    scores[0, 2] = np.nan
    rounds.choose_largest(scores)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (Own(_scales_arms), "own must not write to the arms that it is shown"),
        (Own(_centres_rewards), "own must not write to the choices or rewards that it is shown"),
        (OwnJoint(_scales_arms), "joint must not write to the arms that it is shown"),
        (Own(_scores_nan), "scores must be numbers, got NaN in round 1"),
        (Own(name=3), "name of an agent must be text, got 3"),
        (Own(uniforms=None), r"own.n_uniforms\(…\) must be an integer of at least 0, got None"),
        (Own(uniforms=-1), r"own.n_uniforms\(…\) must be an integer of at least 0, got -1"),
        (None, "agents must be Learner objects"),
    ],
)
def test_what_an_agent_must_not_do_is_named(agent: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hs.simulate(WORLD, agent, 2, 3, replications=2, schedule=InParallel(2))


@dataclass
class Order:
    """A schedule with any part exchanged."""

    turns: Any
    delay: Any = 0

    def order(self, n_tasks: int, horizon: int, rng: np.random.Generator) -> Any:
        return self.turns


@pytest.mark.parametrize(
    ("schedule", "words"),
    [
        (Order([0, 1, 0, 1], delay="soon"), "the schedule's delay must be an integer"),
        (Order(None), "each of the numbers 0 to 1 2 times"),
        (Order([[0, 0], [1, 1]]), r"each of the numbers 0 to 1 2 times, got int64 of shape \(2, 2"),
    ],
)
def test_a_schedule_of_ones_own_is_checked(schedule: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hs.simulate(WORLD, hs.learners.itl(), 2, 2, schedule=schedule)


def test_joint_is_yes_or_no() -> None:
    wrong: Any = "no"
    with pytest.raises(ValueError, match="joint must be True or False, got 'no'"):
        hs.Learner("x", hs.policies.OFUL(), hs.priors.Pooled(), joint=wrong)
