"""Steps of a factor model's fit: expectation-maximisation, and new directions."""

import math

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled
from headstart.kernels.factorisation import factorise
from headstart.kernels.factors import Expected, FactorModel, ThinTasks, between_columns, expect


@compiled
def improve(tasks: ThinTasks, model: FactorModel, expected: Expected) -> FactorModel:
    """One step of expectation-maximisation, with H unknown (as in REML), and L as unknown as H.

    f and w are the missing data. L's columns are estimated as H is, from regressors f in the
    place of z, so they are taken to be as uncertain: a factor 1 + N fᵀ(Σ E ffᵀ)⁻¹f of the
    covariance of Hz. The new L is rotated and scaled to E ffᵀ = I (parameter expansion).
    """
    n, rows, dimension = tasks.designs.shape
    rank, noise, task = model.loadings.shape[1], model.noise, model.task
    moved = np.empty_like(expected.projected)
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
    rank = model.loadings.shape[1]
    factors, scatter = np.dot(expected.gradients, model.loadings), np.zeros((rank, rank))
    step = np.zeros((dimension, rank))
    for j in range(n):
        weight, part = tasks.weights[j], slice(j * rows, (j + 1) * rows)
        scores = expected.scores[part]
        # B = KᵀPX for each z, (r, pd), and PXS̄Bᵀ, (R, r).
        back = np.dot(scores.T, expected.projected[part])
        both = np.dot(moved[part], back.T)
        own, along = np.dot(scores.T, both), np.dot(tasks.designs[j].T, both)
        for k in range(rank):
            for m in range(rank):
                own[k, m] += factors[j, k] * factors[j, m] + expected.factor_covariances[j, k, m]
                scatter[k, m] += weight * own[k, m]
            for a in range(dimension):
                along[a, k] += expected.gradients[j, a] * factors[j, k] - back[k, a]
                step[a, k] += weight * model.task * along[a, k]
    return factors, scatter, step


@compiled
def climb(
    tasks: ThinTasks, model: FactorModel, n_steps: int, least: float, most: float
) -> tuple[FactorModel, Expected]:
    """So many steps from a model, and what the last one expects; λ stays from least to most.

    Steps grow for as long as the deviance falls (overrelaxation), because small variances would
    otherwise take hundreds of them.
    """
    floor = 1e-300
    for j in range(tasks.designs.shape[0]):
        size = tasks.residuals[j] + (tasks.rewards[j] ** 2).sum()
        floor += 1e-13 * tasks.weights[j] * size / max(tasks.counts.sum(), 1.0)
    model = _within(model, model, 1.0, floor, least, most)
    expected = expect(tasks, model)
    length = 1.5
    for _ in range(n_steps):
        plain = improve(tasks, model, expected)
        longer = _within(model, plain, length, floor, least, most)
        found = expect(tasks, longer)
        if found.deviance <= expected.deviance:
            length = min(1.5 * length, 10.0)
        else:
            longer = _within(model, plain, 1.0, floor, least, most)
            found = expect(tasks, longer)
            length = 1.5
        model, expected = longer, found
    return model, expected


@compiled
def _within(
    old: FactorModel, new: FactorModel, length: float, floor: float, least: float, most: float
) -> FactorModel:
    """The model so many steps from the old one, with variances in their limits.

    Tasks never explain more than the least λ lets them, along directions or not: s² is at least
    λ(τ² + tr LLᵀ/d). With a limit of its own, LLᵀ would be found in any tasks without noise.
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
    """The column (d,) that L lacks most, and by how much it lowers the deviance if added alone.

    It is the leading eigenvector u of Σ(ggᵀ − XᵀPX), g = XᵀP(y − XHz), with a length: a variance a
    along u lowers the deviance by Σ[a(uᵀg)²/(1 + ai) − log(1 + ai)], i = uᵀXᵀPXu.
    """
    n, rows, dimension = tasks.designs.shape
    weighted = np.empty((n * rows, dimension))
    gradients, plain = np.empty((n, dimension)), np.empty((n * rows, dimension))
    for i in range(n * rows):
        for a in range(dimension):
            x = tasks.designs[i // rows, i % rows, a]
            weighted[i, a] = tasks.weights[i // rows] * x
            plain[i, a] = expected.projected[i, a]
            gradients[i // rows, a] = tasks.weights[i // rows] * expected.gradients[i // rows, a]
    total = np.dot(gradients.T, expected.gradients) - np.dot(weighted.T, plain)
    direction = np.linalg.eigh((total + total.T) / 2.0)[1][:, dimension - 1].copy()
    slope, bend = 0.0, 0.0
    along, squared = np.zeros(n), np.zeros(n)
    for j in range(n):
        squared[j] = np.dot(expected.gradients[j], direction) ** 2
        for i in range(rows):
            x = np.dot(tasks.designs[j, i], direction)
            along[j] += x * np.dot(plain[j * rows + i], direction)
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
