"""Confidence radii: how far the true parameter may be from its estimate."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.core.ridge import RidgeEstimate, confidence_radius
from headstart.theory.setting import Setting, warn_unless


def trace_radius(setting: Setting, rounds: ArrayLike) -> Floats:
    """β = R √(d log((1 + tL²/λ)/δ)) + √λ S after t rounds (Eq. 2).

    Holds for all t at once with probability 1 − δ if the noise is R-sub-Gaussian, ‖x‖ ≤ L, ‖w‖ ≤ S,
    h = 0 and d ≥ 2: at d = 1 the formula has one log(1/δ) where the determinant form has two. Warns
    at d = 1 and if tasks are unbounded.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=2, horizon=50)
    >>> hs.theory.trace_radius(setting, [0, 10, 50]).round(2)
    array([3.8 , 4.55, 4.96])
    """
    d = setting.dimension
    warn_unless(d >= 2, f"Eq. 2 needs a dimension of at least 2, got {d}")
    setting.demand_bounded_tasks("Eq. 2")
    t = np.asarray(rounds, dtype=np.float64)
    growth = np.log1p(t * setting.feature_bound**2 / setting.ridge) - np.log(setting.delta)
    bias_term = np.sqrt(setting.ridge) * setting.parameter_bound
    return np.asarray(setting.noise_scale * np.sqrt(d * growth) + bias_term)


def biased_radius(
    estimate: RidgeEstimate, parameter: ArrayLike, *, noise_scale: float, failure_probability: float
) -> Floats:
    """β = R √(2 log(1/δ) + log det(I + Λ⁻¹V)) + ‖h − w*‖ in Λ's norm (Theorem 1).

    Holds for all t at once with probability 1 − δ if the noise is R-sub-Gaussian given the past. It
    has no condition on λ, on ‖w‖, on ‖x‖ or on h, which may move with the data: the noise is
    bounded alone and h enters by the triangle inequality.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> radius = hs.theory.biased_radius(
    ...     estimate, [1.0, 0.0], noise_scale=1.0, failure_probability=0.05
    ... )
    >>> round(float(radius), 2)
    3.72
    """
    return confidence_radius(
        estimate.log_determinant,
        noise_scale=noise_scale,
        failure_probability=failure_probability,
        bias_term=estimate.prior.distance(np.asarray(parameter, dtype=np.float64)),
    )


def fixed_bias_radius(
    estimate: RidgeEstimate,
    parameter: ArrayLike,
    *,
    noise_scale: float,
    failure_probability: float,
    frozen_bias: bool = True,
) -> Floats:
    """β = √(R²[2 log(1/δ) + log det(I + Λ⁻¹V)] + ‖h − w*‖² in Λ's norm).

    The two terms of Theorem 1, added in squares, so never larger. By a mixture of likelihood ratios
    over N(h, R²Λ⁻¹) and Ville's inequality; holds for all t at once with probability 1 − δ if the
    noise is R-sub-Gaussian and h and Λ were fixed before the task began.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> radius = hs.theory.fixed_bias_radius(
    ...     estimate, [1.0, 0.0], noise_scale=1.0, failure_probability=0.05
    ... )
    >>> round(float(radius), 2)
    2.89
    """
    warn_unless(
        frozen_bias, "the fixed-bias radius needs a bias that is fixed before the task begins"
    )
    return confidence_radius(
        estimate.log_determinant,
        noise_scale=noise_scale,
        failure_probability=failure_probability,
        bias_term=estimate.prior.distance(np.asarray(parameter, dtype=np.float64)),
        fixed_bias=True,
    )


def pooled_radius(
    pooled: RidgeEstimate, *, noise_scale: float, failure_probability: float, mean_norm: ArrayLike
) -> Floats:
    """β = R √(2 log(1/δ) + log det(I + Ṽ/λ)) + √λ ‖H̄'‖ for RR's pooled estimate.

    `pooled` is one ridge regression towards 0 over all tasks, and `mean_norm` is ‖H̄'‖, which may
    exceed every ‖w_j‖. With probability 1 − δ, after every task at once, the estimate is within β
    of H̄' = Ṽ⁻¹ΣV_j w_j in the norm of Ṽ + λI (Lemma 4). The noise of all tasks is one
    martingale, so no union bound over tasks is needed. H̄' is not w̄: the gap is Lemma 5's bias.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0], [0.0, 1.0]], [1.0, 0.0])
    >>> pooled = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> radius = hs.theory.pooled_radius(
    ...     pooled, noise_scale=1.0, failure_probability=0.05, mean_norm=1.0
    ... )
    >>> round(float(radius), 2)
    3.72
    """
    return pooled.radius(
        noise_scale=noise_scale, failure_probability=failure_probability, bias_error=mean_norm
    )
