"""Learners with a normal model of tasks: Thompson sampling and Bayesian upper confidence bounds.

With given variances, the model is reward = xᵀw + noise, w ~ N(h, τ²I), h ~ N(0, κ²I): s² =
`noise_variance`, τ² = `task_variance`, κ² = `mean_variance`.
"""

from __future__ import annotations

import math

from numpy.typing import ArrayLike

from headstart import checks
from headstart.habits import hints
from headstart.interfaces import Policy
from headstart.learners.meta_ts import MetaTS
from headstart.policies import BayesUCB, Thompson
from headstart.priors import Fixed, Hierarchical, KnownVariances
from headstart.simulation.learner import Learner

_POLICY = BayesUCB()


@hints()
def lin_ts(
    *,
    noise_variance: float = 1.0,
    prior_variance: float = 1.0,
    scale: float = 1.0,
    name: str = "LinTS",
) -> Learner:
    """LinTS (Agrawal and Goyal, 2013): Thompson sampling, every task from N(0, `prior_variance`·I).

    Parameters
    ----------
    noise_variance, prior_variance : float, default 1.0
        The variances of the noise and of the prior.
    scale : float, default 1.0
        Multiplies the standard deviation of the draw: v of their paper, in units of the noise.
    name : str, default "LinTS"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> lin_ts(noise_variance=2.0, prior_variance=4.0).prior.regularization
    0.5
    """
    checks.positive("noise_variance", noise_variance)
    checks.positive("prior_variance", prior_variance)
    policy = Thompson(noise_scale=math.sqrt(noise_variance), scale=scale)
    return Learner(name, policy, Fixed.zero(regularization=noise_variance / prior_variance))


@hints()
def bayes_oracle(
    *,
    mean_parameter: ArrayLike,
    noise_variance: float = 1.0,
    task_variance: float = 1.0,
    z: float = 1.0,
    name: str = "Bayes oracle",
) -> Learner:
    """Bayes-UCB (Kaufmann et al., 2012) from the true distribution of tasks, N(w̄, τ²I).

    Parameters
    ----------
    mean_parameter : array_like of shape (d,) or (R, d)
        w̄.
    noise_variance, task_variance : float, default 1.0
        The variances s² of the noise and τ² of tasks about w̄.
    z : float, default 1.0
        How many standard deviations are added to the mean.
    name : str, default "Bayes oracle"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> bayes_oracle(mean_parameter=[1.0], task_variance=0.1).prior.regularization
    10.0
    """
    checks.positive("noise_variance", noise_variance)
    checks.positive("task_variance", task_variance)
    policy = BayesUCB(z=z, noise_scale=math.sqrt(noise_variance))
    prior = Fixed(bias=mean_parameter, regularization=noise_variance / task_variance)
    return Learner(name, policy, prior)


@hints()
def meta_ts(
    *,
    noise_variance: float = 1.0,
    task_variance: float = 1.0,
    mean_variance: float = 1.0,
    name: str = "Meta-TS",
) -> MetaTS:
    """Meta-TS (Kveton et al., 2021): the prior mean of a task is sampled from h's posterior.

    Parameters
    ----------
    noise_variance, task_variance, mean_variance : float, default 1.0
        The variances s² of the noise, τ² of tasks about h and κ² of h.
    name : str, default "Meta-TS"
        The label in results.

    Returns
    -------
    MetaTS

    Examples
    --------
    >>> meta_ts(task_variance=0.1).task_variance
    0.1
    """
    return MetaTS(
        name=name,
        noise_variance=noise_variance,
        task_variance=task_variance,
        mean_variance=mean_variance,
    )


@hints()
def ada_ts(
    *,
    noise_variance: float = 1.0,
    task_variance: float = 1.0,
    mean_variance: float = 1.0,
    name: str = "AdaTS",
) -> Learner:
    """AdaTS (Basu et al., 2021): a task's prior integrates over h, N(E h, τ²I + Cov h).

    HierTS (Hong et al., 2022) with known variances has the same distribution of choices if tasks
    come one after another.

    Parameters
    ----------
    noise_variance, task_variance, mean_variance : float, default 1.0
        The variances s² of the noise, τ² of tasks about h and κ² of h.
    name : str, default "AdaTS"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> ada_ts(mean_variance=10.0).prior.mean_variance
    10.0
    """
    known = _known(noise_variance, task_variance, mean_variance)
    return Learner(name, Thompson(), known)


@hints()
def hier_bayes_ucb(
    *,
    noise_variance: float = 1.0,
    task_variance: float = 1.0,
    mean_variance: float = 1.0,
    failure_probability: float = 0.05,
    name: str = "HierBayesUCB",
) -> Learner:
    """HierBayesUCB (Guan and Xiong, 2024): xᵀE w + √(2 log(1/δ))·sd(xᵀw), w given all rewards.

    Parameters
    ----------
    noise_variance, task_variance, mean_variance : float, default 1.0
        The variances s² of the noise, τ² of tasks about h and κ² of h.
    failure_probability : float, default 0.05
        δ; the paper's bounds take 1/(number of tasks · rounds per task).
    name : str, default "HierBayesUCB"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> round(hier_bayes_ucb(failure_probability=0.01).policy.z, 3)
    3.035
    """
    checks.probability("failure_probability", failure_probability)
    policy = BayesUCB(z=math.sqrt(2.0 * math.log(1.0 / failure_probability)))
    known = _known(noise_variance, task_variance, mean_variance)
    return Learner(name, policy, known)


@hints()
def headstart(*, policy: Policy = _POLICY, name: str = "headstart") -> Learner:
    """Our own, without settings: the mean task, its variance and the noise are all learned.

    Parameters
    ----------
    policy : Policy, default BayesUCB()
        How an arm is chosen.
    name : str, default "headstart"
        The label in results.

    Returns
    -------
    Learner

    Examples
    --------
    >>> type(headstart().prior).__name__
    'Hierarchical'
    """
    return Learner(name, policy, Hierarchical())


def _known(noise_variance: float, task_variance: float, mean_variance: float) -> KnownVariances:
    return KnownVariances(
        noise_variance=noise_variance, task_variance=task_variance, mean_variance=mean_variance
    )
