"""The grid of λ and ρ, and their posterior weights on it."""

import functools
import math
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers

# λ and ρ in units of the features' mean square ‖x‖²: unit/λ is then how much of a round's reward
# variance is due to the task, relative to noise. The grid covers 10^3.5 (negligible noise) to
# 10^-4.5 (indistinguishable tasks), in steps of half a decade.
LAMBDAS = 10.0 ** np.arange(-3.5, 4.51, 0.5)
RHOS = 10.0 ** np.arange(-4.0, 4.01, 0.5)
RATIOS = RHOS / LAMBDAS[:, None]

# The prior of λ and ρ is flat on the logarithmic scale, with two preferences. A tenfold smaller e =
# τ²/κ² is √2 times as likely, which only matters after one task, when data do not determine whether
# the task is near the mean task. And with several tasks, a λ so large that tasks could not be told
# from their mean is less likely, in proportion to the share of their variance that the data
# determine (as in Jeffreys' prior and the uniform shrinkage prior): the likelihood is flat there,
# and the posterior would be at the grid's end.
_PRIOR_DEVIANCE = math.log10(2.0) * np.log(RATIOS)

# Everything is smooth in log λ: a spline of degree 7 gives it between grid points, to three digits
# or better, on a grid sixteen times as fine.
_SIZE, _DEGREE = len(LAMBDAS), 7
_FINE_GRID = np.linspace(0, _SIZE - 1, 16 * (_SIZE - 1) + 1)


@functools.cache
def _splines() -> Floats:
    """The splines (F, G) on the fine grid that are 1 at one grid point and 0 at the others."""
    from scipy.interpolate import make_interp_spline  # noqa: PLC0415 - takes long to import

    points = np.arange(_SIZE, dtype=np.float64)
    return np.asarray(make_interp_spline(points, np.eye(_SIZE), k=_DEGREE)(_FINE_GRID))


FINE_LAMBDAS = 10.0 ** np.interp(_FINE_GRID, np.arange(_SIZE), np.log10(LAMBDAS))
# From weights on the fine grid to weights on the coarse one.
_TO_COARSE = np.maximum(1.0 - np.abs(np.arange(_SIZE)[:, None] - _FINE_GRID), 0.0)

# How much a product of two powers of √10 may differ from 1.
_ROUNDING = 1e-9

# Units are powers of √10, so that the grids of two memories differ by a shift only.
_STEPS_PER_DECADE = 2


@dataclass(frozen=True, eq=False)
class Weights:
    """An average over λ and ρ: weights of grid points, and mean variances.

    `mean` (…, G, P) are the weights of h; `scale` (…, G, P) multiplies the covariances of h, which
    are in units of τ²; noise_variance and task_variance are the means of s² and of τ², (…).
    """

    mean: Floats
    scale: Floats
    noise_variance: Floats
    task_variance: Floats

    @classmethod
    def gathered(cls, fine: Floats, variance: Floats, traces: Floats, unit: Floats) -> "Weights":
        """From weights and s² on the fine grid (…, F, P), and tr Σ M_jV_j (…, G).

        τ² = s²/λ is computed on the fine grid: on the coarse one its mean would be too large. With
        v̄ the mean square of features along a direction, h's covariance is nearly in proportion
        to τ²(1 + λ/v̄), and the rest is interpolated.
        """
        weighted = fine * variance
        scale = np.where(unit > 0.0, unit, 1.0)[..., None, None]
        task = weighted / (scale * FINE_LAMBDAS[:, None])
        typical = (
            LAMBDAS[-1] * traces[..., -1] / np.where(traces[..., 0] > 0.0, traces[..., 0], 1.0)
        )
        typical = np.maximum(typical, LAMBDAS[0])[..., None, None]
        trend = to_coarse(task * (1.0 + FINE_LAMBDAS[:, None] / typical))
        return cls(
            mean=to_coarse(fine),
            scale=trend / (1.0 + LAMBDAS[:, None] / typical),
            noise_variance=weighted.sum((-2, -1)),
            task_variance=task.sum((-2, -1)),
        )


def unit(square: Floats) -> Floats:
    """The power of √10 nearest to the features' mean square ‖x‖², (…); 0 for 0."""
    power = np.round(2.0 * np.log10(np.where(square > 0.0, square, 1.0))) / 2.0
    return np.asarray(np.where(square > 0.0, 10.0**power, 0.0))


def steps(old: Floats, new: Floats) -> Integers:
    """By how many λ's one unit's grid lies above another's, (…); 0 for unknown units."""
    known = (old > 0.0) & (new > 0.0)
    ratio = np.where(known, old, 1.0) / np.where(known, new, 1.0)
    return np.asarray(np.rint(_STEPS_PER_DECADE * np.log10(ratio)), dtype=np.int64)


def regularizations(unit: Floats) -> Floats:
    """The λ's in the features' units, (…, G); an unknown unit (0) counts as 1."""
    return np.asarray(np.where(unit > 0.0, unit, 1.0)[..., None] * LAMBDAS)


def neighbours(regularizations: Floats, value: float) -> tuple[int, Floats]:
    """The first of the two λ's (G,) around a value, and their shares (2,), linear in 1/λ.

    Then Σ share/(v + λ) is at most 1/(v + value) for every v, which is concave in 1/λ, and equal to
    it for small and for large v.
    """
    first = int(np.clip(np.searchsorted(regularizations, value) - 1, 0, _SIZE - 2))
    low, high = 1.0 / regularizations[first : first + 2]
    share = float(np.clip((1.0 / value - high) / (low - high), 0.0, 1.0))
    return first, np.array([share, 1.0 - share])


def limited_noise(noise: float, squares: Floats, counts: Floats, covariance: Floats) -> float:
    """A noise variance s², raised if tasks would explain more than the smallest λ allows.

    Tasks are N(·, covariance), their features have these squares, and `counts` are rewards.
    """
    size = squares.sum() / max(counts.sum(), 1.0)
    return float(max(noise, LAMBDAS[0] * size * (np.trace(covariance) / len(covariance))))


def to_fine(values: Floats) -> Floats:
    """Values (…, G, P) interpolated to the fine grid, (…, F, P)."""
    return np.asarray(_splines() @ values)


def to_coarse(weights: Floats) -> Floats:
    """Weights (…, F, P) divided among the grid's λ's, (…, G, P): means of linear functions stay."""
    return np.asarray(_TO_COARSE @ weights)


def fine_variance(noise: Floats) -> Floats:
    """S² on the fine grid (…, F, P), from s² (…, G, P); 0 where that is 0."""
    known = np.asarray((noise > 0.0).all((-2, -1)))[..., None, None]
    variance = np.exp(to_fine(np.log(np.where(known, noise, 1.0))))
    return variance if known.all() else np.where(known, variance, 0.0)


def posterior_weights(deviance: Floats, traces: Floats, least_signal: float) -> Floats:
    """The posterior weights of λ and ρ on the fine grid, (…, F, P): prior times exp(−deviance/2).

    `traces` (…, G) are the traces of Σ M_jV_j/d: how many tasks' worth of variance the data
    determine, the number of tasks n for small λ and 0 for large λ. If the mean task would explain
    less than `least_signal` of the noise, weights are 0.
    """
    determined = np.log(np.where(traces > 0.0, traces, 1.0))
    power = 1.0 - 1.0 / np.maximum(traces[..., :1], 1.0)
    fine = to_fine(deviance + _PRIOR_DEVIANCE - 2.0 * (power * determined)[..., None])
    fine[..., least_signal * RHOS > 1.0 + _ROUNDING] = np.inf
    fine -= fine.min((-2, -1), keepdims=True)
    likelihood = np.exp(-fine / 2.0)
    return np.asarray(likelihood / likelihood.sum((-2, -1), keepdims=True))


def most_likely(deviance: Floats, noise: Floats) -> tuple[Floats, Floats, Floats]:
    """The s², s²/λ and s²/ρ, (…), of least deviance (…, G, P) on the fine grid of λ.

    `noise` (…, G, P) are the s², 0 where there are no rewards.
    """
    fine, variance = to_fine(deviance), fine_variance(noise)
    lead, (size, n_ratios) = fine.shape[:-2], fine.shape[-2:]
    best = fine.reshape(*lead, size * n_ratios).argmin(-1)
    least = np.take_along_axis(variance.reshape(*lead, -1), best[..., None], -1)[..., 0]
    return least, least / FINE_LAMBDAS[best // n_ratios], least / RHOS[best % n_ratios]


def split_at_median(weights: Floats) -> tuple[Floats, Floats]:
    """The weights (…, F, P) below and above the median of λ, each with a sum of 1.

    The weight of the λ at the median is divided between them.
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
