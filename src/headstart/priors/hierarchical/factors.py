"""FactorFit: the factor model of the latest tasks, w = Hz + Lf + ε, for every replication.

The tasks decide its rank, and whether side information counts. Models are compared by deviance + 2
× the number of parameters (AIC): d − k for the column of L after k others, one for ω, and one for
each variance of H's columns except the mean task's. Without ω, a direction could be found only
because it describes the mean task. Parameters of L count N/(N − φr) times, where φ = Σ tr(I +
λV_j⁻¹)⁻¹/(Nd) is the share of ε's variance that rewards determine. If tasks are known exactly, φ =
1: a few of them are never isotropic, and the largest direction among them gains more than its
parameters. If ε is lost in noise, φ = 0: nothing can be fitted.
"""

import math
from dataclasses import dataclass, fields
from functools import cached_property
from typing import ClassVar

import numpy as np

from headstart.arrays import Booleans, Floats
from headstart.interfaces import Memory
from headstart.kernels import (
    Expected,
    FactorModel,
    ThinTasks,
    climb,
    expect,
    new_direction,
    thin_rewards,
)
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.earlier import with_earlier
from headstart.priors.hierarchical.isotropic import IsotropicFit
from headstart.priors.hierarchical.normal import Normal
from headstart.priors.hierarchical.recent import RecentTasks

MAX_RANK = 8
# Steps from where the last fit ended, fewer if each takes a tenth of a second, and from a changed
# model.
_STEPS = 4
_LARGE, _STEPS_WHERE_LARGE = 256, 2
_TRIAL_STEPS = 10
# A new direction is tried if, added alone, it gains this share of what it must gain.
_PROMISING = 0.35
# If hardly any reward repeats what a task knows, directions may seem to explain the noise too. A
# fit that leaves less than this share of the isotropic model's noise is not used.
_FEW_FREEDOMS, _LEAST_NOISE = 0.1, 0.05
# The least τ² of the next task, relative to the variance along the directions of L.
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Directions:
    """The directions along which tasks differ: their number, rank (…), and loadings (…, d, 8).

    `loadings` are the columns of L in Σ₀ = τ²I + LLᵀ, orthogonal, largest first, and zero beyond
    the rank: a column is a direction times its standard deviation. `share` (…) is the share of the
    tasks' variance along them.
    """

    rank: Floats
    loadings: Floats
    share: Floats


@dataclass(frozen=True, eq=False)
class FactorFit:
    """The fitted models, (…) each; rank 0 if nothing is fitted or tasks share no direction.

    `about_variances` are 0 where side information is not used.
    """

    # The number of tasks needed before anything beyond the isotropic prior is fitted.
    MIN_TASKS: ClassVar[int] = 4

    loadings: Floats  # (…, d, 8), L, columns of zeros beyond the rank
    rank: Floats  # (…)
    fitted_noise: Floats  # (…), s²; 0 before the first fit
    fitted_task: Floats  # (…), τ²
    fitted_mean: Floats  # (…), κ²
    fitted_along: Floats  # (…), ω
    about_variances: Floats  # (…, p)
    fitted_at: Floats  # (…), the number of tasks seen when it was fitted

    @classmethod
    def zeros(cls, dimension: int, lead: tuple[int, ...], n_about: int) -> "FactorFit":
        """Nothing fitted."""
        return cls(
            loadings=np.zeros((*lead, dimension, MAX_RANK)),
            rank=np.zeros(lead),
            fitted_noise=np.zeros(lead),
            fitted_task=np.zeros(lead),
            fitted_mean=np.zeros(lead),
            fitted_along=np.ones(lead),
            about_variances=np.zeros((*lead, n_about)),
            fitted_at=np.zeros(lead),
        )

    @classmethod
    def from_memory(cls, memory: Memory) -> "FactorFit":
        """The fit among the arrays of a memory."""
        return cls(**{field.name: memory[field.name] for field in fields(cls)})

    def to_memory(self) -> dict[str, Floats]:
        """The fit as named arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def structured(self) -> Booleans:
        """Where tasks share directions, or side information helps, (…)."""
        return np.asarray((self.rank > 0) | (self.about_variances > 0.0).any(-1))

    def refitted(
        self, recent: RecentTasks, due: Booleans, isotropic: IsotropicFit, *, rank: int
    ) -> "FactorFit":
        """Fitted again where due, (…), from the last fit or from the isotropic variances.

        The rank is at most `rank`, and λ stays within the grid.
        """
        thin = recent.freedoms.sum(-1) < _FEW_FREEDOMS * recent.counts.sum(-1)
        begins = ((self.fitted_noise == 0.0) | thin)[due].any()
        initial = isotropic.most_likely() if begins else None
        limits = isotropic.regularizations[..., [0, -1]]
        fit = FactorFit(**{name: array.copy() for name, array in self.to_memory().items()})
        # Start again without directions whenever the number of tasks has grown by a factor of √2.
        octaves, now = (
            np.floor(2.0 * np.log2(np.maximum(seen, 1.0))) for seen in (self.fitted_at, recent.seen)
        )
        for i in map(tuple, np.argwhere(due)):
            tasks = thin_tasks(recent, i)
            model = self.model(i)
            if model.noise <= 0.0 and initial is not None:
                noise, task, mean = (float(variance[i]) for variance in initial)
                model = model._replace(noise=noise, task=task, means=np.array([mean]))
            most = min(rank, MAX_RANK, len(tasks.weights) - 1, tasks.designs.shape[-1])
            least, greatest = limits[i]
            bounds = Limits(float(least), float(greatest), most)
            selected = select(tasks, model, bounds, afresh=bool(now[i] > octaves[i]))
            fit.fitted_at[i] = recent.seen[i]
            if selected is None:
                continue  # the last fit stays
            chosen = selected.model
            if thin[i] and initial is not None and chosen.noise < _LEAST_NOISE * initial[0][i]:
                for array in (fit.rank, fit.loadings, fit.fitted_noise, fit.about_variances):
                    array[i] = 0.0
                continue
            n_columns = chosen.loadings.shape[1]
            fit.loadings[i] = 0.0
            fit.loadings[i][:, :n_columns] = chosen.loadings
            fit.rank[i] = n_columns
            fit.fitted_noise[i], fit.fitted_task[i] = chosen.noise, chosen.task
            fit.fitted_mean[i], fit.fitted_along[i] = chosen.means[0], chosen.along
            fit.about_variances[i] = chosen.means[1:] if len(chosen.means) > 1 else 0.0
        return fit

    def directions(self) -> Directions:
        """The directions along which tasks differ."""
        u, values, _ = np.linalg.svd(self.loadings, full_matrices=False)
        along = (values**2).sum(-1)
        total = along + self.fitted_task * self.loadings.shape[-2]
        loadings = np.zeros_like(self.loadings)
        loadings[..., : values.shape[-1]] = u * values[..., None, :]
        return Directions(
            rank=self.rank,
            loadings=loadings,
            share=np.where(total > 0.0, along / np.where(total > 0.0, total, 1.0), 0.0),
        )

    def model(self, i: tuple[int, ...]) -> FactorModel:
        """The model of one replication."""
        rank, about = int(self.rank[i]), self.about_variances[i]
        means = np.concatenate(
            [self.fitted_mean[i][None], about[: len(about) * (about > 0.0).any()]]
        )
        loadings = np.ascontiguousarray(self.loadings[i][:, :rank])
        return FactorModel(
            loadings,
            float(self.fitted_noise[i]),
            float(self.fitted_task[i]),
            means,
            float(self.fitted_along[i]),
        )

    def next_task(
        self, recent: RecentTasks, isotropic: IsotropicFit, whole: Normal, about: Floats | None
    ) -> Normal:
        """The next task where there is structure, given its side information; `whole` elsewhere.

        N(Hz, τ²I + LLᵀ + (1 + r)S̄): each column of L is as uncertain as the mean task. If z is
        unknown, the covariance of Hz over the tasks is added. If side information is not used, the
        mean task and one S̄ come from all tasks in the sums.
        """
        structured = self.structured & (recent.present > 0)
        if not structured.any():
            return whole
        mean, covariance = whole.mean.copy(), whole.covariance.copy()
        mean_covariance = whole.mean_covariance.copy()
        noise = np.array(whole.noise_variance)
        sums, regularizations = isotropic.sums, isotropic.regularizations
        for i in map(tuple, np.argwhere(structured)):
            model, tasks = self.model(i), thin_tasks(recent, i)
            n_regressors, dimension = len(model.means), mean.shape[-1]
            tasks = tasks._replace(
                regressors=np.ascontiguousarray(tasks.regressors[:, :n_regressors])
            )
            expected = expect(tasks, model)
            z = np.zeros(n_regressors)
            z[0] = 1.0
            if about is not None and n_regressors > 1:
                z[1:] = _standardised(recent, i, about[i])
            coefficients = expected.coefficients.reshape(n_regressors, dimension)
            blocks = expected.mean_covariance.reshape(
                n_regressors, dimension, n_regressors, dimension
            )
            mean_covariance[i] = np.einsum("a,b,aibj->ij", z, z, blocks)
            own = mean_covariance[i] * (1.0 + model.loadings.shape[1])
            if about is None and n_regressors > 1:
                regressors = tasks.regressors[:, 1:]
                scatter = (tasks.weights[:, None] * regressors).T @ regressors
                scatter /= tasks.weights.sum()
                own += coefficients[1:].T @ scatter @ coefficients[1:]
                own += np.einsum("ab,aibj->ij", scatter, blocks[1:, :, 1:])
            mean[i] = z @ coefficients
            if n_regressors == 1:
                mean[i], given_all = with_earlier(
                    mean[i], mean_covariance[i], sums.at(i), regularizations[i], tasks, model
                )
                own += given_all - mean_covariance[i]
                mean_covariance[i] = given_all
            covariance[i] = own + model.loadings @ model.loadings.T
            # Variances along two directions never differ so much that no digits are left.
            least = _LEAST_VARIANCE * np.trace(covariance[i])
            covariance[i] += max(model.task, least) * np.eye(dimension)
            covariance[i] = (covariance[i] + covariance[i].T) / 2.0
            noise[i] = grid.limited_noise(model.noise, tasks.squares, tasks.counts, covariance[i])
        return Normal(mean, covariance, noise, mean_covariance)


def thin_tasks(recent: RecentTasks, i: tuple[int, ...]) -> ThinTasks:
    """The stored tasks of one replication; their regressors are 1 and standardised abouts."""
    weights = recent.weights[i]
    designs, rewards, squares = thin_rewards(recent.designs[i], recent.moments[i], weights)
    kept = weights > 0.0
    regressors = np.ones((len(designs), 1 + recent.abouts.shape[-1]))
    if recent.abouts.shape[-1]:
        regressors[:, 1:] = _standardised(recent, i, recent.abouts[i][kept])
    return ThinTasks(
        designs=designs,
        rewards=rewards,
        squares=squares,
        residuals=recent.residuals[i][kept],
        counts=recent.freedoms[i][kept] + (squares > 0.0).sum(-1),
        weights=weights[kept],
        regressors=regressors,
    )


def _standardised(recent: RecentTasks, i: tuple[int, ...], about: Floats) -> Floats:
    """Side information (…, p), centred and scaled by its moments over the stored tasks."""
    weights = recent.weights[i][:, None] / recent.weights[i].sum()
    mean = (weights * recent.abouts[i]).sum(0)
    deviation = np.sqrt((weights * (recent.abouts[i] - mean) ** 2).sum(0))
    varies = deviation > 1e-9 * np.abs(mean)
    return np.asarray(np.where(varies, (about - mean) / np.where(varies, deviation, 1.0), 0.0))


@dataclass(frozen=True)
class Limits:
    """The smallest and largest λ, and the largest rank."""

    least: float
    most: float
    rank: int


@dataclass(frozen=True, eq=False)
class Candidate:
    """A model fitted to tasks, and what it expects of them."""

    tasks: ThinTasks
    model: FactorModel
    expected: Expected

    @property
    def rank(self) -> int:
        """The number of directions, r."""
        return int(self.model.loadings.shape[1])

    @cached_property
    def criterion(self) -> float:
        """Deviance + 2 × the number of parameters."""
        return float(self.expected.deviance + self.penalty(self.rank) + self._variances(self.rank))

    def deviance_needed(self, rank: int) -> float:
        """The deviance below which a model of this rank is better than this one."""
        return self.criterion - 2.0 * self._parameters(rank) - self._variances(rank)

    def penalty(self, rank: int) -> float:
        """Twice the number of parameters of an L of this rank, corrected for few tasks."""
        n = self._n_tasks
        return 2.0 * self._parameters(rank) * n / (n - self._share * rank) if n > rank else np.inf

    def _parameters(self, rank: int) -> int:
        return rank * int(self.tasks.designs.shape[-1]) - rank * (rank - 1) // 2

    def _variances(self, rank: int) -> float:
        """Twice the number of variances beyond those of the isotropic model."""
        return 2.0 * (int(self.tasks.regressors.shape[-1]) - 1 + (rank > 0))

    @cached_property
    def _n_tasks(self) -> float:
        return float(self.tasks.weights.sum())

    @cached_property
    def _share(self) -> float:
        """The share of ε's variance that rewards determine, φ."""
        squares, dimension = self.tasks.squares, int(self.tasks.designs.shape[-1])
        determined = squares / (squares + self.model.noise / self.model.task)
        return float(self.tasks.weights @ determined.sum(-1)) / (self._n_tasks * dimension)


def fitted(
    tasks: ThinTasks, model: FactorModel, limits: Limits, steps: int, target: float = np.inf
) -> Candidate | None:
    """The model after this many steps; None if no digits are left to fit it with.

    It stops earlier if the deviance is not going to fall below a target.
    """
    try:
        found, expected = climb(tasks, model, steps, limits.least, limits.most, target)
    except np.linalg.LinAlgError:
        return None
    is_sound = math.isfinite(expected.deviance + found.noise + found.task)
    is_sound = is_sound and bool(np.isfinite(found.loadings).all())
    is_sound = is_sound and bool(np.isfinite(expected.gradients).all())
    return Candidate(tasks, found, expected) if is_sound else None


def select(
    tasks: ThinTasks, model: FactorModel, limits: Limits, *, afresh: bool
) -> Candidate | None:
    """The best model near the last one, with more directions or one less; None if there is none.

    `tasks` have the side information among their regressors; a model without it has one mean. With
    `afresh` it is also compared with a model grown from no direction.
    """
    n_regressors = tasks.regressors.shape[-1]
    plain = tasks._replace(regressors=np.ascontiguousarray(tasks.regressors[:, :1]))
    used = tasks if len(model.means) == n_regressors else plain
    steps = _STEPS if tasks.designs.shape[-1] < _LARGE else _STEPS_WHERE_LARGE
    nearest = _resized(fitted(used, model, limits, steps), limits)
    candidates = [nearest]
    best = model if nearest is None else nearest.model
    start = _shortened(best, 0)
    if nearest is None or (afresh and nearest.rank):
        candidates.append(_resized(fitted(used, start, limits, _TRIAL_STEPS), limits))
    if n_regressors > 1:
        other = plain if used is tasks else tasks
        about = np.full(other.regressors.shape[-1] - 1, start.task)
        start = start._replace(means=np.concatenate([start.means[:1], about]))
        candidates.append(_resized(fitted(other, start, limits, _TRIAL_STEPS), limits))
    sound = [candidate for candidate in candidates if candidate is not None]
    return min(sound, key=lambda candidate: candidate.criterion, default=None)


def _resized(start: Candidate | None, limits: Limits) -> Candidate | None:
    return None if start is None else resized(start, limits)


def resized(start: Candidate, limits: Limits) -> Candidate:
    """With new directions as long as the criterion falls, or without the smallest one."""
    best = start
    while best.rank < limits.rank:
        longer = _grown(best, limits)
        if longer is None or longer.criterion >= best.criterion:
            break
        best = longer
    if best is start and best.rank:
        model, target = _shortened(best.model, best.rank - 1), best.deviance_needed(best.rank - 1)
        shorter = fitted(best.tasks, model, limits, _TRIAL_STEPS, target)
        if shorter is not None and shorter.criterion < best.criterion:
            best = shorter
    return best


def _grown(best: Candidate, limits: Limits) -> Candidate | None:
    """With one more direction; None if it would gain too little."""
    try:
        direction, gain = new_direction(best.tasks, best.expected)
    except np.linalg.LinAlgError:
        return None
    needed = best.penalty(best.rank + 1) - best.penalty(best.rank)
    if gain < _PROMISING * needed:
        return None
    loadings = np.column_stack([best.model.loadings, direction])
    model = best.model._replace(loadings=np.ascontiguousarray(loadings))
    return fitted(best.tasks, model, limits, _TRIAL_STEPS, best.deviance_needed(best.rank + 1))


def _shortened(model: FactorModel, rank: int) -> FactorModel:
    """The model with L's largest principal directions; τ²I takes the others' variance.

    Likewise κ²I takes the mean task's variance along them, so that the fit has little to do.
    """
    u, values, _ = np.linalg.svd(model.loadings, full_matrices=False)
    lost = float((values[rank:] ** 2).sum()) / len(u)
    means = model.means.copy()
    means[0] += model.along * lost
    return model._replace(
        loadings=np.ascontiguousarray(u[:, :rank] * values[:rank]),
        task=model.task + lost,
        means=means,
        along=model.along if rank else 1.0,
    )
