"""Sums over minutes, rounds, tasks and days, added up over processes."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import date

import numpy as np
from sqlalchemy import Connection, func, select

from headstart.intervals import Moments
from headstart.service.store.bandits import BanditRow
from headstart.service.store.schema import (
    CONTROLS,
    EARLY_ROUNDS,
    LEFT_OUT,
    ROUNDS_MEASURED,
    gains,
    item_days,
    metric_gains,
    minutes,
    rounds,
)

# The rounds of a task over which warm tasks and the control are compared.
COMPARED_ROUNDS = EARLY_ROUNDS

DAY_SECONDS = 86_400
_EPOCH = date(1970, 1, 1).toordinal()

COUNTS = (
    "opened",
    "decisions",
    "rewards",
    "duplicates",
    "conflicts",
    "unknown",
    "expired",
    "late",
    "out_of_range",
)


@dataclass(frozen=True, kw_only=True)
class Activity:
    """Moments over equal stretches of minutes; the first begins at `start`."""

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


def begun(connection: Connection, bandit: int) -> bool:
    """Whether there was ever a decision."""
    query = select(minutes.c.bandit).where(minutes.c.bandit == bandit, minutes.c.decisions > 0)
    return connection.execute(query.limit(1)).first() is not None


def _groups(bandit: BanditRow) -> tuple[int, int]:
    """The groups of a bandit's warm tasks, and of its present control."""
    first = 2 * CONTROLS.index(bandit.configuration.control)
    return first, first + 1


def by_round(connection: Connection, bandit: BanditRow) -> tuple[list[Moments], list[Moments]]:
    """Rewards by their number in the task, from 1 on: warm tasks, control."""
    c, groups = rounds.c, _groups(bandit)
    query = (
        select(c.control, c.round, func.sum(c.n), func.sum(c.sum), func.sum(c.squares))
        .where(c.bandit == bandit.id, c.control.in_(groups))
        .group_by(c.control, c.round)
    )
    both = [[Moments()] * ROUNDS_MEASURED for _ in range(2)]
    for control, number, n, total, squares in connection.execute(query):
        both[groups.index(control)][int(number) - 1] = Moments(
            n=int(n), total=float(total), squares=float(squares)
        )
    return both[0], both[1]


@dataclass(frozen=True, kw_only=True)
class Compared:
    """Mean rewards over the first rounds of tasks that could have been warm or control."""

    warm: Moments = field(default_factory=Moments)
    control: Moments = field(default_factory=Moments)
    log_chance: float = 0.0  # of the tasks' groups, by the requested shares
    left_out: dict[str, int] = field(default_factory=dict)  # other tasks, by why
    days: list[tuple[int, Moments, Moments]] = field(default_factory=list)  # until each day's end


def early_means(connection: Connection, bandit: BanditRow) -> Compared:
    """The tasks that a bandit's gain compares, by what its control is served now."""
    c, groups = gains.c, _groups(bandit)
    sums = (func.sum(c[name]) for name in ("tasks", "sum", "squares", "log_chance"))
    query = select(c.day, c.control, *sums).where(c.bandit == bandit.id)
    both, log_chance = [Moments(), Moments()], 0.0
    left_out = dict.fromkeys([*LEFT_OUT, "other_control"], 0)
    days: dict[int, tuple[Moments, Moments]] = {}
    rows = connection.execute(query.group_by(c.day, c.control).order_by(c.day, c.control))
    for day, control, n, total, squares, chance in rows:
        if control in groups:
            at = groups.index(control)
            both[at] += Moments(n=int(n), total=float(total), squares=float(squares))
            log_chance += float(chance)
            days[day] = both[0], both[1]
        elif control < 2 * len(CONTROLS):  # those of shadow mode are counted by their reason
            left_out[LEFT_OUT[control] if control < 0 else "other_control"] += int(n)
    return Compared(
        warm=both[0],
        control=both[1],
        log_chance=log_chance,
        left_out=left_out,
        days=[(day, *pair) for day, pair in days.items()],
    )


def metric_means(connection: Connection, bandit: BanditRow) -> dict[str, list[Moments]]:
    """The metrics of the same tasks, by name: warm tasks, control."""
    c, groups = metric_gains.c, _groups(bandit)
    sums = (func.sum(c[name]) for name in ("tasks", "sum", "squares"))
    query = select(c.metric, c.control, *sums).where(c.bandit == bandit.id, c.control.in_(groups))
    both: dict[str, list[Moments]] = {}
    for name, control, n, total, squares in connection.execute(query.group_by(c.metric, c.control)):
        found = both.setdefault(name, [Moments(), Moments()])
        found[groups.index(control)] = Moments(n=int(n), total=float(total), squares=float(squares))
    return both


def agreement(connection: Connection, bandit: int) -> tuple[int, int]:
    """How many decisions were made in shadow mode, and in how many the service agreed."""
    c = minutes.c
    query = select(func.sum(c.shadowed), func.sum(c.agreed)).where(c.bandit == bandit)
    decisions, agreed = connection.execute(query).one()
    return int(decisions or 0), int(agreed or 0)


def day_number(day: date) -> int:
    """The number of a day, since 1970."""
    return day.toordinal() - _EPOCH


def day_of(number: int) -> date:
    """The day with this number, since 1970."""
    return date.fromordinal(number + _EPOCH)


@dataclass(frozen=True, kw_only=True)
class ItemSums:
    """How often an item was shown, and the rewards that count for it."""

    shown: int = 0
    rewards: Moments = field(default_factory=Moments)


def earned(connection: Connection, bandit: int, first: int) -> Moments:
    """The rewards that count for decisions since a day, defaults included."""
    c = item_days.c
    query = select(func.sum(c.rewards), func.sum(c.sum), func.sum(c.squares))
    n, total, squares = connection.execute(query.where(c.bandit == bandit, c.day >= first)).one()
    return Moments(n=int(n or 0), total=float(total or 0.0), squares=float(squares or 0.0))


def of_items(connection: Connection, bandit: int, first: int, last: int) -> dict[str, ItemSums]:
    """The items that were shown from the first day to the last, since 1970."""
    c = item_days.c
    names = ("shown", "rewards", "sum", "squares")
    query = (
        select(c.item, *(func.sum(c[name]) for name in names))
        .where(c.bandit == bandit, c.day >= first, c.day <= last)
        .group_by(c.item)
        .having(func.sum(c.shown) > 0)
    )
    return {
        item: ItemSums(
            shown=int(shown),
            rewards=Moments(n=int(n), total=float(total), squares=float(squares)),
        )
        for item, shown, n, total, squares in connection.execute(query)
    }


def top_share(connection: Connection, bandit: int, now: float) -> float | None:
    """The share of the item that was shown most often today and yesterday; None if none was."""
    today = int(now // DAY_SECONDS)
    shown = [each.shown for each in of_items(connection, bandit, today - 1, today).values()]
    return max(shown) / sum(shown) if shown else None
