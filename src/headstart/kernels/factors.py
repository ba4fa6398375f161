"""The factor model of tasks, and what it expects of them.

Tasks are w = Hz + Lf + ε with f ~ N(0, I_r) and ε ~ N(0, τ²I); z begins with 1, and its length is
p. They are thin: R rewards y of features X (R, d) with orthogonal rows, XXᵀ = diag(v). With
λ = s²/τ², D = I + diag(v)/λ and K = XL, the rewards' covariance given H has the inverse

    P = (D⁻¹ − D⁻¹KCKᵀD⁻¹/s²)/s²,    C = (I + KᵀD⁻¹K/s²)⁻¹,

so that matrices of rank r are inverted, and one of the size of H. Columns of H are N(0, κ²I), each
with a κ² of its own, but for the first, the mean task: it is N(0, κ²I + ωLLᵀ), since what tasks
have in common may lie along the directions in which they differ, and nowhere else.
"""

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled
from headstart.kernels.factorisation import factorise


class ThinTasks(NamedTuple):
    """N tasks: features, rewards and z, and sums of squares of pure noise."""

    designs: Floats  # (N, R, d)
    rewards: Floats  # (N, R)
    squares: Floats  # (N, R), the v's
    residuals: Floats  # (N,)
    counts: Floats  # (N,), rewards that a task stands for: those along rows, and of pure noise
    weights: Floats  # (N,)
    regressors: Floats  # (N, p), the z's


class FactorModel(NamedTuple):
    """L, the variances of the noise, of ε, and of H's columns: κ² each, and ω along L."""

    loadings: Floats  # (d, r)
    noise: float  # s²
    task: float  # τ²
    means: Floats  # (p,), κ²
    along: float  # ω


class Expected(NamedTuple):
    """What a model expects of tasks, with one row per task and reward, N·R of them."""

    scores: Floats  # (NR, r), K
    projected: Floats  # (NR, pd), z ⊗ PX
    diagonal: Floats  # (NR,), of P
    factor_covariances: Floats  # (N, r, r), C
    mean_covariance: Floats  # (pd, pd), S̄ of H
    coefficients: Floats  # (pd,), H
    gaps: Floats  # (NR,), P(y − XHz)
    gradients: Floats  # (N, d), XᵀP(y − XHz)
    deviance: float  # −2 log p(rewards), less n log 2π, with H integrated out


@compiled
def expect(tasks: ThinTasks, model: FactorModel) -> Expected:
    """The posterior of H given all tasks, and what P says about each of them."""
    n, rows, dimension = tasks.designs.shape
    size = tasks.regressors.shape[1] * dimension
    scores = np.zeros((n * rows, model.loadings.shape[1]))
    projected, diagonal = np.empty((n * rows, size)), np.empty(n * rows)
    filtered, factor_covariances = np.empty(n * rows), _squares_of(n, model.loadings.shape[1])
    deviance = 0.0
    for j in range(n):
        own = _project(tasks, model, j, scores, projected, diagonal, filtered, factor_covariances)
        deviance += tasks.weights[j] * own
    deviance += _regress_out(tasks, projected)
    precision, target = np.empty((size, size)), np.zeros(size)
    weighted = np.empty((n * rows, size))
    for j in range(n):
        for i in range(j * rows, (j + 1) * rows):
            reward, x = (
                tasks.weights[j] * tasks.rewards[j, i - j * rows],
                tasks.designs[j, i - j * rows],
            )
            for k in range(tasks.regressors.shape[1]):
                z = tasks.weights[j] * tasks.regressors[j, k]
                part = weighted[i, k * dimension : (k + 1) * dimension]
                for a in range(dimension):
                    part[a] = z * x[a]
            for b in range(size):
                target[b] += projected[i, b] * reward
    np.dot(weighted.T, projected, precision)
    for a in range(size):
        precision[a, a] += 1.0 / model.means[a // dimension]
        for b in range(a):
            precision[a, b] = precision[b, a] = (precision[a, b] + precision[b, a]) / 2.0
        deviance += math.log(model.means[a // dimension])
    deviance += _widen(model, precision)
    covariance, coefficients = np.empty((size, size)), np.empty(size)
    deviance += factorise(covariance, precision, np.zeros((1, 1)))
    np.dot(covariance, target, coefficients)
    gaps, gradients = np.empty(n * rows), np.zeros((n, dimension))
    np.dot(projected, coefficients, gaps)
    for a in range(size):
        deviance -= coefficients[a] * target[a]
    for i in range(n * rows):
        gaps[i] = filtered[i] - gaps[i]
        for a in range(dimension):
            gradients[i // rows, a] += tasks.designs[i // rows, i % rows, a] * gaps[i]
    return Expected(
        scores, projected, diagonal, factor_covariances, covariance, coefficients, gaps, gradients,
        deviance,
    )  # fmt: skip


@compiled
def between_columns(model: FactorModel) -> tuple[Floats, float]:
    """B = (κ²/ω I + LᵀL)⁻¹, (r, r), and log det(I + ωLᵀL/κ²): (κ²I + ωLLᵀ)⁻¹ = (I − LBLᵀ)/κ²."""
    rank, ratio = model.loadings.shape[1], model.means[0] / model.along
    inverse = np.zeros((rank, rank))
    if rank == 0:
        return inverse, 0.0
    gram = np.dot(model.loadings.T, model.loadings)
    log_determinant = factorise(inverse, gram, np.full((1, 1), ratio))
    return inverse, log_determinant - rank * math.log(ratio)


@compiled
def _widen(model: FactorModel, precision: Floats) -> float:
    """Let the mean task's prior have ωLLᵀ beside κ²I; returns what its log determinant gains."""
    dimension, rank = model.loadings.shape
    inverse, log_determinant = between_columns(model)
    half = np.dot(model.loadings, inverse)
    for a in range(dimension):
        for b in range(dimension):
            for k in range(rank):
                precision[a, b] -= half[a, k] * model.loadings[b, k] / model.means[0]
    return log_determinant


@compiled
def _squares_of(n: int, size: int) -> Floats:
    """N matrices of a size, which may be 0."""
    return np.zeros((n, size, size))


@compiled
def _regress_out(tasks: ThinTasks, projected: Floats) -> float:
    """Let rows of PX (NR, d first columns) become z ⊗ PX; returns 0."""
    n, rows, dimension = tasks.designs.shape
    for j in range(n):
        for i in range(j * rows, (j + 1) * rows):
            for k in range(1, tasks.regressors.shape[1]):
                for a in range(dimension):
                    projected[i, k * dimension + a] = tasks.regressors[j, k] * projected[i, a]
    return 0.0


@compiled
def _project(
    tasks: ThinTasks,
    model: FactorModel,
    j: int,
    scores: Floats,
    projected: Floats,
    diagonal: Floats,
    filtered: Floats,
    factor_covariances: Floats,
) -> float:
    """Set K, PX, P's diagonal, Py and C of task j; returns its part of the deviance but for H."""
    rows, dimension = tasks.designs.shape[1:]
    rank, noise, first = model.loadings.shape[1], model.noise, j * tasks.designs.shape[1]
    x, y, k = tasks.designs[j], tasks.rewards[j], scores[first : first + rows]
    covariance = factor_covariances[j]
    shrunk, moved = np.empty(rows), np.zeros((rank, dimension))
    precision, along = np.zeros((rank, rank)), np.zeros(rank)
    deviance: float = tasks.counts[j] * math.log(noise) + tasks.residuals[j] / noise
    for i in range(rows):
        shrunk[i] = 1.0 / (1.0 + tasks.squares[j, i] * model.task / noise)
        deviance -= math.log(shrunk[i])
        _whiten(x[i], y[i], shrunk[i], model, k[i], precision, along, moved)
    if rank:
        deviance += factorise(covariance, precision, np.ones((1, 1)))
    half = np.empty(rank)
    for i in range(rows):
        diagonal[first + i], filtered[first + i] = shrunk[i] / noise, shrunk[i] * y[i] / noise
        for a in range(dimension):
            projected[first + i, a] = shrunk[i] * x[i, a] / noise
        for m in range(rank):
            half[m] = 0.0
            for other in range(rank):
                half[m] += shrunk[i] * k[i, other] * covariance[other, m] / noise**2
            diagonal[first + i] -= half[m] * shrunk[i] * k[i, m]
            filtered[first + i] -= half[m] * along[m]
            for a in range(dimension):
                projected[first + i, a] -= half[m] * moved[m, a]
        deviance += y[i] * filtered[first + i]
    return deviance


@compiled
def _whiten(
    x: Floats,
    y: float,
    shrunk: float,
    model: FactorModel,
    scores: Floats,
    precision: Floats,
    along: Floats,
    moved: Floats,
) -> None:
    """Set a row of K, (r,), and add it to KᵀD⁻¹K/s², to KᵀD⁻¹y and to KᵀD⁻¹X."""
    rank, dimension = moved.shape
    for k in range(rank):
        scores[k] = 0.0
        for a in range(dimension):
            scores[k] += x[a] * model.loadings[a, k]
    for k in range(rank):
        weight = shrunk * scores[k]
        along[k] += weight * y
        for m in range(rank):
            precision[k, m] += weight * scores[m] / model.noise
        for a in range(dimension):
            moved[k, a] += weight * x[a]
