"""Learning a reward: the one sequence of updates that simulation, live use and theory share."""

import math

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.kernels.noise import update_noise
from headstart.kernels.reading import read_one
from headstart.kernels.revision import revision_due
from headstart.kernels.state import (
    COUNT,
    DRIFT,
    LOG_DETERMINANT,
    REFACTORISE,
    REVISE,
    REWARDS,
    SUM_OF_SQUARES,
    SURPRISE,
    Buffer,
    Reading,
    TaskState,
)

# A rank-one update with f = 1 + xᵀAx cancels log10(f) digits of A. The loss adds up, and past this
# relative error the inverse is computed again from the gram.
DRIFT_LIMIT = 1e-9
# In A, directions seen often are small compared with those never seen, and lose digits long before
# A does in norm. A factorisation costs as much as d updates, so one per 50 d updates is nearly
# free.
_UPDATES_PER_FEATURE = 50
_EPSILON = float(np.finfo(np.float64).eps)


@compiled(inline="always")
def learn(state: TaskState, i: int, x: Floats, u: Floats, reward: float, weight: float) -> int:
    """Learn the reward y of x for task i, given u = Ax; leaves u/√f in u.

    Returns what must follow: REFACTORISE and REVISE, as bits. x, u and y already carry the root of
    the weight; the caller updates the statistics V and b.
    """
    scalars = state.scalars
    growth, scaled_gap = rank_one_update(state, i, x, u, reward)
    scalars[i, COUNT] += weight
    scalars[i, SUM_OF_SQUARES] += reward * reward
    scalars[i, REWARDS] += 1.0
    scalars[i, LOG_DETERMINANT] += math.log(growth)
    scalars[i, DRIFT] += drift_of_update(growth, x.shape[0])
    scalars[i, SURPRISE] += scaled_gap * scaled_gap
    update_noise(scalars, i)
    status = REFACTORISE if scalars[i, DRIFT] > DRIFT_LIMIT else 0
    if revision_due(scalars, i):
        status |= REVISE
    return status


@compiled(inline="always")
def change_reward(
    state: TaskState, i: int, x: Floats, u: Floats, before: float, after: float, weight: float
) -> None:
    """Replace a reward of x that task i has learned with this weight, given u = Ax.

    With δ = w(y' − y), A stays and ŵ moves by δu. The surprise is q + hᵀΛh − cᵀAc, c = b + Λh,
    so it changes by w(y'² − y²) − 2δxᵀŵ − δ²xᵀAx. The caller updates b.
    """
    scalars, parameter = state.scalars, state.parameter
    step = weight * (after - before)
    predicted = 0.0
    square = 0.0
    for a in range(x.shape[0]):
        predicted += x[a] * parameter[i, a]
        square += x[a] * u[a]
    for a in range(x.shape[0]):
        parameter[i, a] += step * u[a]
    added = step * (after + before)
    scalars[i, SUM_OF_SQUARES] = max(scalars[i, SUM_OF_SQUARES] + added, 0.0)
    surprise = scalars[i, SURPRISE] + added - step * (2.0 * predicted + step * square)
    scalars[i, SURPRISE] = max(surprise, 0.0)
    scalars[i, DRIFT] += drift_of_update(1.0, x.shape[0])
    update_noise(scalars, i)


@compiled(inline="always")
def rank_one_update(
    state: TaskState, i: int, x: Floats, u: Floats, reward: float
) -> tuple[float, float]:
    """A −= uuᵀ/f and ŵ += u(y − xᵀŵ)/f, f = 1 + xᵀu; leaves u/√f in u.

    Returns f and (y − xᵀŵ)/√f.
    """
    inverse, parameter, shift = state.inverse, state.parameter, state.shift
    dimension = x.shape[0]
    square = 0.0
    predicted = 0.0
    for a in range(dimension):
        square += x[a] * u[a]
        predicted += x[a] * parameter[i, a]
    shifted = 0.0
    if shift.shape[0] > 0:
        for a in range(dimension):
            shifted += u[a] * shift[i, a]
    growth = 1.0 + max(square, 0.0)
    shrink = 1.0 / math.sqrt(growth)
    gap = reward - predicted
    length = gap / growth
    for a in range(dimension):
        parameter[i, a] += length * u[a]
    for a in range(dimension):
        u[a] *= shrink
    for a in range(dimension):
        scaled = u[a]
        row = inverse[i, a]
        for b in range(dimension):
            row[b] -= scaled * u[b]
    return growth, (gap - shifted) * shrink


@compiled(inline="always")
def drift_of_update(growth: float, dimension: int) -> float:
    """What one rank-one update adds to the drift of an inverse."""
    return _EPSILON * growth + DRIFT_LIMIT / (_UPDATES_PER_FEATURE * dimension)


@compiled
def learn_choices(
    state: TaskState,
    buffer: Buffer,
    filled: int,
    arms: Floats,
    reading: Reading,
    choices: Integers,
    rewards: Floats,
    next_arms: Floats,
    read_next: bool,
) -> int:
    """Learn the rewards (R,) of choices (R,) among the arms just read, and buffer them.

    If `read_next`, read the next arms (R, K, d) while A is still in cache. Returns what must follow
    for any task.
    """
    replications, dimension = state.parameter.shape
    x = np.empty(dimension)
    u = np.empty(dimension)
    projections = reading.projections
    features = buffer.features
    status = 0
    for i in range(replications):
        k = choices[i]
        for a in range(dimension):
            x[a] = arms[i, k, a]
            u[a] = projections[i, k, a]
        for a in range(dimension):
            features[filled, i, a] = x[a]
        buffer.rewards[filled, i] = rewards[i]
        status |= learn(state, i, x, u, rewards[i], 1.0)
        if read_next:
            read_one(state, i, next_arms, i, reading, i)
    return status
