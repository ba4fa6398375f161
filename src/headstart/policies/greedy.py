"""Greedy: no exploration."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart.interfaces import Standing
from headstart.outlook import Outlook

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Greedy:
    """Score xᵀŵ: play what looks best now."""

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """None: greedy is deterministic."""
        return 0

    def radius(self, standing: Standing) -> Floats:
        """Zero, of shape (…)."""
        return np.zeros_like(standing.log_determinant)

    def scores(self, outlook: Outlook, uniforms: Floats) -> Floats:
        """The predictions, (…, K)."""
        return outlook.predictions
