"""EarlierTasks: what tasks that are no longer stored say about the mean task."""

from dataclasses import dataclass

import numpy as np
from scipy.special import chdtri

from headstart.arrays import Booleans, Floats
from headstart.kernels import FactorModel, ThinTasks
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.recent import RecentTasks
from headstart.priors.hierarchical.sums import Sums

# Rewards and information below this share of all tasks' are rounding errors.
_ROUNDING = 1e-9
# If a gap this large had a smaller probability by chance, the mean task has changed.
_CHANCE = 1e-5
# At most this many steps to find the variance of that change, and how close is enough.
_NEWTON_STEPS = 50
_CLOSE = 1e-9


@dataclass(frozen=True, eq=False)
class EarlierTasks:
    """An estimate of the mean task h along k directions E, from tasks that are no longer stored.

    Their thin form is gone, but subtracting the stored tasks from the sums over all tasks leaves
    sums over them. With G_j = M_jV_j, M̃ = Σ G_j and w̃ = Σ M_jb_j at λ = s²/σ², where σ² = τ² + tr
    LLᵀ/d is a coordinate's whole variance, M̃⁻¹w̃ is unbiased, as it is without directions, and has
    the covariance

        C = M̃⁻¹(σ²M̃ + Σ G_j LLᵀ G_j)M̃⁻¹

    at most: the mean variance along L counts twice. The second sum is estimated by the sum over the
    stored tasks, times the ratio of the traces of M̃. E are the eigenvectors of M̃ with data along
    them.
    """

    basis: Floats  # (d, k), E
    mean: Floats  # (k,), Eᵀh
    covariance: Floats  # (k, k), C

    @classmethod
    def of(
        cls, sums: Sums, regularizations: Floats, tasks: ThinTasks, model: FactorModel
    ) -> "EarlierTasks | None":
        """From one replication's sums over all tasks, and the stored tasks; None without others.

        If a stored task has data along more than 64 directions, what its thin form leaves out
        counts with the others.
        """
        dimension = tasks.designs.shape[-1]
        variance = model.task + float((model.loadings**2).sum()) / dimension
        first, shares = grid.neighbours(regularizations, model.noise / variance)
        low, high = regularizations[first : first + 2]
        inverses = shares[0] / (tasks.squares + low) + shares[1] / (tasks.squares + high)
        weights = tasks.weights[:, None] * inverses
        information, ridges = (
            shares[0] * sum_at[first] + shares[1] * sum_at[first + 1]
            for sum_at in (sums.information, sums.ridges)
        )
        stored, every = float((weights * tasks.squares).sum()), float(np.trace(information))
        if min(stored, every - stored) <= _ROUNDING * every:
            return None
        roots = np.sqrt(weights).reshape(-1)
        rows = roots[:, None] * tasks.designs.reshape(-1, dimension)
        information -= rows.T @ rows
        ridges -= (roots * tasks.rewards.reshape(-1)) @ rows
        values, vectors = np.linalg.eigh(information)
        known = values > _ROUNDING * every
        values, basis = values[known], vectors[:, known]
        # √w_j LᵀG_j of the stored tasks, one row per task and direction.
        scale = (np.sqrt(tasks.weights)[:, None] * inverses)[..., None]
        moved = (scale * (tasks.designs @ model.loadings)).mT @ tasks.designs
        along = moved.reshape(-1, dimension) @ (basis / values)
        covariance = (every - stored) / stored * along.T @ along
        covariance[np.diag_indices(len(values))] += variance / values
        return cls(basis, basis.T @ ridges / values, covariance)

    def added_to(self, mean: Floats, covariance: Floats) -> tuple[Floats, Floats]:
        """The mean task and its covariance given these tasks as well as the stored ones.

        With S̄ the covariance given the stored tasks, the gap g = M̃⁻¹w̃ − h has the covariance S̄
        + C, and h becomes h + S̄(S̄ + C)⁻¹g, written for E = I. If the gap is too large for that,
        the mean task has changed since by N(0, δ²I), and C + δ²I replaces C (`changed_by`).
        """
        spread = covariance @ self.basis
        values, vectors = np.linalg.eigh(self.basis.T @ spread + self.covariance)
        gap = vectors.T @ (self.mean - self.basis.T @ mean)
        values = values + changed_by(gap**2, values)
        rotated = spread @ vectors
        gain = rotated / values
        return mean + gain @ gap, covariance - gain @ rotated.T


def are_counted(sums: Sums, recent: RecentTasks) -> Booleans:
    """Where the sums count more rewards than the stored tasks have, (…)."""
    stored = (recent.weights * recent.counts).sum(-1)
    return np.asarray(sums.count - stored > _ROUNDING * sums.count)


def changed_by(squares: Floats, variances: Floats) -> float:
    """The variance δ² of a change of mean, from k squared gaps and their expected values.

    Q(δ²) = Σ squares/(variances + δ²) is a chi-square with k degrees of freedom if δ² is right. δ²
    is 0 unless Q(0) exceeds the limit l, which happens by chance once in 100,000 times. Then Q(δ²)
    = max(l²/Q(0), k): the expected value once Q(0) is far above (Paule and Mandel, 1982), and the
    limit itself at first, so that δ² does not jump. 1/Q is concave in δ², so Newton's steps for it
    approach the root from below.
    """
    size, total = len(squares), float((squares / variances).sum())
    limit, change = float(chdtri(size, _CHANCE)), 0.0
    if total <= limit:
        return change
    target = max(limit**2 / total, float(size))
    for _ in range(_NEWTON_STEPS):
        terms = squares / (variances + change)
        total = float(terms.sum())
        if total <= target * (1.0 + _CLOSE):
            break
        slope = float((terms / (variances + change)).sum())
        change += (total / target - 1.0) * total / slope
    return change
