"""Bringing statistics up to date, and inverses back to them."""

import math
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import NDArray

from headstart.arrays import Floats
from headstart.kernels.rank_one import DRIFT_LIMIT, FAST


@njit(cache=True, nogil=True)
def settle(
    gram: Floats,
    moment: Floats,
    sum_of_squares: Floats,
    recent: Floats,
    earned: Floats,
    filled: int,
) -> None:
    """Let what waits join the statistics: one product in place of many outer ones."""
    for i in range(gram.shape[0]):
        rows, paid = _waiting(recent, earned, filled, i)
        gram[i] += np.dot(rows.T, rows)
        moment[i] += np.dot(paid, rows)
        sum_of_squares[i] += np.dot(paid, paid)


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


@njit(cache=True, nogil=True, fastmath=FAST)
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


@njit(cache=True, nogil=True, fastmath=FAST)
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
