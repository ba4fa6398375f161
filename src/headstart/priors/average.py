"""Average: AVG-OFUL's bias, the mean of the tasks' ridge estimates."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.running import RunningEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory


@dataclass(frozen=True, kw_only=True, eq=False)
class Average:
    """AVG-OFUL (Eq. 7): h = Σ T_j ŵ_j / Σ T_j, with ŵ_j each task's own ridge estimate towards 0.

    The running task counts with its rounds so far unless `within_task` is off. `regularization`
    holds the next task; `estimation_regularization` is the λ of the ŵ_j, or "same" for the
    paper's literal reading, under which a large λ drags h itself to 0.
    """

    regularization: ArrayLike = 1.0
    estimation_regularization: ArrayLike | Literal["same"] = 1.0
    within_task: bool = True

    def __post_init__(self) -> None:
        checks.regularization("regularization", self.regularization)
        checks.regularization("estimation_regularization", self.estimation_regularization, "same")

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """Σ T_j ŵ_j, (…, d), and Σ T_j, (…)."""
        return {"weighted": np.zeros((*lead, dimension)), "weight": np.zeros(lead)}

    def absorb(self, memory: Memory, task: TaskStatistics) -> Memory:
        """Add the task's ridge estimate, weighted by its rounds."""
        parameter = RidgeEstimate(task, self._blank(memory)).parameter
        return {
            "weighted": memory["weighted"] + task.count[..., None] * parameter,
            "weight": memory["weight"] + task.count,
        }

    def prior(self, memory: Memory) -> Prior:
        """The weighted mean; 0 before any data."""
        weight = memory["weight"]
        bias = memory["weighted"] / np.where(weight > 0, weight, 1.0)[..., None]
        return Prior(bias, np.asarray(self.regularization, dtype=np.float64))

    def running_bias(self, memory: Memory) -> "_FollowedAverage | None":
        """The mean with the running task in it."""
        return _FollowedAverage(memory, self._blank(memory)) if self.within_task else None

    def _blank(self, memory: Memory) -> Prior:
        own = self.estimation_regularization
        ridge = self.regularization if isinstance(own, str) else own
        lead, dimension = memory["weighted"].shape[:-1], memory["weighted"].shape[-1]
        return Prior.zero(dimension, regularization=ridge, lead=lead)


class _FollowedAverage:
    """Eq. 7 round by round: (Σ T_j ŵ_j + t ŵ_t) / (Σ T_j + t)."""

    def __init__(self, memory: Memory, blank: Prior) -> None:
        self._weighted = memory["weighted"]
        self._weight = memory["weight"][..., None]
        self._rounds = 0
        self._estimate = RunningEstimate(blank)

    def observe(self, features: Floats, rewards: Floats) -> Floats:
        self._estimate.observe(features, rewards)
        self._rounds += 1
        total = self._rounds * self._estimate.parameter
        total += self._weighted
        total /= self._weight + self._rounds
        return total
