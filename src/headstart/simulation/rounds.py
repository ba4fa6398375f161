"""Rounds: one task as an agent sees it, round by round."""

from __future__ import annotations

from dataclasses import replace
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import checks, kernels
from headstart.arrays import Floats, Integers
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Episode, Reaction, Task, by_round, utilities

Number = TypeVar("Number", bound=np.generic)


def draw_uniforms(task: Task, n_uniforms: int, rng: np.random.Generator) -> Floats:
    """The random numbers of an agent in a task, (…, T, n + 1): its own n, then one for ties.

    They are drawn replication by replication, so that playing one alone takes the same numbers.
    """
    return rng.random((*task.lead, task.horizon, n_uniforms + 1))


class Rounds:
    """One task in R replications that play each round together; every choice ends a round.

    An agent sees the task's side information, the arms of the round, its random numbers and the
    rewards of the arms it chose: no means, no other rewards, no later arms. It gets copies, so that
    it may write to them.

    Parameters
    ----------
    task : Task
        The task.
    uniforms : ndarray of shape (…, T, n + 1)
        The agent's random numbers in [0, 1); the last one breaks ties.

    Examples
    --------
    >>> task = hs.environments.Synthetic(dimension=3).sample(4, 2, np.random.default_rng(0))
    >>> rounds = hs.Rounds(task, np.full((2, 4, 1), 0.5))
    >>> while not rounds.over:
    ...     rewards = rounds.choose(np.array([0, 1]))
    >>> rounds.choices
    array([[0, 0, 0, 0],
           [1, 1, 1, 1]])
    """

    def __init__(self, task: Task, uniforms: Floats) -> None:
        self.lead = task.lead
        self.horizon, self.n_arms, self.dimension = task.horizon, task.n_arms, task.dimension
        # What is known of the task before its first round, (…, p), or None.
        self.about = task.about
        self._arms = by_round(task.arms, 3)
        self._payoffs = by_round(task.rewards, 2)
        self._uniforms = np.moveaxis(uniforms[..., :-1], -2, 0)
        self._ties = np.ascontiguousarray(by_round(uniforms[..., -1], 1))
        self.replications = self._ties.shape[1]
        self._rows = np.arange(self.replications)
        self._choices = np.empty(self._ties.shape, dtype=np.int64)
        self._rewards = np.empty(self._choices.shape)
        self._propensities: Floats | None = None
        self._played = 0
        self._reaction: Reaction | None = None
        if task.adversary is not None:
            # Every agent gets its own rewards, which follow from its choices.
            self._payoffs = self._payoffs.copy()
            self._reaction = Reaction(task.adversary, self.dimension, self.replications)
            self._payoffs[0] += utilities(self._arms[0], self._reaction.parameter)
        # Whether all rounds are played: a plain attribute, since it is read several times per
        # round.
        self.over = False

    @property
    def arms(self) -> Floats:
        """The arms of this round, (R, K, d)."""
        return self.shared_arms().copy()

    def shared_arms(self) -> Floats:
        """The arms of this round without a copy: a view of an array that others see too."""
        if self.over:
            raise self._no_more()
        arms: Floats = self._arms[self._played]
        return arms

    @property
    def uniforms(self) -> Floats:
        """The agent's own random numbers for this round, (…, n), uniform in [0, 1)."""
        if self.over:
            raise self._no_more()
        return np.array(self._uniforms[self._played])

    def choose(self, choices: ArrayLike, propensities: ArrayLike | None = None) -> Floats:
        """Choose arms by index, and end the round.

        Parameters
        ----------
        choices : array_like of int of shape (R,)
            The indices of the arms.
        propensities : array_like of the same shape, optional
            The probabilities with which these arms were chosen, if the agent knows them: they
            become part of the results.

        Returns
        -------
        ndarray of the same shape
            The rewards.
        """
        if self.over:
            raise self._no_more()
        given = np.asarray(choices)
        if given.shape != (self.replications,) or given.dtype.kind not in "iu":
            raise ValueError(
                f"choices must be {self.replications} integers, one per replication, "
                f"got {given.dtype} of shape {given.shape}"
            )
        if given.min() < 0 or given.max() >= self.n_arms:
            wrong = given[(given < 0) | (given >= self.n_arms)][0]
            raise ValueError(f"choices must be from 0 to {self.n_arms - 1}, got {wrong}")
        t = self._played
        if propensities is not None:
            self._record_propensities(propensities)
        rewards: Floats = self._payoffs[t][self._rows, given]
        self._choices[t], self._rewards[t] = given, rewards
        self._end_round()
        return rewards

    def choose_largest(self, scores: Floats) -> tuple[Integers, Floats]:
        """Choose the arms of largest score, ties at random, and end the round.

        Parameters
        ----------
        scores : ndarray of shape (…, K)
            The scores. Scores within 1e-9 of the largest, relative to it, are tied: they differ by
            rounding only.

        Returns
        -------
        choices : ndarray of int of shape (R,)
            The indices of the arms.
        rewards : ndarray of the same shape
            The rewards.
        """
        if self.over:
            raise self._no_more()
        t = self._played
        flat = np.ascontiguousarray(scores, dtype=np.float64)
        if flat.size != self.replications * self.n_arms:
            expected = (*self.lead, self.n_arms)
            raise ValueError(f"scores must have shape (…, K) = {expected}, got {flat.shape}")
        choices, rewards = self._choices[t], self._rewards[t]
        valid = kernels.choose(
            flat.reshape(self.replications, self.n_arms),
            self._ties[t],
            self._payoffs[t],
            choices,
            rewards,
        )
        if not valid:
            raise ValueError(f"scores must be numbers, got NaN in round {t + 1}")
        self._end_round()
        return choices.copy(), rewards.copy()

    @property
    def features(self) -> Floats:
        """The features of the arms chosen last, (R, d)."""
        if not self._played:
            raise ValueError("features of the arms chosen last: nothing was chosen yet")
        t = self._played - 1
        return np.asarray(self._arms[t][self._rows, self._choices[t]])

    @property
    def choices(self) -> Integers:
        """The arms chosen so far, (…, t)."""
        return self._so_far(self._choices)

    @property
    def rewards(self) -> Floats:
        """Their rewards, (…, t)."""
        return self._so_far(self._rewards)

    @property
    def propensities(self) -> Floats | None:
        """The propensities of the choices so far, 0 if not reported; None if none was."""
        return None if self._propensities is None else self._so_far(self._propensities)

    def episode(self, statistics: TaskStatistics | None = None) -> Episode:
        """The record so far.

        Parameters
        ----------
        statistics : TaskStatistics, optional
            The statistics of the record; computed by default.

        Returns
        -------
        Episode
        """
        choices, rewards = self.choices, self.rewards
        if statistics is None:
            rounds = np.arange(self._played).reshape(-1, *(1,) * self._rows.ndim)
            features = self._arms[rounds, self._rows, self._choices[: self._played]]
            shape = (*self.lead, self._played, self.dimension)
            statistics = TaskStatistics.from_data(features.swapaxes(0, 1).reshape(shape), rewards)
        if self.about is not None:
            statistics = replace(statistics, about=self.about)
        return Episode(choices=choices, rewards=rewards, statistics=statistics)

    def _record_propensities(self, propensities: ArrayLike) -> None:
        told = checks.floats("propensities", propensities)
        checks.shape("propensities", told, (self.replications,), "(R,)")
        if told.min() <= 0.0 or told.max() > 1.0:
            wrong = told[(told <= 0.0) | (told > 1.0)][0]
            raise ValueError(f"propensities must be above 0 and at most 1, got {wrong}")
        if self._propensities is None:
            self._propensities = np.zeros(self._choices.shape)
        self._propensities[self._played] = told

    def _so_far(self, array: NDArray[Number]) -> NDArray[Number]:
        """An array over (T, R) as (…, t), for the rounds played so far: a copy."""
        played = np.array(array[: self._played].swapaxes(0, 1), order="C")
        return played.reshape(*self.lead, self._played)

    def _end_round(self) -> None:
        self._played += 1
        self.over = self._played == self.horizon
        if self._reaction is not None and not self.over:
            t = self._played
            self._reaction.observe(self.features, self._rewards[t - 1])
            self._payoffs[t] += utilities(self._arms[t], self._reaction.parameter)

    def _no_more(self) -> ValueError:
        return ValueError(f"a task has {self.horizon} rounds, all of which are played")
