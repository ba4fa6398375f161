"""How utilities xᵀw become rewards: with noise, or as 1 for the winner of a noisy contest."""

from typing import Literal

import numpy as np

from headstart import checks, kernels
from headstart.arrays import Floats
from headstart.core.task import Task

Mode = Literal["winner", "linear"]
Shift = Literal["round", "none"]

MODES = ("linear", "winner")
SHIFTS = ("none", "round")


def check(mode: str, shift: str | None, noise_scale: float) -> None:
    """Raise unless these are a mode, a shift or None, and a noise scale."""
    checks.one_of("reward", mode, MODES)
    if shift is not None:
        checks.one_of("shift", shift, SHIFTS)
    checks.nonnegative("noise_scale", noise_scale)


def sample_task(
    arms: Floats,
    parameter: Floats,
    *,
    mode: Mode,
    shift: Shift | None,
    noise_scale: float,
    rng: np.random.Generator,
    about: Floats | None = None,
) -> Task:
    """The task of arms (T, R, K, d), rounds first in memory, parameter (R, d) and about (R, p)."""
    utilities = (arms @ parameter[:, :, None])[..., 0]
    rewards, means = sample_rewards(
        utilities, mode=mode, shift=shift, noise_scale=noise_scale, rng=rng
    )
    return Task(
        arms=arms.swapaxes(0, 1),
        rewards=rewards.swapaxes(0, 1),
        means=means.swapaxes(0, 1),
        parameter=parameter,
        about=about,
    )


def sample_rewards(
    utilities: Floats,
    *,
    mode: Mode,
    shift: Shift | None = None,
    noise_scale: float,
    rng: np.random.Generator,
) -> tuple[Floats, Floats]:
    """The rewards (…, K) of utilities (…, K), and their means.

    Before the noise, the shift "round" maps each round's utilities to [0, 1]. None is the paper's
    choice: "round" for the winner, as in its plots, "none" for linear, as in its theory.
    """
    noise = noise_scale * rng.standard_normal(utilities.shape)
    if shift == "round" or (shift is None and mode == "winner"):
        utilities = _shifted(utilities)
    if mode == "linear":
        return utilities + noise, utilities
    return _winner(utilities, noise, noise_scale)


def _shifted(utilities: Floats) -> Floats:
    """Min–max over the round's arms: the worst at 0, the best at 1; all at 0 if they tie."""
    low = utilities.min(-1, keepdims=True)
    span = utilities.max(-1, keepdims=True) - low
    return np.asarray((utilities - low) / np.where(span > 0, span, 1.0))


def _winner(utilities: Floats, noise: Floats, noise_scale: float) -> tuple[Floats, Floats]:
    """The paper's synthetic reward: 1 to the arm that is best after noise, 0 to the others.

    The paper's noise has mean 0.5, which does not change the winner.
    """
    rewards = _indicator(utilities + noise)
    if noise_scale == 0:
        return rewards, rewards
    flat = (utilities / noise_scale).reshape(-1, utilities.shape[-1])
    means = np.empty_like(flat)
    kernels.win_probabilities(flat, means)
    return rewards, means.reshape(utilities.shape)


def _indicator(values: Floats) -> Floats:
    winners = values.argmax(-1)[..., None]
    return np.asarray(np.arange(values.shape[-1]) == winners, dtype=np.float64)
