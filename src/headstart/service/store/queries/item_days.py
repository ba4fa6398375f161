"""Items in numbers: decisions and rewards by item over days, added up over processes."""

from collections.abc import Mapping
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


@dataclass(frozen=True, kw_only=True)
class TopItem:
    """The item that was shown most often, among so many decisions for so many items."""

    item: str
    share: float
    decisions: int
    items: int


def top_item(connection: Connection, bandit: int, now: float) -> TopItem | None:
    """The item that was shown most often today and yesterday; None if none was."""
    today, shown = int(now // DAY_SECONDS), func.sum(_C.shown).label("shown")
    where = (_C.bandit == bandit, _C.day >= today - 1, _C.day <= today)
    items = select(_C.item, shown).where(*where).group_by(_C.item).having(shown > 0).subquery()
    over = (func.sum(items.c.shown).over(), func.count().over())
    top = connection.execute(select(items, *over).order_by(items.c.shown.desc()).limit(1)).first()
    if top is None:
        return None
    item, most, decisions, n = top
    return TopItem(item=item, share=int(most) / int(decisions), decisions=int(decisions), items=n)


def top_of(shown: Mapping[str, int]) -> TopItem | None:
    """The item that was shown most often; None if none was."""
    if not any(shown.values()):
        return None
    item, total = max(shown, key=lambda each: shown[each]), sum(shown.values())
    return TopItem(item=item, share=shown[item] / total, decisions=total, items=len(shown))
