"""What live use returns: decisions, and what is known of a task."""

import math
from collections.abc import Hashable
from typing import NamedTuple

from headstart.arrays import Floats, Integers
from headstart.core.ridge import RidgeEstimate
from headstart.intervals import quantile

# A task's name: of the types that a file can store.
Name = str | int


class Decision(NamedTuple):
    """One choice. Its id takes the reward, once, any time later."""

    id: int
    task: Name
    arm: Hashable  # the key of a mapping, the item of a catalogue, or the index in an array
    arm_index: int  # its index among the arms
    scores: Floats  # (K,), of all arms; −∞ where masked
    propensity: float  # the probability of this arm under the policy; nan where it is not known


class Decisions(NamedTuple):
    """One choice for each of n tasks."""

    ids: Integers  # (n,)
    tasks: tuple[Name, ...]
    arm_indices: Integers  # (n,), of the chosen arms
    scores: Floats  # (n, K)
    propensities: Floats  # (n,)


class TaskView(NamedTuple):
    """What is known of an open task."""

    task: Name
    estimate: RidgeEstimate  # statistics and prior; .parameter is ŵ
    n_rewards: int  # so far
    n_pending: int  # decisions without a reward yet
    noise_scale: float

    def interval(self, features: Floats) -> tuple[Floats, Floats]:
        """The 95 % interval of xᵀw, xᵀŵ ∓ 1.96·s·‖x‖, for features (K, d), (K,) each."""
        middle, widths = self.estimate.predict(features), self.estimate.widths(features)
        half = quantile(math.inf) * self.noise_scale * widths
        return middle - half, middle + half
