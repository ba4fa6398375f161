"""The grid of λ and ρ, and their posterior weights on it."""

import math

import numpy as np
from scipy.interpolate import CubicSpline

from headstart.arrays import Floats, Integers

# λ and ρ in units of the features' mean square ‖x‖²: unit/λ is then how much of a round's reward
# variance is due to the task, relative to noise. The grid covers 10^3.5 (negligible noise) to
# 10^-4.5 (indistinguishable tasks), with steps of a quarter decade in λ and of half a decade in ρ.
LAMBDAS = 10.0 ** np.arange(-3.5, 4.51, 0.25)
RHOS = 10.0 ** np.arange(-4.0, 4.01, 0.5)

# The prior of λ and ρ is flat on the logarithmic scale, but for a slight preference for related
# tasks: a tenfold smaller e = τ²/κ² is √2 times as likely. It only matters after one task, which
# does not determine whether its parameter is near the mean task's.
RATIOS = RHOS / LAMBDAS[:, None]
_PRIOR_DEVIANCE = math.log10(2.0) * np.log(RATIOS)

# The deviance is smooth in log λ: a spline through the grid gives it in between, on a grid eight
# times as fine. The weights of the fine grid are then interpolated linearly to the coarse one.
_SIZE = len(LAMBDAS)
_FINE_GRID = np.linspace(0, _SIZE - 1, 8 * (_SIZE - 1) + 1)
_TO_FINE = CubicSpline(np.arange(_SIZE), np.eye(_SIZE))(_FINE_GRID)
_TO_COARSE = np.maximum(1.0 - np.abs(np.arange(_SIZE)[:, None] - _FINE_GRID), 0.0)


# Units are powers of √10: then the grids of two memories are the same but for a shift.
_STEPS_PER_DECADE = 4


def unit(square: Floats) -> Floats:
    """The power of √10 nearest to the features' mean square ‖x‖², (…); 0 for 0."""
    power = np.round(2.0 * np.log10(np.where(square > 0.0, square, 1.0))) / 2.0
    return np.asarray(np.where(square > 0.0, 10.0**power, 0.0))


def steps(old: Floats, new: Floats) -> Integers:
    """By how many λ's the grid of one unit lies above that of another, (…); 0 for unknown units."""
    known = (old > 0.0) & (new > 0.0)
    ratio = np.where(known, old, 1.0) / np.where(known, new, 1.0)
    return np.asarray(np.rint(_STEPS_PER_DECADE * np.log10(ratio)), dtype=np.int64)


def regularizations(unit: Floats) -> Floats:
    """The λ's in the features' units, (…, G); times 1 where the unit is still unknown (0)."""
    return np.asarray(np.where(unit > 0.0, unit, 1.0)[..., None] * LAMBDAS)


def posterior_weights(deviance: Floats) -> Floats:
    """The posterior weights (…, G, P) of λ and ρ.

    exp(−deviance/2) on the fine grid, summed to the coarse one by linear interpolation, so that
    the mean of log λ under the weights is that of the fine grid.
    """
    fine = _TO_FINE @ (deviance + _PRIOR_DEVIANCE)
    fine -= fine.min((-2, -1), keepdims=True)
    likelihood = np.exp(-fine / 2.0)
    likelihood /= likelihood.sum((-2, -1), keepdims=True)
    return np.asarray(_TO_COARSE @ likelihood)


def split_at_median(weights: Floats) -> tuple[Floats, Floats]:
    """The weights (…, G, P) below and above the median of λ, each with a sum of 1.

    The weight of the λ on which the median falls is divided between them.
    """
    marginal = weights.sum(-1)
    cumulative = np.cumsum(marginal, -1)
    below = np.clip(0.5 - (cumulative - marginal), 0.0, marginal)
    share = (below / np.where(marginal > 0.0, marginal, 1.0))[..., None]
    lower, upper = weights * share, weights * (1.0 - share)
    return (
        np.asarray(lower / lower.sum((-2, -1), keepdims=True)),
        np.asarray(upper / upper.sum((-2, -1), keepdims=True)),
    )
