"""The noise scale that a policy uses."""

import numpy as np

from headstart.arrays import Floats
from headstart.core.arm_estimates import EstimateSummary


def noise_scale(summary: EstimateSummary, given: float | None) -> Floats:
    """The policy's own scale if it has one, else the prior's."""
    return summary.noise_scale if given is None else np.asarray(given, dtype=np.float64)
