"""OFUL: optimism in the face of uncertainty over a confidence ellipsoid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary
from headstart.core.ridge import confidence_radius
from headstart.habits import hinted


@dataclass(frozen=True, kw_only=True)
class NormBound:
    """The paper's practical bound on the bias error: ‖h − w*‖ ≤ ‖h‖ + S (Section 6).

    Parameters
    ----------
    parameter_bound : float
        S, a bound of ‖w*‖.

    Examples
    --------
    >>> hs.policies.OFUL(bias_error=hs.policies.NormBound(parameter_bound=2.0)).bias_error
    NormBound(parameter_bound=2.0)
    """

    parameter_bound: float

    def __post_init__(self) -> None:
        checks.nonnegative("parameter_bound", self.parameter_bound)


@hinted
@dataclass(frozen=True, kw_only=True)
class OFUL:
    """Score xᵀŵ + β‖x‖ (Eq. 4) with β = scale·(R√(2 log(1/δ) + log det(I + Λ⁻¹V)) + √λ·bias_error).

    Parameters
    ----------
    noise_scale : float, default 1.0
        R, the sub-Gaussian scale of the noise.
    failure_probability : float, default 0.05
        δ.
    bias_error : float or NormBound, default 0.0
        Replaces the unknown ‖h − w*‖ of Theorem 1, whose guarantee needs an upper bound. The
        default of 0 has no guarantee: with a valid bound, exploration costs more than the bias
        saves (docs/design.md).
    scale : float, default 1.0
        Multiplies β.
    fixed_bias : bool, default False
        β is the root of the sum of the two terms' squares instead of their sum: strictly smaller,
        and as safe for an h and Λ fixed before the task begins (method of mixtures over
        N(h, R²Λ⁻¹), Ville's inequality). A bias that the task's own rewards move needs the sum.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> arms = estimate.read(np.eye(2))
    >>> hs.policies.OFUL().scores(arms, np.empty(0)).round(2)
    array([2.33, 2.59])
    """

    noise_scale: float = 1.0
    failure_probability: float = 0.05
    bias_error: float | NormBound = 0.0
    scale: float = 1.0
    fixed_bias: bool = False

    def __post_init__(self) -> None:
        checks.nonnegative("noise_scale", self.noise_scale)
        checks.probability("failure_probability", self.failure_probability)
        checks.nonnegative("scale", self.scale)
        if not isinstance(self.bias_error, NormBound):
            checks.nonnegative("bias_error", self.bias_error)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """0: OFUL is deterministic."""
        return 0

    def radius(self, summary: EstimateSummary) -> Floats:
        """β, of shape (…)."""
        error = self.bias_error
        bias_term: Floats | float = 0.0
        if isinstance(error, NormBound):
            bound = np.linalg.norm(summary.bias, axis=-1) + error.parameter_bound
            bias_term = np.sqrt(summary.largest_eigenvalue) * bound
        elif error:
            bias_term = np.sqrt(summary.largest_eigenvalue) * error
        return self.scale * confidence_radius(
            summary.log_determinant,
            noise_scale=self.noise_scale,
            failure_probability=self.failure_probability,
            bias_term=bias_term,
            fixed_bias=self.fixed_bias,
        )

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The upper confidence bounds, (…, K)."""
        return estimates.index(self.radius(estimates.summary))
