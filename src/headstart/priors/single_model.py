"""SingleModel: one regression over the rewards of all tasks (pooled LinUCB)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart import checks
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors import _memories
from headstart.priors.pooled import Pooled, pooled_statistics


@dataclass(frozen=True, kw_only=True)
class SingleModel:
    """Start a task where the last one ended: h = (ΣV_j + λI)⁻¹Σb_j and Λ = ΣV_j + λI.

    This ignores that there are tasks: right if all of them share one parameter, and overconfident
    if they do not.

    Parameters
    ----------
    regularization : float, default 1.0
        λ.

    Examples
    --------
    >>> prior = hs.priors.SingleModel(regularization=1.0)
    >>> task = hs.TaskStatistics.from_data(np.eye(2), [2.0, 0.0])
    >>> start = prior.prior(prior.absorb(prior.empty(2), task))
    >>> start.bias, np.diagonal(start.regularization)
    (array([1., 0.]), array([2., 2.]))
    """

    regularization: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("regularization", self.regularization)

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The sum of the tasks' statistics."""
        return self._pooled().empty(dimension, lead)

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """Add the task's statistics."""
        return self._pooled().absorb(memory, task, weight)

    def scale(self, memory: Memory, factor: float) -> Memory:
        """Every task counts `factor` times as much."""
        return _memories.scale(memory, factor)

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """The sums over the tasks of both."""
        return _memories.merge(memory, other)

    def prior(self, memory: Memory) -> Prior:
        """The estimate from all rewards so far, with their precision."""
        pooled = pooled_statistics(memory)
        zero = Prior.trusted(np.zeros_like(pooled.moment), np.asarray(self.regularization))
        estimate = RidgeEstimate(pooled, zero)
        precision = estimate.precision
        return Prior.trusted(estimate.parameter, (precision + precision.mT) / 2.0)

    def running_bias(self, memory: Memory) -> None:
        """None: the bias is constant within a task."""
        return

    def _pooled(self) -> Pooled:
        return Pooled(estimation_regularization=self.regularization)
