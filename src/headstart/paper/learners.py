"""The paper's five learners, under the names its plots give them, and ours."""

from typing import Literal

from numpy.typing import ArrayLike

from headstart import learners
from headstart.interfaces import Policy
from headstart.simulation.learner import Learner, Optimal

OPT, ORACLE, AVG, RR, ITL = "OPT", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL"

# Not the paper's: the prior that tunes itself.
OURS = "Hierarchical (ours)"


def paper_learners(
    *,
    policy: Policy,
    mean_parameter: ArrayLike,
    regularization: float = 1.0,
    estimation_regularization: float | Literal["same"] = 1.0,
) -> list[Learner | Optimal]:
    """OPT, Oracle, AVG-OFUL, RR-OFUL and ITL: one policy, five sources of the bias."""
    estimators = {
        "regularization": regularization,
        "estimation_regularization": estimation_regularization,
    }
    return [
        Optimal(OPT),
        learners.oracle(
            mean_parameter=mean_parameter, regularization=regularization, policy=policy, name=ORACLE
        ),
        learners.avg_oful(policy=policy, name=AVG, **estimators),
        learners.rr_oful(policy=policy, name=RR, **estimators),
        learners.itl(regularization=regularization, policy=policy, name=ITL),
    ]


def our_learner() -> Learner:
    """The prior without settings, which is not the paper's, with the policy that reads it."""
    return learners.ours(name=OURS)
