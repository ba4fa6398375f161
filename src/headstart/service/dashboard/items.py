"""Items: how often each was shown and what it earned, against the days before; and its attributes.

Everything is sums by item and day, so that a page takes its time whatever there is of decisions.
"""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.service.dashboard import attributes, charts, page
from headstart.service.dashboard.formats import (
    change,
    column_decimals,
    count,
    decimals_of,
    number,
    percent,
)
from headstart.service.engine.configuration import model_of
from headstart.service.engine.records import item_statistics
from headstart.service.engine.service import Service
from headstart.service.messages import ItemStatistics
from headstart.service.store.queries import bandits, item_days
from headstart.service.store.queries.bandits import BanditRow, items_of
from headstart.service.store.queries.item_days import ItemSums, TopItem

_ROWS = 50
_SHOWN_COLUMNS = 12
_LIVE_SECONDS = 30
_SPANS = ((1, "Today"), (7, "7 days"), (28, "28 days"), (91, "13 weeks"))
_USUAL_DAYS = 7
# An item that takes more of the traffic than this, of at least so many decisions, is warned of.
_CROWDING, _FEW_DECISIONS = 0.5, 100


@dataclass(frozen=True, kw_only=True)
class _Row:
    """An item in numbers, and in the days before."""

    now: ItemStatistics
    before: ItemSums
    share_before: float | None

    @property
    def mean_before(self) -> float | None:
        """The mean reward in the days before."""
        return self.before.rewards.mean if self.before.rewards.n else None


# By what items are sorted, and whether the largest come first at first.
_Key = Callable[[_Row], float | str | None]
_SORTS: dict[str, tuple[str, _Key, bool]] = {
    "item": ("Item", lambda row: row.now.item, False),
    "shown": ("Shown", lambda row: row.now.shown, True),
    "before": ("Share before", lambda row: row.share_before, True),
    "earned": ("Earned", lambda row: row.now.reward_sum, True),
    "mean": ("Mean reward", lambda row: row.now.mean, True),
    "mean_before": ("Before", lambda row: row.mean_before, True),
    "effect": ("Effect", lambda row: row.now.effect, True),
}


def items(service: Service, request: Request) -> Response:
    """`GET /items`: items in numbers, or their attributes."""
    query, now = request.query_params, service.clock()
    days = page.chosen_days(request, now) or page.latest_days(now, _USUAL_DAYS)
    search, first = query.get("search", ""), page.whole(request, "first")
    sort = query.get("sort", "shown")
    sort = sort if sort in _SORTS else "shown"
    reverse = query.get("reverse") == "1"
    shows_attributes = query.get("show") == "attributes"

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        rows = _rows(connection, bandit, service, days)
        found = _sorted([row for row in rows if search.lower() in row.now.item.lower()], sort)
        found = found[::-1] if reverse else found
        some = found[first : first + _ROWS]
        kept = days.query if page.chosen_days(request, now) else {}
        same = {"bandit": bandit.name, "search": search or None, **kept}
        ordered = same | {"sort": sort, "reverse": "1" if reverse else None}
        ordered["show"] = "attributes" if shows_attributes else None
        return {
            "days": days,
            "spans": _spans(now, days, ordered),
            "search": search,
            "shows_attributes": shows_attributes,
            "ordered": ordered,
            "heads": [_head(name, sort, reverse, ordered) for name in _SORTS],
            "crowding": crowding_sentence(_top(rows), len(rows)),
            "tiles": _tiles(rows, days),
            "has_effects": any(row.now.effect is not None for row in rows),
            "first": first,
            "n": len(rows),
            "n_found": len(found),
            "previous": max(first - _ROWS, 0) if first else None,
            "next": first + _ROWS if first + _ROWS < len(found) else None,
            **_pictures(some),
            **(_attributes(connection, bandit, some) if shows_attributes else {}),
        }

    return page.bandit_page(service, request, "items", "items.html", gather, live=_LIVE_SECONDS)


def items_file(service: Service, request: Request) -> Response:
    """`GET /items.csv`: the same table, all of it."""
    now = service.clock()
    days = page.chosen_days(request, now) or page.latest_days(now, _USUAL_DAYS)
    with service.database.reading() as connection:
        bandit = bandits.named(connection, request.query_params.get("bandit", ""))
        rows = _rows(connection, bandit, service, days)
    names = ItemStatistics.__struct_fields__
    return page.table_file(
        f"{bandit.name} items {days.since} to {days.until}",
        [*names, "shown_before", "share_before", "mean_before"],
        (
            (
                *(getattr(row.now, name) for name in names),
                row.before.shown,
                row.share_before,
                row.mean_before,
            )
            for row in rows
        ),
    )


def _rows(
    connection: Connection, bandit: BanditRow, service: Service, days: page.Days
) -> list[_Row]:
    """All items, the most shown first."""
    model = model_of(bandit.configuration, service.clock)
    found = item_statistics(connection, bandit, model, days.first, days.last)
    sums = item_days.sums(connection, bandit.id, days.before.first, days.before.last)
    total = sum(one.shown for one in sums.values())
    before = {one.item: sums.get(one.item, ItemSums()) for one in found}
    return [
        _Row(
            now=one,
            before=before[one.item],
            share_before=before[one.item].shown / total if total else None,
        )
        for one in found
    ]


def _sorted(rows: list[_Row], sort: str) -> list[_Row]:
    """Rows in an order; those without a value come last."""
    _, key, largest_first = _SORTS[sort]
    known = [row for row in rows if key(row) is not None]
    return [
        *sorted(known, key=key, reverse=largest_first),  # type: ignore[arg-type]
        *(row for row in rows if key(row) is None),
    ]


def _head(name: str, sort: str, reverse: bool, ordered: dict[str, Any]) -> dict[str, Any]:
    """The head of a column: a second click turns its order round."""
    label, _, largest_first = _SORTS[name]
    turned = "1" if name == sort and not reverse else None
    down = largest_first != reverse
    return {
        "label": label,
        "name": name,
        "query": ordered | {"sort": name, "reverse": turned},
        "order": None if name != sort else "descending" if down else "ascending",
    }


def _spans(now: float, days: page.Days, ordered: dict[str, Any]) -> list[dict[str, Any]]:
    """Days to choose, as addresses."""
    return [
        {"label": label, "query": ordered | span.query, "current": span == days}
        for label, span in ((label, page.latest_days(now, n)) for n, label in _SPANS)
    ]


def _top(rows: list[_Row]) -> TopItem | None:
    return item_days.top_of({row.now.item: row.now.shown for row in rows})


def crowding_sentence(top: TopItem | None, n: int) -> str | None:
    """A warning where one of n items takes most of the traffic."""
    if top is None or n < 3 or top.share <= _CROWDING or top.decisions < _FEW_DECISIONS:
        return None
    return (
        f"One item takes {percent(top.share)} of the traffic: {top.item}, of "
        f"{count(top.decisions)} decisions among {count(n)} items. If you did not expect that, "
        "check its features and rewards. More exploration gives the other items more traffic."
    )


def _tiles(rows: list[_Row], days: page.Days) -> list[tuple[str, str, str]]:
    """Label, value and note of what all items have together."""
    decided, before = sum(row.now.shown for row in rows), sum(row.before.shown for row in rows)
    earned, paid = sum(row.now.reward_sum for row in rows), sum(row.now.rewards for row in rows)
    total, n = (sum(getattr(row.before.rewards, name) for row in rows) for name in ("total", "n"))
    top = _top(rows)
    against = f"the {days.n} days before" if days.n > 1 else "the day before"
    mean, past = (
        each if n else None for each, n in ((earned / (paid or 1), paid), (total / (n or 1), n))
    )
    return [
        ("Decisions", count(decided), change(decided, before, against)),
        ("Earned", number(earned), change(earned, total, against)),
        ("Mean reward", number(mean), f"{number(past)} in {against}"),
        (
            "Items shown",
            count(sum(row.now.shown > 0 for row in rows)),
            f"of {count(len(rows))}",
        ),
        ("Top item", percent(None if top is None else top.share), "" if top is None else top.item),
    ]


def _pictures(rows: list[_Row]) -> dict[str, Any]:
    """Rows with where their bars and intervals lie."""
    known = [row.now for row in rows if row.now.low is not None and row.now.high is not None]
    shares = [row.now.share for row in rows] + [row.share_before or 0.0 for row in rows]
    across = charts.Scale(low=0.0, high=max([*shares, 1e-9]))
    ends = [(one.low or 0.0, one.high or 0.0) for one in known] or [(0.0, 1.0)]
    lows, highs = np.array(ends).T
    scale = charts.symmetric_scale(lows, highs)
    sums = [row.now.reward_sum for row in rows]
    return {
        "decimals": decimals_of(min((high - low for low, high in ends if high > low), default=1.0)),
        "sum_decimals": 0 if all(x == int(x) for x in sums) else column_decimals(sums),
        "effect_decimals": column_decimals(row.now.effect or 0.0 for row in rows),
        "zero": scale.at(0.0),
        "rows": [
            {
                "now": row.now,
                "share_at": across.at(row.now.share),
                "share_before": row.share_before,
                "before_at": None if row.share_before is None else across.at(row.share_before),
                "mean_before": row.mean_before,
                "from": None if row.now.low is None else scale.at(row.now.low),
                "width": None
                if row.now.low is None or row.now.high is None
                else scale.width(row.now.high - row.now.low),
                "at": None if row.now.mean is None else scale.at(row.now.mean),
            }
            for row in rows
        ],
    }


def _attributes(connection: Connection, bandit: BanditRow, rows: list[_Row]) -> dict[str, Any]:
    """The attributes or features of items, as they are in the catalogue."""
    schema = bandit.schema
    names = bandit.feature_names if schema is None else [one.name for one in schema.item]
    shown = names[:_SHOWN_COLUMNS]
    found = items_of(connection, bandit.id, ids=[row.now.item for row in rows])
    cells = {
        item.id: attributes.cells(shown, item.attributes or {})
        if schema is not None
        else [number(x) for x in item.features[:_SHOWN_COLUMNS].tolist()]
        for item in found
    }
    return {
        "names": shown,
        "hidden": len(names) - len(shown),
        "cells": cells,
        "tags": {item.id: ", ".join(item.tags) for item in found},
    }
