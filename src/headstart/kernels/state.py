"""TaskState: the running estimates of R tasks as one struct of arrays, which every kernel takes.

A kernel takes whole arrays and the index of a task, not slices: no reference counts, no aliasing.
"""

from typing import NamedTuple

from headstart.arrays import Floats

# The scalars of a task: columns of `TaskState.scalars`.
(
    COUNT,  # T, the weight of the rewards so far
    SUM_OF_SQUARES,  # Σy²
    LOG_DETERMINANT,  # log det(I + Λ⁻¹V)
    PRIOR_LOG_DETERMINANT,  # log det Λ
    DRIFT,  # a bound on the relative error of the inverse
    SURPRISE,  # Σ(y − xᵀŵ)²/(1 + ‖x‖²)
    PRIOR_NOISE_SCALE,  # the prior's s
    NOISE_DEGREES_OF_FREEDOM,  # how many rewards the prior's s is worth
    NOISE_SCALE,  # the present s
    LARGEST_EIGENVALUE,  # of Λ; 0 until a policy asks for it
    REWARDS,  # how many came
    REVISION,  # when the prior is revised: NEVER, IF_SURPRISING or ALWAYS, at the rewards due
) = range(12)
N_SCALARS = 12

NEVER, IF_SURPRISING, ALWAYS = -1.0, 0.0, 1.0

# What must follow a reward, as bits.
REFACTORISE, REVISE = 1, 2


class TaskState(NamedTuple):
    """The estimates of R tasks.

    `parameter` is A(b + Λh₀) for the bias h₀ of the last factorisation. If the bias has moved
    since, `shift` holds Λ(h − h₀), and predictions add xᵀA·shift; else it is (0, d).
    """

    inverse: Floats  # (R, d, d), A = (V + Λ)⁻¹
    parameter: Floats  # (R, d)
    shift: Floats  # (R, d) or (0, d)
    scalars: Floats  # (R, N_SCALARS)


class Reading(NamedTuple):
    """The estimates for K arms per task."""

    projections: Floats  # (R, K, d), rows xᵀA
    predictions: Floats  # (R, K), xᵀŵ
    widths: Floats  # (R, K), ‖x‖ in the norm of A


class Buffer(NamedTuple):
    """Observations that have not joined the statistics yet, in order of arrival."""

    features: Floats  # (length, R, d)
    rewards: Floats  # (length, R)


class Components(NamedTuple):
    """The components of R mixture priors: C normals each, the last one for outliers."""

    biases: Floats  # (R, C, d)
    covariances: Floats  # (R, C, d, d)
    noise_scales: Floats  # (R, C)
    weights: Floats  # (R, C); 0 for absent components
