"""Hierarchical: the prior with learned variances."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.habits import hinted
from headstart.interfaces import Memory
from headstart.priors import _memories
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.factors import MAX_RANK, Directions, FactorFit
from headstart.priors.hierarchical.isotropic import IsotropicFit
from headstart.priors.hierarchical.normal import Normal, mixture
from headstart.priors.hierarchical.recent import RecentTasks
from headstart.priors.hierarchical.sums import Spectrum, Sums

# Before any reward: ITL's λ, relative to the features' mean square once that is known.
_INITIAL_LAMBDA = 0.5
# Every task revises its prior if the components' variances differ by more than this factor.
_VARIANCE_RATIO = 2.0
# The latest tasks are fitted again once there are an eighth more of them, or at the latest once a
# quarter of the stored tasks are new.
_REFIT_SHARE = 8.0
_LATEST_SHARE = 4.0


@hinted
@dataclass(frozen=True, kw_only=True)
class Hierarchical:
    """Tasks w ~ N(h, Σ₀) with h ~ N(0, κ²I) and noise s², everything learned from completed tasks.

    The next task starts from N(h, Σ₀ + S̄), the posterior of its parameter, and from the noise
    scale. λ = s²/τ² and ρ = s²/κ² are averaged over their posterior on a grid rather than set to
    their most likely values, so that few tasks do not make the prior overconfident. For given λ and
    ρ the bias may stay constant within a task: refreshing it with the task's own rewards gives the
    same estimates. The task's own rewards revise how alike tasks are, and whether this one is like
    the others (`Mixture`).

    Parameters
    ----------
    covariance : {"factor", "isotropic"}, default "factor"
        "factor" is Σ₀ = τ²I + LLᵀ, with as many directions L as the latest 64 tasks support,
        possibly none; "isotropic" is Σ₀ = τ²I. The mean is over all tasks.
    n_about : int, default 0
        p: tasks carry side information z (p,), and their mean is h + Hz if that predicts them
        better (the latest 256 tasks decide).

    Examples
    --------
    >>> prior = hs.priors.Hierarchical()
    >>> memory, rng = prior.empty(3), np.random.default_rng(0)
    >>> for _ in range(20):
    ...     x, w = rng.normal(size=(30, 3)), rng.normal([1.0, 0.0, -1.0], 0.1)
    ...     task = hs.TaskStatistics.from_data(x, x @ w + rng.normal(0, 0.5, 30))
    ...     memory = prior.absorb(memory, task)
    >>> prior.prior(memory).bias.round(1)
    array([ 0.9, -0. , -1. ])
    >>> round(float(prior.prior(memory).noise_scale), 1)
    0.5
    """

    covariance: Literal["factor", "isotropic"] = "factor"
    n_about: int = 0
    # The mean task explains at least this many times the variance of the noise; set in live use.
    _least_signal: float = 0.0

    def __post_init__(self) -> None:
        checks.one_of("covariance", self.covariance, ("factor", "isotropic"))
        checks.count("n_about", self.n_about, least=0)

    @property
    def _stores_tasks(self) -> bool:
        return self.covariance == "factor" or self.n_about > 0

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """Empty sums, without a unit of λ."""
        memory = {"unit": np.zeros(lead)}
        memory |= Sums.zeros(dimension, len(grid.LAMBDAS), lead).to_memory()
        if self._stores_tasks:
            memory |= RecentTasks.zeros(dimension, lead, n_about=self.n_about).to_memory()
            memory |= FactorFit.zeros(dimension, lead, self.n_about).to_memory()
        return memory

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """Add the task to the sums of every λ. The first task with features sets λ's unit."""
        about = None if task.about is None else task.about[..., None, :]
        one = replace(
            task,
            gram=task.gram[..., None, :, :],
            moment=task.moment[..., None, :],
            count=task.count[..., None],
            sum_of_squares=task.sum_of_squares[..., None],
            about=about,
        )
        return self._refitted(self._added(memory, one, weight))

    def recount(self, memory: Memory, before: TaskStatistics, after: TaskStatistics) -> Memory:
        """The memory with tasks replaced by others, both (…, k), with one fit at the end."""
        return self._refitted(self._added(self._added(memory, before, -1.0), after, 1.0))

    def _added(self, memory: Memory, tasks: TaskStatistics, weight: float) -> Memory:
        """The memory with a stack of tasks (…, k), without a new fit."""
        self._check_about(tasks.about, tasks.lead)
        if not tasks.count.size:
            return memory
        unit = _unit(memory, tasks)
        spectrum = Spectrum.of(tasks)
        regularizations = grid.regularizations(unit)[..., None, :]
        sums = Sums.of_task(tasks, regularizations, spectrum).over_tasks()
        after = dict(memory) | {"unit": unit} | _memories.add(memory, sums.to_memory(), weight)
        if self._stores_tasks:
            recent = RecentTasks.from_memory(memory)
            if weight > 0.0:
                recent = recent.with_tasks(tasks, weight, spectrum)
            else:
                recent = recent.without_tasks(tasks)
            after |= recent.to_memory()
        return after

    def scale(self, memory: Memory, factor: float) -> Memory:
        """Every task counts `factor` times as much."""
        after = dict(memory) | _memories.scale(Sums.from_memory(memory).to_memory(), factor)
        if self._stores_tasks:
            after |= RecentTasks.from_memory(memory).scaled(factor).to_memory()
        return after

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """The sums over the tasks of both, the latest tasks of both in turn, and a fit to them.

        The fit starts from the fit of the memory that has seen more tasks.
        """
        unit = np.where(memory["unit"] > 0.0, memory["unit"], other["unit"])
        one, two = (
            Sums.from_memory(part).shifted(grid.steps(part["unit"], unit)).to_memory()
            for part in (memory, other)
        )
        after: dict[str, Floats] = {"unit": unit} | _memories.merge(one, two)
        if not self._stores_tasks:
            return after
        after |= RecentTasks.from_memory(memory).merged(RecentTasks.from_memory(other)).to_memory()
        more = memory["seen"] >= other["seen"]
        for name, array in FactorFit.from_memory(memory).to_memory().items():
            own_axes = (None,) * (array.ndim - more.ndim)
            after[name] = np.where(more[(..., *own_axes)], array, other[name])
        return self._refitted(after)

    def refit(self, memory: Memory) -> Memory:
        """The memory with a fresh fit, which does not depend on tasks that were subtracted."""
        if not self._stores_tasks:
            return memory
        lead, dimension = memory["unit"].shape, memory["ridges"].shape[-1]
        nothing = FactorFit.zeros(dimension, lead, self.n_about)
        return self._refitted(dict(memory) | nothing.to_memory())

    def prior(self, memory: Memory, about: Floats | None = None) -> Prior:
        """N(h, Σ₀ + S̄) and the noise scale, given side information (…, p); None: unknown.

        ITL's prior before any reward. Its mixture has three components: the posterior below and
        above the median of λ, that is, tasks less and more alike, and an outlier.
        """
        if about is not None:
            self._check_about(about, memory["unit"].shape)
        initial = self._initial(memory)
        if not (memory["count"] > 0.0).any():  # the same, without d³ work
            none = np.zeros(memory["unit"].shape)
            return initial.prior(
                noise_degrees_of_freedom=none, mixture=mixture(initial, initial, initial, none > 0)
            )
        around, centre = _centred(memory)
        lower, upper, whole = self._next_task(around, about, initial)
        known = whole.noise_variance > 0.0
        differ = known & (lower.average_variance > _VARIANCE_RATIO * upper.average_variance)
        lower, upper, outlier, start = (
            normal.moved(centre).where(known, initial)
            for normal in (lower, upper, whole.outlier(), whole)
        )
        return start.prior(
            noise_degrees_of_freedom=np.where(known, memory["count"], 0.0),
            mixture=mixture(lower, upper, outlier, differ),
        )

    def _next_task(
        self, memory: Memory, about: Floats | None, initial: Normal
    ) -> tuple[Normal, Normal, Normal]:
        """The next task below and above the median of λ, and on the whole."""
        isotropic = IsotropicFit(memory, self._least_signal)
        if not self._stores_tasks:
            lower, upper = isotropic.halves()
            return lower, upper, lower.moment_matched(upper)
        recent, fit = RecentTasks.from_memory(memory), FactorFit.from_memory(memory)
        if (fit.structured & (recent.present > 0)).all():
            # The isotropic prior is not needed, and at d = 500 it takes most of the time.
            whole = fit.next_task(recent, isotropic, initial, about)
            return whole, whole, whole
        lower, upper = isotropic.halves()
        whole = fit.next_task(recent, isotropic, lower.moment_matched(upper), about)
        lower, upper = (whole.where(fit.structured, half) for half in (lower, upper))
        return lower, upper, whole

    def _refitted(self, memory: Memory) -> dict[str, Floats]:
        """The memory with its fit to the latest tasks brought up to date where due."""
        if not self._stores_tasks:
            return dict(memory)
        around, _ = _centred(memory)
        recent, fit = RecentTasks.from_memory(around), FactorFit.from_memory(memory)
        wait = np.clip(recent.seen // _REFIT_SHARE, 1.0, recent.capacity / _LATEST_SHARE)
        due = (recent.seen - fit.fitted_at >= wait) & (recent.present >= fit.MIN_TASKS)
        due &= memory["sum_of_squares"] > 0.0
        if not due.any():
            return dict(memory)
        isotropic = IsotropicFit(around, self._least_signal)
        rank = MAX_RANK if self.covariance == "factor" else 0
        return dict(memory) | fit.refitted(recent, due, isotropic, rank=rank).to_memory()

    def running_bias(self, memory: Memory) -> None:
        """None: for given λ and ρ, a constant bias gives the same estimates as a refreshed one."""
        return

    def directions(self, memory: Memory) -> Directions:
        """The directions along which tasks differ, with covariance "factor"."""
        if self.covariance != "factor":
            raise ValueError(f'covariance must be "factor" for directions, got {self.covariance!r}')
        return FactorFit.from_memory(memory).directions()

    def _initial(self, memory: Memory) -> Normal:
        """The distribution of a task before any reward."""
        unit = np.where(memory["unit"] > 0.0, memory["unit"], 1.0)
        dimension = memory["ridges"].shape[-1]
        covariance = np.eye(dimension) / (_INITIAL_LAMBDA * unit)[..., None, None]
        mean = np.zeros((*unit.shape, dimension))
        return Normal(mean, covariance, np.ones(unit.shape), mean_covariance=covariance)

    def _check_about(self, about: Floats | None, lead: tuple[int, ...]) -> None:
        """Raise unless the side information is (…, p); it is ignored if p is 0."""
        if self.n_about == 0:
            return
        if about is None:
            raise ValueError(
                f"tasks must have {self.n_about} numbers of side information, got none"
            )
        checks.about("about", about, lead, self.n_about)


def _centred(memory: Memory) -> tuple[Memory, Floats]:
    """The memory of rewards less a constant part, if they have one, and its weight (…, d)."""
    sums, regularizations = Sums.from_memory(memory), grid.regularizations(memory["unit"])
    centre = sums.centre(regularizations)
    if not centre.any():
        return memory, centre
    around = dict(memory) | sums.around(centre, regularizations).to_memory()
    if "designs" in memory:
        around |= RecentTasks.from_memory(memory).around(centre).to_memory()
    return around, centre


def _unit(memory: Memory, tasks: TaskStatistics) -> Floats:
    """The unit of λ, from the mean ‖x‖² of the first tasks with features, (…); 0 before."""
    square = np.trace(tasks.gram, axis1=-2, axis2=-1).sum(-1)
    unit = grid.unit(square / np.maximum(tasks.count.sum(-1), 1.0))
    return np.where(memory["unit"] > 0.0, memory["unit"], unit)
