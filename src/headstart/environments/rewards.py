"""How utilities xᵀw become rewards: as they are, or as 0/1 to the winner of a noisy contest."""

import numpy as np
from numpy.typing import NDArray

from headstart import kernels

Floats = NDArray[np.float64]

MODES = ("linear", "winner")


def pay(
    utilities: Floats, *, mode: str, noise_scale: float, rng: np.random.Generator
) -> tuple[Floats, Floats]:
    """The rewards (…, K) of utilities (…, K), and their means."""
    noise = noise_scale * rng.standard_normal(utilities.shape)
    if mode == "linear":
        return utilities + noise, utilities
    return _winner(utilities, noise, noise_scale)


def _winner(utilities: Floats, noise: Floats, noise_scale: float) -> tuple[Floats, Floats]:
    """The paper's synthetic reward: 1 to the arm that is best after noise, 0 to the others.

    Utilities are first brought to [0, 1] over the round's arms. The paper's noise has mean 0.5,
    which cannot matter to a winner.
    """
    low = utilities.min(-1, keepdims=True)
    span = utilities.max(-1, keepdims=True) - low
    shifted = (utilities - low) / np.where(span > 0, span, 1.0)
    rewards = _indicator(shifted + noise)
    if noise_scale == 0:
        return rewards, rewards
    flat = (shifted / noise_scale).reshape(-1, shifted.shape[-1])
    means = np.empty_like(flat)
    kernels.win_probabilities(flat, means)
    return rewards, means.reshape(shifted.shape)


def _indicator(values: Floats) -> Floats:
    winners = values.argmax(-1)[..., None]
    return np.asarray(np.arange(values.shape[-1]) == winners, dtype=np.float64)
