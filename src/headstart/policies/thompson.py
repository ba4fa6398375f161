"""Thompson sampling: play the arm that is best under one draw from the posterior."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from headstart import checks
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates
from headstart.habits import hinted
from headstart.policies._noise import noise_scale


@hinted
@dataclass(frozen=True, kw_only=True)
class Thompson:
    """Score xᵀw̃ with one w̃ ~ N(ŵ, (scale·R)²(V + Λ)⁻¹) for all arms of a round; O(d³) per round.

    Parameters
    ----------
    noise_scale : float, optional
        R; by default the prior's noise scale, learned or not.
    scale : float, default 1.0
        Multiplies the standard deviation of the draw.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> arms = estimate.read(np.eye(2))
    >>> hs.policies.Thompson().scores(arms, np.array([0.5, 0.5])).round(2)
    array([0.5, 0. ])
    """

    noise_scale: float | None = None
    scale: float = 1.0

    def __post_init__(self) -> None:
        if self.noise_scale is not None:
            checks.nonnegative("noise_scale", self.noise_scale)
        checks.nonnegative("scale", self.scale)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """One normal number for every feature."""
        return dimension

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The predictions under the draw, (…, K)."""
        return self.sampled_scores(estimates, uniforms[..., None, :])[..., 0, :]

    def sampled_scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The predictions under m draws, (…, m, K), from uniforms (…, m, d); one factorisation."""
        # Half a step of the generator instead of 0, which would become −∞. Adding it to all numbers
        # would round the largest one to 1, and so to ∞.
        normals = ndtri(np.maximum(uniforms, 2.0**-54))
        # With A = LLᵀ, the draw is ŵ + Lz, and xᵀLz = (xᵀA)L⁻ᵀz: the projections are reused.
        factor = np.linalg.cholesky(estimates.inverse)
        turned = np.linalg.solve(factor.mT, normals.mT)
        noise = (estimates.projections @ turned).mT
        size = self.scale * noise_scale(estimates.summary, self.noise_scale)
        return np.asarray(estimates.predictions[..., None, :] + size[..., None, None] * noise)
