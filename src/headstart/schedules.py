"""Schedules: which task plays next.

A schedule is part of a simulation's data, the same for all replications and all agents. Tasks are
numbered in the order in which they begin, and a task's number determines its random numbers; so the
same tasks are played under every schedule.

>>> rng = np.random.default_rng(0)
>>> hs.schedules.InSequence().order(2, 3, rng)
array([0, 0, 0, 1, 1, 1])
>>> hs.schedules.InParallel(2).order(2, 3, rng)
array([0, 1, 0, 1, 0, 1])
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from headstart import checks
from headstart.arrays import Integers

__all__ = ["Arrivals", "InParallel", "InSequence", "Schedule"]


@runtime_checkable
class Schedule(Protocol):
    """An order of turns, with one task playing a round in each, and a delay of rewards.

    Examples
    --------
    >>> from dataclasses import dataclass
    >>> @dataclass(frozen=True)
    ... class Backwards:
    ...     '''The last of the open tasks plays on; each begins with one round.'''
    ...
    ...     delay: int = 0
    ...
    ...     def order(self, n_tasks, horizon, rng):
    ...         first, rest = np.arange(n_tasks), np.arange(n_tasks)[::-1]
    ...         return np.concatenate([first, np.repeat(rest, horizon - 1)])
    >>> results = hs.simulate(
    ...     hs.environments.Synthetic(), hs.learners.itl(), 2, 3, schedule=Backwards()
    ... )
    >>> results.turn.to_numpy()
    array([[1, 5, 6],
           [2, 3, 4]])
    """

    @property
    def delay(self) -> int:
        """How many turns later the reward of a turn arrives; with 0, before the next turn."""
        ...

    def order(self, n_tasks: int, horizon: int, rng: np.random.Generator) -> Integers:
        """The task of every turn: each of 0 … n − 1 as often as it has rounds.

        Tasks begin in the order of their numbers.

        Parameters
        ----------
        n_tasks, horizon : int
            The number of tasks, n, and of rounds of each, T.
        rng : numpy.random.Generator
            Random numbers derived from the simulation's seed.

        Returns
        -------
        ndarray of int of shape (n·T,)
            The tasks.
        """
        ...


@dataclass(frozen=True)
class InSequence:
    """One task after another.

    Parameters
    ----------
    delay : int, default 0
        How many turns later the reward of a turn arrives.

    Examples
    --------
    >>> hs.schedules.InSequence(delay=2).delay
    2
    """

    delay: int = 0

    def __post_init__(self) -> None:
        checks.count("delay", self.delay, least=0)

    def order(self, n_tasks: int, horizon: int, rng: np.random.Generator) -> Integers:
        """All rounds of a task, then those of the next."""
        return np.repeat(np.arange(n_tasks), horizon)


@dataclass(frozen=True)
class InParallel:
    """Groups of n tasks that play in turn; the next group begins when all have ended.

    The last group may be smaller.

    Parameters
    ----------
    n : int
        The number of tasks of a group.
    delay : int, default 0
        How many turns later the reward of a turn arrives.

    Examples
    --------
    >>> hs.schedules.InParallel(2).order(3, 2, np.random.default_rng(0))
    array([0, 1, 0, 1, 2, 2])
    """

    n: int
    delay: int = 0

    def __post_init__(self) -> None:
        checks.count("n", self.n)
        checks.count("delay", self.delay, least=0)

    def order(self, n_tasks: int, horizon: int, rng: np.random.Generator) -> Integers:
        """The first round of every task of a group, then the second of every task, and so on."""
        groups = np.split(np.arange(n_tasks), range(self.n, n_tasks, self.n))
        return np.concatenate([np.tile(group, horizon) for group in groups])


@dataclass(frozen=True)
class Arrivals:
    """Tasks arrive at random and return at random; about n of them are open at a time.

    Tasks arrive by a Poisson process of one task per unit of time. The first round of a task is
    at its arrival, and its other rounds are at times drawn uniformly from the n units after it.
    The order is drawn from the seed of the simulation.

    Parameters
    ----------
    n : float
        About how many tasks are open at a time.
    delay : int, default 0
        How many turns later the reward of a turn arrives.

    Examples
    --------
    >>> hs.schedules.Arrivals(2).order(4, 3, np.random.default_rng(0))
    array([0, 1, 2, 3, 2, 0, 3, 0, 1, 3, 2, 1])
    """

    n: float
    delay: int = 0

    def __post_init__(self) -> None:
        checks.positive("n", self.n)
        checks.count("delay", self.delay, least=0)

    def order(self, n_tasks: int, horizon: int, rng: np.random.Generator) -> Integers:
        """The tasks in the order of the times at which they play."""
        arrival = np.cumsum(rng.exponential(size=n_tasks))
        after = self.n * rng.random((n_tasks, horizon))
        after[:, 0] = 0.0
        return np.argsort((arrival[:, None] + after).ravel(), kind="stable") // horizon
