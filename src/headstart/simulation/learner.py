"""The paper's two loops: play one task (Algorithm 1), and hand it to the next (Algorithm 2)."""

from dataclasses import dataclass

import numpy as np

from headstart import kernels
from headstart.arrays import Floats, Integers
from headstart.core.running import RunningEstimate
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Episode, Task, by_round
from headstart.interfaces import Memory, Policy, PriorEstimator


@dataclass(frozen=True, eq=False)
class Learner:
    """A name for tables and plots, a way to choose, and what is learned from task to task."""

    name: str
    policy: Policy
    prior: PriorEstimator


@dataclass(frozen=True)
class Optimal:
    """OPT: knows every task's parameter and plays the best arm. Not a learner, but its measure."""

    name: str = "OPT"


def draw_uniforms(task: Task, learner: Learner | Optimal, rng: np.random.Generator) -> Floats:
    """The luck of a learner in a task, (…, T, n + 1): the policy's numbers, then the tie-break.

    Drawn in the order of the replications, so that playing them one by one takes the same numbers.
    """
    own = 0
    if isinstance(learner, Learner):
        own = learner.policy.n_uniforms(task.n_arms, task.dimension)
    return rng.random((*task.lead, task.horizon, own + 1))


def begin(learner: Learner | Optimal, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
    """The memory before any task."""
    return {} if isinstance(learner, Optimal) else learner.prior.empty(dimension, lead)


def play(task: Task, learner: Learner | Optimal, memory: Memory, uniforms: Floats) -> Episode:
    """Algorithm 1, BIAS-OFUL: play one task from what the memory of earlier ones suggests."""
    if isinstance(learner, Optimal):
        return _play_optimally(task, uniforms)
    start, follower = learner.prior.prior(memory), learner.prior.running_bias(memory)
    if start.mixture is not None and follower is not None:
        raise ValueError("a prior must not have a mixture where its bias moves within the task")
    estimate = RunningEstimate(start)
    rounds = _Rounds(task, uniforms)
    estimates = estimate.prepare(task.n_arms)
    luck = np.moveaxis(uniforms[..., :-1], -2, 0)
    estimate.read(rounds.arms[0])
    for t in range(task.horizon):
        scores = learner.policy.scores(estimates, luck[t])
        choices, rewards = rounds.choose(t, scores)
        arms, then = rounds.arms[t], rounds.arms[t + 1] if t + 1 < task.horizon else None
        if follower is None:
            estimate.learn_choices(arms, choices, rewards, then)
            continue
        estimate.learn_choices(arms, choices, rewards)
        chosen = rounds.features(t).reshape(*task.lead, task.dimension)
        estimate.move(follower.observe(chosen, rewards.reshape(task.lead)))
        if then is not None:
            estimate.read(then)
    return rounds.episode(estimate.statistics)


def learn(learner: Learner | Optimal, memory: Memory, episode: Episode) -> Memory:
    """Algorithm 2, one step: the completed task joins the memory."""
    if isinstance(learner, Optimal):
        return memory
    return learner.prior.absorb(memory, episode.statistics)


def _play_optimally(task: Task, uniforms: Floats) -> Episode:
    rounds = _Rounds(task, uniforms)
    for t in range(task.horizon):
        rounds.choose(t, task.means[..., t, :])
    features = np.stack([rounds.features(t) for t in range(task.horizon)], axis=-2)
    features = features.reshape(*task.lead, task.horizon, task.dimension)
    rewards = rounds.rewards.T.reshape(*task.lead, task.horizon)
    return rounds.episode(TaskStatistics.from_data(features, rewards))


class _Rounds:
    """Turns scores into choices with fair ties, and keeps the record, flat over replications."""

    def __init__(self, task: Task, uniforms: Floats) -> None:
        self._lead = task.lead
        self.arms = by_round(task.arms, 3)
        self._paid = by_round(task.rewards, 2)
        self._ties = np.ascontiguousarray(by_round(uniforms[..., -1], 1))
        self._rows = np.arange(self._ties.shape[1])
        self.choices = np.empty(self._ties.shape, dtype=np.int64)
        self.rewards = np.empty(self._ties.shape)

    def choose(self, t: int, scores: Floats) -> tuple[Integers, Floats]:
        """The choices and rewards of a round, (R,) each."""
        flat = np.ascontiguousarray(scores).reshape(len(self._rows), -1)
        choices, rewards = self.choices[t], self.rewards[t]
        kernels.choose(flat, self._ties[t], self._paid[t], choices, rewards)
        return choices, rewards

    def features(self, t: int) -> Floats:
        """The features chosen in a round, (R, d)."""
        return np.asarray(self.arms[t][self._rows, self.choices[t]])

    def episode(self, statistics: TaskStatistics) -> Episode:
        """The finished record."""
        shape = (*self._lead, len(self.choices))
        return Episode(
            choices=np.ascontiguousarray(self.choices.T).reshape(shape),
            rewards=np.ascontiguousarray(self.rewards.T).reshape(shape),
            statistics=statistics,
        )
