"""Uniform: no learning."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Every arm ties with every other, and ties break at random.

    >>> learner = hs.Learner("random", policy=hs.policies.Uniform(), prior=hs.priors.Fixed.zero())
    >>> results = hs.simulate(hs.environments.Synthetic(), [learner], n_tasks=1, horizon=100)
    >>> sorted(set(results.choice.to_numpy().ravel().tolist()))
    [0, 1, 2, 3, 4]
    """

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """0: only ties are random."""
        return 0

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """Zeros, (…, K)."""
        return np.zeros_like(estimates.predictions)
