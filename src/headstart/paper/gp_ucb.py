"""GPUCB, for the published table that has it; not among the policies, which do better."""

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates


@dataclass(frozen=True, kw_only=True)
class GPUCB:
    """Score xᵀŵ + √β·s‖x‖ in round t (Srinivas et al., 2012) with β = 2 log(Kt²π²/(6δ)), δ = 0.1.

    With `tuned` = c it is β = c·log t. s = `noise_scale`.
    """

    noise_scale: float = 1.0
    tuned: float | None = None

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """None: the index is deterministic."""
        return 0

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The upper ends, (…, K)."""
        t = estimates.summary.count + 1.0
        n_arms = estimates.predictions.shape[-1]
        if self.tuned is None:
            squared = 2.0 * np.log(n_arms * t**2 * np.pi**2 / (6.0 * 0.1))
        else:
            squared = self.tuned * np.log(t)
        return estimates.index(self.noise_scale * np.sqrt(squared))
