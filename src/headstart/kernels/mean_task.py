"""The mean task of N(h, τ²I) for every λ = s²/τ² and e = τ²/κ², from sums over tasks.

Given λ and e, h is N((M̃ + eI)⁻¹w̃, τ²(M̃ + eI)⁻¹). M̃ is reduced to a tridiagonal T = QᵀM̃Q once
for every λ; T + eI is then factorised in d steps, as LDLᵀ, for all e at once. If d is large, an
eigendecomposition is faster, and T is diagonal. A pivot is never below e, since M̃ has no negative
eigenvalue. Shapes: R replications, G values of λ, P of e.
"""

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled

# From this many features on, LAPACK's eigendecomposition reduces M̃.
_LARGE = 64
# The largest relative error of a number.
_ROUNDING = 2.0**-53
# How many pivots are multiplied before a logarithm is taken.
_PIVOTS = 8
# A weight of a λ, or of an e at a λ, below this share of all changes no digit that matters.
_NEGLIGIBLE = 1e-14
_NEGLIGIBLE_AT_LAMBDA = 1e-16


class Reduced(NamedTuple):
    """T and Qᵀw̃ for every λ; Q as reflectors I − vvᵀ, in rows, or itself if d is large."""

    reflectors: Floats  # (R, G, d, d)
    diagonals: Floats  # (R, G, d), of T
    beside: Floats  # (R, G, d), T's entries next to them; the last is 0
    targets: Floats  # (R, G, d), Qᵀw̃


@compiled
def reduce(information: Floats, ridges: Floats) -> Reduced:
    """T and Qᵀw̃ of M̃ (R, G, d, d) and w̃ (R, G, d)."""
    n, size, dimension = ridges.shape
    reflectors, targets = information.copy(), ridges.copy()
    diagonals, beside = np.zeros((n, size, dimension)), np.zeros((n, size, dimension))
    for i in range(n):
        for g in range(size):
            if dimension >= _LARGE:
                _diagonalise(reflectors[i, g], diagonals[i, g], targets[i, g])
            else:
                _tridiagonalise(reflectors[i, g], diagonals[i, g], beside[i, g], targets[i, g])
    return Reduced(reflectors, diagonals, beside, targets)


@compiled
def _diagonalise(matrix: Floats, diagonal: Floats, target: Floats) -> None:
    """Turn a matrix into its eigenvectors Q, and a vector into Qᵀ times it; set the eigenvalues."""
    dimension = diagonal.shape[0]
    values, vectors = np.linalg.eigh(matrix)
    turned = np.dot(vectors.T, target)
    for a in range(dimension):
        diagonal[a], target[a] = max(values[a], 0.0), turned[a]
        for b in range(dimension):
            matrix[a, b] = vectors[a, b]


@compiled
def _tridiagonalise(matrix: Floats, diagonal: Floats, beside: Floats, target: Floats) -> None:
    """Householder's reduction: row k of the matrix becomes the reflector v of step k.

    Step k leaves H = I − vvᵀ, with v zero up to k and ‖v‖² = 2: Q = H₀H₁….
    """
    dimension = diagonal.shape[0]
    product = np.empty(dimension)
    trace = 0.0
    for k in range(dimension):
        trace += matrix[k, k]
    # Below the rounding of the matrix, it counts as 0: its square may have no inverse.
    least = (_ROUNDING * trace) ** 2
    for k in range(dimension - 2):
        square, row = 0.0, matrix[k]
        for a in range(k + 2, dimension):
            square += row[a] ** 2
        diagonal[k], beside[k] = row[k], row[k + 1]
        if square <= least:
            for a in range(k + 1, dimension):
                row[a] = 0.0
            continue
        beside[k] = -math.copysign(math.sqrt(square + row[k + 1] ** 2), row[k + 1])
        row[k + 1] -= beside[k]
        scale = math.sqrt(2.0 / (square + row[k + 1] ** 2))
        for a in range(k + 1, dimension):
            row[a] *= scale
        _reflect(matrix, k, target, product)
    for k in range(max(dimension - 2, 0), dimension):
        diagonal[k] = matrix[k, k]
    if dimension > 1:
        beside[dimension - 2] = matrix[dimension - 2, dimension - 1]


@compiled(inline="always")
def _reflect(matrix: Floats, k: int, target: Floats, product: Floats) -> None:
    """Apply H from both sides to what is right of and below column k, and H to the target."""
    dimension, row = target.shape[0], matrix[k]
    along, half = 0.0, 0.0
    for a in range(k + 1, dimension):
        along += row[a] * target[a]
    for a in range(k + 1, dimension):
        target[a] -= along * row[a]
        entry = 0.0
        for b in range(k + 1, dimension):
            entry += matrix[a, b] * row[b]
        product[a] = entry
        half += entry * row[a] / 2.0
    for a in range(k + 1, dimension):
        product[a] -= half * row[a]
    for a in range(k + 1, dimension):
        v, p = row[a], product[a]
        for b in range(k + 1, dimension):
            matrix[a, b] -= v * product[b] + p * row[b]


@compiled
def _basis(reflectors: Floats, basis: Floats) -> None:
    """Set Q (d, d) from its reflectors."""
    dimension = basis.shape[0]
    product = np.empty(dimension)
    for a in range(dimension):
        for b in range(dimension):
            basis[a, b] = 1.0 if a == b else 0.0
            if dimension >= _LARGE:
                basis[a, b] = reflectors[a, b]
    if dimension >= _LARGE:
        return
    for k in range(dimension - 3, -1, -1):
        v = reflectors[k]
        for b in range(k + 1, dimension):
            product[b] = 0.0
        for a in range(k + 1, dimension):
            for b in range(k + 1, dimension):
                product[b] += v[a] * basis[a, b]
        for a in range(k + 1, dimension):
            for b in range(k + 1, dimension):
                basis[a, b] -= v[a] * product[b]


@compiled
def explain(reduced: Reduced, ratios: Floats) -> tuple[Floats, Floats]:
    """For e's (G, P): log det(I + M̃/e) and w̃ᵀ(M̃ + eI)⁻¹w̃, (R, G, P) each."""
    n, size, dimension = reduced.diagonals.shape
    n_ratios = ratios.shape[1]
    log_determinants, explained = np.zeros((n, size, n_ratios)), np.zeros((n, size, n_ratios))
    pivots, entries = np.empty(n_ratios), np.empty(n_ratios)
    products = np.empty(n_ratios)
    for i in range(n):
        for g in range(size):
            e, logarithm, total = ratios[g], log_determinants[i, g], explained[i, g]
            for p in range(n_ratios):
                pivots[p], entries[p], products[p] = 1.0, 0.0, 1.0
            before = 0.0
            for a in range(dimension):
                own, target = reduced.diagonals[i, g, a], reduced.targets[i, g, a]
                for p in range(n_ratios):
                    ratio = before / pivots[p]
                    entries[p] = target - ratio * entries[p]
                    pivots[p] = max(own + e[p] - ratio * before, e[p])
                    total[p] += entries[p] ** 2 / pivots[p]
                    products[p] *= pivots[p] / e[p]
                before = reduced.beside[i, g, a]
                if a % _PIVOTS == _PIVOTS - 1 or a == dimension - 1:
                    for p in range(n_ratios):
                        logarithm[p] += math.log(products[p])
                        products[p] = 1.0
    return log_determinants, explained


@compiled
def average_mean(
    reduced: Reduced, ratios: Floats, shares: Floats, scales: Floats
) -> tuple[Floats, Floats]:
    """The mean (R, d) and covariance (R, d, d) of h over λ and e, with shares (R, G, P).

    The mean is Σ share·h, and the covariance Σ scale·(M̃ + eI)⁻¹ + share·(h − mean)(h − mean)ᵀ:
    gaps are squared, because h may be large and its variance small.
    """
    n, size, dimension = reduced.diagonals.shape
    n_ratios = ratios.shape[1]
    means, covariances = np.zeros((n, dimension)), np.zeros((n, dimension, dimension))
    bases = np.empty((size, dimension, dimension))
    roots, inverse_pivots = (
        np.empty((size, dimension, n_ratios)),
        np.empty((size, dimension, n_ratios)),
    )
    solutions = np.empty((size, dimension, n_ratios))
    kept, n_kept = np.empty((size, n_ratios), dtype=np.int64), np.zeros(size, dtype=np.int64)
    own, turned, half = np.empty(dimension), np.empty(dimension), np.empty((dimension, dimension))
    within, back = np.empty((dimension, dimension)), np.empty((dimension, dimension))
    for i in range(n):
        for g in range(size):
            n_kept[g] = _keep(shares[i, g], kept[g])
            if n_kept[g] == 0:
                continue
            _basis(reduced.reflectors[i, g], bases[g])
            _solve(reduced, i, g, ratios, kept, n_kept[g], roots, inverse_pivots, solutions)
            for a in range(dimension):
                own[a] = 0.0
                for q in range(n_kept[g]):
                    own[a] += shares[i, g, kept[g, q]] * solutions[g, a, q]
            np.dot(bases[g], own, turned)
            for a in range(dimension):
                means[i, a] += turned[a]
        for g in range(size):
            if n_kept[g] == 0:
                continue
            np.dot(bases[g].T, means[i], own)
            for a in range(dimension):
                for q in range(n_kept[g]):
                    solutions[g, a, q] -= own[a]
            _covariance_along(
                shares[i, g], scales[i, g], kept[g], n_kept[g], roots[g], inverse_pivots[g],
                solutions[g], within,
            )  # fmt: skip
            np.dot(bases[g], within, half)
            np.dot(half, bases[g].T, back)
            for a in range(dimension):
                for b in range(dimension):
                    covariances[i, a, b] += back[a, b]
    return means, covariances


@compiled
def _keep(shares: Floats, kept: Integers) -> int:
    """Set the first numbers of `kept` to the e's whose share (P,) counts; returns how many do."""
    largest, n = 0.0, 0
    for p in range(shares.shape[0]):
        largest = max(largest, shares[p])
    if largest <= _NEGLIGIBLE:
        return n
    for p in range(shares.shape[0]):
        if shares[p] > _NEGLIGIBLE_AT_LAMBDA * largest:
            kept[n] = p
            n += 1
    return n


@compiled
def _solve(
    reduced: Reduced,
    i: int,
    g: int,
    ratios: Floats,
    kept: Integers,
    n_kept: int,
    roots: Floats,
    inverse_pivots: Floats,
    solutions: Floats,
) -> None:
    """Set L's entries below the diagonal, D⁻¹ and (T + eI)⁻¹Qᵀw̃, (d, P) each, for the e's kept."""
    dimension = reduced.diagonals.shape[2]
    own, ratio, entry = np.empty(n_kept), np.zeros(n_kept), np.zeros(n_kept)
    for q in range(n_kept):
        own[q] = ratios[g, kept[g, q]]
    before = 0.0
    for a in range(dimension):
        diagonal, target = reduced.diagonals[i, g, a], reduced.targets[i, g, a]
        beside = reduced.beside[i, g, a]
        for q in range(n_kept):
            inverse = 1.0 / max(diagonal + own[q] - ratio[q] * before, own[q])
            entry[q] = target - ratio[q] * entry[q]
            ratio[q] = beside * inverse
            roots[g, a, q], inverse_pivots[g, a, q] = ratio[q], inverse
            solutions[g, a, q] = entry[q] * inverse
        before = beside
    for a in range(dimension - 2, -1, -1):
        for q in range(n_kept):
            solutions[g, a, q] -= roots[g, a, q] * solutions[g, a + 1, q]


@compiled
def _covariance_along(
    shares: Floats,
    scales: Floats,
    kept: Integers,
    n_kept: int,
    roots: Floats,
    inverse_pivots: Floats,
    gaps: Floats,
    within: Floats,
) -> None:
    """Set Σ scale·(T + eI)⁻¹ + share·gap gapᵀ, (d, d), with gaps (d, P), over the e's kept.

    In the inverse of LDLᵀ, row a right of its diagonal is −L_{a+1,a} times row a + 1, and its
    diagonal is 1/D_a + L²_{a+1,a} times the diagonal of row a + 1.
    """
    dimension = within.shape[0]
    row, share, scale = np.empty((dimension, n_kept)), np.empty(n_kept), np.empty(n_kept)
    for q in range(n_kept):
        share[q], scale[q] = shares[kept[q]], scales[kept[q]]
    for a in range(dimension - 1, -1, -1):
        for q in range(n_kept):
            row[a, q] = inverse_pivots[a, q]
            if a + 1 < dimension:
                row[a, q] += roots[a, q] ** 2 * row[a + 1, q]
        for b in range(a + 1, dimension):
            for q in range(n_kept):
                row[b, q] *= -roots[a, q]
        for b in range(a, dimension):
            total = 0.0
            for q in range(n_kept):
                total += scale[q] * row[b, q] + share[q] * gaps[a, q] * gaps[b, q]
            within[a, b] = within[b, a] = total
