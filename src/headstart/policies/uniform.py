"""Uniform: no learning."""

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Every arm ties with every other, and ties break at random."""

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """None: the tie-break draws."""
        return 0

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """Zeros, (…, K)."""
        return np.zeros_like(estimates.predictions)
