"""The factor model of tasks: what it expects of them, and the steps of its fit.

Tasks are w = Hz + Lf + ε with f ~ N(0, I_r) and ε ~ N(0, τ²I); z begins with 1, and its length is
p. They are thin: R rewards y of features X (R, d) with orthogonal rows, XXᵀ = diag(v). With
λ = s²/τ², D = I + diag(v)/λ and K = XL, the rewards' covariance given H has the inverse

    P = (D⁻¹ − D⁻¹KCKᵀD⁻¹/s²)/s²,    C = (I + KᵀD⁻¹K/s²)⁻¹,

so only r × r matrices are inverted, and one of the size of H. Columns of H are N(0, κ²I), each with
its own κ², except the first, the mean task: it is N(0, κ²I + ωLLᵀ), since what tasks have in common
may lie along the directions in which they differ, and nowhere else.
"""

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled
from headstart.kernels.factorisation import factorise

# Products of the determinants' factors are taken for as long as they are above this.
_LEAST_PRODUCT = 1e-150
# Further steps are expected to lower the deviance by at most this many times the last step's fall.
_HOPE = 2.0


class ThinTasks(NamedTuple):
    """N tasks: features, rewards and z, and sums of squares of pure noise."""

    designs: Floats  # (N, R, d)
    rewards: Floats  # (N, R)
    squares: Floats  # (N, R), the v's
    residuals: Floats  # (N,)
    counts: Floats  # (N,), how many rewards a task stands for: along rows, and of pure noise
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
    filtered: Floats  # (NR,), Py
    factor_covariances: Floats  # (N, r, r), C
    mean_covariance: Floats  # (pd, pd), S̄ of H
    coefficients: Floats  # (pd,), H
    gaps: Floats  # (NR,), P(y − XHz)
    gradients: Floats  # (N, d), XᵀP(y − XHz)
    deviance: float  # −2 log p(rewards), less n log 2π, with H integrated out


@compiled
def thin_rewards(
    designs: Floats, moments: Floats, weights: Floats
) -> tuple[Floats, Floats, Floats]:
    """Features (N, R, d), rewards and squares (N, R) of the tasks that have a weight, of W.

    Last rows in which no task has data are left out, but at least one row stays.
    """
    n, n_rows, dimension = 0, 1, designs.shape[2]
    squares = np.zeros(designs.shape[:2])
    for j in range(designs.shape[0]):
        n += weights[j] > 0.0
        for i in range(designs.shape[1] if weights[j] > 0.0 else 0):
            for a in range(dimension):
                squares[j, i] += designs[j, i, a] ** 2
            if squares[j, i] > 0.0:
                n_rows = max(n_rows, i + 1)
    kept, rewards, own = (
        np.empty((n, n_rows, dimension)),
        np.zeros((n, n_rows)),
        np.empty((n, n_rows)),
    )
    n = 0
    for j in range(designs.shape[0]):
        if weights[j] > 0.0:
            for i in range(n_rows):
                own[n, i] = squares[j, i]
                for a in range(dimension):
                    kept[n, i, a] = designs[j, i, a]
                    rewards[n, i] += designs[j, i, a] * moments[j, a]
                rewards[n, i] = rewards[n, i] / own[n, i] if own[n, i] > 0.0 else 0.0
            n += 1
    return kept, rewards, own


@compiled
def expect(tasks: ThinTasks, model: FactorModel) -> Expected:
    """The posterior of H given all tasks, and the quantities of each task that use P."""
    return _expect(tasks, _weighted(tasks), model, _room(tasks, model.loadings.shape[1]))


@compiled
def _room(tasks: ThinTasks, rank: int) -> Expected:
    """Arrays for `expect` at this rank: allocating them takes longer than a step."""
    n, rows, dimension = tasks.designs.shape
    size = tasks.regressors.shape[1] * dimension
    return Expected(
        np.zeros((n * rows, rank)), np.empty((n * rows, size)), np.empty(n * rows),
        np.empty(n * rows), np.zeros((n, rank, rank)), np.empty((size, size)), np.empty(size),
        np.empty(n * rows), np.empty((n, dimension)), 0.0,
    )  # fmt: skip


@compiled
def _weighted(tasks: ThinTasks) -> Floats:
    """Features times a task's weight, once for every z: z ⊗ wX, (NR, pd)."""
    n, rows, dimension = tasks.designs.shape
    n_regressors = tasks.regressors.shape[1]
    weighted = np.empty((n * rows, n_regressors * dimension))
    for j in range(n):
        for k in range(n_regressors):
            z = tasks.weights[j] * tasks.regressors[j, k]
            for i in range(rows):
                for a in range(dimension):
                    weighted[j * rows + i, k * dimension + a] = z * tasks.designs[j, i, a]
    return weighted


@compiled
def _expect(tasks: ThinTasks, weighted: Floats, model: FactorModel, room: Expected) -> Expected:
    """`expect`, in the arrays of an earlier call."""
    n, rows, dimension = tasks.designs.shape
    n_regressors, rank = tasks.regressors.shape[1], model.loadings.shape[1]
    size = n_regressors * dimension
    projected, covariance, coefficients = room.projected, room.mean_covariance, room.coefficients
    if rank:
        np.dot(tasks.designs.reshape(n * rows, dimension), model.loadings, room.scores)
    deviance = 0.0
    for j in range(n):
        deviance += tasks.weights[j] * _project(tasks, model, j, room)
    _regress_out(tasks, projected)
    precision, target = np.empty((size, size)), np.zeros(size)
    for j in range(n):
        for i in range(rows):
            reward = tasks.weights[j] * tasks.rewards[j, i]
            row = projected[j * rows + i]
            for b in range(size):
                target[b] += row[b] * reward
    np.dot(weighted.T, projected, precision)
    for a in range(size):
        precision[a, a] += 1.0 / model.means[a // dimension]
        for b in range(a):
            precision[a, b] = precision[b, a] = (precision[a, b] + precision[b, a]) / 2.0
    for k in range(n_regressors):
        deviance += dimension * math.log(model.means[k])
    deviance += _widen(model, precision)
    deviance += factorise(covariance, precision, np.zeros((1, 1)))
    np.dot(covariance, target, coefficients)
    np.dot(projected, coefficients, room.gaps)
    for a in range(size):
        deviance -= coefficients[a] * target[a]
    _read_gaps(tasks, room)
    return Expected(
        room.scores, projected, room.diagonal, room.filtered, room.factor_covariances, covariance,
        coefficients, room.gaps, room.gradients, deviance,
    )  # fmt: skip


@compiled
def _read_gaps(tasks: ThinTasks, room: Expected) -> None:
    """Set P(y − XHz), where PXHz was before, and XᵀP(y − XHz)."""
    n, rows, dimension = tasks.designs.shape
    for j in range(n):
        gradient = room.gradients[j]
        for a in range(dimension):
            gradient[a] = 0.0
        for i in range(rows):
            gap = room.filtered[j * rows + i] - room.gaps[j * rows + i]
            room.gaps[j * rows + i] = gap
            for a in range(dimension):
                gradient[a] += tasks.designs[j, i, a] * gap


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
    """Add ωLLᵀ to κ²I in the mean task's prior. Returns what its log determinant gains."""
    dimension, rank = model.loadings.shape
    inverse, log_determinant = between_columns(model)
    half = np.dot(model.loadings, inverse)
    for a in range(dimension):
        for b in range(dimension):
            for k in range(rank):
                precision[a, b] -= half[a, k] * model.loadings[b, k] / model.means[0]
    return log_determinant


@compiled
def _regress_out(tasks: ThinTasks, projected: Floats) -> None:
    """Turn rows of PX (NR, d first columns) into z ⊗ PX."""
    n, rows, dimension = tasks.designs.shape
    for j in range(n):
        for i in range(j * rows, (j + 1) * rows):
            for k in range(1, tasks.regressors.shape[1]):
                for a in range(dimension):
                    projected[i, k * dimension + a] = tasks.regressors[j, k] * projected[i, a]


@compiled
def _project(tasks: ThinTasks, model: FactorModel, j: int, room: Expected) -> float:
    """Set PX, P's diagonal, Py and C of task j, given K; returns its part of the deviance."""
    rows, dimension = tasks.designs.shape[1:]
    rank, noise, first = model.loadings.shape[1], model.noise, j * tasks.designs.shape[1]
    x, y, k = tasks.designs[j], tasks.rewards[j], room.scores[first : first + rows]
    # KᵀD⁻¹K/s², KᵀD⁻¹y and KᵀD⁻¹X.
    precision, along, moved = (
        room.factor_covariances[j],
        np.zeros(rank),
        np.zeros((rank, dimension)),
    )
    for m in range(rank):
        for other in range(rank):
            precision[m, other] = 1.0 if m == other else 0.0
    deviance: float = tasks.counts[j] * math.log(noise) + tasks.residuals[j] / noise
    product, ratio = 1.0, model.task / noise
    for i in range(rows):
        shrunk = 1.0 / (1.0 + tasks.squares[j, i] * ratio)
        room.diagonal[first + i] = shrunk
        product *= shrunk
        if product < _LEAST_PRODUCT:
            deviance -= math.log(product)
            product = 1.0
        for m in range(rank):
            weight = shrunk * k[i, m]
            along[m] += weight * y[i]
            for other in range(rank):
                precision[m, other] += weight * k[i, other] / noise
            for a in range(dimension):
                moved[m, a] += weight * x[i, a]
    deviance -= math.log(product)
    deviance += _invert(precision)
    for i in range(rows):
        shrunk = room.diagonal[first + i]
        own, filtered, scale = shrunk / noise, shrunk * y[i] / noise, shrunk / noise
        row = room.projected[first + i]
        for a in range(dimension):
            row[a] = scale * x[i, a]
        for m in range(rank):
            half = 0.0
            for other in range(rank):
                half += k[i, other] * precision[other, m]
            half *= shrunk / noise**2
            own -= half * shrunk * k[i, m]
            filtered -= half * along[m]
            for a in range(dimension):
                row[a] -= half * moved[m, a]
        room.diagonal[first + i], room.filtered[first + i] = own, filtered
        deviance += y[i] * filtered
    return deviance


@compiled
def _invert(matrix: Floats) -> float:
    """Invert a small positive definite matrix in place (sweeps). Returns its log det."""
    size, log_determinant = matrix.shape[0], 0.0
    for k in range(size):
        pivot = matrix[k, k]
        log_determinant += math.log(pivot)
        for a in range(size):
            if a != k:
                share = matrix[a, k] / pivot
                for b in range(size):
                    if b != k:
                        matrix[a, b] -= share * matrix[k, b]
                matrix[a, k] = -share
        for b in range(size):
            if b != k:
                matrix[k, b] /= pivot
        matrix[k, k] = 1.0 / pivot
    return log_determinant


@compiled
def improve(tasks: ThinTasks, model: FactorModel, expected: Expected, moved: Floats) -> FactorModel:
    """One step of expectation-maximisation, with H unknown (as in REML), and L as unknown as H.

    f and w are the missing data. L's columns are estimated like H, with regressors f instead of z,
    and taken to be equally uncertain: a factor 1 + N fᵀ(Σ E ffᵀ)⁻¹f of the covariance of Hz. The
    new L is rotated and scaled to E ffᵀ = I (parameter expansion). `moved`, (NR, pd), is memory for
    PXS̄.
    """
    n, rows, dimension = tasks.designs.shape
    rank, noise, task = model.loadings.shape[1], model.noise, model.task
    np.dot(expected.projected, expected.mean_covariance, moved)
    factors, scatter, step = _factor_moments(tasks, model, expected, moved)
    total_weight, n_rewards = 0.0, 0.0
    for j in range(n):
        total_weight += tasks.weights[j]
        n_rewards += tasks.weights[j] * tasks.counts[j]
    inverse, change = np.zeros((rank, rank)), np.zeros((dimension, rank))
    loadings = model.loadings.copy()
    if rank:
        factorise(inverse, scatter, np.zeros((1, 1)))
        change = np.dot(step, inverse)
        loadings = np.dot(loadings + change, np.linalg.cholesky(scatter / total_weight))
    of_task, of_noise = task * total_weight * dimension, 0.0
    for a in range(dimension):
        for k in range(rank):
            of_task -= change[a, k] * step[a, k]
    for j in range(n):
        unknown = 1.0
        for k in range(rank):
            for m in range(rank):
                unknown += total_weight * factors[j, k] * inverse[k, m] * factors[j, m]
        of_noise += tasks.weights[j] * (tasks.residuals[j] + noise * rows)
        for i in range(j * rows, (j + 1) * rows):
            spread = 0.0
            for b in range(expected.projected.shape[1]):
                spread += moved[i, b] * expected.projected[i, b]
            own = expected.gaps[i] ** 2 + unknown * spread - expected.diagonal[i]
            of_noise += tasks.weights[j] * noise**2 * own
            of_task += tasks.weights[j] * task**2 * tasks.squares[j, i - j * rows] * own
    means, along = _mean_variances(model, expected)
    of_task /= total_weight * dimension
    return FactorModel(loadings, of_noise / n_rewards, of_task, means, along)


@compiled
def _mean_variances(model: FactorModel, expected: Expected) -> tuple[Floats, float]:
    """The next κ² (p,) and ω: the mean task is u + Lg with u ~ N(0, κ²I) and g ~ N(0, ωI_r)."""
    dimension, rank = model.loadings.shape
    means = np.zeros_like(model.means)
    for b in range(expected.coefficients.shape[0]):
        own = expected.coefficients[b] ** 2 + expected.mean_covariance[b, b]
        means[b // dimension] += own / dimension
    if rank == 0:
        return means, model.along
    # With B of `between_columns`, W = LᵀL and C the second moment of the mean task,
    # E‖u‖² = tr C − tr (2B − BWB)LᵀCL + κ² tr BW and E‖g‖² = tr BLᵀCLB + ω(r − tr BW).
    inverse = between_columns(model)[0]
    own = np.ascontiguousarray(expected.mean_covariance[:dimension, :dimension])
    mean = np.dot(model.loadings.T, expected.coefficients[:dimension])
    second = np.dot(np.dot(model.loadings.T, own), model.loadings)
    second += mean.reshape(-1, 1) * mean
    share = np.dot(inverse, np.dot(model.loadings.T, model.loadings))
    kept = 2.0 * inverse - np.dot(share, inverse)
    inside = np.dot(inverse, np.dot(second, inverse))
    along = 0.0
    for k in range(rank):
        along += (inside[k, k] + model.along * (1.0 - share[k, k])) / rank
        means[0] += model.means[0] * share[k, k] / dimension
        for m in range(rank):
            means[0] -= kept[k, m] * second[m, k] / dimension
    return means, along


@compiled
def _factor_moments(
    tasks: ThinTasks, model: FactorModel, expected: Expected, moved: Floats
) -> tuple[Floats, Floats, Floats]:
    """The means of f (N, r), Σ E ffᵀ (r, r) and Σ E εfᵀ (d, r), with H unknown."""
    n, rows, dimension = tasks.designs.shape
    rank, size = model.loadings.shape[1], moved.shape[1]
    factors, scatter = np.dot(expected.gradients, model.loadings), np.zeros((rank, rank))
    step, back = np.zeros((dimension, rank)), np.empty((rank, size))
    for j in range(n if rank else 0):
        weight, first = tasks.weights[j], j * rows
        # B = KᵀPX for each z, (r, pd), and rows of PXS̄Bᵀ.
        for k in range(rank):
            for b in range(size):
                back[k, b] = 0.0
            for i in range(first, first + rows):
                for b in range(size):
                    back[k, b] += expected.scores[i, k] * expected.projected[i, b]
        for k in range(rank):
            for i in range(first, first + rows):
                both = 0.0
                for b in range(size):
                    both += moved[i, b] * back[k, b]
                for m in range(rank):
                    scatter[m, k] += weight * expected.scores[i, m] * both
                for a in range(dimension):
                    step[a, k] += weight * model.task * tasks.designs[j, i - first, a] * both
            for m in range(rank):
                own = factors[j, k] * factors[j, m] + expected.factor_covariances[j, k, m]
                scatter[k, m] += weight * own
            for a in range(dimension):
                along = expected.gradients[j, a] * factors[j, k] - back[k, a]
                step[a, k] += weight * model.task * along
    return factors, scatter, step


@compiled
def climb(
    tasks: ThinTasks,
    model: FactorModel,
    n_steps: int,
    least: float,
    most: float,
    target: float = np.inf,
) -> tuple[FactorModel, Expected]:
    """Take this many steps from a model, with λ from least to most; also what the last expects.

    Steps grow for as long as the deviance falls (overrelaxation), because small variances would
    otherwise take hundreds of steps. They end if the deviance would not reach a target even if
    every further step fell by twice as much as the last one.
    """
    floor, total = 1e-300, max(tasks.counts.sum(), 1.0)
    for j in range(tasks.designs.shape[0]):
        size = tasks.residuals[j] + (tasks.rewards[j] ** 2).sum()
        floor += 1e-13 * tasks.weights[j] * size / total
    model = _within(model, model, 1.0, floor, least, most)
    weighted, room = _weighted(tasks), _room(tasks, model.loadings.shape[1])
    moved = np.empty_like(room.projected)
    expected = _expect(tasks, weighted, model, room)
    length = 1.5
    for step in range(1, n_steps + 1):
        before = expected.deviance
        plain = improve(tasks, model, expected, moved)
        longer = _within(model, plain, length, floor, least, most)
        expected = _expect(tasks, weighted, longer, room)
        if expected.deviance <= before:
            length = min(1.5 * length, 10.0)
        else:
            longer = _within(model, plain, 1.0, floor, least, most)
            expected = _expect(tasks, weighted, longer, room)
            length = 1.5
        model = longer
        fall = max(before - expected.deviance, 0.0)
        if step >= 2 and expected.deviance - _HOPE * (n_steps - step) * fall > target:
            break
    return model, expected


@compiled
def _within(
    old: FactorModel, new: FactorModel, length: float, floor: float, least: float, most: float
) -> FactorModel:
    """The model this many steps from the old one, with variances in their limits.

    Tasks never explain more than the smallest λ allows, along directions or not: s² is at least
    λ(τ² + tr LLᵀ/d). If LLᵀ had a separate limit, it would be found in any tasks without noise.
    """
    loadings = old.loadings + length * (new.loadings - old.loadings)
    size = (loadings**2).sum() / loadings.shape[0]
    noise = max(old.noise * (max(new.noise, floor) / old.noise) ** length, floor)
    task = max(new.task, noise / most)
    task = max(old.task * (task / old.task) ** length, noise / most)
    noise = max(noise, least * (task + size))
    means = np.empty_like(new.means)
    lowest = 1e-10 * (task + size)
    for k in range(means.shape[0]):
        means[k] = old.means[k] * (max(new.means[k], lowest) / old.means[k]) ** length
        means[k] = max(means[k], lowest)
    along = old.along * (new.along / old.along) ** length
    return FactorModel(loadings, noise, task, means, min(max(along, 1e-3), 1e6))


@compiled
def new_direction(tasks: ThinTasks, expected: Expected) -> tuple[Floats, float]:
    """The column (d,) that L lacks most, and how much it lowers the deviance if added alone.

    It is the leading eigenvector u of Σ(ggᵀ − XᵀPX), g = XᵀP(y − XHz), with a length: a variance a
    along u lowers the deviance by Σ[a(uᵀg)²/(1 + ai) − log(1 + ai)], i = uᵀXᵀPXu.
    """
    n, rows, dimension = tasks.designs.shape
    plain = np.empty((n * rows, dimension))
    for j in range(n):
        for i in range(j * rows, (j + 1) * rows):
            for a in range(dimension):
                plain[i, a] = tasks.weights[j] * expected.projected[i, a]
    gradients = np.empty((n, dimension))
    for j in range(n):
        for a in range(dimension):
            gradients[j, a] = tasks.weights[j] * expected.gradients[j, a]
    designs = tasks.designs.reshape(n * rows, dimension)
    total = np.dot(gradients.T, expected.gradients) - np.dot(designs.T, plain)
    direction = np.linalg.eigh((total + total.T) / 2.0)[1][:, dimension - 1].copy()
    slope, bend = 0.0, 0.0
    along, squared = np.zeros(n), np.dot(expected.gradients, direction) ** 2
    features, information = np.dot(designs, direction), np.dot(plain, direction)
    for j in range(n):
        for i in range(j * rows, (j + 1) * rows):
            along[j] += features[i] * information[i] / tasks.weights[j]
        along[j] = max(along[j], 0.0)  # below 0 by rounding only
        slope += tasks.weights[j] * (squared[j] - along[j])
        bend += tasks.weights[j] * along[j] ** 2
    if not (slope > 0.0 and bend > 0.0):
        return 0.0 * direction, 0.0
    variance, gain = slope / bend, 0.0
    for j in range(n):
        ratio = variance * along[j]
        own = variance * squared[j] / (1.0 + ratio) - math.log1p(ratio)
        gain += tasks.weights[j] * own
    return math.sqrt(variance) * direction, gain
