"""FactorFit: the factor model of the latest tasks, w = Hz + Lf + ε, for every replication."""

from dataclasses import dataclass, fields

import numpy as np

from headstart.arrays import Booleans, Floats
from headstart.interfaces import Memory
from headstart.kernels import FactorModel, ThinTasks, expect
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.earlier import EarlierTasks, are_counted
from headstart.priors.hierarchical.isotropic import Variances
from headstart.priors.hierarchical.normal import Normal
from headstart.priors.hierarchical.recent import RecentTasks
from headstart.priors.hierarchical.selection import MAX_RANK, Limits, select
from headstart.priors.hierarchical.sums import Sums

# The number of tasks needed before anything beyond the isotropic prior is fitted.
MIN_TASKS = 4


# τ² of the next task at least, relative to the variance along the directions in which tasks differ.
_LEAST_VARIANCE = 1e-9


@dataclass(frozen=True, eq=False)
class Directions:
    """The directions along which tasks differ: how many, rank (…), and which, loadings (…, d, 8).

    `loadings` are columns of L in Σ₀ = τ²I + LLᵀ, orthogonal, largest first, and zero beyond the
    rank: a column is a direction times its standard deviation. `share` (…) is the part of the
    variance of tasks that is along them.
    """

    rank: Floats
    loadings: Floats
    share: Floats


@dataclass(frozen=True, eq=False)
class FactorFit:
    """The fitted models, (…) each: of rank 0, where nothing is fitted or nothing is shared.

    `side_variances` are 0 where side information is not used.
    """

    loadings: Floats  # (…, d, 8), L, columns of zeros beyond the rank
    rank: Floats  # (…)
    fitted_noise: Floats  # (…), s²; 0 before the first fit
    fitted_task: Floats  # (…), τ²
    fitted_mean: Floats  # (…), κ²
    fitted_along: Floats  # (…), ω
    side_variances: Floats  # (…, p)
    fitted_at: Floats  # (…), the number of tasks seen when it was fitted

    @classmethod
    def zeros(cls, dimension: int, lead: tuple[int, ...], n_side: int) -> "FactorFit":
        """Nothing fitted."""
        return cls(
            loadings=np.zeros((*lead, dimension, MAX_RANK)),
            rank=np.zeros(lead),
            fitted_noise=np.zeros(lead),
            fitted_task=np.zeros(lead),
            fitted_mean=np.zeros(lead),
            fitted_along=np.ones(lead),
            side_variances=np.zeros((*lead, n_side)),
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
        """Where tasks share directions, or side information is of use, (…)."""
        return np.asarray((self.rank > 0) | (self.side_variances > 0.0).any(-1))

    def where(self, condition: Booleans, otherwise: "FactorFit") -> "FactorFit":
        """Itself where the condition (…) holds, and elsewhere the other."""
        found = {}
        for field in fields(self):
            own, other = getattr(self, field.name), getattr(otherwise, field.name)
            axes = (None,) * (own.ndim - condition.ndim)
            found[field.name] = np.where(condition[(..., *axes)], own, other)
        return FactorFit(**found)

    def refitted(
        self,
        recent: RecentTasks,
        due: Booleans,
        *,
        initial: Variances | None,
        limits: Floats,
        rank: int,
    ) -> "FactorFit":
        """Fitted anew where it is due, (…), from the last fit or from initial variances (…).

        `limits` (…, 2) are the least and the most of λ.
        """
        found = FactorFit(**{name: array.copy() for name, array in self.to_memory().items()})
        # From no direction at all again whenever the number of tasks has grown by a factor of √2.
        octaves, now = (
            np.floor(2.0 * np.log2(np.maximum(seen, 1.0))) for seen in (self.fitted_at, recent.seen)
        )
        for i in map(tuple, np.argwhere(due)):
            tasks = thin_tasks(recent, i)
            model = self.model(i)
            if model.noise <= 0.0 and initial is not None:
                noise, task = float(initial.noise[i]), float(initial.task[i])
                means = np.array([initial.mean[i]])
                model = model._replace(noise=noise, task=task, means=means)
            most = min(rank, MAX_RANK, len(tasks.weights) - 1, tasks.designs.shape[-1])
            least, greatest = limits[i]
            bounds = Limits(float(least), float(greatest), most)
            selected = select(tasks, model, bounds, afresh=bool(now[i] > octaves[i]))
            found.fitted_at[i] = recent.seen[i]
            if selected is None:
                continue  # the last fit stays
            chosen = selected.model
            n_columns = chosen.loadings.shape[1]
            found.loadings[i] = 0.0
            found.loadings[i][:, :n_columns] = chosen.loadings
            found.rank[i] = n_columns
            found.fitted_noise[i], found.fitted_task[i] = chosen.noise, chosen.task
            found.fitted_mean[i], found.fitted_along[i] = chosen.means[0], chosen.along
            found.side_variances[i] = chosen.means[1:] if len(chosen.means) > 1 else 0.0
        return found

    def directions(self, scales: Floats) -> Directions:
        """The directions, with features of these scales (…, d)."""
        u, values, _ = np.linalg.svd(self.loadings, full_matrices=False)
        along = (values**2).sum(-1)
        total = along + self.fitted_task * self.loadings.shape[-2]
        loadings = np.zeros_like(self.loadings)
        loadings[..., : values.shape[-1]] = u * values[..., None, :]
        return Directions(
            rank=self.rank,
            loadings=scales[..., None] * loadings,
            share=np.where(total > 0.0, along / np.where(total > 0.0, total, 1.0), 0.0),
        )

    def model(self, i: tuple[int, ...]) -> FactorModel:
        """The model of one replication."""
        rank, side = int(self.rank[i]), self.side_variances[i]
        means = np.concatenate([self.fitted_mean[i][None], side[: len(side) * (side > 0.0).any()]])
        loadings = np.ascontiguousarray(self.loadings[i][:, :rank])
        return FactorModel(
            loadings,
            float(self.fitted_noise[i]),
            float(self.fitted_task[i]),
            means,
            float(self.fitted_along[i]),
        )

    def next_task(
        self,
        recent: RecentTasks,
        sums: Sums,
        regularizations: Floats,
        isotropic: Normal,
        side: Floats | None,
    ) -> Normal:
        """The next task where there is structure, given its side information; else isotropic.

        N(Hz, τ²I + LLᵀ + (1 + r)S̄): each column of L is as uncertain as the mean task is. Where
        z is unknown, the covariance of Hz over the tasks is added. Where side information is not
        used, the mean task and one S̄ are those given all tasks in the sums (`EarlierTasks`).
        """
        structured = self.structured & (recent.present > 0)
        if not structured.any():
            return isotropic
        mean, covariance = isotropic.mean.copy(), isotropic.covariance.copy()
        noise = np.array(isotropic.noise_variance)
        with_earlier = are_counted(sums, recent)
        for i in map(tuple, np.argwhere(structured)):
            model, tasks = self.model(i), thin_tasks(recent, i)
            n_regressors, dimension = len(model.means), mean.shape[-1]
            tasks = tasks._replace(
                regressors=np.ascontiguousarray(tasks.regressors[:, :n_regressors])
            )
            expected = expect(tasks, model)
            z = np.zeros(n_regressors)
            z[0] = 1.0
            if side is not None and n_regressors > 1:
                z[1:] = _standardised(recent, i, side[i])
            coefficients = expected.coefficients.reshape(n_regressors, dimension)
            blocks = expected.mean_covariance.reshape(
                n_regressors, dimension, n_regressors, dimension
            )
            own = np.einsum("a,b,aibj->ij", z, z, blocks) * (1.0 + model.loadings.shape[1])
            if side is None and n_regressors > 1:
                regressors = tasks.regressors[:, 1:]
                scatter = (tasks.weights[:, None] * regressors).T @ regressors
                scatter /= tasks.weights.sum()
                own += coefficients[1:].T @ scatter @ coefficients[1:]
                own += np.einsum("ab,aibj->ij", scatter, blocks[1:, :, 1:])
            mean[i] = z @ coefficients
            if n_regressors == 1 and with_earlier[i]:
                earlier = EarlierTasks.of(sums.at(i), regularizations[i], tasks, model)
                if earlier is not None:
                    mean[i], given_all = earlier.added_to(mean[i], expected.mean_covariance)
                    own += given_all - expected.mean_covariance
            covariance[i] = own + model.loadings @ model.loadings.T
            # Never so much less along one direction than along another that no digits are left.
            least = _LEAST_VARIANCE * np.trace(covariance[i])
            covariance[i] += max(model.task, least) * np.eye(dimension)
            covariance[i] = (covariance[i] + covariance[i].T) / 2.0
            # As on the grid of λ, tasks never explain more than its least λ lets them.
            size = tasks.squares.sum() / max(tasks.counts.sum(), 1.0)
            average = np.trace(covariance[i]) / dimension
            noise[i] = max(model.noise, grid.LAMBDAS[0] * size * average)
        return Normal(mean, covariance, noise)


def thin_tasks(recent: RecentTasks, i: tuple[int, ...]) -> ThinTasks:
    """The stored tasks of one replication; their regressors are 1 and standardised sides."""
    kept = np.flatnonzero(recent.weights[i] > 0.0)
    # Rows are in order: where no task has data, they are the last.
    designs = recent.designs[i][kept]
    n_rows = max(int(designs.any((0, 2)).sum()), 1)
    designs = np.ascontiguousarray(designs[:, :n_rows])
    squares = (designs**2).sum(-1)
    moments = (designs @ recent.moments[i][kept][..., None])[..., 0]
    known = squares > 0.0
    sides = _standardised(recent, i, recent.sides[i][kept])
    return ThinTasks(
        designs=designs,
        rewards=np.where(known, moments / np.where(known, squares, 1.0), 0.0),
        squares=squares,
        residuals=recent.residuals[i][kept],
        counts=recent.freedoms[i][kept] + known.sum(-1),
        weights=recent.weights[i][kept],
        regressors=np.concatenate([np.ones((len(kept), 1)), sides], -1),
    )


def _standardised(recent: RecentTasks, i: tuple[int, ...], side: Floats) -> Floats:
    """Side information (…, p) less its mean over the stored tasks, over its deviation there."""
    weights = recent.weights[i][:, None] / recent.weights[i].sum()
    mean = (weights * recent.sides[i]).sum(0)
    deviation = np.sqrt((weights * (recent.sides[i] - mean) ** 2).sum(0))
    varies = deviation > 1e-9 * np.abs(mean)
    return np.asarray(np.where(varies, (side - mean) / np.where(varies, deviation, 1.0), 0.0))
