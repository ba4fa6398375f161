"""RidgeEstimate: the estimate from a task's statistics and a prior, with its confidence set.

Every array may carry leading axes `…`; their entries are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks, kernels
from headstart.arrays import Booleans, Floats
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.kernels import state


@dataclass(frozen=True, eq=False)
class RidgeEstimate:
    """The estimate from statistics and a prior, ŵ = (V + Λ)⁻¹(b + Λh), Eq. 5, with its widths.

    Parameters
    ----------
    statistics : TaskStatistics
        V and b.
    prior : Prior
        h and Λ.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0], [0.0, 1.0]], [3.0, 1.0])
    >>> prior = hs.Prior(bias=np.array([1.0, 1.0]), regularization=np.array(1.0))
    >>> estimate = hs.RidgeEstimate(data, prior)
    >>> estimate.parameter
    array([2., 1.])
    """

    statistics: TaskStatistics
    prior: Prior

    def __post_init__(self) -> None:
        moment, bias = self.statistics.moment, self.prior.bias
        checks.shape("the prior's bias", bias, moment.shape, "of the moment")

    @cached_property
    def precision(self) -> Floats:
        """V + Λ, of shape (…, d, d)."""
        if self.prior.isotropic:
            ridge = self.prior.regularization[..., None, None] * np.eye(self.prior.dimension)
            return np.asarray(self.statistics.gram + ridge)
        return self.statistics.gram + self.prior.regularization

    @cached_property
    def _factorised(self) -> tuple[Floats, Floats]:
        lead, dimension = self.prior.lead, self.prior.dimension
        inverse = np.empty((*lead, dimension, dimension))
        total = np.empty(lead)
        nothing = np.zeros((1, 1))
        for i in np.ndindex(lead):
            total[i] = kernels.factorise(inverse[i], self.precision[i], nothing)
        return inverse, total - self.prior.log_determinant

    @property
    def inverse(self) -> Floats:
        """(V + Λ)⁻¹, of shape (…, d, d)."""
        return self._factorised[0]

    @property
    def log_determinant(self) -> Floats:
        """Log det(I + Λ⁻¹V), of shape (…): twice the information gain, in nats."""
        return self._factorised[1]

    @cached_property
    def parameter(self) -> Floats:
        """ŵ, of shape (…, d)."""
        target = self.statistics.moment + self.prior.prior_moment(self.prior.bias)
        return np.asarray(np.linalg.solve(self.precision, target[..., None])[..., 0])

    @cached_property
    def surprise(self) -> Floats:
        """Σ (yₜ − xₜᵀŵₜ)²/(1 + ‖xₜ‖²), each prediction made before its reward, of shape (…).

        It equals min over w of Σ(y − xᵀw)² + ‖w − h‖² in Λ's norm: s² times the chi-square of all
        rewards under the prior.
        """
        w, data = self.parameter, self.statistics
        fitted = (data.gram @ w[..., None])[..., 0]
        residual = data.sum_of_squares + (w * (fitted - 2.0 * data.moment)).sum(-1)
        return np.asarray(np.maximum(residual, 0.0) + self.prior.distance(w) ** 2)

    @cached_property
    def noise_scale(self) -> Floats:
        """The scale of the noise, prior and data together, of shape (…)."""
        scalars = self.prior.initial_scalars()
        scalars[..., state.COUNT] = self.statistics.count
        if self.prior.learns_noise:
            scalars[..., state.SURPRISE] = self.surprise
        kernels.update_noises(scalars.reshape(-1, state.N_SCALARS))
        return np.asarray(scalars[..., state.NOISE_SCALE])

    @cached_property
    def summary(self) -> EstimateSummary:
        """What a policy may see, independent of the arms."""
        scalars = self.prior.initial_scalars()
        scalars[..., state.COUNT] = self.statistics.count
        scalars[..., state.LOG_DETERMINANT] = self.log_determinant
        scalars[..., state.NOISE_SCALE] = self.noise_scale
        return EstimateSummary(scalars, self.prior.bias, lambda: self.prior.regularization)

    def predict(self, arms: ArrayLike) -> Floats:
        """xᵀŵ for every arm, of shape (…, K)."""
        return np.asarray((self._arms(arms) @ self.parameter[..., None])[..., 0])

    def widths(self, arms: ArrayLike) -> Floats:
        """‖x‖ in the norm of (V + Λ)⁻¹ for every arm, of shape (…, K)."""
        features = self._arms(arms)
        squares = ((features @ self.inverse) * features).sum(-1)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def read(self, arms: ArrayLike) -> ArmEstimates:
        """Everything a policy may see of arms."""
        features = self._arms(arms)
        return ArmEstimates(
            projections=features @ self.inverse,
            predictions=self.predict(features),
            widths=self.widths(features),
            inverse=self.inverse,
            summary=self.summary,
        )

    def radius(
        self, *, noise_scale: float, failure_probability: float, bias_error: ArrayLike
    ) -> Floats:
        """The radius of Theorem 1, of shape (…), for R, δ and ‖h − w*‖."""
        return confidence_radius(
            self.log_determinant,
            noise_scale=noise_scale,
            failure_probability=failure_probability,
            bias_term=np.sqrt(self.prior.largest_eigenvalue)
            * np.asarray(bias_error, dtype=np.float64),
        )

    def distance(self, parameter: ArrayLike) -> Floats:
        """‖w − ŵ‖ in the norm of V + Λ, of shape (…), to compare with a radius."""
        gap = checks.floats("parameter", parameter) - self.parameter
        squares = (gap * (self.precision @ gap[..., None])[..., 0]).sum(-1)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def contains(
        self, parameter: ArrayLike, *, noise_scale: float, failure_probability: float
    ) -> Booleans:
        """Whether w is in the confidence set of Theorem 1, of shape (…).

        The theorem's radius depends on w* itself, so this checks an inequality in w.
        """
        w = checks.floats("parameter", parameter)
        radius = confidence_radius(
            self.log_determinant,
            noise_scale=noise_scale,
            failure_probability=failure_probability,
            bias_term=self.prior.distance(w),
        )
        return np.asarray(self.distance(w) <= radius)

    def _arms(self, arms: ArrayLike) -> Floats:
        features = checks.floats("arms", arms)
        n_arms = features.shape[-2] if features.ndim > 1 else 1
        expected = (*self.prior.lead, n_arms, self.prior.dimension)
        checks.shape("arms", features, expected, "(…, K, d)")
        if n_arms == 0:
            raise ValueError("arms must hold at least one arm, got none")
        return features


def confidence_radius(
    log_determinant: Floats,
    *,
    noise_scale: float,
    failure_probability: float,
    bias_term: Floats | float,
    fixed_bias: bool = False,
) -> Floats:
    """β = R √(2 log(1/δ) + log det(I + Λ⁻¹V)) + bias_term (Theorem 1).

    The bias term is ‖h − w*‖ in the norm of Λ. With `fixed_bias`, for h and Λ fixed before the
    task begins, β is the root of the sum of the two terms' squares, which is never larger.

    Parameters
    ----------
    log_determinant : array_like of shape (…)
        log det(I + Λ⁻¹V).
    noise_scale : float
        R.
    failure_probability : float
        δ.
    bias_term : array_like of shape (…)
        ‖h − w*‖ in Λ's norm, or a bound on it.
    fixed_bias : bool, default False
        Whether the terms are added in squares, for a bias that was fixed before the task began.

    Returns
    -------
    ndarray of shape (…)

    Examples
    --------
    >>> hs.theory.confidence_radius(
    ...     np.array([0.0, 3.0]), noise_scale=1.0, failure_probability=0.05, bias_term=0.5
    ... ).round(2)
    array([2.95, 3.5 ])
    """
    confidence = -2.0 * math.log(failure_probability)
    noise = noise_scale * np.sqrt(log_determinant + confidence)
    return np.asarray(np.hypot(noise, bias_term) if fixed_bias else noise + bias_term)
