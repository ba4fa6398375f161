"""Credible: the upper end of a posterior interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart import checks
from headstart.interfaces import Standing
from headstart.policies.noise import noise_scale
from headstart.ridge import Outlook

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Credible:
    """Score xᵀŵ + z·s·‖x‖: z posterior standard deviations above the posterior mean (Bayes-UCB).

    Where rewards are as the model says, any z from ½ to 2 serves alike; where they are 0/1 and arms
    hardly vary, z = 1 can settle on a wrong arm for good (docs/hierarchical.md). Hence 1½.

    s is the prior's noise scale, learned or not, unless `noise_scale` is given. No
    guarantee comes with it: for a prior fixed beforehand, `OFUL(radius_of="mixture")` has one.
    """

    z: float = 1.5
    noise_scale: float | None = None

    def __post_init__(self) -> None:
        checks.nonnegative("z", self.z)
        if self.noise_scale is not None:
            checks.nonnegative("noise_scale", self.noise_scale)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """None: the index is deterministic."""
        return 0

    def radius(self, standing: Standing) -> Floats:
        """z·s, of shape (…)."""
        return np.asarray(self.z * noise_scale(standing, self.noise_scale))

    def scores(self, outlook: Outlook, uniforms: Floats) -> Floats:
        """The upper ends, (…, K)."""
        bounds = np.asarray(self.radius(outlook)[..., None] * outlook.widths)
        bounds += outlook.predictions
        return bounds
