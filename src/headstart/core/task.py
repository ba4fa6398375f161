"""Task, a simulated task with its means and adversary, and Episode, what a learner did in it."""

from __future__ import annotations

import copy
from dataclasses import dataclass, replace
from typing import Protocol

import numpy as np

from headstart import checks, kernels
from headstart.arrays import Floats, Integers
from headstart.core.statistics import TaskStatistics


class Adversary(Protocol):
    """An opponent of the agent within a task. It is pure, and replications are independent.

    It sees the statistics of the chosen arms and their rewards, and thus everything a linear model
    of the task can believe. It sees neither the agent's random numbers nor the arms of the coming
    round.
    """

    def parameter(self, played: TaskStatistics) -> Floats:
        """The w of the next round, (R, d): xᵀw adds to the mean and the reward of every arm."""
        ...


@dataclass(frozen=True, eq=False, kw_only=True)
class Task:
    """One task in each of R replications. The noise is drawn for all arms, so learners share it.

    In memory the rounds come first, because all replications play a round together (`by_round`).

    Parameters
    ----------
    arms : ndarray of shape (…, T, K, d)
        The features of the arms in every round.
    rewards : ndarray of shape (…, T, K)
        The rewards of every arm.
    means : ndarray of shape (…, T, K)
        Their expectations.
    parameter : ndarray of shape (…, d), optional
        The true w, if there is one.
    about : ndarray of shape (…, p), optional
        What is known of the task before its first round.
    comparator : ndarray of shape (…, d), optional
        Regret is against the arm with the largest xᵀu: one comparator u for all rounds, as is usual
        if w changes from round to round. By default it is against the best arm of each round.
    adversary : Adversary, optional
        Its xᵀw is added to rewards and means; both, and the comparator Σw, are known once the task
        is played (`realised`).

    Examples
    --------
    >>> task = hs.environments.Synthetic(dimension=3).sample(50, 2, np.random.default_rng(0))
    >>> task.horizon, task.n_arms, task.dimension
    (50, 5, 3)
    >>> best = task.means.argmax(-1)
    >>> task.regrets(best).sum().item()
    0.0
    """

    arms: Floats
    rewards: Floats
    means: Floats
    parameter: Floats | None = None
    about: Floats | None = None
    comparator: Floats | None = None
    adversary: Adversary | None = None

    def __post_init__(self) -> None:
        arms = checks.floats("arms", self.arms, order="A")
        if arms.ndim < 3 or 0 in arms.shape[-3:]:
            raise ValueError(
                "arms must have shape (…, T, K, d) with at least one round, arm and feature, "
                f"got {arms.shape}"
            )
        object.__setattr__(self, "arms", _rounds_first(arms, 3))
        for name in ("rewards", "means"):
            array = checks.floats(name, getattr(self, name), order="A")
            checks.shape(name, array, arms.shape[:-1], "(…, T, K)")
            object.__setattr__(self, name, _rounds_first(array, 2))
        for name in ("parameter", "comparator"):
            given = getattr(self, name)
            if given is not None:
                vector = checks.floats(name, given)
                checks.shape(name, vector, (*arms.shape[:-3], arms.shape[-1]), "(…, d)")
                object.__setattr__(self, name, vector)
        if self.about is not None:
            object.__setattr__(self, "about", checks.about("about", self.about, arms.shape[:-3]))

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes: the replications."""
        return self.arms.shape[:-3]

    @property
    def horizon(self) -> int:
        """The number of rounds, T."""
        return int(self.arms.shape[-3])

    @property
    def n_arms(self) -> int:
        """The number of arms per round, K."""
        return int(self.arms.shape[-2])

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return int(self.arms.shape[-1])

    def __getitem__(self, part: slice) -> Task:
        """Take some replications along the first leading axis, without a copy or a new check."""
        taken = copy.copy(self)
        for name, value in vars(self).items():
            if isinstance(value, np.ndarray):
                object.__setattr__(taken, name, value[part])
        return taken

    def regrets(self, choices: Integers) -> Floats:
        """The pseudo-regret of choices, (…, T): the best mean of the round less the chosen one.

        With a comparator, it is the comparator's mean minus the chosen one, which may be below 0 in
        a round.
        """
        if self.comparator is not None:
            fixed = (self.arms @ self.comparator[..., None, :, None])[..., 0].argmax(-1)
            compared, played = (
                np.take_along_axis(self.means, arm[..., None], -1)[..., 0]
                for arm in (fixed, choices)
            )
            return np.asarray(compared - played)
        means = by_round(self.means, 2)
        chosen = np.ascontiguousarray(choices.reshape(-1, self.horizon).T)
        regret = np.empty(chosen.shape)
        for t in range(self.horizon):
            kernels.regrets(means[t], chosen[t], regret[t])
        return regret.T.reshape(*self.lead, self.horizon)


class Reaction:
    """One task's adversary in R replications, round by round; `parameter` is this round's."""

    def __init__(self, adversary: Adversary, dimension: int, replications: int) -> None:
        self._adversary = adversary
        self._played = TaskStatistics.zeros(dimension, (replications,))
        self.parameter = self._decide()

    def observe(self, features: Floats, rewards: Floats) -> None:
        """End the round: the features (R, d) of the arms chosen, and their rewards (R,)."""
        played = self._played
        self._played = checks.trusted(
            TaskStatistics,
            gram=played.gram + features[:, :, None] * features[:, None, :],
            moment=played.moment + rewards[:, None] * features,
            count=played.count + 1.0,
            sum_of_squares=played.sum_of_squares + rewards**2,
        )
        self.parameter = self._decide()

    def _decide(self) -> Floats:
        parameter = checks.floats(
            "the adversary's parameter", self._adversary.parameter(self._played)
        )
        checks.shape("the adversary's parameter", parameter, self._played.moment.shape, "(R, d)")
        return parameter


def realised(task: Task, choices: Integers) -> Task:
    """The task in which choices (…, T) were played: itself, unless an adversary reacted to them."""
    if task.adversary is None:
        return task
    arms, payoffs = by_round(task.arms, 3), by_round(task.rewards, 2)
    _, replications, _, dimension = arms.shape
    reaction = Reaction(task.adversary, dimension, replications)
    chosen = choices.reshape(replications, task.horizon).T
    added, total = np.empty_like(payoffs), np.zeros((replications, dimension))
    rows = np.arange(replications)
    for t in range(task.horizon):
        total += reaction.parameter
        added[t] = utilities(arms[t], reaction.parameter)
        at = (rows, chosen[t])
        if t + 1 < task.horizon:
            reaction.observe(arms[t][at], payoffs[t][at] + added[t][at])
    moved = np.moveaxis(added, 0, 1).reshape(task.means.shape)
    return replace(
        task,
        rewards=task.rewards + moved,
        means=task.means + moved,
        comparator=total.reshape(*task.lead, dimension),
        adversary=None,
    )


def utilities(arms: Floats, parameter: Floats) -> Floats:
    """xᵀw of arms (R, K, d) and parameters (R, d), of shape (R, K)."""
    return np.asarray((arms @ parameter[:, :, None])[..., 0])


def by_round(array: Floats, own: int) -> Floats:
    """A task's array as (T, R, own axes but the first): one contiguous block per round."""
    lead = array.shape[: array.ndim - own]
    moved = np.moveaxis(array, len(lead), 0)
    return moved.reshape(moved.shape[0], -1, *array.shape[len(lead) + 1 :])


def _rounds_first(array: Floats, own: int) -> Floats:
    """The same array, laid out with the rounds first in memory; a copy only if it is not yet."""
    axis = array.ndim - own
    return np.moveaxis(np.ascontiguousarray(np.moveaxis(array, axis, 0)), 0, axis)


@dataclass(frozen=True, eq=False)
class Episode:
    """What a learner did and saw in a task.

    Parameters
    ----------
    choices : ndarray of int of shape (…, T)
        The chosen arms.
    rewards : ndarray of shape (…, T)
        Their rewards.
    statistics : TaskStatistics
        The sums that priors learn from.

    Examples
    --------
    >>> task = hs.environments.Synthetic(dimension=3).sample(4, 2, np.random.default_rng(0))
    >>> learner = hs.learners.itl(regularization=1.0)
    >>> episode = learner.play(learner.begin(3, 2), hs.Rounds(task, np.full((2, 4, 1), 0.5)))
    >>> episode.choices.shape, episode.statistics.count
    ((2, 4), array([4., 4.]))
    """

    choices: Integers
    rewards: Floats
    statistics: TaskStatistics
