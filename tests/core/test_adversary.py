"""Rewards that depend on what was played, and regret against one comparator for all rounds."""

from dataclasses import dataclass

import numpy as np
import pytest

import headstart as hs
from headstart.arrays import Floats
from headstart.core.task import realised
from headstart.simulation import Rounds

# Two rounds of two arms in one dimension, and the second arm is the longer one.
ARMS = np.array([[[[1.0], [2.0]], [[1.0], [2.0]]]])
ZEROS = np.zeros((1, 2, 2))


@dataclass(frozen=True)
class Opposed:
    """Opposes the sum of what was paid: w = 1 in the first round, then −Σyx."""

    def parameter(self, played: hs.TaskStatistics) -> Floats:
        first = (played.count == 0)[:, None]
        return np.where(first, 1.0, -played.moment)


def test_regret_is_against_the_comparators_arm_in_every_round() -> None:
    means = np.array([[[1.0, 2.0], [-1.0, -2.0]]])
    task = hs.Task(arms=ARMS, rewards=means, means=means, comparator=np.array([[0.5]]))
    np.testing.assert_array_equal(task.regrets(np.array([[0, 0]])), [[1.0, -1.0]])
    opposite = hs.Task(arms=ARMS, rewards=means, means=means, comparator=np.array([[-0.5]]))
    np.testing.assert_array_equal(opposite.regrets(np.array([[1, 1]])), [[-1.0, 1.0]])


def test_a_reaction_by_hand() -> None:
    task = hs.Task(arms=ARMS, rewards=ZEROS + 0.25, means=ZEROS, adversary=Opposed())
    rounds = Rounds(task, np.zeros((1, 2, 1)))
    # w = 1 pays 2 and the noise of 0.25; then w = −2.25·2 = −4.5, so the first arm pays −4.25.
    assert rounds.choose([1]) == 2.25
    assert rounds.choose([0]) == -4.25
    played = realised(task, rounds.choices)
    np.testing.assert_array_equal(played.means, [[[1.0, 2.0], [-4.5, -9.0]]])
    np.testing.assert_array_equal(played.rewards, played.means + 0.25)
    np.testing.assert_array_equal(played.comparator, [[1.0 - 4.5]])
    # The comparator of Σw = −3.5 plays the first arm twice.
    np.testing.assert_array_equal(played.regrets(rounds.choices), [[1.0 - 2.0, 0.0]])
    # Another choice in the first round, and the second round is another.
    other = Rounds(task, np.zeros((1, 2, 1)))
    assert other.choose([0]) == 1.25
    assert other.choose([0]) == -1.0
    np.testing.assert_array_equal(task.rewards, ZEROS + 0.25)


def test_what_is_realised_is_what_agents_were_paid() -> None:
    rng = np.random.default_rng(0)
    arms, noise = rng.standard_normal((3, 6, 4, 2)), rng.standard_normal((3, 6, 4))
    task = hs.Task(arms=arms, rewards=noise, means=np.zeros_like(noise), adversary=Opposed())
    rounds = Rounds(task, np.zeros((3, 6, 1)))
    while not rounds.over:
        rounds.choose(rng.integers(4, size=3))
    played = realised(task, rounds.choices)
    rewards = np.take_along_axis(played.rewards, rounds.choices[..., None], -1)[..., 0]
    np.testing.assert_array_equal(rewards, rounds.rewards)
    one = realised(task[1:2], rounds.choices[1:2])
    np.testing.assert_array_equal(one.means, played.means[1:2])
    assert realised(played, rounds.choices) is played


@dataclass(frozen=True)
class _Against:
    """An environment with that adversary."""

    dimension: int = 2

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> hs.Task:
        zeros = np.zeros((replications, horizon, 3))
        arms = rng.standard_normal((replications, horizon, 3, 2)) / 10.0
        return hs.Task(arms=arms, rewards=zeros, means=zeros, adversary=Opposed())


def test_informed_agents_cannot_play_against_a_reaction() -> None:
    with pytest.raises(ValueError, match="OPT needs the means of all rounds before it plays"):
        hs.simulate(_Against(), [hs.Optimal()], n_tasks=1, horizon=3)


def test_every_agent_gets_the_reaction_to_its_own_choices() -> None:
    learners = [
        hs.Learner(name, hs.policies.OFUL(scale=scale), hs.priors.Average())
        for name, scale in (("one", 0.1), ("two", 3.0))
    ]
    together = hs.simulate(_Against(), learners, n_tasks=2, horizon=9, replications=4)
    alone = hs.simulate(_Against(), learners[:1], n_tasks=2, horizon=9, replications=4)
    np.testing.assert_array_equal(together.reward.sel(learner="one"), alone.reward[0])
    assert (together.reward[0] != together.reward[1]).any()


@dataclass(frozen=True)
class _Bad:
    shape: tuple[int, ...]

    def parameter(self, played: hs.TaskStatistics) -> Floats:
        return np.zeros(self.shape)


def test_an_adversarys_parameter_is_checked() -> None:
    task = hs.Task(arms=ARMS, rewards=ZEROS, means=ZEROS, adversary=_Bad((1, 2)))
    with pytest.raises(ValueError, match=r"adversary's parameter .* \(1, 1\), got \(1, 2\)"):
        Rounds(task, np.zeros((1, 2, 1)))
    with pytest.raises(ValueError, match=r"comparator must have shape .* \(1, 1\), got \(2,\)"):
        hs.Task(arms=ARMS, rewards=ZEROS, means=ZEROS, comparator=np.ones(2))
