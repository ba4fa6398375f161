"""Deriving inverses and estimates from statistics, and bringing statistics up to date."""

import math
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled
from headstart.kernels.state import DRIFT, LOG_DETERMINANT, PRIOR_LOG_DETERMINANT, Buffer, TaskState


@compiled
def factorise(inverse: Floats, gram: Floats, regularization: Floats) -> float:
    """Set one inverse to (V + Λ)⁻¹ and return log det(V + Λ); Λ is (d, d), or (1, 1) for λI.

    V + Λ is scaled to a unit diagonal, so that the units of the features do not cost digits. The
    inverse is L⁻ᵀL⁻¹ with a Cholesky factor L, and so symmetric and positive definite by
    construction. Raises LinAlgError, with nothing changed, if V + Λ is not finite and positive
    definite.
    """
    dimension = gram.shape[0]
    precision = gram.copy()
    if regularization.shape[0] == dimension:
        for a in range(dimension):
            for b in range(dimension):
                precision[a, b] += regularization[a, b]
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
    if not abs(log_determinant) < np.inf:
        raise np.linalg.LinAlgError("V + Λ must be finite")
    np.dot(root.T, root, inverse)
    return log_determinant


@compiled(inline="always")
def _triangular_inverse(factor: NDArray[np.floating[Any]]) -> Floats:
    """L⁻¹, row by row: row a is (e_a − Σ_{c<a} L_ac · row c) / L_aa."""
    dimension = factor.shape[0]
    root = np.zeros((dimension, dimension))
    row = np.empty(dimension)
    for a in range(dimension):
        for b in range(a):
            row[b] = 0.0
        for c in range(a):
            weight = factor[a, c]
            for b in range(c + 1):
                row[b] -= weight * root[c, b]
        row[a] = 1.0
        scale = 1.0 / factor[a, a]
        for b in range(a + 1):
            root[a, b] = row[b] * scale
    return root


@compiled
def target_moment(moment: Floats, bias: Floats, regularization: Floats) -> Floats:
    """B + Λh, (d,), for Λ (d, d), or (1, 1) for λI."""
    target = np.empty(bias.shape[0])
    if regularization.shape[0] == bias.shape[0]:
        np.dot(regularization, bias, target)
    else:
        for a in range(bias.shape[0]):
            target[a] = regularization[0, 0] * bias[a]
    for a in range(bias.shape[0]):
        target[a] += moment[a]
    return target


@compiled
def start(state: TaskState, bias: Floats, regularization: Floats) -> None:
    """Set the estimates of R tasks without rewards: A = Λ⁻¹, ŵ = h, and log det Λ."""
    dimension = bias.shape[1]
    for i in range(bias.shape[0]):
        for a in range(dimension):
            state.parameter[i, a] = bias[i, a]
        if regularization.shape[1] == dimension:
            nothing = np.zeros((dimension, dimension))
            total = factorise(state.inverse[i], nothing, regularization[i])
        else:
            ridge = regularization[i, 0, 0]
            for a in range(dimension):
                state.inverse[i, a, a] = 1.0 / ridge
            total = dimension * math.log(ridge)
        state.scalars[i, PRIOR_LOG_DETERMINANT] = total


@compiled(inline="always")
def refactorise(
    state: TaskState,
    i: int,
    gram: Floats,
    moment: Floats,
    bias: Floats,
    regularization: Floats,
    prior_log_determinant: float,
) -> None:
    """Derive A, ŵ = A(b + Λh) and log det(I + Λ⁻¹V) of task i from V, b, h, Λ and log det Λ.

    Raises LinAlgError, with nothing changed, if V + Λ has no digits left.
    """
    total = factorise(state.inverse[i], gram, regularization)
    target = target_moment(moment, bias, regularization)
    np.dot(state.inverse[i], target, state.parameter[i])
    state.scalars[i, PRIOR_LOG_DETERMINANT] = prior_log_determinant
    state.scalars[i, LOG_DETERMINANT] = total - prior_log_determinant
    state.scalars[i, DRIFT] = 0.0


@compiled
def refactorise_drifted(
    state: TaskState,
    limit: float,
    gram: Floats,
    moment: Floats,
    bias: Floats,
    regularization: Floats,
    buffer: Buffer,
    filled: int,
) -> None:
    """Factorise again every task whose drift is above the limit.

    If V + Λ has no digits left for some direction, the rank-one updates are no worse, and the next
    reward tries again.

    The buffer counts but is not flushed: otherwise the rounding of a task's statistics would depend
    on when others drift.
    """
    for i in range(gram.shape[0]):
        if state.scalars[i, DRIFT] > limit:
            whole, total = gram[i].copy(), moment[i].copy()
            _add_waiting(whole, total, buffer, filled, i)
            prior = state.scalars[i, PRIOR_LOG_DETERMINANT]
            try:
                refactorise(state, i, whole, total, bias[i], regularization[i], prior)
            except Exception:  # compiled code catches no other
                continue


@compiled
def flush(gram: Floats, moment: Floats, buffer: Buffer, filled: int) -> None:
    """Flush the buffer into V and b: one product instead of many outer products."""
    for i in range(gram.shape[0]):
        _add_waiting(gram[i], moment[i], buffer, filled, i)


@compiled
def _add_waiting(gram: Floats, moment: Floats, buffer: Buffer, filled: int, i: int) -> None:
    """Flush task i's part of the buffer into its V (d, d) and b (d,)."""
    if filled == 0:
        return
    dimension = moment.shape[0]
    features = np.empty((filled, dimension))
    rewards = np.empty(filled)
    for slot in range(filled):
        rewards[slot] = buffer.rewards[slot, i]
        for a in range(dimension):
            features[slot, a] = buffer.features[slot, i, a]
    products, sums = np.empty((dimension, dimension)), np.empty(dimension)
    np.dot(features.T, features, products)
    np.dot(rewards, features, sums)
    for a in range(dimension):
        moment[a] += sums[a]
        for b in range(dimension):
            gram[a, b] += products[a, b]


@compiled
def add_observation(square: Floats, moment: Floats, x: Floats, y: float) -> None:
    """Add xxᵀ to the lower triangle of V, and yx to b."""
    dimension = x.shape[0]
    for a in range(dimension):
        scaled = x[a]
        moment[a] += y * scaled
        row = square[a]
        for b in range(a + 1):
            row[b] += scaled * x[b]
