"""Adversary: chooses the parameter of a round from what was played in the rounds before."""

from typing import Protocol

from headstart import checks
from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics


class Adversary(Protocol):
    """What opposes an agent within a task. It is pure, and replications are independent.

    It sees the statistics of the arms that were chosen and of their rewards, and so whatever a
    linear model of the task can believe. It sees neither the agent's random numbers nor the arms
    of the round that it decides about.
    """

    def parameter(self, played: TaskStatistics) -> Floats:
        """The w of the next round, (R, d): xᵀw adds to the mean and the reward of every arm."""
        ...


class Reaction:
    """One task's adversary in R replications, round by round: `parameter` is that of this round."""

    def __init__(self, adversary: Adversary, dimension: int, replications: int) -> None:
        self._adversary = adversary
        self._played = TaskStatistics.zeros(dimension, (replications,))
        self.parameter = self._decide()

    def observe(self, features: Floats, rewards: Floats) -> None:
        """End the round: the features (R, d) of the arms chosen, and their rewards (R,)."""
        played = self._played
        self._played = checks.trusted(
            TaskStatistics,
            gram=played.gram + features[:, :, None] * features[:, None, :],
            moment=played.moment + rewards[:, None] * features,
            count=played.count + 1.0,
            sum_of_squares=played.sum_of_squares + rewards**2,
        )
        self.parameter = self._decide()

    def _decide(self) -> Floats:
        parameter = checks.floats(
            "the adversary's parameter", self._adversary.parameter(self._played)
        )
        checks.shape("the adversary's parameter", parameter, self._played.moment.shape, "(R, d)")
        return parameter
