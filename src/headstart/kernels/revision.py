"""Prior revision: which components of a mixture prior a task's own rewards support."""

import math

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled
from headstart.kernels.factorisation import factorise, refactorise, target_moment
from headstart.kernels.noise import update_noise
from headstart.kernels.state import (
    ALWAYS,
    COUNT,
    LARGEST_EIGENVALUE,
    NEVER,
    NOISE_DEGREES_OF_FREEDOM,
    PRIOR_NOISE_SCALE,
    REVISION,
    REWARDS,
    SUM_OF_SQUARES,
    SURPRISE,
    Components,
    TaskState,
)


@compiled(inline="always")
def revision_due(scalars: Floats, i: int) -> bool:
    """Whether task i revises its prior after the reward it just learned.

    After its 1st, 2nd, 4th, 8th, … reward: always, or if the rewards are surprising.
    """
    if scalars[i, REVISION] == NEVER:
        return False
    rewards = int(scalars[i, REWARDS])
    if rewards == 0 or rewards & (rewards - 1) != 0:
        return False
    return scalars[i, REVISION] == ALWAYS or is_surprising(scalars, i)


@compiled(inline="always")
def revision_to_repeat(scalars: Floats, i: int, number: float) -> bool:
    """Whether task i revises its prior again after its reward of this number changed.

    It does if the latest revision counted that reward.
    """
    if scalars[i, REVISION] == NEVER:
        return False
    latest = 1
    while 2 * latest <= int(scalars[i, REWARDS]):
        latest *= 2
    if number > latest:
        return False
    return scalars[i, REVISION] == ALWAYS or is_surprising(scalars, i)


@compiled(inline="always")
def is_surprising(scalars: Floats, i: int) -> bool:
    """Whether the surprise of T rewards is two standard deviations above what the prior expects.

    Divided by the noise variance it is a chi-square with T degrees of freedom. False if the noise
    is not known yet (no degrees of freedom).
    """
    count, scale = scalars[i, COUNT], scalars[i, PRIOR_NOISE_SCALE]
    limit = scale * scale * (count + 2.0 * math.sqrt(2.0 * count))
    return bool(scalars[i, NOISE_DEGREES_OF_FREEDOM] > 0.0 and scalars[i, SURPRISE] > limit)


@compiled
def penalised_residual(
    parameter: Floats,
    gram: Floats,
    moment: Floats,
    sum_of_squares: float,
    bias: Floats,
    regularization: Floats,
) -> float:
    """Σ(y − xᵀŵ)² + ‖ŵ − h‖² in Λ's norm: the surprise of all rewards, from their statistics."""
    dimension = parameter.shape[0]
    gap, product = np.empty(dimension), np.empty(dimension)
    np.dot(gram, parameter, product)
    residual: float = sum_of_squares
    for a in range(dimension):
        residual += parameter[a] * (product[a] - 2.0 * moment[a])
        gap[a] = parameter[a] - bias[a]
    np.dot(regularization, gap, product)
    distance: float = 0.0
    for a in range(dimension):
        distance += gap[a] * product[a]
    return max(residual, 0.0) + distance


@compiled(inline="always")
def component_posterior(
    scalars: Floats, i: int, gram: Floats, moment: Floats, components: Components, j: int
) -> Floats:
    """The weights (C,) of the j-th prior's components after the rewards of task i.

    A component's likelihood is the normal-inverse-gamma model's, up to a common factor:
    (n s²)^(n/2) / (n s² + surprise)^((n + T)/2) / √det(I + Λ⁻¹V).
    """
    n_components, dimension = components.biases.shape[1:]
    sum_of_squares, count = scalars[i, SUM_OF_SQUARES], scalars[i, COUNT]
    degrees_of_freedom = scalars[i, NOISE_DEGREES_OF_FREEDOM]
    inverse = np.empty((dimension, dimension))
    regularization = np.empty((dimension, dimension))
    parameter = np.empty(dimension)
    weights = np.empty(n_components)
    largest = -np.inf
    for c in range(n_components):
        bias, scale = components.biases[j, c], components.noise_scales[j, c]
        prior = regularize(regularization, components.covariances[j, c], scale)
        total = factorise(inverse, gram, regularization)
        np.dot(inverse, target_moment(moment, bias, regularization), parameter)
        surprise = penalised_residual(parameter, gram, moment, sum_of_squares, bias, regularization)
        before = degrees_of_freedom * scale * scale
        weights[c] = math.log(components.weights[j, c]) - (total - prior) / 2.0
        # Never below its rounding error: without any noise, n = 0, it may come out as zero.
        after = before + max(surprise, 1e-13 * sum_of_squares)
        if after > 0.0:
            weights[c] -= count / 2.0 * math.log(after)
        if before > 0.0:
            weights[c] -= degrees_of_freedom / 2.0 * math.log1p(surprise / before)
        largest = max(largest, weights[c])
    everything = 0.0
    for c in range(n_components):
        weights[c] = math.exp(weights[c] - largest)
        everything += weights[c]
    for c in range(n_components):
        weights[c] /= everything
    return weights


@compiled
def regularize(regularization: Floats, covariance: Floats, scale: float) -> float:
    """Set Λ = s²Σ⁻¹ and return log det Λ."""
    nothing = np.empty((1, 1))
    nothing[0, 0] = 0.0
    log_determinant: float = factorise(regularization, covariance, nothing)
    dimension = covariance.shape[0]
    for a in range(dimension):
        for b in range(dimension):
            regularization[a, b] *= scale * scale
    shift: float = 2.0 * dimension * math.log(scale)
    return shift - log_determinant


@compiled(inline="always")
def moment_match(
    components: Components, j: int, weights: Floats, bias: Floats, regularization: Floats
) -> tuple[float, float]:
    """Set h and Λ of one normal with the mixture's moments; returns its s and log det Λ.

    The last component is for outliers, and no normal fits both it and the others: it replaces them
    if it is more likely than not, and is ignored otherwise.
    """
    n_components, dimension = components.biases.shape[1:]
    outlier = weights[n_components - 1] > 0.5
    first = n_components - 1 if outlier else 0
    last = n_components if outlier else n_components - 1
    total = 0.0
    for c in range(first, last):
        total += weights[c]
    variance = 0.0
    for a in range(dimension):
        bias[a] = 0.0
    for c in range(first, last):
        share, scale = weights[c] / total, components.noise_scales[j, c]
        variance += share * scale * scale
        for a in range(dimension):
            bias[a] += share * components.biases[j, c, a]
    covariance = np.zeros((dimension, dimension))
    for c in range(first, last):
        share = weights[c] / total
        for a in range(dimension):
            gap = components.biases[j, c, a] - bias[a]
            for b in range(dimension):
                product = gap * (components.biases[j, c, b] - bias[b])
                covariance[a, b] += share * (components.covariances[j, c, a, b] + product)
    scale = math.sqrt(variance)
    return scale, regularize(regularization, covariance, scale)


@compiled(inline="always")
def revise(
    state: TaskState,
    i: int,
    gram: Floats,
    moment: Floats,
    components: Components,
    j: int,
    bias: Floats,
    regularization: Floats,
) -> None:
    """Give task i the prior that its rewards support: h (d,), Λ (d, d) and the state follow.

    Raises LinAlgError, with nothing changed, if V + Λ has no digits left.
    """
    scalars = state.scalars
    weights = component_posterior(scalars, i, gram, moment, components, j)
    new_bias, new_regularization = np.empty_like(bias), np.empty_like(regularization)
    scale, log_determinant = moment_match(components, j, weights, new_bias, new_regularization)
    refactorise(state, i, gram, moment, new_bias, new_regularization, log_determinant)
    for a in range(bias.shape[0]):
        bias[a] = new_bias[a]
        for b in range(bias.shape[0]):
            regularization[a, b] = new_regularization[a, b]
    scalars[i, PRIOR_NOISE_SCALE] = scale
    scalars[i, LARGEST_EIGENVALUE] = 0.0
    scalars[i, REVISION] = ALWAYS
    restate_surprise(state, i, gram, moment, bias, regularization)


@compiled
def restate_surprise(
    state: TaskState, i: int, gram: Floats, moment: Floats, bias: Floats, regularization: Floats
) -> None:
    """Compute a task's surprise and noise scale from its statistics, Λ (d, d)."""
    dimension = bias.shape[0]
    parameter, residual = state.parameter[i].copy(), np.empty(dimension)
    # One step of iterative refinement: the inverse alone loses digits if features are large.
    target = target_moment(moment, bias, regularization)
    for a in range(dimension):
        residual[a] = target[a]
        for b in range(dimension):
            residual[a] -= (gram[a, b] + regularization[a, b]) * parameter[b]
    for a in range(dimension):
        for b in range(dimension):
            parameter[a] += state.inverse[i, a, b] * residual[b]
    scalars = state.scalars
    scalars[i, SURPRISE] = penalised_residual(
        parameter, gram, moment, scalars[i, SUM_OF_SQUARES], bias, regularization
    )
    update_noise(scalars, i)


@compiled
def revise_due(
    state: TaskState,
    gram: Floats,
    moment: Floats,
    components: Components,
    bias: Floats,
    regularization: Floats,
) -> None:
    """Revise the prior of every task for which it is due; V and b are complete.

    The prior stays if V + Λ has no digits left.
    """
    for i in range(gram.shape[0]):
        if revision_due(state.scalars, i):
            try:
                revise(state, i, gram[i], moment[i], components, i, bias[i], regularization[i])
            except Exception:  # compiled code catches no other
                continue
