"""The three protocols: sources of tasks, policies, and estimators of priors.

An estimator stores completed tasks in a `Memory`: named arrays of bounded size.

>>> {name: array.shape for name, array in hs.priors.Average().empty(dimension=3).items()}
{'weighted': (3,), 'weight': ()}
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Protocol, runtime_checkable

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates, EstimateSummary
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Task

__all__ = [
    "AboutPriorEstimator",
    "ArmEstimates",
    "Environment",
    "EstimateSummary",
    "FiniteEnvironment",
    "FittedPriorEstimator",
    "IndexPolicy",
    "LivePriorEstimator",
    "MeanIndexPolicy",
    "Memory",
    "Policy",
    "PreparableEnvironment",
    "PriorEstimator",
    "RunningBias",
    "SamplingPolicy",
]

# What a prior estimator stores about completed tasks: named arrays with leading axes, of a size
# with a bound, however many tasks there are. Plain, so that it can be saved, split and inspected.
Memory = Mapping[str, Floats]


class Environment(Protocol):
    """Where tasks come from.

    >>> from dataclasses import dataclass
    >>> @dataclass
    ... class Coins:
    ...     dimension: int = 2
    ...
    ...     def sample(self, horizon, replications, rng):
    ...         arms = np.broadcast_to(np.eye(2), (replications, horizon, 2, 2))
    ...         means = np.broadcast_to([0.0, 1.0], (replications, horizon, 2))
    ...         return hs.Task(arms=arms, rewards=means, means=means)
    >>> results = hs.simulate(Coins(), [hs.learners.headstart()], n_tasks=2, horizon=20)
    >>> results.regret.sum().item() < 10
    True
    """

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        ...

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task of T rounds in each of R replications; all randomness comes from `rng`."""
        ...


@runtime_checkable
class PreparableEnvironment(Environment, Protocol):
    """An environment whose tasks share something that is drawn once per replication.

    >>> from headstart.interfaces import PreparableEnvironment
    >>> isinstance(hs.environments.Synthetic(), PreparableEnvironment)
    True
    """

    def prepare(self, replications: int, rng: np.random.Generator) -> Environment:
        """Draw what all tasks share, and return the environment of these replications."""
        ...


@runtime_checkable
class FiniteEnvironment(Protocol):
    """A prepared environment with finitely many tasks, such as the users of a table.

    >>> from headstart.interfaces import FiniteEnvironment
    >>> isinstance(hs.environments.Synthetic(), FiniteEnvironment)
    False
    """

    @property
    def n_tasks(self) -> int:
        """How many tasks there are in every replication."""
        ...

    def sample(
        self, horizon: int, replications: int, rng: np.random.Generator, number: int = 0
    ) -> Task:
        """Task `number` of every replication; −1 is the last.

        Training plays the first tasks, and tests play the last, from the end.
        """
        ...


class Policy(Protocol):
    """How an arm is chosen: a pure function of the estimates and of uniform numbers.

    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Optimist:
    ...     def n_uniforms(self, n_arms, dimension):
    ...         return 0
    ...
    ...     def scores(self, estimates, uniforms):
    ...         return estimates.predictions + 2 * estimates.widths
    >>> learner = hs.Learner("optimist", policy=Optimist(), prior=hs.priors.Fixed.zero())
    >>> results = hs.simulate(hs.environments.Synthetic(), [learner], n_tasks=2, horizon=5)
    >>> results.learner.item()
    'optimist'
    """

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """How many uniform numbers it needs per round; 0 for a deterministic policy."""
        ...

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """A score for every arm, of shape (…, K), given uniform numbers (…, n) in [0, 1).

        The arm with the largest score is played.
        """
        ...


@runtime_checkable
class IndexPolicy(Policy, Protocol):
    """A policy whose score is xᵀŵ + radius·‖x‖ (`ArmEstimates.index`).

    Live use computes it in one compiled call.

    >>> from headstart.interfaces import IndexPolicy
    >>> isinstance(hs.policies.OFUL(), IndexPolicy), isinstance(hs.policies.Thompson(), IndexPolicy)
    (True, False)
    """

    def radius(self, summary: EstimateSummary) -> Floats:
        """The factor of the widths, of shape (…)."""
        ...


@runtime_checkable
class MeanIndexPolicy(IndexPolicy, Protocol):
    """An index policy with a separate radius for the uncertainty of the mean task.

    The score is xᵀŵ + mean radius·m + radius·(what this task can use of the rest): m is the part of
    the width that is the uncertainty of the mean task (`ArmEstimates.index`). If it is not
    `by_parts`, it has one radius for all.

    >>> from headstart.interfaces import MeanIndexPolicy
    >>> isinstance(hs.policies.BayesUCB(), MeanIndexPolicy)
    True
    """

    @property
    def by_parts(self) -> bool:
        """Whether it has a mean radius."""
        ...

    def mean_radius(self, summary: EstimateSummary, n_arms: int) -> Floats:
        """The factor of the mean widths, of shape (…)."""
        ...


@runtime_checkable
class SamplingPolicy(Policy, Protocol):
    """A policy that samples, and scores many draws from one estimate more cheaply than one by one.

    Live use estimates propensities from many draws; for other policies it repeats the estimate.

    >>> from headstart.interfaces import SamplingPolicy
    >>> isinstance(hs.policies.Thompson(), SamplingPolicy)
    True
    """

    def sampled_scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        """The `scores` (…, m, K) of m draws each, from uniform numbers (…, m, n)."""
        ...


class RunningBias(Protocol):
    """The bias of a running task, when the task's own rewards move it.

    >>> prior = hs.priors.Pooled(regularization=1.0)
    >>> running = prior.running_bias(prior.empty(2))
    >>> running.observe(np.array([1.0, 0.0]), np.array(1.0))
    array([0.5, 0. ])
    """

    def observe(self, features: Floats, rewards: Floats) -> Floats:
        """Learn the rewards (…) of features (…, d); return the bias (…, d) now."""
        ...


class PriorEstimator(Protocol):
    """What is learned across tasks: a fold over the statistics of completed ones.

    No method modifies a memory that it gets.

    >>> prior = hs.priors.Average()
    >>> memory = prior.empty(2)
    >>> memory = prior.absorb(memory, hs.TaskStatistics.from_data(np.eye(2), [2.0, 0.0]))
    >>> prior.prior(memory).bias
    array([1., 0.])
    """

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The memory before any task."""
        ...

    def absorb(self, memory: Memory, task: TaskStatistics) -> Memory:
        """The memory after one more completed task."""
        ...

    def prior(self, memory: Memory) -> Prior:
        """What the next task starts from."""
        ...

    def running_bias(self, memory: Memory) -> RunningBias | None:
        """The bias within the next task, `prior(absorb(memory, task so far)).bias`, per round.

        None if it is constant, as it must be if the prior has a mixture.
        """
        ...


@runtime_checkable
class LivePriorEstimator(PriorEstimator, Protocol):
    """A prior estimator that can also remove a task from its memory, as live use does.

    >>> from headstart.interfaces import LivePriorEstimator
    >>> prior = hs.priors.Pooled()
    >>> isinstance(prior, LivePriorEstimator)
    True
    >>> task = hs.TaskStatistics.from_data(np.eye(2), [2.0, 0.0])
    >>> memory = prior.absorb(prior.empty(2), task)
    >>> prior.prior(prior.absorb(memory, task, weight=-1.0)).bias
    array([0., 0.])
    """

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """The memory with a task added this many times; with a weight below 0, removed.

        A task is removed by the statistics that were absorbed.
        """
        ...

    def scale(self, memory: Memory, factor: float) -> Memory:
        """The memory with every task counting `factor` times as much."""
        ...

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """The memory of both memories' tasks."""
        ...


@runtime_checkable
class FittedPriorEstimator(PriorEstimator, Protocol):
    """A prior estimator whose memory has a fit that lags behind changes of tasks.

    >>> from headstart.interfaces import FittedPriorEstimator
    >>> isinstance(hs.priors.Hierarchical(), FittedPriorEstimator)
    True
    """

    def refit(self, memory: Memory) -> Memory:
        """The memory with a fresh fit, which does not depend on removed tasks."""
        ...


@runtime_checkable
class AboutPriorEstimator(PriorEstimator, Protocol):
    """A prior estimator that learns what a task's side information says about its parameter.

    It absorbs statistics with `about` (…, p). If p is 0, it takes none.

    >>> from headstart.interfaces import AboutPriorEstimator
    >>> isinstance(hs.priors.Hierarchical(n_about=2), AboutPriorEstimator)
    True
    """

    @property
    def n_about(self) -> int:
        """The size p of the side information."""
        ...

    def prior(self, memory: Memory, about: Floats | None = None) -> Prior:
        """What a task with this side information starts from."""
        ...


def by_parts(policy: Policy) -> MeanIndexPolicy | None:
    """The policy, if it is an index by parts."""
    return policy if isinstance(policy, MeanIndexPolicy) and policy.by_parts else None


def n_about(estimator: PriorEstimator) -> int:
    """The size of the side information that an estimator takes; 0 for none."""
    return int(getattr(estimator, "n_about", 0))


def starting_prior(estimator: PriorEstimator, memory: Memory, about: Floats | None) -> Prior:
    """What a task starts from, given its side information if the estimator takes any."""
    if n_about(estimator) and isinstance(estimator, AboutPriorEstimator):
        return estimator.prior(memory, about)
    return estimator.prior(memory)


def check_parts(policy: Policy, prior: PriorEstimator) -> None:
    """A policy and a prior estimator as objects, in this order."""
    checks.having(
        "policy",
        policy,
        "scores",
        "an object with the methods scores and n_uniforms, such as policies.OFUL()",
    )
    checks.having(
        "prior",
        prior,
        "absorb",
        "an object with the methods of a prior estimator, such as priors.Pooled()",
    )
