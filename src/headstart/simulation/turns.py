"""Turns: overlapping tasks as seen by an agent that plays them jointly."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.schedules import Schedule
from headstart.simulation.rounds import Rounds


@dataclass(frozen=True, eq=False)
class Arrived:
    """The rewards of one turn, in all replications, when they have arrived.

    Parameters
    ----------
    task : int
        The number of the task.
    choices : ndarray of int of shape (R,)
        The arms that were chosen.
    rewards : ndarray of the same shape
        Their rewards.
    features : ndarray of shape (R, d)
        Their features.
    ended : bool
        Whether these are the last rewards of the task.

    Examples
    --------
    >>> from headstart.simulation import Arrived
    >>> reward, features = np.array([0.5]), np.array([[1.0, 0.0]])
    >>> Arrived(task=0, choices=np.array([2]), rewards=reward, features=features, ended=False).task
    0
    """

    task: int
    choices: Integers
    rewards: Floats
    features: Floats
    ended: bool


class Turns:
    """Tasks in R replications that play each turn together; every choice ends a turn.

    `task` is the number of the task whose turn it is, from 0 to `n_tasks` − 1; everything else is
    as in `Rounds`. A choice returns the rewards that have arrived: its own if the schedule has no
    delay, else earlier ones or none. The last choice returns all that are left.

    Parameters
    ----------
    rounds : sequence of Rounds
        The tasks.
    order : ndarray of int
        The task of every turn.
    delay : int, default 0
        How many turns later the rewards of a turn arrive.

    Examples
    --------
    >>> from headstart.simulation import Turns
    >>> world, rng = hs.environments.Synthetic(dimension=3), np.random.default_rng(0)
    >>> tasks = [hs.Rounds(world.sample(2, 1, rng), rng.random((1, 2, 1))) for _ in range(2)]
    >>> turns = Turns(tasks, order=np.array([0, 1, 0, 1]), delay=1)
    >>> while not turns.over:
    ...     task, arrived = turns.task, turns.choose(np.array([0]))
    ...     print(task, [one.task for one in arrived])
    0 []
    1 [0]
    0 [1]
    1 [0, 1]
    """

    def __init__(self, rounds: Sequence[Rounds], order: Integers, delay: int = 0) -> None:
        self._rounds, self._order, self.delay = rounds, order.tolist(), delay
        self.n_tasks, one = len(rounds), rounds[0]
        self.lead, self.replications = one.lead, one.replications
        self.horizon, self.n_arms, self.dimension = one.horizon, one.n_arms, one.dimension
        self._late: deque[Arrived] = deque()
        self._played = 0
        self.over = False

    @property
    def task(self) -> int:
        """The number of the task whose turn it is."""
        if self.over:
            raise ValueError(f"no turn is left: all {len(self._order)} were played")
        task: int = self._order[self._played]
        return task

    @property
    def about(self) -> Floats | None:
        """What is known of this task before its first round, (…, p), or None."""
        return self._rounds[self.task].about

    @property
    def arms(self) -> Floats:
        """The arms of this turn, (R, K, d)."""
        return self._rounds[self.task].arms

    @property
    def uniforms(self) -> Floats:
        """The agent's own random numbers for this turn, (…, n), uniform in [0, 1)."""
        return self._rounds[self.task].uniforms

    def choose(self, choices: ArrayLike, propensities: ArrayLike | None = None) -> list[Arrived]:
        """Choose arms by index, and end the turn.

        Parameters
        ----------
        choices, propensities
            As for `Rounds`.

        Returns
        -------
        list of Arrived
            The rewards that have arrived.
        """
        rounds, given = self._rounds[self.task], np.asarray(choices)
        return self._end_turn(rounds, given, rounds.choose(given, propensities))

    def choose_largest(self, scores: Floats) -> list[Arrived]:
        """Choose the arms of largest score, ties at random, and end the turn.

        Parameters
        ----------
        scores : ndarray of shape (…, K)
            As for `Rounds`.

        Returns
        -------
        list of Arrived
            The rewards that have arrived.
        """
        rounds = self._rounds[self.task]
        return self._end_turn(rounds, *rounds.choose_largest(scores))

    def _end_turn(self, rounds: Rounds, choices: Integers, rewards: Floats) -> list[Arrived]:
        made = Arrived(self.task, choices, rewards, rounds.features, rounds.over)
        self._late.append(made)
        self._played += 1
        self.over = self._played == len(self._order)
        left = 0 if self.over else self.delay
        return [self._late.popleft() for _ in range(len(self._late) - left)]

    @property
    def n_played(self) -> int:
        """How many turns were played."""
        return self._played

    @property
    def n_turns(self) -> int:
        """How many turns there are."""
        return len(self._order)


@dataclass(frozen=True, eq=False)
class Stretch:
    """Turns in which tasks overlap; no task is open before or after them.

    `order` (n·T,) numbers the tasks from 0; `first` is the number of the first in the schedule.
    """

    first: int
    n_tasks: int
    order: Integers
    delay: int = 0

    @property
    def together(self) -> bool:
        """Whether several tasks are open at a time, or a task is open while rewards are late."""
        return self.n_tasks > 1 or self.delay > 0

    def events(self) -> list[tuple[int, bool]]:
        """Starts and ends of tasks in the order of turns: a task, and whether it ends."""
        if self.n_tasks == 1:
            return [(0, False), (0, True)]
        begins, ends = _begins_and_ends(self.order)
        at = [(turn, False, task) for task, turn in enumerate(begins)]
        at += [(turn, True, task) for task, turn in enumerate(ends)]
        return [(task, ended) for _, ended, task in sorted(at)]


def stretches(order: Integers, delay: int) -> Iterator[Stretch]:
    """An order, cut where no task is open and no reward is late."""
    begins, ends = _begins_and_ends(order)
    starts = [0]
    if not delay:
        latest = np.maximum.accumulate(ends)
        starts += [j for j in range(1, len(begins)) if begins[j] > latest[j - 1]]
    for first, after in zip(starts, [*starts[1:], len(begins)], strict=True):
        part = order[begins[first] : begins[after] if after < len(begins) else None]
        yield Stretch(first, after - first, part - first, delay)


def checked_order(
    schedule: Schedule, n_tasks: int, horizon: int, rng: np.random.Generator
) -> Integers:
    """The order of a schedule, checked: it plays all tasks, and starts them by number."""
    order = np.asarray(schedule.order(n_tasks, horizon, rng))
    expected = np.repeat(np.arange(n_tasks), horizon)
    played = order.ndim == 1 and np.array_equal(np.sort(order), expected)
    if order.dtype.kind not in "iu" or not played:
        raise ValueError(
            f"a schedule must return each of the numbers 0 to {n_tasks - 1} {horizon} times, got "
            f"{order.dtype} of shape {order.shape} from {checks.short(schedule)}"
        )
    begins, _ = _begins_and_ends(order)
    if sorted(begins) != begins:
        raise ValueError(
            "a schedule must begin tasks in the order of their numbers, got "
            f"{np.argsort(begins).tolist()} from {checks.short(schedule)}"
        )
    return order


def _begins_and_ends(order: Integers) -> tuple[list[int], list[int]]:
    """The first and the last turn of every task."""
    begins = np.unique(order, return_index=True)[1]
    ends = len(order) - 1 - np.unique(order[::-1], return_index=True)[1]
    return begins.tolist(), ends.tolist()
