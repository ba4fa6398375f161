"""The model of kinds of tasks: the division of tasks into kinds, and the steps of its fit.

A task of kind c is w ~ N(h_c, τ²I), with h_c ~ N(m, κ²I) and m ~ N(0, κ₀²I). How many kinds there
are and which tasks belong together follows a Chinese restaurant process of concentration 1: kinds
of n_c tasks each have the probability Π(n_c − 1)!/N!. Tasks are thin (see `factors`), so that the
rewards of a task given h_c are independent, with variances s² + τ²v. Shapes: N tasks, C kinds.
"""

import math
from typing import NamedTuple

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.kernels.factorisation import factorise
from headstart.kernels.factors import ThinTasks

# A kind with less than this share of a task is dropped.
_LEAST_KIND = 0.5
# Responsibilities below this do not count for the variances.
_NEGLIGIBLE = 1e-9


class KindVariances(NamedTuple):
    """The variances of a coordinate, and of the noise."""

    noise: float  # s²
    task: float  # τ², within a kind
    between: float  # κ², of kinds around their centre
    mean: float  # κ₀², of the centre around zero


class KindsModel(NamedTuple):
    """The posterior of each kind's mean task and of their centre m, and the variances."""

    means: Floats  # (C, d), of h_c
    covariances: Floats  # (C, d, d), of h_c
    counts: Floats  # (C,), how many tasks belong to a kind, Σ weight × responsibility
    centre: Floats  # (d,), the mean of m; its variance is `centre_variance`
    variances: KindVariances


class Information(NamedTuple):
    """What the rewards of each task say about its kind's mean task, for given s² and τ²."""

    precisions: Floats  # (N, d²), XᵀD⁻¹X
    moments: Floats  # (N, d), XᵀD⁻¹y
    deviances: Floats  # (N,), −2 log p(rewards | h = 0)


@compiled
def centre_variance(n_kinds: int, variances: KindVariances) -> float:
    """The variance of a coordinate of the centre m, given the means of C kinds."""
    return 1.0 / (n_kinds / variances.between + 1.0 / variances.mean)


@compiled
def information(tasks: ThinTasks, noise: float, task: float) -> Information:
    """What tasks say about the means of their kinds."""
    n, rows, dimension = tasks.designs.shape
    precisions, moments = np.empty((n, dimension * dimension)), np.zeros((n, dimension))
    deviances, scaled = np.empty(n), np.empty((rows, dimension))
    for j in range(n):
        deviance = tasks.counts[j] * math.log(noise) + tasks.residuals[j] / noise
        for i in range(rows):
            variance, y = noise + task * tasks.squares[j, i], tasks.rewards[j, i]
            deviance += math.log(variance / noise) + y * y / variance
            for a in range(dimension):
                scaled[i, a] = tasks.designs[j, i, a] / variance
                moments[j, a] += scaled[i, a] * y
        deviances[j] = deviance
        np.dot(tasks.designs[j].T, scaled, precisions[j].reshape(dimension, dimension))
    return Information(precisions, moments, deviances)


@compiled
def partition(
    known: Information, weights: Floats, merges: Integers, centre: Floats, between: float
) -> tuple[Integers, float]:
    """The most likely division of tasks into kinds within a tree of merges (N − 1, 2).

    Merge k joins two tasks, 0 to N − 1, or earlier merges, N + their number. Every node of the tree
    either is one kind, or is divided like its two parts, whichever is more likely. Returns the kind
    of every task, from 0, and −2 log p(rewards, division | m), less n log 2π.
    """
    n, dimension = known.moments.shape
    size, square = 2 * n - 1, dimension * dimension
    precisions, moments = np.empty((size, square)), np.empty((size, dimension))
    counts, best, whole = np.empty(size), np.empty(size), np.empty(size, dtype=np.bool_)
    inverse, prior = np.empty((dimension, dimension)), np.full((1, 1), 1.0 / between)
    unit, deviance, total = weights.max(), 0.0, 0.0
    product = np.empty(dimension)
    for node in range(size):
        if node < n:
            counts[node] = weights[node] / unit
            total += counts[node]
            np.dot(known.precisions[node].reshape(dimension, dimension), centre, product)
            own = known.deviances[node]
            for a in range(dimension):
                own += centre[a] * (product[a] - 2.0 * known.moments[node, a])
                moments[node, a] = weights[node] * (known.moments[node, a] - product[a])
            deviance += weights[node] * own
            for a in range(square):
                precisions[node, a] = weights[node] * known.precisions[node, a]
        else:
            left, right = merges[node - n]
            counts[node] = counts[left] + counts[right]
            for a in range(dimension):
                moments[node, a] = moments[left, a] + moments[right, a]
            for a in range(square):
                precisions[node, a] = precisions[left, a] + precisions[right, a]
        gram = precisions[node].reshape(dimension, dimension)
        best[node] = factorise(inverse, gram, prior) + dimension * math.log(between)
        best[node] -= 2.0 * unit * math.lgamma(counts[node])
        np.dot(inverse, moments[node], product)
        for a in range(dimension):
            best[node] -= product[a] * moments[node, a]
        whole[node] = True
        if node >= n and best[left] + best[right] < best[node]:
            best[node], whole[node] = best[left] + best[right], False
    deviance += best[size - 1] + 2.0 * unit * math.lgamma(total + 1.0)
    return _kinds_of(whole, merges), deviance


@compiled(inline="always")
def _kinds_of(whole: Booleans, merges: Integers) -> Integers:
    """The kind of every task, from the nodes of the tree that are one kind."""
    size = len(whole)
    n, n_kinds = (size + 1) // 2, 0
    kinds = np.full(size, -1)
    for node in range(size - 1, -1, -1):
        if kinds[node] < 0 and whole[node]:
            kinds[node] = n_kinds
            n_kinds += 1
        if node >= n:
            for part in merges[node - n]:
                kinds[part] = kinds[node]
    return kinds[:n]


@compiled
def climb_kinds(
    tasks: ThinTasks,
    responsibilities: Floats,
    centre: Floats,
    variances: KindVariances,
    n_steps: int,
    least: float,
    most: float,
) -> tuple[KindsModel, Floats, float]:
    """Take this many steps of variational expectation-maximisation, from responsibilities (N, C).

    Each step finds the posterior of the means, then responsibilities, then variances, each given
    the others, and never raises the deviance: a bound of −2 log p(rewards), less n log 2π, with
    means and divisions integrated out. Kinds that lose their tasks are left out. λ = s²/τ² is
    from least to most. Returns the model, responsibilities and the bound.
    """
    floor, total = 1e-300, max(tasks.counts.sum(), 1.0)
    for j in range(tasks.designs.shape[0]):
        size = tasks.residuals[j] + (tasks.rewards[j] ** 2).sum()
        floor += 1e-13 * tasks.weights[j] * size / total
    variances = _within_limits(variances, floor, least, most)
    for step in range(n_steps + 1):
        responsibilities = _kept(responsibilities, tasks.weights)
        known = information(tasks, variances.noise, variances.task)
        model = _posterior(tasks, known, responsibilities, centre, variances)
        centre = model.centre
        gaps = _gaps(known, model)
        if step == n_steps:
            break
        responsibilities = _responsibilities(gaps, model.counts, tasks.weights.max())
        variances = _variances(tasks, responsibilities, model)
        variances = _within_limits(variances, floor, least, most)
    return model, responsibilities, _deviance(tasks, known, responsibilities, gaps, model)


@compiled
def responsibilities_of(tasks: ThinTasks, model: KindsModel) -> Floats:
    """How likely each task belongs to each kind, (N, C), by a model's means and variances."""
    known = information(tasks, model.variances.noise, model.variances.task)
    return _responsibilities(_gaps(known, model), model.counts, tasks.weights.max())


@compiled
def _kept(responsibilities: Floats, weights: Floats) -> Floats:
    """The responsibilities without kinds of less than half a task; each task's sum is one."""
    n, n_kinds = responsibilities.shape
    counts = np.dot(weights, responsibilities)
    largest, kept = counts.max(), 0
    after = np.empty((n, n_kinds))
    for c in range(n_kinds):
        if counts[c] >= min(_LEAST_KIND * weights.max(), largest):
            for j in range(n):
                after[j, kept] = responsibilities[j, c]
            kept += 1
    after = after[:, :kept].copy()
    for j in range(n):
        total = after[j].sum()
        for c in range(kept):
            after[j, c] = after[j, c] / total if total > 0.0 else 1.0 / kept
    return after


@compiled
def _posterior(
    tasks: ThinTasks,
    known: Information,
    responsibilities: Floats,
    centre: Floats,
    variances: KindVariances,
) -> KindsModel:
    """The posterior of every kind's mean given their centre, and then of the centre."""
    n_kinds, dimension = responsibilities.shape[1], known.moments.shape[1]
    shares = np.empty_like(responsibilities)
    for j in range(len(shares)):
        for c in range(n_kinds):
            shares[j, c] = tasks.weights[j] * responsibilities[j, c]
    precisions, moments = np.dot(shares.T, known.precisions), np.dot(shares.T, known.moments)
    means, covariances = np.empty((n_kinds, dimension)), np.empty((n_kinds, dimension, dimension))
    prior, next_centre = np.full((1, 1), 1.0 / variances.between), np.zeros(dimension)
    share = centre_variance(n_kinds, variances) / variances.between
    for c in range(n_kinds):
        factorise(covariances[c], precisions[c].reshape(dimension, dimension), prior)
        for a in range(dimension):
            moments[c, a] += centre[a] / variances.between
        np.dot(covariances[c], moments[c], means[c])
        for a in range(dimension):
            next_centre[a] += share * means[c, a]
    return KindsModel(means, covariances, shares.sum(0), next_centre, variances)


@compiled
def _gaps(known: Information, model: KindsModel) -> Floats:
    """−2 E log p(rewards of a task | its kind), (N, C), up to a constant per task."""
    n_kinds, dimension = model.means.shape
    spreads = np.empty((n_kinds, dimension * dimension))
    for c in range(n_kinds):
        for a in range(dimension):
            for b in range(dimension):
                second = model.covariances[c, a, b] + model.means[c, a] * model.means[c, b]
                spreads[c, a * dimension + b] = second
    gaps: Floats = np.dot(known.precisions, spreads.T)
    gaps -= 2.0 * np.dot(known.moments, model.means.T)
    return gaps


@compiled
def _deviance(
    tasks: ThinTasks, known: Information, responsibilities: Floats, gaps: Floats, model: KindsModel
) -> float:
    """The bound of −2 log p(rewards), less n log 2π."""
    n_kinds, dimension = model.means.shape
    unit: float = tasks.weights.max()
    deviance: float = 0.0
    for j in range(len(known.deviances)):
        own = known.deviances[j]
        for c in range(n_kinds):
            share = responsibilities[j, c]
            own += share * gaps[j, c]
            if share > 0.0:
                own += 2.0 * share * math.log(share)
        deviance += tasks.weights[j] * own
    mean, spread = model.variances.mean, centre_variance(n_kinds, model.variances)
    deviance += 2.0 * unit * math.lgamma(tasks.weights.sum() / unit + 1.0)
    deviance += dimension * math.log(mean / spread) - dimension
    deviance += ((model.centre**2).sum() + dimension * spread) / mean
    for c in range(n_kinds):
        deviance -= 2.0 * unit * math.lgamma(model.counts[c] / unit)
        deviance += _mean_deviance(model, c, spread)
    return deviance


@compiled
def _mean_deviance(model: KindsModel, c: int, spread: float) -> float:
    """Twice the divergence of the posterior of one kind's mean from its prior."""
    dimension, between = model.means.shape[1], model.variances.between
    room, nothing = np.empty((dimension, dimension)), np.zeros((1, 1))
    log_determinant: float = factorise(room, model.covariances[c], nothing)
    prior: float = dimension * (math.log(between) - 1.0)
    return prior + _squared_gap(model, c, spread) / between - log_determinant


@compiled(inline="always")
def _squared_gap(model: KindsModel, c: int, spread: float) -> float:
    """E‖h_c − m‖²."""
    total = 0.0
    for a in range(model.means.shape[1]):
        gap = model.means[c, a] - model.centre[a]
        total += gap * gap + model.covariances[c, a, a] + spread
    return total


@compiled
def _responsibilities(gaps: Floats, counts: Floats, unit: float) -> Floats:
    """How likely tasks belong to kinds, (N, C), given −2 E log p (N, C)."""
    found = np.empty_like(gaps)
    n_kinds = gaps.shape[1]
    for j in range(len(gaps)):
        largest, total = -np.inf, 0.0
        for c in range(n_kinds):
            found[j, c] = digamma(counts[c] / unit) - gaps[j, c] / 2.0
            largest = max(largest, found[j, c])
        for c in range(n_kinds):
            found[j, c] = math.exp(found[j, c] - largest)
            total += found[j, c]
        for c in range(n_kinds):
            found[j, c] /= total
    return found


@compiled
def digamma(x: float) -> float:
    """The derivative of log Γ at x > 0."""
    total = 0.0
    while x < 6.0:
        total -= 1.0 / x
        x += 1.0
    square = 1.0 / (x * x)
    series = square * (
        1.0 / 12.0 - square * (1.0 / 120.0 - square * (1.0 / 252.0 - square / 240.0))
    )
    return total + math.log(x) - 0.5 / x - series


@compiled
def _variances(tasks: ThinTasks, responsibilities: Floats, model: KindsModel) -> KindVariances:
    """The next variances: one step of expectation-maximisation, with w missing."""
    n, rows, dimension = tasks.designs.shape
    n_kinds, noise, task = len(model.means), model.variances.noise, model.variances.task
    spread = centre_variance(n_kinds, model.variances)
    between, mean = 0.0, spread
    for c in range(n_kinds):
        between += _squared_gap(model, c, spread) / (n_kinds * dimension)
    for a in range(dimension):
        mean += model.centre[a] ** 2 / dimension
    moved, errors = np.empty((rows, dimension)), np.empty(rows)
    total_weight, n_rewards, of_noise, of_task = 0.0, 0.0, 0.0, 0.0
    for j in range(n):
        weight = tasks.weights[j]
        total_weight += weight
        n_rewards += weight * tasks.counts[j]
        of_noise += weight * tasks.residuals[j]
        for i in range(rows):
            errors[i] = 0.0
        for c in range(n_kinds):
            if responsibilities[j, c] > _NEGLIGIBLE:
                np.dot(tasks.designs[j], model.covariances[c], moved)
                for i in range(rows):
                    gap, width = tasks.rewards[j, i], 0.0
                    for a in range(dimension):
                        gap -= tasks.designs[j, i, a] * model.means[c, a]
                        width += tasks.designs[j, i, a] * moved[i, a]
                    errors[i] += responsibilities[j, c] * (gap * gap + width)
        for i in range(rows):
            variance = noise + task * tasks.squares[j, i]
            own = (errors[i] / variance - 1.0) / variance
            of_noise += weight * noise * (1.0 + noise * own)
            of_task += weight * tasks.squares[j, i] * own
    of_task = task * (1.0 + task * of_task / (total_weight * dimension))
    return KindVariances(of_noise / n_rewards, of_task, between, mean)


@compiled
def _within_limits(new: KindVariances, floor: float, least: float, most: float) -> KindVariances:
    """The variances in their limits, as in `factors`."""
    noise = max(new.noise, floor)
    task = max(new.task, noise / most)
    between = max(new.between, 1e-3 * task)
    noise = max(noise, least * (task + between))
    return KindVariances(noise, task, between, max(new.mean, 1e-10 * (task + between)))
