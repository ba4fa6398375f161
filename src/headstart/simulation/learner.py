"""Learner and Optimal: the paper's agents, and its two loops (Algorithms 1 and 2)."""

from __future__ import annotations

from dataclasses import dataclass, field

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.running import RunningEstimate
from headstart.core.task import Episode
from headstart.habits import hinted
from headstart.interfaces import (
    Memory,
    Policy,
    PriorEstimator,
    by_parts,
    check_parts,
    n_about,
    starting_prior,
)
from headstart.simulation.agent import State
from headstart.simulation.rounds import Rounds

# For how many memories a learner caches the prior: one per number of training tasks.
_KEPT = 8


@hinted
@dataclass(frozen=True, eq=False)
class Learner:
    """An agent made of a policy and a prior.

    Its state is the prior's memory.

    Parameters
    ----------
    name : str
        The label in results. With the seed, it determines the learner's random numbers.
    policy : Policy
        How an arm is chosen.
    prior : PriorEstimator
        How the learner learns from task to task.

    Examples
    --------
    >>> learner = hs.Learner("mine", policy=hs.policies.OFUL(), prior=hs.priors.Pooled())
    >>> results = hs.simulate(hs.environments.Synthetic(), [learner], n_tasks=3, horizon=10)
    >>> results.regret.dims
    ('learner', 'replication', 'task', 'round')
    """

    name: str
    policy: Policy
    prior: PriorEstimator
    # The last memories and their priors: many test tasks start from each.
    _last: list[tuple[State, Prior]] = field(default_factory=list, init=False, repr=False)

    def __post_init__(self) -> None:
        check_parts(self.policy, self.prior)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """As many as the policy takes."""
        return self.policy.n_uniforms(n_arms, dimension)

    def begin(self, dimension: int, replications: int) -> Memory:
        """The memory before any task."""
        return self.prior.empty(dimension, (replications,))

    def play(self, state: State, rounds: Rounds) -> Episode:
        """Algorithm 1, BIAS-OFUL: play one task from the prior that the memory gives."""
        start = self._start(state, rounds.about)
        running_bias = self.prior.running_bias(state)
        if start.mixture is not None and running_bias is not None:
            raise ValueError("a prior whose bias moves within a task must not have a mixture")
        estimate = RunningEstimate(start)
        mean_widths = by_parts(self.policy) is not None
        estimates = estimate.prepare(rounds.n_arms, mean_widths=mean_widths)
        arms = rounds.shared_arms()
        estimate.read(arms)
        while not rounds.over:
            scores = self.policy.scores(estimates, rounds.uniforms)
            choices, rewards = rounds.choose_largest(scores)
            next_arms = None if rounds.over else rounds.shared_arms()
            if running_bias is None:
                estimate.learn_choices(arms, choices, rewards, next_arms)
            else:
                estimate.learn_choices(arms, choices, rewards)
                chosen = rounds.features.reshape(*rounds.lead, rounds.dimension)
                estimate.move(running_bias.observe(chosen, rewards.reshape(rounds.lead)))
                if next_arms is not None:
                    estimate.read(next_arms)
            if next_arms is not None:
                arms = next_arms
        return rounds.episode(estimate.statistics)

    def _start(self, state: State, about: Floats | None) -> Prior:
        """The prior of the next task, computed once for tasks that start from the same memory."""
        if n_about(self.prior):
            return starting_prior(self.prior, state, about)
        for known, prior in self._last:
            if known is state:
                return prior
        prior = starting_prior(self.prior, state, about)
        self._last[:] = [(state, prior), *self._last[: _KEPT - 1]]
        return prior

    def learn(self, state: State, played: Episode) -> Memory:
        """Algorithm 2, one step: the completed task joins the memory."""
        return self.prior.absorb(state, played.statistics)


@dataclass(frozen=True)
class Optimal:
    """OPT: sees every task's means and plays the best arm. A reference, not a learner.

    Parameters
    ----------
    name : str, default "OPT"
        The label in results.

    Examples
    --------
    >>> results = hs.simulate(hs.environments.Synthetic(), [hs.Optimal()], n_tasks=2, horizon=5)
    >>> results.regret.sum().item()
    0.0
    """

    name: str = "OPT"

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """0: only ties are random."""
        return 0

    def begin(self, dimension: int, replications: int) -> State:
        """An empty state."""
        return {}

    def play_informed(self, state: State, rounds: Rounds, means: Floats) -> Episode:
        """Play an arm of largest mean in every round."""
        for t in range(rounds.horizon):
            rounds.choose_largest(means[..., t, :])
        return rounds.episode()

    def learn(self, state: State, played: Episode) -> State:
        """Nothing is learned."""
        return state
