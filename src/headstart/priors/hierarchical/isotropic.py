"""The isotropic prior, Σ₀ = τ²I, from the sums over tasks, averaged over the variances.

Written in λ = s²/τ² and ρ = s²/κ², which do not depend on the rewards' unit. Shapes: … leading
axes, G values of λ, P values of ρ.
"""

from functools import cached_property

import numpy as np

from headstart.arrays import Floats
from headstart.interfaces import Memory
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.normal import Normal
from headstart.priors.hierarchical.sums import Sums

# A weight below this share of the largest changes no digit that matters.
_NEGLIGIBLE = 1e-14


class Posterior:
    """Posterior of h, s² and the next task for every λ (…, G) and every e = ρ/λ (G, P).

    Given λ and e, h is N((M̃ + eI)⁻¹w̃, τ²(M̃ + eI)⁻¹). M̃ = Q diag(m) Qᵀ is diagonalised once for
    every λ, and then every e takes O(d).
    """

    def __init__(self, sums: Sums, regularizations: Floats, ratios: Floats) -> None:
        self._sums = sums
        values, self._basis = np.linalg.eigh(sums.information)
        values = np.maximum(values, 0.0)[..., None, :]
        self._targets = (self._basis.mT @ sums.ridges[..., None])[..., 0]
        # (M̃ + eI)⁻¹ along the eigenvectors, (…, G, P, d).
        self._inverses = 1.0 / (values + ratios[..., None])
        self._log_determinants = np.log1p(values / ratios[..., None]).sum(-1)
        explained = (self._targets[..., None, :] ** 2 * self._inverses).sum(-1)
        residual = sums.residual[..., None] - regularizations[..., None] * explained
        # A difference of two sums of squares, never below their rounding error.
        floor = 1e-13 * sums.sum_of_squares[..., None, None]
        self._residual = np.maximum(residual, floor)

    @property
    def noise_variance(self) -> Floats:
        """The most likely s², (…, G, P)."""
        count = np.maximum(self._sums.count, 1.0)
        return np.asarray(self._residual / count[..., None, None])

    @property
    def deviance(self) -> Floats:
        """−2 log p(all rewards | λ, ρ) at the most likely s², (…, G, P), less n(1 + log 2π).

        n log s² + Σ log det(I + V_j/λ) + log det(I + information/e); h is integrated out, which is
        what restricted maximum likelihood does under a flat prior of h. Integrating s² out over
        ds²/s² gives the same, up to a constant.
        """
        variance = self.noise_variance
        count = self._sums.count[..., None, None]
        noise = count * np.log(np.where(variance > 0.0, variance, 1.0))
        known = noise + self._sums.log_determinant[..., None]
        return np.asarray(known + self._log_determinants)

    def traces(self) -> Floats:
        """The trace of the information, (…, G)."""
        return np.asarray(np.trace(self._sums.information, axis1=-2, axis2=-1))

    def next_task(self, weights: grid.Weights) -> Normal:
        """The moments of the next task, and the noise variance.

        Given λ and ρ the task is N(h, Σ₀ + S̄) with Σ₀ = τ²I and S̄ = τ²(information + eI)⁻¹; the
        covariance of h between the values of λ and ρ is added. Gaps are squared, because h may be
        large and its variance small.
        """
        shares = weights.mean.max(-1)
        used = (shares > _NEGLIGIBLE * shares.max(-1, keepdims=True)).any(
            tuple(range(shares.ndim - 1))
        )
        share, scale = weights.mean[..., used, :], weights.scale[..., used, :]
        basis, inverses = self._basis[..., used, :, :], self._inverses[..., used, :, :]
        solutions = self._targets[..., used, None, :] * inverses
        own = (share[..., None, :] @ solutions)[..., 0, :]
        mean = np.asarray((basis @ own[..., None])[..., 0].sum(-2))
        gaps = solutions - (basis.mT @ mean[..., None, :, None])[..., None, :, 0]
        within = (share[..., None] * gaps).mT @ gaps
        axis = np.arange(mean.shape[-1])
        within[..., axis, axis] += (scale[..., None, :] @ inverses)[..., 0, :]
        of_mean = (basis @ within @ basis.mT).sum(-3)
        of_mean = (of_mean + of_mean.mT) / 2.0
        covariance = of_mean + weights.task_variance[..., None, None] * np.eye(mean.shape[-1])
        return Normal(mean, covariance, weights.noise_variance, of_mean)


class IsotropicFit:
    """A memory's posterior of λ = s²/τ² and ρ = s²/κ², computed when needed.

    unit/ρ is at least `least_signal`.
    """

    def __init__(self, memory: Memory, least_signal: float = 0.0) -> None:
        self.sums, self._unit = Sums.from_memory(memory), memory["unit"]
        self._least_signal = least_signal

    @property
    def regularizations(self) -> Floats:
        """The λ's of the grid, (…, G)."""
        return grid.regularizations(self._unit)

    @cached_property
    def _posterior(self) -> Posterior:
        return Posterior(self.sums, self.regularizations, grid.RATIOS)

    @cached_property
    def _weights(self) -> Floats:
        dimension = self.sums.ridges.shape[-1]
        return grid.posterior_weights(
            self._posterior.deviance, self._posterior.traces() / dimension, self._least_signal
        )

    @cached_property
    def _variance(self) -> Floats:
        return grid.fine_variance(self._posterior.noise_variance)

    def _averaged(self, weights: Floats) -> grid.Weights:
        traces = self._posterior.traces()
        return grid.Weights.gathered(weights, self._variance, traces, self._unit)

    def halves(self) -> tuple[Normal, Normal]:
        """The next task below and above the median of λ: tasks less and more alike."""
        lower, upper = (
            self._posterior.next_task(self._averaged(half))
            for half in grid.split_at_median(self._weights)
        )
        return lower, upper

    def most_likely(self) -> tuple[Floats, Floats, Floats]:
        """s², τ² and κ², (…), of restricted maximum likelihood on the grid."""
        unit = np.where(self._unit > 0.0, self._unit, 1.0)
        noise, task, mean = grid.most_likely(
            self._posterior.deviance, self._posterior.noise_variance
        )
        return noise, task / unit, np.maximum(mean, self._least_signal * noise) / unit
