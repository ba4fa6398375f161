"""Hierarchical: the prior with learned variances."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.core.mixture import Mixture
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors import _sums
from headstart.priors._regularization import regularization_from
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.covariance import RecentTasks
from headstart.priors.hierarchical.normal import Normal
from headstart.priors.hierarchical.posterior import Posterior
from headstart.priors.hierarchical.sums import Sums

# Before any reward: ITL's λ, relative to the features' mean square once that is known.
_INITIAL_LAMBDA = 0.5
# The prior probability of the outlier component. It determines how much evidence an outlier takes:
# odds of a hundred to one.
_OUTLIER_PROBABILITY = 0.01
# Every task revises its prior where the components' variances differ by more than this factor.
_VARIANCE_RATIO = 2.0


@dataclass(frozen=True, eq=False)
class Variances:
    """The fitted variances, (…) each: noise s², between tasks τ², of their mean about zero κ²."""

    noise: Floats
    task: Floats
    mean: Floats


@dataclass(frozen=True, kw_only=True)
class Hierarchical:
    """Tasks w ~ N(h, Σ₀) with h ~ N(0, κ²I) and noise s², everything learned from completed tasks.

    The next task starts from N(h, Σ₀ + S̄), the posterior of its parameter, and from the noise
    scale. λ = s²/τ² and ρ = s²/κ² are averaged over their posterior on a grid rather than set to
    their most likely values, so that few tasks do not make it overconfident. For given λ and ρ the
    bias may stay constant within a task: refreshing it with the task's own rewards gives the same
    estimates. Whether tasks are alike, and whether this one is, is revised with the task's own
    rewards (`Mixture`).

    `covariance` is "isotropic", Σ₀ = τ²I, with a memory of constant size; or "full", for tasks that
    differ along few directions, fitted to the latest 64 tasks once there are five. With
    `intercept` the last feature is the constant 1 and its coefficient an offset of the rewards,
    brought to the scale of the other features.
    """

    covariance: Literal["isotropic", "full"] = "isotropic"
    intercept: bool = False
    n_side: int = 0

    def __post_init__(self) -> None:
        checks.count("n_side", self.n_side, least=0)
        checks.one_of("covariance", self.covariance, ("isotropic", "full"))

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The sums over no task, and no unit of λ yet."""
        memory = {"unit": np.zeros(lead)}
        memory |= Sums.zeros(dimension, len(grid.LAMBDAS), lead).to_memory()
        if self.covariance == "full":
            memory |= RecentTasks.zeros(dimension, lead).to_memory()
        return memory

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """Add the task to the sums of every λ. The first task with features sets λ's unit."""
        unit = self._unit(memory, task)
        scaled = self._scaled(task, unit)
        sums = Sums.of_task(scaled, grid.regularizations(unit)).to_memory()
        after = {"unit": unit} | _sums.add({name: memory[name] for name in sums}, sums, weight)
        if self.covariance == "full":
            recent = RecentTasks.from_memory(memory)
            if weight > 0.0:
                fit = self.variances(after)
                recent = recent.with_task(scaled, fit.task, fit.mean, fit.noise)
            else:
                recent = recent.without_task(scaled)
            after |= recent.to_memory()
        return after

    def scale(self, memory: Memory, factor: float) -> Memory:
        """Every task counts `factor` times as much in the sums; the latest 64 stay as they are."""
        sums = Sums.from_memory(memory).to_memory()
        return dict(memory) | _sums.scale(sums, factor)

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """The sums over the tasks of both, and the latest tasks of both in turn."""
        unit = np.where(memory["unit"] > 0.0, memory["unit"], other["unit"])
        one, two = (
            Sums.from_memory(each).shifted(grid.steps(each["unit"], unit)).to_memory()
            for each in (memory, other)
        )
        after = {"unit": unit} | _sums.merge(one, two)
        if self.covariance == "full":
            recent = RecentTasks.from_memory(memory).merged(RecentTasks.from_memory(other))
            after |= recent.to_memory()
        return after

    def prior(self, memory: Memory, side: Floats | None = None) -> Prior:
        """N(h, Σ₀ + S̄) and the noise scale; ITL's prior before any reward.

        Its mixture has three components: the posterior below and above the median of λ, that is
        tasks less and more alike, and an outlier.
        """
        posterior, weights = self._posterior(memory)
        lower, upper = (posterior.next_task(half) for half in grid.split_at_median(weights))
        whole = lower.moment_matched(upper)
        if self.covariance == "full":
            recent = RecentTasks.from_memory(memory)
            whole = recent.next_task(whole, self._variances(memory, posterior, weights).mean)
            lower, upper = (whole.where(recent.fitted, half) for half in (lower, upper))
        known, initial = whole.noise_variance > 0.0, self._initial(memory)
        # With x = Dx' the parameter is w = Dw', where D is 1 but for the intercept.
        factors = self._factors(memory["unit"], initial.mean.shape[-1])
        *components, start = (
            each.where(known, initial).scaled(factors)
            for each in (lower, upper, whole.outlier(), whole)
        )
        differ = known & (lower.average_variance > _VARIANCE_RATIO * upper.average_variance)
        return Prior.trusted(
            start.mean,
            regularization_from(start.covariance, start.noise_variance),
            noise_scale=np.sqrt(start.noise_variance),
            noise_degrees_of_freedom=np.where(known, memory["count"], 0.0),
            mixture=_mixture(components, components_differ=differ),
        )

    def running_bias(self, memory: Memory) -> None:
        """None: for given λ and ρ, a constant bias gives the same estimates as a refreshed one."""
        return

    def variances(self, memory: Memory) -> Variances:
        """The fitted variances: posterior means on the logarithmic scale; 0 before any reward."""
        return self._variances(memory, *self._posterior(memory))

    def _variances(self, memory: Memory, posterior: Posterior, weights: Floats) -> Variances:
        unit = np.where(memory["unit"] > 0.0, memory["unit"], 1.0)
        noise = posterior.noise_variance
        known = noise > 0.0
        logarithm = np.log(np.where(known, noise, 1.0))

        def mean(divisor: Floats | float) -> Floats:
            average = np.exp((weights * (logarithm - np.log(divisor))).sum((-2, -1)))
            return np.asarray(np.where(known.all((-2, -1)), average, 0.0))

        task, of_mean = mean(grid.LAMBDAS[:, None]), mean(grid.RHOS)
        return Variances(noise=mean(1.0), task=task / unit, mean=of_mean / unit)

    def _posterior(self, memory: Memory) -> tuple[Posterior, Floats]:
        regularizations = grid.regularizations(memory["unit"])
        posterior = Posterior(Sums.from_memory(memory), regularizations, grid.RATIOS)
        return posterior, grid.posterior_weights(posterior.deviance)

    def _initial(self, memory: Memory) -> Normal:
        """The distribution of a task before any reward."""
        unit = np.where(memory["unit"] > 0.0, memory["unit"], 1.0)
        dimension = memory["ridges"].shape[-1]
        covariance = np.eye(dimension) / (_INITIAL_LAMBDA * unit)[..., None, None]
        return Normal(np.zeros((*unit.shape, dimension)), covariance, np.ones(unit.shape))

    def _unit(self, memory: Memory, task: TaskStatistics) -> Floats:
        """The unit of λ from the mean ‖x‖² of the first task that has features, (…); 0 before."""
        diagonal = np.diagonal(task.gram, axis1=-2, axis2=-1)
        square = (diagonal[..., :-1] if self.intercept else diagonal).sum(-1)
        unit = grid.unit(square / np.maximum(task.count, 1.0))
        return np.where(memory["unit"] > 0.0, memory["unit"], unit)

    def _factors(self, unit: Floats, dimension: int) -> Floats:
        """The diagonal of D, (…, d), which gives the constant feature the norm of the others."""
        factors = np.ones((*unit.shape, dimension))
        if self.intercept:
            factors[..., -1] = np.sqrt(np.where(unit > 0.0, unit, 1.0))
        return factors

    def _scaled(self, task: TaskStatistics, unit: Floats) -> TaskStatistics:
        """The statistics of Dx."""
        if not self.intercept:
            return task
        factors = self._factors(unit, task.dimension)
        return checks.trusted(
            TaskStatistics,
            gram=factors[..., :, None] * task.gram * factors[..., None, :],
            moment=factors * task.moment,
            count=task.count,
            sum_of_squares=task.sum_of_squares,
        )


def _mixture(components: Sequence[Normal], components_differ: Booleans) -> Mixture:
    """The mixture of two equally likely components and an outlier, which comes last."""
    bias = np.stack([each.mean for each in components], -2)
    usual = (1.0 - _OUTLIER_PROBABILITY) / 2.0
    weights = np.array([usual, usual, _OUTLIER_PROBABILITY])
    return checks.trusted(
        Mixture,
        bias=bias,
        covariance=np.stack([each.covariance for each in components], -3),
        noise_scale=np.sqrt(np.stack([each.noise_variance for each in components], -1)),
        weights=np.array(np.broadcast_to(weights, bias.shape[:-1])),
        components_differ=components_differ,
    )
