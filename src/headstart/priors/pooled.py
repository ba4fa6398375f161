"""Pooled: RR-OFUL's bias, one ridge regression over all tasks' data."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.running import RunningEstimate
from headstart.core.statistics import TaskStatistics
from headstart.habits import hinted
from headstart.interfaces import Memory
from headstart.priors import _estimation, _memories


@hinted
@dataclass(frozen=True, kw_only=True, eq=False)
class Pooled:
    """RR-OFUL (Eq. 8): h = (Σ V_j + λI)⁻¹ Σ b_j, as if all tasks were one.

    Parameters
    ----------
    regularization : float or array_like of shape (d, d), default 1.0
        The λ or Λ of the next task.
    estimation_regularization : float or "same", default 1.0
        The λ of the pooled regression. "same" is the paper's single λ.
    within_task : bool, default True
        Whether the running task's data count.

    Examples
    --------
    >>> prior = hs.priors.Pooled(regularization=1.0)
    >>> memory = prior.empty(2)
    >>> for rewards in ([2.0, 0.0], [4.0, 0.0]):
    ...     memory = prior.absorb(memory, hs.TaskStatistics.from_data(np.eye(2), rewards))
    >>> prior.prior(memory).bias
    array([2., 0.])
    """

    regularization: ArrayLike = 1.0
    estimation_regularization: _estimation.EstimationRegularization = 1.0
    within_task: bool = True

    def __post_init__(self) -> None:
        _estimation.check(self.regularization, self.estimation_regularization)

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The sum of the tasks' statistics."""
        _estimation.check_dimension(self.regularization, self.estimation_regularization, dimension)
        return _to_memory(TaskStatistics.zeros(dimension, lead))

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """Add the task's statistics."""
        # A single feature would broadcast over many.
        checks.shape("the task's moment", task.moment, memory["moment"].shape, "of the memory")
        return _memories.add(memory, _to_memory(task), weight)

    def scale(self, memory: Memory, factor: float) -> Memory:
        """Every task counts `factor` times as much."""
        return _memories.scale(memory, factor)

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """The sums over the tasks of both."""
        return _memories.merge(memory, other)

    def prior(self, memory: Memory) -> Prior:
        """The pooled ridge estimate."""
        pooled = pooled_statistics(memory)
        bias = RidgeEstimate(pooled, self._zero_prior(pooled)).parameter
        return Prior.trusted(bias, np.asarray(self.regularization))

    def running_bias(self, memory: Memory) -> _RunningPooled | None:
        """The pooled estimate with the running task in it."""
        if not self.within_task:
            return None
        pooled = pooled_statistics(memory)
        return _RunningPooled(RunningEstimate(self._zero_prior(pooled), pooled))

    def _zero_prior(self, pooled: TaskStatistics) -> Prior:
        return _estimation.zero_prior(
            self.regularization,
            self.estimation_regularization,
            dimension=pooled.dimension,
            lead=pooled.lead,
        )


class _RunningPooled:
    """Eq. 8 round by round: a running ridge estimate that begins with all earlier tasks."""

    def __init__(self, estimate: RunningEstimate) -> None:
        self._estimate = estimate

    def observe(self, features: Floats, rewards: Floats) -> Floats:
        self._estimate.observe(features, rewards)
        return self._estimate.parameter


def pooled_statistics(memory: Memory) -> TaskStatistics:
    """The sum of the tasks' statistics."""
    return checks.trusted(TaskStatistics, **memory)


def _to_memory(statistics: TaskStatistics) -> Memory:
    names = ("gram", "moment", "count", "sum_of_squares")
    return {name: getattr(statistics, name) for name in names}
