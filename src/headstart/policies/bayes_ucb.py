"""BayesUCB: the upper end of a posterior interval."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary
from headstart.habits import hinted
from headstart.policies._noise import noise_scale

# z_mean² per log K.
_PER_LOG_ARM = 0.75

# After how many rewards a slow z begins to grow noticeably.
_SLOW = 50.0


@hinted
@dataclass(frozen=True, kw_only=True)
class BayesUCB:
    """Score xᵀŵ + z·s·‖x‖: z posterior standard deviations above the posterior mean.

    It has no guarantee; for a prior fixed beforehand, `OFUL(fixed_bias=True)` has one.

    Parameters
    ----------
    z : float or "slow", default 1.0
        "slow" is near 1 for as long as most tasks last, and grows without bound unless the task
        forgets, so that no arm is excluded for good: √(1 + log(1 + t/50)) after t rewards, 1.3
        after 50 and 1.8 after 500. If the model is correct and arms are new in every round, this
        costs a little. If arms stay the same, or rewards are 0/1 and arms hardly vary, a fixed z
        can get stuck with a wrong arm.
    noise_scale : float, optional
        s; by default the prior's noise scale, learned or given.
    z_mean : float, "arms" or None, default None
        For learned priors: a separate z for m, the part of the width that is the uncertainty of the
        mean task. Exploring it teaches all tasks to come, so it pays however short this task is.
        For the rest of the width, z counts what this task can still use (`ArmEstimates.index`).
        "arms" is √(¾ log K) for K arms, 2.0 for 200: the more arms, the further the best one is
        above its prediction. None: one z for the whole width.

    Examples
    --------
    >>> data = hs.TaskStatistics.from_data([[1.0, 0.0]], [1.0])
    >>> estimate = hs.RidgeEstimate(data, hs.Prior.zero(2, regularization=1.0))
    >>> arms = estimate.read(np.eye(2))
    >>> hs.policies.BayesUCB(z=2.0).scores(arms, np.empty(0)).round(2)
    array([1.91, 2.  ])
    """

    z: float | Literal["slow"] = 1.0
    noise_scale: float | None = None
    z_mean: float | Literal["arms"] | None = None

    def __post_init__(self) -> None:
        if self.z_mean is not None and self.z_mean != "arms":
            if isinstance(self.z_mean, str):
                raise ValueError(f'z_mean must be a number or "arms", got {self.z_mean!r}')
            checks.nonnegative("z_mean", self.z_mean)
        if self.z != "slow":
            if isinstance(self.z, str):
                raise ValueError(f'z must be a number or "slow", got {self.z!r}')
            checks.nonnegative("z", self.z)
        if self.noise_scale is not None:
            checks.nonnegative("noise_scale", self.noise_scale)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """0: the index is deterministic."""
        return 0

    def radius(self, summary: EstimateSummary) -> Floats:
        """z·s, of shape (…)."""
        z = np.sqrt(1.0 + np.log1p(summary.count / _SLOW)) if self.z == "slow" else self.z
        return np.asarray(z * noise_scale(summary, self.noise_scale))

    @property
    def by_parts(self) -> bool:
        """Whether the mean task has a separate z."""
        return self.z_mean is not None

    def mean_radius(self, summary: EstimateSummary, n_arms: int) -> Floats:
        """z_mean·s, of shape (…)."""
        z = self.z_mean
        if z is None:
            raise ValueError("a policy without z_mean has no mean radius")
        if isinstance(z, str):
            z = math.sqrt(_PER_LOG_ARM * math.log(n_arms))
        return np.asarray(z * noise_scale(summary, self.noise_scale))

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The upper ends, (…, K)."""
        summary = estimates.summary
        n_arms = estimates.predictions.shape[-1]
        mean_radius = self.mean_radius(summary, n_arms) if self.by_parts else None
        return estimates.index(self.radius(summary), mean_radius)
