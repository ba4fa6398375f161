"""Average: AVG-OFUL's bias, the mean of the tasks' ridge estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

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
class Average:
    """AVG-OFUL (Eq. 7): h = Σ T_j ŵ_j / Σ T_j, with ŵ_j each task's own ridge estimate towards 0.

    Parameters
    ----------
    regularization : float or array_like of shape (d, d), default 1.0
        The λ or Λ of the next task.
    estimation_regularization : float or "same", default 1.0
        The λ of the ŵ_j. "same" is the paper's single λ; if it is large, h itself shrinks to 0.
    within_task : bool, default True
        Whether the running task counts with its rounds so far.

    Examples
    --------
    >>> prior = hs.priors.Average(regularization=1.0)
    >>> memory = prior.empty(2)
    >>> for rewards in ([2.0, 0.0], [4.0, 0.0]):
    ...     memory = prior.absorb(memory, hs.TaskStatistics.from_data(np.eye(2), rewards))
    >>> prior.prior(memory).bias
    array([1.5, 0. ])
    """

    regularization: ArrayLike = 1.0
    estimation_regularization: _estimation.EstimationRegularization = 1.0
    within_task: bool = True

    def __post_init__(self) -> None:
        _estimation.check(self.regularization, self.estimation_regularization)

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """Σ T_j ŵ_j, (…, d), and Σ T_j, (…)."""
        _estimation.check_dimension(self.regularization, self.estimation_regularization, dimension)
        return {"weighted": np.zeros((*lead, dimension)), "weight": np.zeros(lead)}

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """Add the task's ridge estimate, weighted by its rounds."""
        parameter = RidgeEstimate(task, self._zero_prior(memory)).parameter
        contribution = {"weighted": task.count[..., None] * parameter, "weight": task.count}
        return _memories.add(memory, contribution, weight)

    def scale(self, memory: Memory, factor: float) -> Memory:
        """Every task counts `factor` times as much."""
        return _memories.scale(memory, factor)

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """The sums over the tasks of both."""
        return _memories.merge(memory, other)

    def prior(self, memory: Memory) -> Prior:
        """The weighted mean; 0 before any data."""
        weight = memory["weight"]
        bias = memory["weighted"] / np.where(weight > 0, weight, 1.0)[..., None]
        return Prior.trusted(bias, np.asarray(self.regularization))

    def running_bias(self, memory: Memory) -> _RunningAverage | None:
        """The mean with the running task in it."""
        return _RunningAverage(memory, self._zero_prior(memory)) if self.within_task else None

    def _zero_prior(self, memory: Memory) -> Prior:
        *lead, dimension = memory["weighted"].shape
        return _estimation.zero_prior(
            self.regularization,
            self.estimation_regularization,
            dimension=dimension,
            lead=tuple(lead),
        )


class _RunningAverage:
    """Eq. 7 round by round: (Σ T_j ŵ_j + t ŵ_t) / (Σ T_j + t)."""

    def __init__(self, memory: Memory, zero_prior: Prior) -> None:
        self._weighted = memory["weighted"]
        self._weight = memory["weight"][..., None]
        self._rounds = 0
        self._estimate = RunningEstimate(zero_prior)

    def observe(self, features: Floats, rewards: Floats) -> Floats:
        self._estimate.observe(features, rewards)
        self._rounds += 1
        total = self._rounds * self._estimate.parameter
        total += self._weighted
        total /= self._weight + self._rounds
        return total
