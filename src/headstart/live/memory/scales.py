"""Scales: features of very different sizes, brought together for the prior.

The prior treats all features alike: w' = Dw with D = diag(scales) is what it learns, from features
x' = D⁻¹x. A task itself never needs x': its prior is that of w, with Λ = DΛ'D and h = D⁻¹h'.
"""

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Mixture, Prior
from headstart.core.statistics import TaskStatistics

# A feature is brought to the size of the others where its root mean square differs from their usual
# one by more than this factor. Sizes within it cost next to nothing, and often mean something.
_FAR = 8.0

# How many rewards it takes to know the sizes.
ROUNDS_TO_LEARN = 32


def far_apart(mean_squares: Floats) -> Floats | None:
    """Scales (d,) for features of these mean squares (d,); None where all are of similar size."""
    sizes = np.sqrt(mean_squares)
    seen = sizes > 0.0
    if not seen.any():
        return None
    usual = float(np.median(sizes[seen]))
    ratio = np.where(seen, sizes, usual) / usual
    far = (ratio > _FAR) | (ratio < 1.0 / _FAR)
    if not far.any():
        return None
    # Powers of two, so that scaling costs no digits.
    return np.asarray(np.where(far, 2.0 ** np.round(np.log2(np.where(far, ratio, 1.0))), 1.0))


def scaled(task: TaskStatistics, scales: Floats | None) -> TaskStatistics:
    """The statistics of D⁻¹x."""
    if scales is None:
        return task
    changed = {"gram": task.gram / (scales[:, None] * scales), "moment": task.moment / scales}
    return checks.trusted(TaskStatistics, **vars(task) | changed)


def unscaled(prior: Prior, scales: Floats | None) -> Prior:
    """The prior of w = D⁻¹w', from that of w'."""
    if scales is None:
        return prior
    matrix = prior.regularization
    if prior.isotropic:
        matrix = prior.regularization[..., None, None] * np.eye(prior.dimension)
    return Prior.trusted(
        prior.bias / scales,
        scales[:, None] * matrix * scales,
        noise_scale=prior.noise_scale,
        noise_degrees_of_freedom=prior.noise_degrees_of_freedom,
        mixture=None if prior.mixture is None else _unscaled_mixture(prior.mixture, scales),
    )


def _unscaled_mixture(mixture: Mixture, scales: Floats) -> Mixture:
    changed = {
        "bias": mixture.bias / scales,
        "covariance": mixture.covariance / (scales[:, None] * scales),
    }
    return checks.trusted(Mixture, **vars(mixture) | changed)
