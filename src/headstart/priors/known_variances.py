"""KnownVariances: the hierarchical prior of somebody who was told the variances."""

from dataclasses import dataclass, fields

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors.hierarchical.sums import Posterior, Sums


@dataclass(frozen=True, kw_only=True)
class KnownVariances:
    """Learn the mean task alone, from w ~ N(h, τ²I), h ~ N(0, κ²I) and noise s², all three given.

    With `BayesUCB` it is Bayes-UCB, with `Thompson` it is AdaTS (Basu et al., 2021). A yardstick
    for `Hierarchical`, which is told nothing.
    """

    noise_variance: float = 1.0
    task_variance: float = 1.0
    mean_variance: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            checks.positive(field.name, getattr(self, field.name))

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The sums of the hierarchical prior at one λ."""
        return Sums.zeros(dimension, 1, lead).as_memory()

    def absorb(self, memory: Memory, task: TaskStatistics) -> Memory:
        """Add the task to the sums."""
        return Sums.of(memory).plus(task, self._grid(memory)).as_memory()

    def prior(self, memory: Memory) -> Prior:
        """N(h, τ²I + S̄)."""
        mean, spread = self.mean_posterior(memory)
        covariance = spread + self.task_variance * np.eye(mean.shape[-1])
        precision = self.noise_variance * np.linalg.inv(covariance)
        scale = np.asarray(np.sqrt(self.noise_variance))
        return Prior(mean, (precision + precision.mT) / 2.0, noise_scale=scale)

    def running_bias(self, memory: Memory) -> None:
        """It stands still: freezing it for the task equals refreshing it every round."""
        return

    def mean_posterior(self, memory: Memory) -> tuple[Floats, Floats]:
        """The mean (…, d) and covariance (…, d, d) of h given all completed tasks."""
        ratio = np.full((1, 1), self.task_variance / self.mean_variance)
        posterior = Posterior(Sums.of(memory), self._grid(memory), ratio)
        return posterior.mean()[..., 0, 0, :], self.task_variance * posterior.spread()[
            ..., 0, 0, :, :
        ]

    def _grid(self, memory: Memory) -> Floats:
        ratio = self.noise_variance / self.task_variance
        return np.full((*memory["count"].shape, 1), ratio)
