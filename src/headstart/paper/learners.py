"""The paper's five learners, under the names its plots give them."""

from typing import Literal

from numpy.typing import ArrayLike

from headstart.interfaces import Policy
from headstart.priors import Average, Fixed, Pooled
from headstart.simulation.learner import Learner, Optimal

OPT, ORACLE, AVG, RR, ITL = "OPT", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL"


def paper_learners(
    *,
    policy: Policy,
    mean_parameter: ArrayLike,
    regularization: float = 1.0,
    estimation_regularization: float | Literal["same"] = 1.0,
) -> list[Learner | Optimal]:
    """OPT, Oracle, AVG-OFUL, RR-OFUL and ITL: one policy, five sources of the bias."""
    average = Average(
        regularization=regularization, estimation_regularization=estimation_regularization
    )
    pooled = Pooled(
        regularization=regularization, estimation_regularization=estimation_regularization
    )
    return [
        Optimal(OPT),
        Learner(ORACLE, policy, Fixed(bias=mean_parameter, regularization=regularization)),
        Learner(AVG, policy, average),
        Learner(RR, policy, pooled),
        Learner(ITL, policy, Fixed.zero(regularization=regularization)),
    ]
