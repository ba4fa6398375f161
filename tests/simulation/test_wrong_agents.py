"""Agents that do what they must not are named, or change no other's numbers."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest

import headstart as hs

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


def _writes(_: Any, rounds: Any) -> Any:
    """Writes to everything that it is shown."""
    while not rounds.over:
        for shown in (rounds.arms, rounds.uniforms, rounds.choices, rounds.rewards):
            shown[...] = 7
        choices, rewards = rounds.choose_largest(rounds.arms[..., 0])
        choices += 1
        rewards -= 1.0
        rounds.features[:] = 0.0


def _only_reads(_: Any, rounds: Any) -> Any:
    while not rounds.over:
        rounds.choose_largest(rounds.arms[..., 0])


def _scores_nan(_: Any, rounds: Any) -> Any:
    scores = np.zeros((rounds.replications, rounds.n_arms))
    scores[0, 2] = np.nan
    rounds.choose_largest(scores)


@pytest.mark.parametrize(
    ("agent", "words"),
    [
        (Own(_scores_nan), "scores must be numbers, got NaN in round 1"),
        (Own(name=3), "name of an agent must be text, got 3"),
        (Own(uniforms=None), r"own.n_uniforms\(…\) must be an integer of at least 0, got None"),
        (Own(uniforms=-1), r"own.n_uniforms\(…\) must be an integer of at least 0, got -1"),
        (None, "agents must be Learner objects"),
    ],
)
def test_what_an_agent_must_not_do_is_named(agent: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hs.simulate(WORLD, agent, 2, 3, replications=2)


def test_what_an_agent_is_shown_is_its_own() -> None:
    others = [hs.learners.itl(), hs.learners.lin_ts()]
    clean, spoilt = (
        hs.simulate(WORLD, [Own(play), *others], 2, 6, replications=3)
        for play in (_only_reads, _writes)
    )
    assert clean.identical(spoilt)


def test_names_that_would_share_random_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="'plumless' and 'buckeroo' would get the same random"):
        hs.simulate(WORLD, [Own(name="plumless"), Own(name="buckeroo")], 1, 2)
