"""Reading arms and learning rewards by rank-one steps: what every round costs."""

import math

import numpy as np
from numba import njit

from headstart.arrays import Floats, Integers

# Sums may be reassociated for SIMD; NaN and infinities keep their meaning.
FAST = {"reassoc", "contract", "nsz"}

# A rank-one step with f = 1 + xᵀAx cancels log10(f) digits of A. The loss adds up, and past this
# relative error the inverse is factorised anew from the gram.
DRIFT_LIMIT = 1e-9
# Directions seen often are small in A beside those never seen, and take harm long before A as a
# whole does. A factorisation costs as much as d steps, so one every 50 d steps is nearly free.
_STEPS_A_FEATURE = 50
_EPSILON = float(np.finfo(np.float64).eps)


@njit(cache=True, nogil=True, fastmath=FAST)
def read(
    inverse: Floats,
    ridge: Floats,
    pull: Floats,
    pulled: bool,
    arms: Floats,
    projections: Floats,
    predictions: Floats,
    widths: Floats,
) -> None:
    """Read arms (R, K, d): P = XA, predictions Xw₀ + PΛh and widths √(row sums of P∘X).

    `pulled` is false where Λh = 0 for everybody.
    """
    for i in range(arms.shape[0]):
        glance(inverse, ridge, pull, pulled, arms, projections, predictions, widths, i)


# What follows takes whole arrays and an index, not slices: no reference counts, no aliasing, SIMD.
@njit(inline="always", cache=True, nogil=True, fastmath=FAST)
def glance(
    inverse: Floats,
    ridge: Floats,
    pull: Floats,
    pulled: bool,
    arms: Floats,
    projections: Floats,
    predictions: Floats,
    widths: Floats,
    i: int,
) -> None:
    """One replication of `read`."""
    _, n_arms, dimension = arms.shape
    np.dot(arms[i], inverse[i], projections[i])
    for k in range(n_arms):
        prediction = 0.0
        square = 0.0
        for a in range(dimension):
            prediction += arms[i, k, a] * ridge[i, a]
            square += arms[i, k, a] * projections[i, k, a]
        if pulled:
            for a in range(dimension):
                prediction += projections[i, k, a] * pull[i, a]
        predictions[i, k] = prediction
        widths[i, k] = math.sqrt(max(square, 0.0))


@njit(cache=True, nogil=True, fastmath=FAST)
def project(inverse: Floats, arms: Floats, projections: Floats) -> None:
    """Project one arm, (R, 1, d): u = Ax."""
    replications, _, dimension = arms.shape
    u = np.empty(dimension)
    for i in range(replications):
        u[:] = 0.0
        for a in range(dimension):
            x = arms[i, 0, a]
            row = inverse[i, a]
            for b in range(dimension):
                u[b] += x * row[b]
        for b in range(dimension):
            projections[i, 0, b] = u[b]


@njit(cache=True, nogil=True, fastmath=FAST)
def observe(
    inverse: Floats,
    ridge: Floats,
    log_determinant: Floats,
    drift: Floats,
    recent: Floats,
    earned: Floats,
    slot: int,
    arms: Floats,
    projections: Floats,
    choices: Integers,
    rewards: Floats,
    pull: Floats,
    pulled: bool,
    then: Floats,
    reading: bool,
    predictions: Floats,
    widths: Floats,
) -> float:
    """Observe the chosen arms x, given u = Ax: A −= uuᵀ/(1 + xᵀu), w₀ += u(y − xᵀw₀)/(1 + xᵀu).

    x and y wait in their slot to join the statistics. If `reading`, read the arms that come `then`
    while A is still in cache. Returns the largest drift of any inverse.
    """
    replications, dimension = ridge.shape
    x = np.empty(dimension)
    u = np.empty(dimension)
    worst = 0.0
    for i in range(replications):
        k = choices[i]
        for a in range(dimension):
            x[a] = arms[i, k, a]
            u[a] = projections[i, k, a]
        for a in range(dimension):
            recent[slot, i, a] = x[a]
        earned[slot, i] = rewards[i]
        growth, _ = step(inverse, ridge, i, x, u, rewards[i])
        log_determinant[i] += math.log(growth)
        drift[i] += wear(growth, dimension)
        worst = max(worst, drift[i])
        if reading:
            glance(inverse, ridge, pull, pulled, then, projections, predictions, widths, i)
    return worst


@njit(inline="always", cache=True, nogil=True, fastmath=FAST)
def step(
    inverse: Floats, ridge: Floats, i: int, x: Floats, u: Floats, reward: float
) -> tuple[float, float]:
    """One replication of `observe`: returns f = 1 + xᵀu and y − xᵀw₀, and leaves u/√f in u."""
    dimension = ridge.shape[1]
    square = 0.0
    predicted = 0.0
    for a in range(dimension):
        square += x[a] * u[a]
        predicted += x[a] * ridge[i, a]
    growth = 1.0 + max(square, 0.0)
    shrink = 1.0 / math.sqrt(growth)
    gap = reward - predicted
    length = gap / growth
    for a in range(dimension):
        ridge[i, a] += length * u[a]
    for a in range(dimension):
        u[a] *= shrink
    for a in range(dimension):
        scaled = u[a]
        row = inverse[i, a]
        for b in range(dimension):
            row[b] -= scaled * u[b]
    return growth, gap


@njit(inline="always", cache=True, nogil=True)
def wear(growth: float, dimension: int) -> float:
    """What one step adds to the drift of an inverse."""
    return _EPSILON * growth + DRIFT_LIMIT / (_STEPS_A_FEATURE * dimension)
