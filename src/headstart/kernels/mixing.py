"""Second thoughts about a prior: which of its parts a task's own rewards speak for."""

import math

import numpy as np
from numba import njit

from headstart.arrays import Booleans, Floats
from headstart.kernels.anchoring import factorise


@njit(cache=True, nogil=True)
def is_power_of_two(count: int) -> bool:
    """Whether a task looks at its prior again after so many rewards."""
    return count > 0 and count & (count - 1) == 0


@njit(cache=True, nogil=True)
def startling(surprise: float, scale: float, rounds: float, count: float) -> bool:
    """Whether the surprise of T rewards is two standard deviations above what the prior expects.

    Over the noise variance it is a chi-square with T degrees of freedom. Who has never seen the
    noise, n = 0, is not startled.
    """
    return rounds > 0.0 and surprise > scale * scale * (count + 2.0 * math.sqrt(2.0 * count))


@njit(cache=True, nogil=True)
def misfit(
    parameter: Floats,
    gram: Floats,
    moment: Floats,
    sum_of_squares: float,
    bias: Floats,
    regularization: Floats,
) -> float:
    """Σ(y − xᵀŵ)² + ‖ŵ − h‖² in Λ's norm: the surprise of all rewards, from their statistics."""
    residual: float = sum_of_squares + np.dot(parameter, np.dot(gram, parameter) - 2.0 * moment)
    gap = parameter - bias
    distance: float = np.dot(gap, np.dot(regularization, gap))
    return max(residual, 0.0) + distance


@njit(cache=True, nogil=True)
def weigh(
    gram: Floats,
    moment: Floats,
    sum_of_squares: float,
    count: float,
    rounds: float,
    biases: Floats,
    covariances: Floats,
    scales: Floats,
    weights: Floats,
) -> Floats:
    """The weights (C,) of a prior's parts after the rewards in V, b, q and T, from those before.

    A part's likelihood is that of the normal-inverse-gamma model, up to a factor common to all:
    (n s²)^(n/2) / (n s² + surprise)^((n + T)/2) / √det(I + Λ⁻¹V).
    """
    n_parts, dimension = biases.shape
    inverse = np.empty((dimension, dimension))
    regularization = np.empty((dimension, dimension))
    logs = np.empty(n_parts)
    for c in range(n_parts):
        base = _regularize(regularization, covariances[c], scales[c])
        total = factorise(inverse, gram, regularization)
        parameter = np.dot(inverse, moment + np.dot(regularization, biases[c]))
        surprise = misfit(parameter, gram, moment, sum_of_squares, biases[c], regularization)
        before = rounds * scales[c] * scales[c]
        logs[c] = math.log(weights[c]) - (total - base) / 2.0
        # Never below its rounding error: without any noise, n = 0, it may come out as nothing.
        after = before + max(surprise, 1e-13 * sum_of_squares)
        if after > 0.0:
            logs[c] -= count / 2.0 * math.log(after)
        if before > 0.0:
            logs[c] -= rounds / 2.0 * math.log1p(surprise / before)
    found: Floats = np.exp(logs - logs.max())
    found /= found.sum()
    return found


@njit(cache=True, nogil=True)
def _regularize(regularization: Floats, covariance: Floats, scale: float) -> float:
    """Set Λ = s²Σ⁻¹ and return log det Λ."""
    log_determinant: float = factorise(regularization, covariance, np.zeros((1, 1)))
    regularization *= scale * scale
    return 2.0 * len(covariance) * math.log(scale) - log_determinant


@njit(cache=True, nogil=True)
def blend(
    biases: Floats,
    covariances: Floats,
    scales: Floats,
    weights: Floats,
    bias: Floats,
    regularization: Floats,
) -> tuple[float, float]:
    """Set h and Λ to those of one normal with the moments of the mixture; s and log det Λ of it.

    The last part is a stranger to the others, and a normal between them would be neither: it is
    taken whole where it is more likely than not, and else not at all.
    """
    n_parts, dimension = biases.shape
    shares = weights.copy()
    if shares[-1] > 0.5:
        shares[:-1] = 0.0
    else:
        shares[-1] = 0.0
    shares /= shares.sum()
    bias[:] = 0.0
    variance = 0.0
    for c in range(n_parts):
        bias += shares[c] * biases[c]
        variance += shares[c] * scales[c] * scales[c]
    spread = np.zeros((dimension, dimension))
    for c in range(n_parts):
        if shares[c] > 0.0:
            gap = biases[c] - bias
            spread += shares[c] * (covariances[c] + np.outer(gap, gap))
    scale = math.sqrt(variance)
    return scale, _regularize(regularization, spread, scale)


@njit(cache=True, nogil=True)
def reconsider(
    inverse: Floats,
    ridge: Floats,
    log_determinant: Floats,
    drift: Floats,
    gram: Floats,
    moment: Floats,
    sum_of_squares: Floats,
    counts: Floats,
    bias: Floats,
    pull: Floats,
    regularization: Floats,
    base: Floats,
    scale: Floats,
    rounds: Floats,
    surprise: Floats,
    wary: Booleans,
    biases: Floats,
    covariances: Floats,
    scales: Floats,
    weights: Floats,
) -> bool:
    """Give every replication that is wary, or startled, the prior its rewards speak for.

    Once startled it stays wary. Statistics are whole, nothing waits; the parts lie along the second
    axis. Returns whether any prior changed.
    """
    changed = False
    for i in range(gram.shape[0]):
        wary[i] = wary[i] or startling(surprise[i], scale[i], rounds[i], counts[i])
        if not wary[i]:
            continue
        changed = True
        after = weigh(
            gram[i],
            moment[i],
            sum_of_squares[i],
            counts[i],
            rounds[i],
            biases[i],
            covariances[i],
            scales[i],
            weights[i],
        )
        scale[i], base[i] = blend(
            biases[i], covariances[i], scales[i], after, bias[i], regularization[i]
        )
        total = factorise(inverse[i], gram[i], regularization[i])
        pull[i] = np.dot(regularization[i], bias[i])
        ridge[i] = np.dot(inverse[i], moment[i])
        log_determinant[i] = total - base[i]
        drift[i] = 0.0
        surprise[i] = misfit(
            ridge[i] + np.dot(inverse[i], pull[i]),
            gram[i],
            moment[i],
            sum_of_squares[i],
            bias[i],
            regularization[i],
        )
    return changed
