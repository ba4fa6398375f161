"""Credible: the upper end of a posterior interval."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri

from headstart import checks
from headstart.interfaces import Standing
from headstart.outlook import Outlook
from headstart.policies.noise import noise_scale

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Credible:
    """Score xᵀŵ + z·s·‖x‖: z posterior standard deviations above the posterior mean (Bayes-UCB).

    With z = None it is Bayes-UCB's own quantile, 1 − 1/(t + 1) in round t, which grows without
    bound unless the task forgets, so that no arm is given up for good. Where rewards are as the
    model says that costs a little; where they are 0/1 and arms hardly vary, any fixed z can settle
    on a wrong arm (docs/hierarchical.md).

    s is the prior's noise scale, learned or not, unless `noise_scale` is given. No
    guarantee comes with it: for a prior fixed beforehand, `OFUL(radius_of="mixture")` has one.
    """

    z: float | None = 1.0
    noise_scale: float | None = None

    def __post_init__(self) -> None:
        if self.z is not None:
            checks.nonnegative("z", self.z)
        if self.noise_scale is not None:
            checks.nonnegative("noise_scale", self.noise_scale)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """None: the index is deterministic."""
        return 0

    def radius(self, standing: Standing) -> Floats:
        """z·s, of shape (…)."""
        z = -ndtri(1.0 / (standing.count + 2.0)) if self.z is None else self.z
        return np.asarray(z * noise_scale(standing, self.noise_scale))

    def scores(self, outlook: Outlook, uniforms: Floats) -> Floats:
        """The upper ends, (…, K)."""
        bounds = np.asarray(self.radius(outlook)[..., None] * outlook.widths)
        bounds += outlook.predictions
        return bounds
