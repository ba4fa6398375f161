"""KnowledgeGradient: how much choosing an arm would teach, for the rounds left."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtr

from headstart import checks
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates
from headstart.policies._noise import noise_scale

# The numbers of further rewards m that are compared grow by this factor once they are large.
_STEP = 1.25


@dataclass(frozen=True, kw_only=True)
class KnowledgeGradient:
    """KG* (Ryzhov, Powell and Frazier, 2012): xᵀŵ plus the value per reward of m more rewards.

    With n = `horizon` − t rounds left, the score of an arm is xᵀŵ + (n − m)·ν(m)/m at the best m
    from 1 to n. ν(m) is the expected gain of the largest prediction from m rewards of this arm
    alone: ν = σ̃·f(−|xᵀŵ − the largest other prediction|/σ̃), f(z) = zΦ(z) + φ(z), and σ̃² is by
    how much m rewards would reduce the variance of xᵀw.

    It is meant for independent arms, fixed for the task, such as an orthonormal basis: that a
    reward tells of other arms as well is ignored.

    Parameters
    ----------
    horizon : int
        The number of rounds of a task.
    batches : bool, default True
        Whether m may be above 1; False is the online knowledge gradient, xᵀŵ + (n − 1)·ν(1).
    noise_scale : float, optional
        s; the prior's, learned or not, by default.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> arms = estimate.read(np.eye(2))
    >>> hs.policies.KnowledgeGradient(horizon=11).scores(arms, np.empty(0)).round(2)
    array([0.7, 0.9])
    """

    horizon: int
    batches: bool = True
    noise_scale: float | None = None

    def __post_init__(self) -> None:
        checks.count("horizon", self.horizon)
        if self.noise_scale is not None:
            checks.nonnegative("noise_scale", self.noise_scale)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """0: the score is deterministic."""
        return 0

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """Predictions plus the value of learning, (…, K)."""
        predictions, summary = estimates.predictions, estimates.summary
        scale = noise_scale(summary, self.noise_scale)[..., None]
        gap = _gap(predictions)
        # Beyond the horizon, which live use may exceed, choose by what is known.
        left = np.maximum(self.horizon - summary.count, 1.0)[..., None]
        best = np.zeros_like(predictions)
        for m in self._sizes(float(left.max())):
            # (s‖x‖)²·m‖x‖²/(1 + m‖x‖²): how much m rewards of variance s² reduce the variance.
            deviation = scale * estimates.widths**2 * np.sqrt(m / (1.0 + m * estimates.widths**2))
            worth = (left - m) / m * _expected_gain(gap, deviation)
            np.maximum(best, worth, out=best)
        return np.asarray(predictions + best)

    def _sizes(self, left: float) -> list[float]:
        """The numbers m to compare, up to the rounds left."""
        sizes = [1.0]
        while self.batches and sizes[-1] < left:
            sizes.append(max(sizes[-1] + 1.0, np.floor(_STEP * sizes[-1])))
        return sizes


def _gap(predictions: Floats) -> Floats:
    """How far each prediction is from the largest other one, (…, K); ∞ for a single arm."""
    if predictions.shape[-1] == 1:
        return np.full(predictions.shape, np.inf)
    second, first = np.partition(predictions, -2, axis=-1)[..., -2:].T
    largest = first.T[..., None]
    other = np.where(predictions == largest, second.T[..., None], largest)
    return np.asarray(np.abs(predictions - other))


def _expected_gain(gap: Floats, deviation: Floats) -> Floats:
    """E max(deviation·N(0, 1) − gap, 0); 0 if the deviation is 0."""
    positive = deviation > 0.0
    z = -gap / np.where(positive, deviation, 1.0)
    density = np.exp(-0.5 * z**2) / np.sqrt(2.0 * np.pi)
    # Where z is −∞, z·Φ(z) is 0.
    product = np.where(np.isfinite(z), z, 0.0) * ndtr(z)
    return np.asarray(np.where(positive, deviation * (product + density), 0.0))
