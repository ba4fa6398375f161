"""The radius of the confidence set around an estimate."""

import math

import numpy as np

from headstart.arrays import Floats


def confidence_radius(
    log_determinant: Floats,
    *,
    noise_scale: float,
    failure_probability: float,
    bias_term: Floats | float,
    fixed_bias: bool = False,
) -> Floats:
    """β = R √(2 log(1/δ) + log det(I + Λ⁻¹V)) + bias_term (Theorem 1).

    The bias term is ‖h − w*‖ in the norm of Λ. With `fixed_bias`, for h and Λ fixed before the
    task begins, β is the root of the sum of the two terms' squares, which is never larger.

    >>> hs.theory.confidence_radius(
    ...     np.array([0.0, 3.0]), noise_scale=1.0, failure_probability=0.05, bias_term=0.5
    ... ).round(2)
    array([2.95, 3.5 ])
    """
    confidence = -2.0 * math.log(failure_probability)
    noise = noise_scale * np.sqrt(log_determinant + confidence)
    return np.asarray(np.hypot(noise, bias_term) if fixed_bias else noise + bias_term)
