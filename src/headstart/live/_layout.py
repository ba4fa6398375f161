"""Open tasks as rows of one array, and the compiled steps on a row: look, learn, anchor.

A row holds, for d features: A = (V + Λ)⁻¹; a square whose lower triangle is V and whose strict
upper triangle is that of Λ; ŵ, b, h and the diagonal of Λ; then the scalars named below. So a task
costs two squares, whoever shares its prior. The formulas are those of `headstart.kernels`; when
one of them changes, Numba's cache of this file does not notice: touch it.
"""

import math

import numpy as np
from numba import njit

from headstart.arrays import Floats
from headstart.kernels import (
    DRIFT_LIMIT,
    factorise,
    glance,
    is_power_of_two,
    noise_after,
    project,
    startling,
    step,
    surprise_of,
    wear,
)
from headstart.kernels.statistics import add_observation

(
    COUNT,
    ENERGY,
    LOG_DETERMINANT,
    BASE,  # log det Λ
    DRIFT,
    SURPRISE,
    NOISE_SCALE,  # the prior's s
    NOISE_ROUNDS,  # and its weight
    NOISE,  # s now
    STRENGTH,
    REWARDS,  # how many came
    TOUCHED,  # when, by the caller's clock
    WARY,  # of the prior: NEVER, once STARTLED, or ALWAYS at the rewards due
) = range(13)
SCALARS = 13

NEVER, STARTLED, ALWAYS = -1.0, 0.0, 1.0

# The vectors before them.
PARAMETER, MOMENT, BIAS, DIAGONAL = range(4)

# An arm that outweighs what is known about its direction this many times leaves no digits to the
# other directions.
LARGEST_GROWTH = 1e12

# In place of a number of rewards: the decision kept no u.
UNSEEN = -1.0

# What `learn` answers.
LEARNED, DUE, REFUSED = 0, 1, -1


def row_length(dimension: int) -> int:
    """How many numbers a task takes."""
    return 2 * dimension * dimension + 4 * dimension + SCALARS


@njit(cache=True, nogil=True)
def dimension_of(length: int) -> int:
    """The d of a row: 2d² + 4d + SCALARS = 2(d + 1)² + SCALARS − 2 numbers."""
    return int(math.sqrt((length - SCALARS + 2) / 2) + 0.5) - 1


@njit(cache=True, nogil=True)
def scalars_at(dimension: int) -> int:
    """Where in a row the scalars begin."""
    return 2 * dimension * dimension + 4 * dimension


@njit(cache=True, nogil=True)
def _inverse_and_parameter(row: Floats, dimension: int) -> tuple[Floats, Floats]:
    square = dimension * dimension
    inverse = row[:square].reshape(1, dimension, dimension)
    return inverse, row[2 * square : 2 * square + dimension].reshape(1, dimension)


@njit(cache=True, nogil=True)
def look(
    state: Floats,
    slot: int,
    arms: Floats,
    projections: Floats,
    predictions: Floats,
    widths: Floats,
    i: int,
    j: int,
) -> bool:
    """Read arms[i] (K, d) of a task into the j-th of the others; false if one cannot be read.

    Such an arm is not finite, or too large.
    """
    _, n_arms, dimension = arms.shape
    inverse, parameter = _inverse_and_parameter(state[slot], dimension)
    shown = arms[i].reshape(1, n_arms, dimension)
    into = projections[j].reshape(1, n_arms, dimension)
    predicted, width = predictions[j].reshape(1, n_arms), widths[j].reshape(1, n_arms)
    glance(inverse, parameter, parameter, False, shown, into, predicted, width, 0)
    for k in range(n_arms):
        # A number that is not finite makes its arm's width so: A is positive definite.
        if not (width[0, k] * width[0, k] < LARGEST_GROWTH and math.isfinite(predicted[0, k])):
            return False
    return True


@njit(cache=True, nogil=True)
def learn(
    state: Floats,
    slot: int,
    kept: Floats,
    place: int,
    value: float,
    weight: float,
    trace: Floats,
) -> int:
    """Learn one reward: LEARNED, DUE when more has to follow, or REFUSED with nothing changed.

    The decision in the place kept x, u and the task's rewards at its time (`Pending`), or x alone.
    A weight counts the observation that many times: x and y grow by its root. A trace (d + 1,)
    receives u/√f and (y − xᵀŵ)/√f; one of length 0 does not.
    """
    row = state[slot]
    dimension = dimension_of(row.shape[0])
    square = dimension * dimension
    at = scalars_at(dimension)
    inverse, parameter = _inverse_and_parameter(row, dimension)
    root = math.sqrt(weight)
    y = root * value
    x = np.empty(dimension)
    for a in range(dimension):
        x[a] = root * kept[place, a]
    u = np.empty(dimension)
    if kept.shape[1] > dimension and kept[place, 2 * dimension] == row[at + REWARDS]:
        for a in range(dimension):
            u[a] = root * kept[place, dimension + a]
    else:
        project(inverse, x.reshape(1, 1, dimension), u.reshape(1, 1, dimension))
    sums = row[square : 2 * square].reshape(dimension, dimension)
    moment = row[2 * square + dimension : 2 * square + 2 * dimension]
    if not _fits(sums, moment, parameter, row[at + SURPRISE] + row[at + ENERGY], x, u, y):
        return REFUSED
    growth, gap = step(inverse, parameter, 0, x, u, y)
    if trace.shape[0] > dimension:
        trace[:dimension] = u
        trace[dimension] = gap / math.sqrt(growth)
    add_observation(sums, moment, x, y)
    row[at + COUNT] += weight
    row[at + ENERGY] += y * y
    row[at + REWARDS] += 1.0
    row[at + LOG_DETERMINANT] += math.log(growth)
    row[at + SURPRISE] += surprise_of(gap, growth)
    row[at + NOISE] = noise_after(
        row[at + NOISE_SCALE], row[at + NOISE_ROUNDS], row[at + SURPRISE], row[at + COUNT]
    )
    row[at + DRIFT] += wear(growth, dimension)
    return DUE if row[at + DRIFT] > DRIFT_LIMIT or doubtful(row, at) else LEARNED


@njit(cache=True, nogil=True)
def doubtful(row: Floats, at: int) -> bool:
    """Whether the task should look at its prior again, after the reward that it just learned."""
    if row[at + WARY] == NEVER or not is_power_of_two(int(row[at + REWARDS])):
        return False
    return row[at + WARY] == ALWAYS or startling(
        row[at + SURPRISE], row[at + NOISE_SCALE], row[at + NOISE_ROUNDS], row[at + COUNT]
    )


@njit(cache=True, nogil=True, fastmath={"contract", "reassoc"})
def _fits(
    sums: Floats,
    moment: Floats,
    parameter: Floats,
    sum_of_squares: float,
    x: Floats,
    u: Floats,
    y: float,
) -> bool:
    """Whether everything stays finite; off the diagonal, V is bounded by its diagonal."""
    predicted = 0.0
    growth = 1.0
    for a in range(x.shape[0]):
        predicted += x[a] * parameter[0, a]
        growth += x[a] * u[a]
    gap = y - predicted
    # One infinity or NaN spoils the sum, so that one look at it is enough.
    total = sum_of_squares + y * y + gap * gap
    for a in range(x.shape[0]):
        total += abs(sums[a, a]) + x[a] * x[a] + abs(moment[a]) + abs(x[a] * y)
        total += abs(parameter[0, a]) + abs(gap * u[a])
    return growth < LARGEST_GROWTH and math.isfinite(total)


@njit(cache=True, nogil=True)
def unpack(row: Floats, gram: Floats, regularization: Floats) -> None:
    """Set the full V and Λ (d, d) from a row."""
    dimension = gram.shape[0]
    square = dimension * dimension
    sums = row[square : 2 * square].reshape(dimension, dimension)
    diagonal = row[2 * square + 3 * dimension : 2 * square + 4 * dimension]
    for a in range(dimension):
        gram[a, a] = sums[a, a]
        regularization[a, a] = diagonal[a]
        for b in range(a):
            gram[a, b] = gram[b, a] = sums[a, b]
            regularization[a, b] = regularization[b, a] = sums[b, a]


@njit(cache=True, nogil=True)
def anchor(row: Floats, dimension: int) -> None:
    """Derive A, ŵ = A(b + Λh) and log det(I + Λ⁻¹V) afresh from V, b, Λ and h."""
    square = dimension * dimension
    at = scalars_at(dimension)
    gram, regularization = np.empty((dimension, dimension)), np.empty((dimension, dimension))
    unpack(row, gram, regularization)
    inverse, parameter = _inverse_and_parameter(row, dimension)
    total = factorise(inverse[0], gram, regularization)
    moment = row[2 * square + dimension : 2 * square + 2 * dimension]
    bias = row[2 * square + 2 * dimension : 2 * square + 3 * dimension]
    parameter[0] = np.dot(inverse[0], moment + np.dot(regularization, bias))
    row[at + LOG_DETERMINANT] = total - row[at + BASE]
    row[at + DRIFT] = 0.0


@njit(cache=True, nogil=True)
def forget(row: Floats, dimension: int, discount: float) -> None:
    """Discount V, b, T and q, and leave the prior alone."""
    square = dimension * dimension
    at = scalars_at(dimension)
    sums = row[square : 2 * square].reshape(dimension, dimension)
    for a in range(dimension):
        row[2 * square + dimension + a] *= discount
        for b in range(a + 1):
            sums[a, b] *= discount
    row[at + COUNT] *= discount
    row[at + ENERGY] *= discount
