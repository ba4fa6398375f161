"""The regularization that corresponds to a covariance of tasks."""

import numpy as np

from headstart.arrays import Floats


def regularization_from(covariance: Floats, noise_variance: Floats | float) -> Floats:
    """Λ = s²Σ⁻¹, (…, d, d), exactly symmetric, of Σ (…, d, d) and s² (…)."""
    scale = np.asarray(noise_variance, dtype=np.float64)[..., None, None]
    regularization = scale * np.linalg.inv(covariance)
    return np.asarray((regularization + regularization.mT) / 2.0)
