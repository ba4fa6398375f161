"""Corollary2: the λ of the paper's Corollary 2."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory, RunningBias
from headstart.priors import _memories
from headstart.priors.average import Average
from headstart.priors.pooled import Pooled

# Its own sums, next to the memory of `bias`.
_OWN = ("estimates", "squares", "rounds", "tasks")


def corollary2_regularization(*, horizon: ArrayLike, variance: ArrayLike) -> Floats:
    """λ = 1/(T·Var_h), of Corollary 2; ∞ if the variance is 0, that is, all tasks are the same."""
    product = np.asarray(horizon, dtype=np.float64) * np.asarray(variance, dtype=np.float64)
    positive = product > 0.0
    return np.asarray(np.where(positive, 1.0 / np.where(positive, product, 1.0), np.inf))


@dataclass(frozen=True, kw_only=True, eq=False)
class Corollary2:
    """λ = 1/(T·Var_h) (Corollary 2), with Var_h = E‖w − h‖² estimated from completed tasks.

    The estimate is the mean of ‖ŵ_j − h‖² over the tasks' ridge estimates, and T their mean number
    of rounds. Provided for comparison: it contradicts the λ ≥ 1 of Lemma 1 unless Var_h ≤ 1/T, and
    is far from the Bayes value s²d/Var_h, since it does not depend on the noise.

    Parameters
    ----------
    bias : Average or Pooled, default Average()
        The prior that estimates h, and gives λ before the second task.
    estimation_regularization : float, default 1.0
        The λ of the ŵ_j.

    Examples
    --------
    >>> prior = hs.priors.Corollary2(bias=hs.priors.Average())
    >>> memory = prior.empty(2)
    >>> for rewards in ([2.0, 0.0], [4.0, 0.0]):
    ...     memory = prior.absorb(memory, hs.TaskStatistics.from_data(np.eye(2), rewards))
    >>> prior.prior(memory).regularization
    array(2.)
    """

    bias: Average | Pooled = field(default_factory=Average)
    estimation_regularization: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("estimation_regularization", self.estimation_regularization)

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The memory of `bias`, and Σŵ_j, Σ‖ŵ_j‖², ΣT_j and N."""
        own = {
            "estimates": np.zeros((*lead, dimension)),
            "squares": np.zeros(lead),
            "rounds": np.zeros(lead),
            "tasks": np.zeros(lead),
        }
        return own | dict(self.bias.empty(dimension, lead))

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """Add the task's ridge estimate and its square; a task without rewards has none."""
        ridge = self.estimation_regularization
        zero = Prior.trusted(np.zeros((*task.lead, task.dimension)), np.asarray(ridge))
        estimate = RidgeEstimate(task, zero).parameter
        contribution = {
            "estimates": estimate,
            "squares": (estimate**2).sum(-1),
            "rounds": task.count,
            "tasks": (task.count > 0).astype(np.float64),
        }
        own = _memories.add({name: memory[name] for name in _OWN}, contribution, weight)
        return own | dict(self.bias.absorb(self._bias_memory(memory), task, weight))

    def scale(self, memory: Memory, factor: float) -> Memory:
        """Every task counts `factor` times as much."""
        return _memories.scale(memory, factor)

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """The sums over the tasks of both."""
        return _memories.merge(memory, other)

    def prior(self, memory: Memory) -> Prior:
        """The bias of `bias`, with the λ of Corollary 2."""
        given = self.bias.prior(self._bias_memory(memory))
        h, n = given.bias, memory["tasks"]
        total = memory["squares"] - 2.0 * (h * memory["estimates"]).sum(-1) + n * (h**2).sum(-1)
        # T·Var = (ΣT_j/N)(total/N)
        paper = corollary2_regularization(
            horizon=memory["rounds"], variance=total / np.maximum(n, 1.0) ** 2
        )
        known = (n >= 2) & np.isfinite(paper)
        return Prior.trusted(h, np.where(known, paper, given.largest_eigenvalue))

    def running_bias(self, memory: Memory) -> RunningBias | None:
        """The running bias of `bias`."""
        return self.bias.running_bias(self._bias_memory(memory))

    def _bias_memory(self, memory: Memory) -> Memory:
        return {name: array for name, array in memory.items() if name not in _OWN}
