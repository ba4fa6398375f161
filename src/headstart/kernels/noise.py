"""The noise scale as rewards come: the normal-inverse-gamma update."""

import math

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled
from headstart.kernels.state import (
    COUNT,
    NOISE_DEGREES_OF_FREEDOM,
    NOISE_SCALE,
    PRIOR_NOISE_SCALE,
    SURPRISE,
)


@compiled(inline="always")
def noise_after(scale: float, degrees_of_freedom: float, surprise: float, count: float) -> float:
    """The noise scale after T rewards: s_T² = (n₀s² + surprise)/(n₀ + T); s itself where n₀ = ∞.

    If all rewards were 0 it stays at s: then every prediction is 0 as well, and any scale gives the
    same choices.
    """
    if math.isinf(degrees_of_freedom):
        return scale
    total = degrees_of_freedom * scale * scale + surprise
    updated = math.sqrt(total / max(degrees_of_freedom + count, 1.0))
    return updated if updated > 0.0 else scale


@compiled(inline="always")
def update_noise(scalars: Floats, i: int) -> None:
    """Set a task's noise scale from its prior and its surprise."""
    scalars[i, NOISE_SCALE] = noise_after(
        scalars[i, PRIOR_NOISE_SCALE],
        scalars[i, NOISE_DEGREES_OF_FREEDOM],
        scalars[i, SURPRISE],
        scalars[i, COUNT],
    )


@compiled
def update_noises(scalars: Floats) -> None:
    """Set the noise scales of all tasks, from scalars (R, N_SCALARS)."""
    for i in range(scalars.shape[0]):
        update_noise(scalars, i)
