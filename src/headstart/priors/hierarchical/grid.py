"""The grid over λ and ρ on which the hierarchical prior is averaged."""

import math

import numpy as np
from scipy.interpolate import CubicSpline

from headstart.arrays import Floats

# λ and ρ in units of the features' mean square ‖x‖²: unit/λ is then how much of a round's reward
# variance is due to the task, relative to noise. The grid covers 10^3.5 (no noise to speak of) to
# 10^-4.5 (tasks nobody could tell apart), a quarter decade a step in λ and half of one in ρ.
LAMBDAS = 10.0 ** np.arange(-3.5, 4.51, 0.25)
RHOS = 10.0 ** np.arange(-4.0, 4.01, 0.5)

# Beforehand λ and ρ are flat on the logarithmic scale, but for a slight lean towards related tasks:
# a tenfold smaller e = τ²/κ² is √2 times as likely. It only matters after one task, which cannot
# say whether its parameter is like the mean task's or like no other.
RATIOS = RHOS / LAMBDAS[:, None]
_LEAN = math.log10(2.0) * np.log(RATIOS)

# The deviance is smooth in log λ: a spline through the grid gives it in between, eight steps to
# one. What lies between two grid points is then shared out between them, the nearer the more.
_SIZE = len(LAMBDAS)
_FINE = np.linspace(0, _SIZE - 1, 8 * (_SIZE - 1) + 1)
_SPLINE = CubicSpline(np.arange(_SIZE), np.eye(_SIZE))(_FINE)
_HATS = np.maximum(1.0 - np.abs(np.arange(_SIZE)[:, None] - _FINE), 0.0)


def grid(unit: Floats) -> Floats:
    """The λ's in the features' units, (…, G); without a unit yet, as they are."""
    return np.asarray(np.where(unit > 0.0, unit, 1.0)[..., None] * LAMBDAS)


def weights(deviance: Floats) -> Floats:
    """The posterior weights (…, G, P) of λ and ρ.

    exp(−deviance/2) on the fine grid, gathered to the coarse one. Gathering is linear
    interpolation, so the mean of log λ under the weights is that of the fine grid.
    """
    fine = _SPLINE @ (deviance + _LEAN)
    fine -= fine.min((-2, -1), keepdims=True)
    likelihood = np.exp(-fine / 2.0)
    likelihood /= likelihood.sum((-2, -1), keepdims=True)
    return np.asarray(_HATS @ likelihood)


def halves(weights: Floats) -> tuple[Floats, Floats]:
    """The weights (…, G, P) below and above the median of λ, each with a sum of 1.

    The value of λ that the median falls on is shared out.
    """
    marginal = weights.sum(-1)
    reached = np.cumsum(marginal, -1)
    below = np.clip(0.5 - (reached - marginal), 0.0, marginal)
    share = (below / np.where(marginal > 0.0, marginal, 1.0))[..., None]
    lower, upper = weights * share, weights * (1.0 - share)
    return (
        np.asarray(lower / lower.sum((-2, -1), keepdims=True)),
        np.asarray(upper / upper.sum((-2, -1), keepdims=True)),
    )
