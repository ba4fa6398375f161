"""Learners that play OFUL: the paper's five, one policy with different sources of the bias."""

from __future__ import annotations

from numpy.typing import ArrayLike

from headstart.habits import hints
from headstart.interfaces import Policy
from headstart.policies import OFUL
from headstart.priors import Average, Fixed, Pooled, SingleModel
from headstart.priors._estimation import EstimationRegularization
from headstart.simulation.learner import Learner, Optimal

# The names that the paper's plots give its learners.
OPT, ORACLE, AVG, RR, ITL = "OPT", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL"

_OFUL = OFUL()


def paper_learners(
    *,
    policy: Policy = _OFUL,
    mean_parameter: ArrayLike,
    regularization: float = 1.0,
    estimation_regularization: EstimationRegularization = 1.0,
) -> list[Learner | Optimal]:
    """OPT, Oracle, AVG-OFUL, RR-OFUL and ITL of Cella et al. (2020): one policy, five biases.

    >>> [learner.name for learner in paper_learners(mean_parameter=[1.0, 1.0])]
    ['OPT', 'Oracle', 'AVG-OFUL', 'RR-OFUL', 'ITL']
    """
    estimation = estimation_regularization
    return [
        Optimal(OPT),
        oracle(mean_parameter=mean_parameter, regularization=regularization, policy=policy),
        avg_oful(
            regularization=regularization, estimation_regularization=estimation, policy=policy
        ),
        rr_oful(regularization=regularization, estimation_regularization=estimation, policy=policy),
        itl(regularization=regularization, policy=policy),
    ]


@hints()
def itl(*, regularization: ArrayLike = 1.0, policy: Policy = _OFUL, name: str = ITL) -> Learner:
    """ITL, independent task learning: OFUL from zero in every task (Abbasi-Yadkori et al., 2011).

    Parameters
    ----------
    regularization : float or array_like of shape (d, d), default 1.0
        The λ or Λ of a task.
    policy : Policy, default OFUL()
        How an arm is chosen.
    name : str, default "ITL"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> itl(regularization=0.1).prior.regularization
    0.1
    """
    return Learner(name, policy, Fixed.zero(regularization=regularization))


@hints()
def oracle(
    *,
    mean_parameter: ArrayLike,
    regularization: ArrayLike = 1.0,
    policy: Policy = _OFUL,
    name: str = ORACLE,
) -> Learner:
    """The Oracle of Cella, Lazaric and Pontil (2020): BIAS-OFUL from the true mean task w̄.

    Parameters
    ----------
    mean_parameter : array_like of shape (d,) or (R, d)
        w̄.
    regularization : float or array_like of shape (d, d), default 1.0
        The λ or Λ of a task.
    policy : Policy, default OFUL()
        How an arm is chosen.
    name : str, default "Oracle"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> oracle(mean_parameter=[1.0, 1.0]).prior.bias
    [1.0, 1.0]
    """
    return Learner(name, policy, Fixed(bias=mean_parameter, regularization=regularization))


@hints()
def avg_oful(
    *,
    regularization: ArrayLike = 1.0,
    estimation_regularization: EstimationRegularization = 1.0,
    policy: Policy = _OFUL,
    name: str = AVG,
) -> Learner:
    """AVG-OFUL (Cella et al., 2020): the bias is the mean of the tasks' ridge estimates (Eq. 7).

    Parameters
    ----------
    regularization : float or array_like of shape (d, d), default 1.0
        The λ or Λ of a task.
    estimation_regularization : float or "same", default 1.0
        The λ of the tasks' ridge estimates.
    policy : Policy, default OFUL()
        How an arm is chosen.
    name : str, default "AVG-OFUL"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> avg_oful(regularization=10.0).name
    'AVG-OFUL'
    """
    prior = Average(
        regularization=regularization, estimation_regularization=estimation_regularization
    )
    return Learner(name, policy, prior)


@hints()
def rr_oful(
    *,
    regularization: ArrayLike = 1.0,
    estimation_regularization: EstimationRegularization = 1.0,
    policy: Policy = _OFUL,
    name: str = RR,
) -> Learner:
    """RR-OFUL (Cella et al., 2020): the bias is one ridge regression over all tasks (Eq. 8).

    Parameters
    ----------
    regularization : float or array_like of shape (d, d), default 1.0
        The λ or Λ of a task.
    estimation_regularization : float or "same", default 1.0
        The λ of the regression over all tasks.
    policy : Policy, default OFUL()
        How an arm is chosen.
    name : str, default "RR-OFUL"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> rr_oful(estimation_regularization="same").prior.estimation_regularization
    'same'
    """
    prior = Pooled(
        regularization=regularization, estimation_regularization=estimation_regularization
    )
    return Learner(name, policy, prior)


@hints()
def pooled_oful(
    *, regularization: float = 1.0, policy: Policy = _OFUL, name: str = "pooled"
) -> Learner:
    """One OFUL over the rewards of all tasks, which ignores that there are tasks.

    Parameters
    ----------
    regularization : float, default 1.0
        λ.
    policy : Policy, default OFUL()
        How an arm is chosen.
    name : str, default "pooled"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> pooled_oful(regularization=2.0).prior.regularization
    2.0
    """
    return Learner(name, policy, SingleModel(regularization=regularization))
