"""Outlook: all that a policy may see, and the radii that OFUL draws from it."""

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Outlook:
    """What an estimate says about the arms at hand: all that a policy may see."""

    projections: Floats  # (…, K, d), rows x(V + Λ)⁻¹
    predictions: Floats  # (…, K), xᵀŵ
    widths: Floats  # (…, K), ‖x‖ in the norm of (V + Λ)⁻¹
    log_determinant: Floats  # (…), log det(I + Λ⁻¹V)
    bias: Floats  # (…, d)
    strength: Floats  # (…), the largest eigenvalue of Λ
    inverse: Floats  # (…, d, d), (V + Λ)⁻¹
    noise_scale: Floats  # (…), s: what the prior says of it, and the rewards since
    count: Floats  # (…), T: how many rewards count so far


def confidence_radius(
    log_determinant: Floats, *, noise_scale: float, failure_probability: float, pull: Floats | float
) -> Floats:
    """β = R √(2 log(1/δ) + log det(I + Λ⁻¹V)) + pull (Theorem 1), pull = ‖h − w*‖ in Λ's norm."""
    confidence = -2.0 * math.log(failure_probability)
    return np.asarray(noise_scale * np.sqrt(log_determinant + confidence) + pull)


def mixture_radius(
    log_determinant: Floats, *, noise_scale: float, failure_probability: float, pull: Floats | float
) -> Floats:
    """β = √(R²[2 log(1/δ) + log det(I + Λ⁻¹V)] + pull²), for h and Λ fixed beforehand.

    Both terms as in `confidence_radius`, joined as two sides of a right angle.
    """
    noise = confidence_radius(
        log_determinant,
        noise_scale=noise_scale,
        failure_probability=failure_probability,
        pull=0.0,
    )
    return np.asarray(np.hypot(noise, pull))
