"""KnownVariances: the hierarchical prior with given variances."""

from __future__ import annotations

from dataclasses import dataclass, fields

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.habits import hinted
from headstart.interfaces import Memory
from headstart.priors import _memories
from headstart.priors.hierarchical.grid import Weights
from headstart.priors.hierarchical.isotropic import Posterior
from headstart.priors.hierarchical.normal import regularization_from
from headstart.priors.hierarchical.sums import Sums


@hinted
@dataclass(frozen=True, kw_only=True)
class KnownVariances:
    """Learn the mean task h from w ~ N(h, τ²I), h ~ N(0, κ²I) and noise s², with all three given.

    With `BayesUCB` it is Bayes-UCB, with `Thompson` it is AdaTS (Basu et al., 2021). A baseline for
    `Hierarchical`, which learns the variances.

    Parameters
    ----------
    noise_variance, task_variance, mean_variance : float, default 1.0
        s², τ² and κ².

    Examples
    --------
    >>> prior = hs.priors.KnownVariances(noise_variance=1.0, task_variance=0.1, mean_variance=1.0)
    >>> task = hs.TaskStatistics.from_data(np.eye(2), [2.0, 0.0])
    >>> prior.prior(prior.absorb(prior.empty(2), task)).bias.round(3)
    array([0.952, 0.   ])
    """

    noise_variance: float = 1.0
    task_variance: float = 1.0
    mean_variance: float = 1.0

    def __post_init__(self) -> None:
        for field in fields(self):
            checks.positive(field.name, getattr(self, field.name))

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The sums of the hierarchical prior at one λ."""
        return Sums.zeros(dimension, 1, lead).to_memory()

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """Add the task to the sums."""
        sums = Sums.of_task(task, self._regularizations(memory))
        return _memories.add(memory, sums.to_memory(), weight)

    def scale(self, memory: Memory, factor: float) -> Memory:
        """Every task counts `factor` times as much."""
        return _memories.scale(memory, factor)

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """The sums over the tasks of both."""
        return _memories.merge(memory, other)

    def prior(self, memory: Memory) -> Prior:
        """N(h, τ²I + S̄)."""
        mean, mean_covariance = self.mean_posterior(memory)
        covariance = mean_covariance + self.task_variance * np.eye(mean.shape[-1])
        return Prior.trusted(
            mean,
            regularization_from(covariance, self.noise_variance),
            noise_scale=np.asarray(np.sqrt(self.noise_variance)),
        )

    def running_bias(self, memory: Memory) -> None:
        """None: a constant bias gives the same estimates as one refreshed within the task."""
        return

    def mean_posterior(self, memory: Memory) -> tuple[Floats, Floats]:
        """The mean (…, d) and covariance (…, d, d) of h given all completed tasks."""
        ratio = np.full((1, 1), self.task_variance / self.mean_variance)
        posterior = Posterior(Sums.from_memory(memory), self._regularizations(memory), ratio)
        one = np.ones((*memory["count"].shape, 1, 1))
        given = Weights(
            mean=one,
            scale=self.task_variance * one,
            noise_variance=self.noise_variance * one[..., 0, 0],
            task_variance=self.task_variance * one[..., 0, 0],
        )
        found = posterior.next_task(given)
        return found.mean, found.mean_covariance

    def _regularizations(self, memory: Memory) -> Floats:
        """λ = s²/τ² as a grid of one value, (…, 1)."""
        ratio = self.noise_variance / self.task_variance
        return np.full((*memory["count"].shape, 1), ratio)
