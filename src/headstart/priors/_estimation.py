"""The ridge estimate inside `Average` and `Pooled`: its regularization, checked and applied."""

from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.core.prior import Prior

# The estimator's own λ, or "same" for the λ of the next task.
EstimationRegularization = ArrayLike | Literal["same"]


def check(regularization: ArrayLike, estimation: EstimationRegularization) -> None:
    """Raise unless both are positive numbers or positive definite matrices."""
    checks.regularization("regularization", regularization)
    checks.regularization("estimation_regularization", estimation, "same")


def check_dimension(
    regularization: ArrayLike, estimation: EstimationRegularization, dimension: int
) -> None:
    """Raise if one of them is a matrix of another dimension."""
    checks.regularization_shape("regularization", regularization, dimension)
    if not isinstance(estimation, str):
        checks.regularization_shape("estimation_regularization", estimation, dimension)


def zero_prior(
    regularization: ArrayLike,
    estimation: EstimationRegularization,
    *,
    dimension: int,
    lead: tuple[int, ...],
) -> Prior:
    """The prior of the ridge estimate: h = 0, with the estimator's own λ."""
    own = regularization if isinstance(estimation, str) else estimation
    return Prior.trusted(np.zeros((*lead, dimension)), np.asarray(own))
