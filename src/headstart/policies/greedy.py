"""Greedy: no exploration."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary
from headstart.habits import hinted


@hinted
@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Score xᵀŵ: play the arm with the largest prediction.

    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> arms = estimate.read(np.eye(2))
    >>> hs.policies.Greedy().scores(arms, np.empty(0))
    array([0.5, 0. ])
    """

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """0: greedy is deterministic."""
        return 0

    def radius(self, summary: EstimateSummary) -> Floats:
        """Zero, of shape (…)."""
        return np.zeros_like(summary.log_determinant)

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The predictions, (…, K)."""
        return estimates.predictions
