"""Items: how often each was shown and what it earned.

Everything is sums by item and day, so that a page takes its time whatever there is of decisions.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.service.dashboard import charts, page
from headstart.service.dashboard.formats import (
    column_decimals,
    count,
    decimals_of,
    number,
    percent,
)
from headstart.service.engine.configuration import model_of
from headstart.service.engine.service import Service
from headstart.service.engine.views import item_statistics
from headstart.service.messages import ItemStatistics
from headstart.service.store.bandits import BanditRow
from headstart.service.store.sums import DAY_SECONDS

_ROWS = 50
_LIVE_SECONDS = 30
_SPANS = {1: "Today", 7: "7 days", 28: "28 days", 91: "13 weeks"}
_USUAL_DAYS = 7

# By what items are sorted, and whether the largest come first at first.
_Key = Callable[[ItemStatistics], float | str | None]
_SORTS: dict[str, tuple[str, _Key, bool]] = {
    "item": ("Item", lambda row: row.item, False),
    "shown": ("Shown", lambda row: row.shown, True),
    "earned": ("Earned", lambda row: row.reward_sum, True),
    "mean": ("Mean reward", lambda row: row.mean, True),
    "effect": ("Effect", lambda row: row.effect, True),
}


def items(service: Service, request: Request) -> Response:
    """`GET /items`: items in numbers, over the latest days."""
    query, days = request.query_params, page.whole(request, "days")
    days = days if days in _SPANS else _USUAL_DAYS
    search, first = query.get("search", ""), page.whole(request, "first")
    sort = query.get("sort", "shown")
    sort = sort if sort in _SORTS else "shown"
    reverse = query.get("reverse") == "1"

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        today = int(service.clock() // DAY_SECONDS)
        model = model_of(bandit.configuration, service.clock)
        rows = item_statistics(connection, bandit, model, today - days + 1, today)
        found = _sorted([row for row in rows if search.lower() in row.item.lower()], sort)
        found = found[::-1] if reverse else found
        ordered = {
            "bandit": bandit.name,
            "search": search or None,
            "days": days,
            "sort": sort,
            "reverse": "1" if reverse else None,
        }
        return {
            "spans": [
                {"label": label, "query": ordered | {"days": n}, "current": n == days}
                for n, label in _SPANS.items()
            ],
            "search": search,
            "ordered": ordered,
            "heads": [_head(name, sort, reverse, ordered) for name in _SORTS],
            "tiles": _tiles(rows),
            "has_effects": any(row.effect is not None for row in rows),
            "first": first,
            "n": len(rows),
            "n_found": len(found),
            "previous": max(first - _ROWS, 0) if first else None,
            "next": first + _ROWS if first + _ROWS < len(found) else None,
            **_pictures(found[first : first + _ROWS]),
        }

    return page.bandit_page(service, request, "items", "items.html", gather, live=_LIVE_SECONDS)


def _sorted(rows: list[ItemStatistics], sort: str) -> list[ItemStatistics]:
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


def _tiles(rows: list[ItemStatistics]) -> list[tuple[str, str, str]]:
    """Label, value and note of what all items have together."""
    decided, paid = sum(row.shown for row in rows), sum(row.rewards for row in rows)
    earned = sum(row.reward_sum for row in rows)
    top = max(rows, key=lambda row: row.share) if decided else None
    return [
        ("Decisions", count(decided), ""),
        ("Earned", number(earned), ""),
        ("Mean reward", number(earned / paid if paid else None), ""),
        ("Items shown", count(sum(row.shown > 0 for row in rows)), f"of {count(len(rows))}"),
        ("Top item", percent(None if top is None else top.share), "" if top is None else top.item),
    ]


def _pictures(rows: list[ItemStatistics]) -> dict[str, Any]:
    """Rows with where their bars and intervals lie."""
    known = [row for row in rows if row.low is not None and row.high is not None]
    across = charts.Scale(low=0.0, high=max([*(row.share for row in rows), 1e-9]))
    ends = [(one.low or 0.0, one.high or 0.0) for one in known] or [(0.0, 1.0)]
    lows, highs = np.array(ends).T
    scale = charts.symmetric_scale(lows, highs)
    sums = [row.reward_sum for row in rows]
    return {
        "decimals": decimals_of(min((high - low for low, high in ends if high > low), default=1.0)),
        "sum_decimals": 0 if all(x == int(x) for x in sums) else column_decimals(sums),
        "effect_decimals": column_decimals(row.effect or 0.0 for row in rows),
        "zero": scale.at(0.0),
        "rows": [
            {
                "now": row,
                "share_at": across.at(row.share),
                "from": None if row.low is None else scale.at(row.low),
                "width": None
                if row.low is None or row.high is None
                else scale.width(row.high - row.low),
                "at": None if row.mean is None else scale.at(row.mean),
            }
            for row in rows
        ],
    }
