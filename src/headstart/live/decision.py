"""What live use returns: decisions, and what is known of a task."""

import math
from collections.abc import Hashable, Sequence
from typing import Any, NamedTuple, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.intervals import quantile

# A task's name: of the types that a file can store.
Name = str | int


class Decision(NamedTuple):
    """One choice. Its id takes the reward, once, any time later."""

    id: str
    task: Name
    arm: Hashable  # the key of a mapping, the item of a catalogue, or the index in an array
    arm_index: int  # its index among the arms
    scores: Floats  # (K,), of all arms; −∞ where masked
    propensity: float  # the probability of this arm under the policy; nan where it is not known


class Decisions(NamedTuple):
    """One choice for each of n tasks."""

    ids: NDArray[np.str_]  # (n,)
    tasks: tuple[Name, ...]
    arms: tuple[Hashable, ...]  # the ids of the chosen arms; their indices where they have none
    arm_indices: Integers  # (n,), of the chosen arms among those of their task
    scores: Floats  # (n, K); −∞ where masked, and behind the last arm of a task with fewer than K
    propensities: Floats  # (n,)


class TaskView(NamedTuple):
    """What is known of an open task."""

    task: Name
    estimate: RidgeEstimate  # statistics and prior; .parameter is ŵ
    n_rewards: int  # so far
    n_pending: int  # decisions without a reward yet
    noise_scale: float

    @overload
    def interval(self, features: Sequence[float]) -> tuple[float, float]: ...

    @overload
    def interval(self, features: ArrayLike) -> tuple[Any, Any]: ...

    def interval(self, features: ArrayLike) -> tuple[Any, Any]:
        """The ends of the 95 % interval of xᵀw, xᵀŵ ∓ 1.96·s·‖x‖.

        Two arrays (K,) for features (K, d), two floats for one vector (d,).
        """
        x = checks.floats("features", features)
        arms = x[None] if x.ndim == 1 else x
        middle = self.estimate.predict(arms)
        half = quantile(math.inf) * self.noise_scale * self.estimate.widths(arms)
        low, high = middle - half, middle + half
        return (float(low[0]), float(high[0])) if x.ndim == 1 else (low, high)


class Learned(NamedTuple):
    """What has been learned across tasks: where the next one starts, in numbers."""

    mean: Floats  # (d,), the mean task
    spread: Floats  # (d,), the standard deviation of a new task's parameter about it
    noise_scale: float  # the standard deviation of a reward
    n_tasks: int  # how many tasks it was learned from
    effective_tasks: float  # the sum of their weights: fewer where the memory forgets

    @classmethod
    def from_prior(cls, prior: Prior, *, n_tasks: int, weight: float) -> "Learned":
        """The numbers of a prior N(h, s²Λ⁻¹)."""
        matrix = prior.regularization
        if prior.isotropic:
            matrix = prior.regularization * np.eye(prior.dimension)
        scale = float(prior.noise_scale)
        spread = scale * np.sqrt(np.diagonal(np.linalg.inv(matrix)))
        return cls(prior.bias.copy(), spread, scale, n_tasks, weight)
