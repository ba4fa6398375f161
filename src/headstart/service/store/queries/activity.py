"""Activity: sums over minutes, rounds and tasks, added up over processes."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, func, select

from headstart.service.store.schema import EARLY_ROUNDS, ROUNDS_MEASURED, gains, minutes, rounds

# The rounds of a task over which warm tasks and the control are compared.
COMPARED_ROUNDS = EARLY_ROUNDS

COUNTS = (
    "opened",
    "decisions",
    "rewards",
    "reward_sum",
    "duplicates",
    "conflicts",
    "unknown",
    "expired",
    "late",
    "out_of_range",
)


@dataclass(frozen=True, kw_only=True)
class Sums:
    """Number n, sum Σy and squares Σy² of values."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    @property
    def mean(self) -> float:
        """Σy/n, nan without values."""
        return self.total / self.n if self.n else math.nan

    @property
    def squared_error(self) -> float:
        """The square of the mean's standard error, s²/n; ∞ below two values."""
        if self.n < 2:
            return math.inf
        within = max(self.squares - self.total * self.total / self.n, 0.0)
        return within / (self.n - 1) / self.n


@dataclass(frozen=True, kw_only=True)
class Activity:
    """Sums over equal stretches of minutes, the first of which begins at `start`."""

    start: int  # minute since 1970
    width: int  # minutes
    sums: dict[str, np.ndarray[tuple[int], np.dtype[np.float64]]]  # (n,) by the names of COUNTS

    def total(self, name: str) -> float:
        """The sum over all stretches."""
        return float(self.sums[name].sum())


def activity(
    connection: Connection,
    bandit: int,
    *,
    start: int,
    width: int,
    n: int,
    names: Sequence[str] = COUNTS,
) -> tuple[Activity, Activity]:
    """What happened in n stretches of `width` minutes from minute `start`: warm tasks, control.

    names: which of COUNTS.
    """
    c = minutes.c
    stretch = (c.minute - start) - (c.minute - start) % width
    query = (
        select(stretch.label("at"), c.control, *(func.sum(c[name]).label(name) for name in names))
        .where(c.bandit == bandit, c.minute >= start, c.minute < start + n * width)
        .group_by(stretch, c.control)
    )
    both = [{name: np.zeros(n) for name in names} for _ in range(2)]
    for row in connection.execute(query).mappings():
        at = int(row["at"]) // width
        for name in names:
            both[int(row["control"])][name][at] += float(row[name])
    warm, control = (Activity(start=start, width=width, sums=sums) for sums in both)
    return warm, control


def processes(connection: Connection, bandit: int, *, since: int) -> int:
    """How many processes wrote since a minute."""
    c = minutes.c
    query = select(func.count(c.process.distinct())).where(c.bandit == bandit, c.minute >= since)
    return int(connection.execute(query).scalar_one())


def by_round(connection: Connection, bandit: int) -> tuple[list[Sums], list[Sums]]:
    """Rewards by their number in the task, from 1 on: warm tasks, control."""
    c = rounds.c
    query = (
        select(c.control, c.round, func.sum(c.n), func.sum(c.sum), func.sum(c.squares))
        .where(c.bandit == bandit)
        .group_by(c.control, c.round)
    )
    both = [[Sums()] * ROUNDS_MEASURED for _ in range(2)]
    for control, number, n, total, squares in connection.execute(query):
        both[int(control)][int(number) - 1] = Sums(
            n=int(n), total=float(total), squares=float(squares)
        )
    return both[0], both[1]


def early_means(connection: Connection, bandit: int) -> tuple[Sums, Sums]:
    """Mean rewards of tasks over their first rounds: warm tasks, control."""
    c = gains.c
    query = (
        select(c.control, func.sum(c.tasks), func.sum(c.sum), func.sum(c.squares))
        .where(c.bandit == bandit)
        .group_by(c.control)
    )
    both = [Sums(), Sums()]
    for control, n, total, squares in connection.execute(query):
        both[int(control)] = Sums(n=int(n), total=float(total), squares=float(squares))
    return both[0], both[1]
