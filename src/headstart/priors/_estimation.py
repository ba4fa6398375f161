"""The ridge estimate inside of `Average` and `Pooled`: its regularization, checked and applied."""

from typing import Literal

from numpy.typing import ArrayLike

from headstart import checks
from headstart.core.prior import Prior

# The estimator's own λ, or "same" for that of the next task.
EstimationRegularization = ArrayLike | Literal["same"]


def check(regularization: ArrayLike, estimation: EstimationRegularization) -> None:
    """Raise unless both are positive numbers or positive definite matrices."""
    checks.regularization("regularization", regularization)
    checks.regularization("estimation_regularization", estimation, "same")


def zero_prior(
    regularization: ArrayLike,
    estimation: EstimationRegularization,
    *,
    dimension: int,
    lead: tuple[int, ...],
) -> Prior:
    """The prior of the ridge estimate: h = 0, held with the estimator's own λ."""
    own = regularization if isinstance(estimation, str) else estimation
    return Prior.zero(dimension, regularization=own, lead=lead)
