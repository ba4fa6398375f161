"""The few compiled inner loops: rank-one ridge algebra and argmax, over one flat leading axis.

Every array is C-contiguous with the replications on axis 0 (`running.py` flattens leading axes).
A replication's numbers depend on that replication alone, bit for bit, so a batch may be split in
any way. All kernels release the GIL, so that threads can work on separate chunks.
"""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]

# A rank-one step with f = 1 + xᵀAx cancels log10(f) digits of A. The loss adds up, and past this
# relative error the inverse is factorised anew from the gram.
DRIFT_LIMIT = 1e-9
# Directions seen often are small in A beside those never seen, and take harm long before A as a
# whole does. A factorisation costs as much as d steps, so one every 50 d steps is nearly free.
_STEPS_A_FEATURE = 50
_EPSILON = float(np.finfo(np.float64).eps)

# Scores closer than this, relative to the largest, differ by rounding only: they are tied.
TIE_TOLERANCE = 1e-9

# Sums may be reassociated for SIMD; NaN and infinities keep their meaning.
_FAST = {"reassoc", "contract", "nsz"}


@njit(cache=True, nogil=True, fastmath=_FAST)
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
@njit(inline="always", cache=True, nogil=True, fastmath=_FAST)
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


@njit(cache=True, nogil=True, fastmath=_FAST)
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


@njit(cache=True, nogil=True, fastmath=_FAST)
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


@njit(inline="always", cache=True, nogil=True, fastmath=_FAST)
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


@njit(cache=True, nogil=True)
def settle(
    gram: Floats, moment: Floats, energy: Floats, recent: Floats, earned: Floats, filled: int
) -> None:
    """Let what waits join the statistics: one product in place of many outer ones."""
    for i in range(gram.shape[0]):
        rows, paid = _waiting(recent, earned, filled, i)
        gram[i] += np.dot(rows.T, rows)
        moment[i] += np.dot(paid, rows)
        energy[i] += np.dot(paid, paid)


@njit(cache=True, nogil=True)
def _waiting(recent: Floats, earned: Floats, filled: int, i: int) -> tuple[Floats, Floats]:
    """The features (filled, d) and rewards (filled,) that one replication has waiting."""
    rows = np.empty((filled, recent.shape[2]))
    paid = np.empty(filled)
    for slot in range(filled):
        paid[slot] = earned[slot, i]
        for a in range(recent.shape[2]):
            rows[slot, a] = recent[slot, i, a]
    return rows, paid


@njit(cache=True, nogil=True, fastmath=_FAST)
def factorise(inverse: Floats, gram: Floats, regularization: Floats) -> float:
    """Set one inverse to (V + Λ)⁻¹ afresh and return log det(V + Λ); Λ is (d, d), or (1, 1) for λI.

    Scaled to a unit diagonal, so that the units of the features do not cost digits, and formed as
    L⁻ᵀL⁻¹ from a Cholesky factor, so that it is symmetric and positive definite by construction.
    """
    dimension = gram.shape[0]
    precision = gram.copy()
    if regularization.shape[0] == dimension:
        precision += regularization
    else:
        for a in range(dimension):
            precision[a, a] += regularization[0, 0]
    scale = np.empty(dimension)
    for a in range(dimension):
        scale[a] = 1.0 / math.sqrt(precision[a, a])
    for a in range(dimension):
        for b in range(dimension):
            precision[a, b] *= scale[a] * scale[b]
    factor = np.linalg.cholesky(precision)
    root = _triangular_inverse(factor)
    log_determinant = 0.0
    for a in range(dimension):
        log_determinant += 2.0 * (math.log(factor[a, a]) - math.log(scale[a]))
        for b in range(dimension):
            root[a, b] *= scale[b]
    inverse[:] = np.dot(root.T, root)
    return log_determinant


@njit(cache=True, nogil=True, fastmath=_FAST)
def _triangular_inverse(factor: NDArray[np.floating[Any]]) -> Floats:
    """L⁻¹, row by row: row a is (e_a − Σ_{c<a} L_ac · row c) / L_aa."""
    dimension = factor.shape[0]
    root = np.zeros((dimension, dimension))
    row = np.empty(dimension)
    for a in range(dimension):
        row[: a + 1] = 0.0
        for c in range(a):
            weight = factor[a, c]
            for b in range(c + 1):
                row[b] -= weight * root[c, b]
        row[a] = 1.0
        scale = 1.0 / factor[a, a]
        for b in range(a + 1):
            root[a, b] = row[b] * scale
    return root


@njit(cache=True, nogil=True)
def anchor(
    inverse: Floats,
    ridge: Floats,
    log_determinant: Floats,
    drift: Floats,
    gram: Floats,
    moment: Floats,
    recent: Floats,
    earned: Floats,
    filled: int,
    regularization: Floats,
    base: Floats,
) -> None:
    """Factorise afresh every inverse that drifted too far; base is log det Λ.

    What waits counts, but goes on waiting: were it to join the statistics now, the rounding of a
    replication's statistics would depend on when its neighbours drift.
    """
    for i in range(gram.shape[0]):
        if drift[i] > DRIFT_LIMIT:
            whole, target = gram[i].copy(), moment[i].copy()
            if filled > 0:
                rows, paid = _waiting(recent, earned, filled, i)
                whole += np.dot(rows.T, rows)
                target += np.dot(paid, rows)
            total = factorise(inverse[i], whole, regularization[i])
            np.dot(inverse[i], target, ridge[i])
            log_determinant[i] = total - base[i]
            drift[i] = 0.0


@njit(cache=True, nogil=True)
def choose(
    scores: Floats, uniforms: Floats, paid: Floats, choices: Integers, rewards: Floats
) -> None:
    """Pick a largest score in every row, ties by the row's uniform number, and hand out its pay."""
    for i in range(scores.shape[0]):
        choices[i], _ = pick(scores, i, uniforms[i])
        rewards[i] = paid[i, choices[i]]


@njit(inline="always", cache=True, nogil=True)
def pick(scores: Floats, i: int, uniform: float) -> tuple[int, int]:
    """One row of `choose`: the arm, and how many tied with it."""
    n_arms = scores.shape[1]
    best = scores[i, 0]
    size = abs(best)
    for k in range(1, n_arms):
        best = max(best, scores[i, k])
        size = max(size, abs(scores[i, k]))
    bar = best - TIE_TOLERANCE * size
    tied = 0
    for k in range(n_arms):
        if scores[i, k] >= bar:
            tied += 1
    wanted = min(int(uniform * tied), tied - 1)
    chosen = 0
    for k in range(n_arms):
        if scores[i, k] >= bar:
            if wanted == 0:
                chosen = k
                break
            wanted -= 1
    return chosen, tied


@njit(cache=True, nogil=True)
def regrets(means: Floats, choices: Integers, regret: Floats) -> None:
    """Set the regret (R,) of choices (R,): the largest mean less the chosen one."""
    for i in range(choices.shape[0]):
        best = means[i, 0]
        for k in range(1, means.shape[1]):
            best = max(best, means[i, k])
        regret[i] = best - means[i, choices[i]]


@njit(cache=True, nogil=True)
def win_probabilities(utilities: Floats, chances: Floats) -> None:
    """Set chances (R, K) to P(uₖ + zₖ is the largest), z independent standard normal.

    ∫ φ(y − uₖ) Πⱼ≠ₖ Φ(y − uⱼ) dy by the trapezoid rule, whose error falls faster than any power of
    the step. The more arms, the sharper the integrand: to rounding for up to 20, 1e-10 for 100.
    """
    replications, n_arms = utilities.shape
    step, reach = 0.4 if n_arms <= 5 else 0.25, 9.0
    root_half = math.sqrt(0.5)
    below = np.empty(n_arms)
    after = np.empty(n_arms + 1)
    for i in range(replications):
        top = utilities[i].max()
        chances[i] = 0.0
        # Nobody wins from below the leader's lower tail, so the integral starts there.
        for node in range(int(2 * reach / step) + 1):
            y = top - reach + node * step
            for k in range(n_arms):
                below[k] = 0.5 * math.erfc((utilities[i, k] - y) * root_half)
            after[n_arms] = 1.0
            for k in range(n_arms - 1, -1, -1):
                after[k] = after[k + 1] * below[k]
            before = step / math.sqrt(2.0 * math.pi)
            for k in range(n_arms):
                gap = y - utilities[i, k]
                chances[i, k] += before * math.exp(-0.5 * gap * gap) * after[k + 1]
                before *= below[k]
