"""IsotropicFit: what the sums over tasks say where Σ₀ = τ²I, averaged over the variances."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from headstart.arrays import Floats
from headstart.interfaces import Memory
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.normal import Normal
from headstart.priors.hierarchical.posterior import Posterior
from headstart.priors.hierarchical.sums import Sums


@dataclass(frozen=True, eq=False)
class Variances:
    """The fitted variances, (…) each: noise s², between tasks τ², of their mean about zero κ²."""

    noise: Floats
    task: Floats
    mean: Floats


class IsotropicFit:
    """The posterior of λ = s²/τ² and ρ = s²/κ² that a memory gives, computed when it is needed."""

    def __init__(self, memory: Memory) -> None:
        self._sums, self._unit = Sums.from_memory(memory), memory["unit"]

    @cached_property
    def _posterior(self) -> Posterior:
        return Posterior(self._sums, grid.regularizations(self._unit), grid.RATIOS)

    @cached_property
    def _weights(self) -> Floats:
        dimension = self._sums.ridges.shape[-1]
        return grid.posterior_weights(
            self._posterior.deviance, self._posterior.traces() / dimension
        )

    def _averaged(self, weights: Floats) -> grid.Weights:
        posterior = self._posterior
        return grid.Weights.gathered(
            weights, posterior.noise_variance, posterior.traces(), self._unit
        )

    def halves(self) -> tuple[Normal, Normal]:
        """The next task below and above the median of λ: tasks less and more alike."""
        lower, upper = (
            self._posterior.next_task(self._averaged(half))
            for half in grid.split_at_median(self._weights)
        )
        return lower, upper

    def expected(self) -> Variances:
        """The posterior means of s² and τ², and the most likely κ²."""
        average = self._averaged(self._weights)
        return Variances(average.noise_variance, average.task_variance, self.most_likely().mean)

    def most_likely(self) -> Variances:
        """The most likely variances, by restricted maximum likelihood; 0 before any reward."""
        unit = np.where(self._unit > 0.0, self._unit, 1.0)
        posterior = self._posterior
        noise, task, mean = grid.most_likely(posterior.deviance, posterior.noise_variance)
        return Variances(noise=noise, task=task / unit, mean=mean / unit)
