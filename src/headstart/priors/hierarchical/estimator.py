"""Hierarchical: the prior that tunes itself."""

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
from headstart.priors.hierarchical import grid as _quadrature
from headstart.priors.hierarchical.covariance import Window
from headstart.priors.hierarchical.grid import LAMBDAS, RATIOS, RHOS
from headstart.priors.hierarchical.normal import Normal
from headstart.priors.hierarchical.sums import Posterior, Sums

# Before any reward: ITL's λ, relative to the features' mean square once that is known.
_COLD = 0.5
# The chance that a task is like none before. It only says how much evidence it takes: a hundred
# to one.
_STRANGE = 0.01
# Halves whose variances differ by more than this factor are worth telling apart in every task.
_WIDE = 2.0


@dataclass(frozen=True, eq=False)
class Components:
    """The fitted variances, (…) each: noise s², between tasks τ², of their mean about zero κ²."""

    noise: Floats
    task: Floats
    mean: Floats


@dataclass(frozen=True, kw_only=True)
class Hierarchical:
    """Tasks w ~ N(h, Σ₀) with h ~ N(0, κ²I) and noise s², everything learned from completed tasks.

    The next task starts from N(h, Σ₀ + S̄), the posterior of its parameter, and takes the noise
    scale along. λ = s²/τ² and ρ = s²/κ² are averaged over their posterior on a grid rather than
    set to their most likely values, so that few tasks do not make it overconfident. For given λ and
    ρ the bias may stand still within a task: refreshing it with the task's own rewards gives the
    same estimates. Whether tasks are alike, and whether this one is, the task's own rewards help to
    decide (`Mixture`).

    `covariance` is "isotropic", Σ₀ = τ²I, with a memory of constant size; or "full", for tasks that
    differ along few directions, fitted to the latest 64 tasks once there are five. With
    `intercept` the last feature is the constant 1 and its coefficient an offset of the rewards,
    brought to the scale of the other features.
    """

    covariance: Literal["isotropic", "full"] = "isotropic"
    intercept: bool = False

    def __post_init__(self) -> None:
        checks.one_of("covariance", self.covariance, ("isotropic", "full"))

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The sums over no task, and no unit of λ yet."""
        memory = {"unit": np.zeros(lead)}
        memory |= Sums.zeros(dimension, len(LAMBDAS), lead).as_memory()
        if self.covariance == "full":
            memory |= Window.zeros(dimension, lead).as_memory()
        return memory

    def absorb(self, memory: Memory, task: TaskStatistics) -> Memory:
        """Add the task to the sums of every λ. The first task with features sets λ's unit."""
        unit = self._unit(memory, task)
        scaled = self._scale(task, unit)
        sums = Sums.of(memory).plus(scaled, _quadrature.grid(unit))
        after = {"unit": unit} | sums.as_memory()
        if self.covariance == "full":
            fitted = self.components(after)
            after |= Window.of(memory).plus(scaled, fitted.task, fitted.mean, fitted.noise)
        return after

    def prior(self, memory: Memory) -> Prior:
        """N(h, Σ₀ + S̄) and the noise scale; ITL's prior before any reward.

        With it come the two halves of the posterior of λ, tasks less and more alike, and a
        stranger, so that a task's own rewards can decide between them.
        """
        posterior, weights = self._posterior(memory)
        one, two = (posterior.next_task(half) for half in _quadrature.halves(weights))
        whole = one.mixed(two)
        if self.covariance == "full":
            window, kappa = Window.of(memory), self._components(memory, posterior, weights).mean
            whole = window.refine(whole, kappa)
            one, two = (whole.where(window.fitted, half) for half in (one, two))
        known, blank = whole.noise > 0.0, self._blank(memory)
        # With x = Dx' the parameter is w = Dw', where D is 1 but for the intercept.
        own = self._units(memory["unit"], blank.mean.shape[-1])
        *parts, start = (
            part.where(known, blank).times(own) for part in (one, two, whole.stranger(), whole)
        )
        precision = start.noise[..., None, None] * np.linalg.inv(start.covariance)
        return Prior(
            start.mean,
            (precision + precision.mT) / 2.0,
            noise_scale=np.sqrt(start.noise),
            noise_degrees_of_freedom=np.where(known, memory["count"], 0.0),
            mixture=_mixture(parts, components_differ=known & (one.size > _WIDE * two.size)),
        )

    def _blank(self, memory: Memory) -> Normal:
        """What is believed before any reward."""
        unit = np.where(memory["unit"] > 0.0, memory["unit"], 1.0)
        dimension = memory["ridges"].shape[-1]
        covariance = np.eye(dimension) / (_COLD * unit)[..., None, None]
        return Normal(np.zeros((*unit.shape, dimension)), covariance, np.ones(unit.shape))

    def running_bias(self, memory: Memory) -> None:
        """No: for given λ and ρ, freezing it for the task equals refreshing it every round."""
        return

    def components(self, memory: Memory) -> Components:
        """The fitted variances: posterior means on the logarithmic scale; 0 before any reward."""
        return self._components(memory, *self._posterior(memory))

    def _components(self, memory: Memory, posterior: Posterior, weights: Floats) -> Components:
        unit = np.where(memory["unit"] > 0.0, memory["unit"], 1.0)
        noise = posterior.noise_variance
        known = noise > 0.0
        logarithm = np.log(np.where(known, noise, 1.0))

        def mean(divisor: Floats | float) -> Floats:
            average = np.exp((weights * (logarithm - np.log(divisor))).sum((-2, -1)))
            return np.asarray(np.where(known.all((-2, -1)), average, 0.0))

        task, about = mean(LAMBDAS[:, None]), mean(RHOS)
        return Components(noise=mean(1.0), task=task / unit, mean=about / unit)

    def _posterior(self, memory: Memory) -> tuple[Posterior, Floats]:
        grid = _quadrature.grid(memory["unit"])
        posterior = Posterior(Sums.of(memory), grid, RATIOS)
        return posterior, _quadrature.weights(posterior.deviance)

    def _unit(self, memory: Memory, task: TaskStatistics) -> Floats:
        """The mean of ‖x‖² over the first task that has features, (…); 0 before it."""
        diagonal = np.diagonal(task.gram, axis1=-2, axis2=-1)
        square = (diagonal[..., :-1] if self.intercept else diagonal).sum(-1)
        return np.where(memory["unit"] > 0.0, memory["unit"], square / np.maximum(task.count, 1.0))

    def _units(self, unit: Floats, dimension: int) -> Floats:
        """The diagonal of D, (…, d): the constant feature counts as large as the others' norm."""
        units = np.ones((*unit.shape, dimension))
        if self.intercept:
            units[..., -1] = np.sqrt(np.where(unit > 0.0, unit, 1.0))
        return units

    def _scale(self, task: TaskStatistics, unit: Floats) -> TaskStatistics:
        """The statistics of Dx."""
        if not self.intercept:
            return task
        own = self._units(unit, task.dimension)
        return TaskStatistics(
            gram=own[..., :, None] * task.gram * own[..., None, :],
            moment=own * task.moment,
            count=task.count,
            sum_of_squares=task.sum_of_squares,
        )


def _mixture(parts: Sequence[Normal], components_differ: Booleans) -> Mixture:
    """Equal chances to the halves, and a small one to the stranger."""
    bias = np.stack([part.mean for part in parts], -2)
    chances = np.array([(1.0 - _STRANGE) / 2.0, (1.0 - _STRANGE) / 2.0, _STRANGE])
    return Mixture(
        bias=bias,
        covariance=np.stack([part.covariance for part in parts], -3),
        noise_scale=np.sqrt(np.stack([part.noise for part in parts], -1)),
        weights=np.array(np.broadcast_to(chances, bias.shape[:-1])),
        components_differ=components_differ,
    )
