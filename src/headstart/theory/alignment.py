"""Alignment of tasks: the weight of each in the pool, and whether all share a basis."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.theory.estimation import task_average


def misalignment(grams: ArrayLike) -> Floats:
    """σ_max(V_j Ṽ⁺) of every task (Section 5.2).

    At most 1 when the grams commute (Assumption 2); it can exceed 1 when they do not.

    Examples
    --------
    >>> hs.theory.misalignment([np.diag([3.0, 1.0]), np.diag([1.0, 1.0])])
    array([0.75, 0.5 ])
    """
    v = _grams(grams)
    inverse = np.linalg.pinv(v.sum(-3, keepdims=True), hermitian=True)
    return np.asarray(np.linalg.norm(v @ inverse, ord=2, axis=(-2, -1)))


def weighted_deviation(parameters: ArrayLike, grams: ArrayLike, counts: ArrayLike) -> Floats:
    """H̃_j = ‖w_j − H̄‖ σ_max(V_j Ṽ⁺) of every task (Theorem 3).

    Examples
    --------
    >>> grams = [np.diag([3.0, 1.0]), np.diag([1.0, 1.0])]
    >>> hs.theory.weighted_deviation([[0.0, 0.0], [2.0, 0.0]], grams, [4, 4])
    array([0.75, 0.5 ])
    """
    w = checks.floats("parameters", parameters)
    distances = np.linalg.norm(w - task_average(w, counts)[..., None, :], axis=-1)
    return np.asarray(distances * misalignment(grams))


def smallest_eigenvalues(grams: ArrayLike) -> Floats:
    """λ_min(V) of every gram: 0 wherever T < d.

    Examples
    --------
    >>> hs.theory.smallest_eigenvalues([np.diag([3.0, 1.0]), np.diag([2.0, 0.0])])
    array([1., 0.])
    """
    return np.asarray(np.maximum(np.linalg.eigvalsh(checks.floats("grams", grams))[..., 0], 0.0))


def smallest_global_eigenvalue(grams: ArrayLike) -> Floats:
    """ν_min = λ_min(Ṽ); at least Σ λ_min(V_j).

    Examples
    --------
    >>> hs.theory.smallest_global_eigenvalue([np.diag([3.0, 0.0]), np.diag([0.0, 2.0])]).round(6)
    np.float64(2.0)
    """
    return smallest_eigenvalues(_grams(grams).sum(-3))


@dataclass(frozen=True, eq=False)
class SharedBasis:
    """How far Assumption 2 holds: 0 and 0 when one basis diagonalises every gram.

    Parameters
    ----------
    off_diagonal : ndarray of shape (…)
        The share of Σ‖V_j‖² off the diagonal of the best basis found.
    commutator : ndarray of shape (…)
        The largest ‖V_iV_j − V_jV_i‖/(‖V_i‖‖V_j‖), at most √2.

    Examples
    --------
    >>> shared = hs.theory.shared_basis([np.diag([2.0, 1.0]), np.array([[1.0, 0.5], [0.5, 1.0]])])
    >>> round(float(shared.off_diagonal), 2), round(float(shared.commutator), 2)
    (0.07, 0.2)
    """

    off_diagonal: Floats
    commutator: Floats


def shared_basis(grams: ArrayLike) -> SharedBasis:
    """Assumption 2 (Eq. 9), measured: how far one P gives V_j = P Σ_j Pᵀ for all tasks.

    Symmetric matrices share a basis exactly when they commute. It tries the basis of a generic
    combination Σ c_j V_j, which diagonalises all of them whenever any basis does. The basis of Ṽ
    itself would not: V = diag(2, 1) and diag(1, 2) sum to 3I, whose basis can be anything.

    Examples
    --------
    >>> shared = hs.theory.shared_basis([np.diag([2.0, 1.0]), np.diag([1.0, 2.0])])
    >>> float(shared.commutator)
    0.0
    """
    v = _grams(grams)
    n = v.shape[-3]
    # Random, from a fixed seed, so that no two directions have the same eigenvalue by design.
    weights = np.random.default_rng(0).uniform(1.0, 2.0, (n, 1, 1))
    basis = np.linalg.eigh((weights * v).sum(-3)).eigenvectors[..., None, :, :]
    rotated = basis.mT @ v @ basis
    sum_of_squares = (v**2).sum((-3, -2, -1))
    diagonal = (np.diagonal(rotated, axis1=-2, axis2=-1) ** 2).sum((-2, -1))
    norms = np.sqrt((v**2).sum((-2, -1)))
    product = v[..., :, None, :, :] @ v[..., None, :, :, :]
    commutators = np.sqrt(((product - product.mT) ** 2).sum((-2, -1)))
    scale = norms[..., :, None] * norms[..., None, :]
    return SharedBasis(
        off_diagonal=np.maximum(
            1.0 - diagonal / np.where(sum_of_squares > 0, sum_of_squares, 1.0), 0.0
        )
        * (sum_of_squares > 0),
        commutator=(commutators / np.where(scale > 0, scale, 1.0)).max((-2, -1)),
    )


def _grams(grams: ArrayLike) -> Floats:
    v = checks.floats("grams", grams)
    if v.ndim < 3 or v.shape[-1] != v.shape[-2] or v.shape[-3] == 0:
        raise ValueError(f"grams must have shape (…, n, d, d), got {v.shape}")
    return v
