"""The noise scale as rewards come: the normal-inverse-gamma update."""

import math

from numba import njit

from headstart.arrays import Floats, Integers


@njit(cache=True, nogil=True)
def surprise(
    predictions: Floats, widths: Floats, choices: Integers, rewards: Floats, total: Floats
) -> None:
    """Add the surprise (y − xᵀŵ)²/(1 + ‖x‖²) of the chosen arms, as read before their rewards."""
    for i in range(choices.shape[0]):
        k = choices[i]
        gap = rewards[i] - predictions[i, k]
        total[i] += surprise_of(gap, 1.0 + widths[i, k] ** 2)


@njit(cache=True, nogil=True)
def surprise_of(gap: float, growth: float) -> float:
    """(y − xᵀŵ)²/(1 + ‖x‖²), from y − xᵀŵ and 1 + ‖x‖²."""
    return gap * gap / growth


@njit(cache=True, nogil=True)
def noise_after(scale: float, rounds: float, surprise: float, count: float) -> float:
    """The noise scale after T rounds: s_T² = (n₀s² + surprise)/(n₀ + T); s itself where n₀ = ∞.

    Where nothing but zeros was seen it stays at s: then every prediction is 0 as well, and any
    scale makes the same choices.
    """
    if math.isinf(rounds):
        return scale
    found = math.sqrt((rounds * scale * scale + surprise) / max(rounds + count, 1.0))
    return found if found > 0.0 else scale


@njit(cache=True, nogil=True)
def noises_after(
    scales: Floats, rounds: Floats, surprises: Floats, counts: Floats, noises: Floats
) -> None:
    """Set the noise scales of all replications."""
    for i in range(noises.shape[0]):
        noises[i] = noise_after(scales[i], rounds[i], surprises[i], counts[i])
