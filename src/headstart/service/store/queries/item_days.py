"""Items in numbers: decisions and rewards by item over days, added up over processes."""

from dataclasses import dataclass, field
from datetime import date

from sqlalchemy import Connection, func, select

from headstart.intervals import Moments
from headstart.service.store.schema import item_days

DAY_SECONDS = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
_C = item_days.c


def number_of(day: date) -> int:
    """The number of a day, since 1970."""
    return day.toordinal() - _EPOCH


@dataclass(frozen=True, kw_only=True)
class ItemSums:
    """How often an item was shown, and the rewards that count for it."""

    shown: int = 0
    rewards: Moments = field(default_factory=Moments)


def sums(connection: Connection, bandit: int, first: int, last: int) -> dict[str, ItemSums]:
    """The items that were shown from the first day to the last, since 1970."""
    names = ("shown", "rewards", "sum", "squares")
    query = (
        select(_C.item, *(func.sum(_C[name]) for name in names))
        .where(_C.bandit == bandit, _C.day >= first, _C.day <= last)
        .group_by(_C.item)
        .having(func.sum(_C.shown) > 0)
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
    shown = [each.shown for each in sums(connection, bandit, today - 1, today).values()]
    return max(shown) / sum(shown) if shown else None
