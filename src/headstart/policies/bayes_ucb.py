"""BayesUCB: the upper end of a posterior interval."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.special import ndtri

from headstart import checks
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary
from headstart.policies._noise import noise_scale


@dataclass(frozen=True, kw_only=True)
class BayesUCB:
    """Score xᵀŵ + z·s·‖x‖: z posterior standard deviations above the posterior mean.

    With z = "growing" it is the normal quantile of 1 − 1/(t + 1) in round t, as in Bayes-UCB
    (Kaufmann et al., 2012): it grows without bound unless the task forgets, so that no arm is
    excluded for good. Where the model is correct that costs a little; where rewards are 0/1 and
    arms hardly vary, any fixed z can stay with a wrong arm (docs/explanation/learned-prior.md).

    s is the prior's noise scale, learned or not, unless `noise_scale` is given. No
    guarantee comes with it: for a prior fixed beforehand, `OFUL(fixed_bias=True)` has one.

    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> arms = estimate.read(np.eye(2))
    >>> hs.policies.BayesUCB(z=2.0).scores(arms, np.empty(0)).round(2)
    array([1.91, 2.  ])
    """

    z: float | Literal["growing"] = 1.0
    noise_scale: float | None = None
    z_mean: float | None = None

    def __post_init__(self) -> None:
        if self.z != "growing":
            if isinstance(self.z, str):
                raise ValueError(f'z must be a number or "growing", got {self.z!r}')
            checks.nonnegative("z", self.z)
        if self.noise_scale is not None:
            checks.nonnegative("noise_scale", self.noise_scale)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """None: the index is deterministic."""
        return 0

    def radius(self, summary: EstimateSummary) -> Floats:
        """z·s, of shape (…)."""
        z = -ndtri(1.0 / (summary.count + 2.0)) if self.z == "growing" else self.z
        radius: Floats = z * noise_scale(summary, self.noise_scale)
        return radius

    @property
    def by_parts(self) -> bool:
        """Whether there is a z of its own for the mean task."""
        return self.z_mean is not None

    def mean_radius(self, summary: EstimateSummary) -> Floats:
        """z_mean·s, of shape (…)."""
        z = 0.0 if self.z_mean is None else self.z_mean
        return np.asarray(z * noise_scale(summary, self.noise_scale))

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The upper ends, (…, K)."""
        summary = estimates.summary
        mean_radius = self.mean_radius(summary) if self.by_parts else None
        return estimates.index(self.radius(summary), mean_radius)
