"""Bayes-UCB as published, for the tables that have it; not among the policies, which do better."""

from dataclasses import dataclass

from scipy.special import ndtri

from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates


@dataclass(frozen=True, kw_only=True)
class PublishedBayesUCB:
    """Score the posterior quantile 1 − 1/(t + 1) in round t (Kaufmann et al., 2012).

    The noise scale is the prior's if none is given.
    """

    noise_scale: float | None = None

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """None: the index is deterministic."""
        return 0

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The quantiles, (…, K)."""
        summary = estimates.summary
        scale = summary.noise_scale if self.noise_scale is None else self.noise_scale
        return estimates.index(-ndtri(1.0 / (summary.count + 2.0)) * scale)
