"""Hierarchical: the prior that tunes itself."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from headstart import checks
from headstart.interfaces import Memory
from headstart.mixture import Mixture
from headstart.priors import _quadrature
from headstart.priors._covariance import Window
from headstart.priors._quadrature import LAMBDAS, RATIOS, RHOS
from headstart.priors._reml import Posterior, Sums
from headstart.ridge import Prior
from headstart.statistics import TaskStatistics

Floats = NDArray[np.float64]

# A task's mean (…, d) and covariance (…, d, d), and the noise variance (…).
_Normal = tuple[Floats, Floats, Floats]

# Before any reward: ITL's λ, relative to the features' mean square once that is known.
_COLD = 0.5
# The chance that a task is like none before. It only says how much evidence it takes: a hundred
# to one.
_STRANGE = 0.01


def _normal(posterior: Posterior, weights: Floats) -> _Normal:
    """The moments of the next task under weights of λ and ρ, and the noise variance."""
    noise = (weights * posterior.noise_variance).sum((-2, -1))
    return (*posterior.moments(weights), noise)


def _even(one: _Normal, two: _Normal) -> _Normal:
    """The moments of the two, mixed half and half."""
    gap = (one[0] - two[0]) / 2.0
    between = gap[..., :, None] * gap[..., None, :]
    return (one[0] + two[0]) / 2.0, (one[1] + two[1]) / 2.0 + between, (one[2] + two[2]) / 2.0


def _stranger(bias: Floats, covariance: Floats, noise: Floats) -> _Normal:
    """A task of the size that tasks have, of which nothing else is known, not even its sign.

    E wwᵀ of the prior's own tasks, half of it spread over all directions: it may lie along the mean
    task, or anywhere.
    """
    moment = covariance + bias[..., :, None] * bias[..., None, :]
    dimension = bias.shape[-1]
    size = np.trace(moment, axis1=-2, axis2=-1) / dimension
    even = size[..., None, None] * np.eye(dimension)
    return np.zeros_like(bias), even + moment, noise


def _where(known: NDArray[np.bool_], yes: _Normal, no: _Normal) -> _Normal:
    """One or the other, (…)."""
    return (
        np.where(known[..., None], yes[0], no[0]),
        np.where(known[..., None, None], yes[1], no[1]),
        np.where(known, yes[2], no[2]),
    )


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
    set to their most likely values, so that few tasks do not make it overconfident. The bias
    stands still within a task: refreshing it with the task's own rewards gives the same estimates.

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

        With it come the two halves of the posterior of λ, tasks more and less alike, and a
        stranger, so that a task's own rewards can decide between them.
        """
        posterior, weights = self._posterior(memory)
        if self.covariance == "full":
            kappa = self._components(memory, posterior, weights).mean
            whole = Window.of(memory).refine(*_normal(posterior, weights), kappa)
            parts = [whole]
        else:
            one, two = _quadrature.halves(weights)
            parts = [_normal(posterior, one), _normal(posterior, two)]
            whole = _even(*parts)
        known = whole[2] > 0.0
        blank = self._blank(memory)
        parts = [_where(known, part, blank) for part in (*parts, _stranger(*whole), whole)]
        return self._in_units(memory, parts, known)

    def _in_units(self, memory: Memory, parts: list[_Normal], known: NDArray[np.bool_]) -> Prior:
        """The prior, the last of the parts, with the others as its mixture."""
        # With x = Dx' the parameter is w = Dw', where D is 1 but for the intercept.
        own = self._units(memory["unit"], parts[0][0].shape[-1])
        turned = own[..., :, None] * own[..., None, :]
        *opinions, (bias, covariance, noise) = parts
        share = (1.0 - _STRANGE) / (len(opinions) - 1)
        chances = np.array([share] * (len(opinions) - 1) + [_STRANGE])
        mixture = Mixture(
            bias=np.stack([own * part[0] for part in opinions], -2),
            covariance=np.stack([turned * part[1] for part in opinions], -3),
            noise_scale=np.sqrt(np.stack([part[2] for part in opinions], -1)),
            weights=np.array(np.broadcast_to(chances, (*noise.shape, len(opinions)))),
        )
        precision = noise[..., None, None] * np.linalg.inv(turned * covariance)
        return Prior(
            own * bias,
            (precision + precision.mT) / 2.0,
            noise_scale=np.sqrt(noise),
            noise_rounds=np.where(known, memory["count"], 0.0),
            mixture=mixture,
        )

    def _blank(self, memory: Memory) -> _Normal:
        """What is believed before any reward."""
        unit = np.where(memory["unit"] > 0.0, memory["unit"], 1.0)
        dimension = memory["ridges"].shape[-1]
        covariance = np.eye(dimension) / (_COLD * unit)[..., None, None]
        return np.zeros((*unit.shape, dimension)), covariance, np.ones(unit.shape)

    def follow(self, memory: Memory) -> None:
        """It stands still: freezing it for the task equals refreshing it every round."""
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
            energy=task.energy,
        )
