"""Decisions: the latest, and why one arm was chosen."""

from typing import Any, NamedTuple

import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.service.dashboard import charts, page
from headstart.service.dashboard.attributes import Words
from headstart.service.dashboard.formats import column_decimals
from headstart.service.engine.service import Service
from headstart.service.messages import DecisionRecord, not_found
from headstart.service.store import decisions as queries
from headstart.service.store.bandits import BanditRow, items_of
from headstart.service.store.tasks import number_of

_SHOWN_FEATURES = 40
# How the parts of a reward combine, in words.
_COMBINED = {
    "sum": "the sum of its parts",
    "last": "the part that happened last",
    "first": "the part that happened first",
    "max": "the largest of its parts",
}


def decisions(service: Service, request: Request) -> Response:
    """`GET /decisions`: the latest first, of one task, arm or status if asked for."""
    query = request.query_params
    before, arm, task = (query.get(name) or None for name in ("before", "arm", "task"))
    status = query.get("status")
    status = status if status in queries.STATUSES else None

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        context = {
            "arm": arm,
            "task_name": task,
            "status": status or "",
            "statuses": queries.STATUSES,
            "before": before,
        }
        if task is not None:
            number = number_of(connection, bandit.id, task)
            if number is None:
                listed = queries.DecisionPage(rows=[], names={}, after=None)
                return context | {"listed": listed, "decimals": 0}
            listed = queries.of_task(connection, number, before, arm=arm, status=status)
        else:
            listed = queries.search(connection, bandit, before=before, arm=arm, status=status)
        return context | {"listed": listed, "decimals": reward_decimals(listed)}

    live = 0 if before else page.LIVE_SECONDS
    return page.bandit_page(service, request, "decisions", "decisions.html", gather, live=live)


def decision(service: Service, request: Request) -> Response:
    """`GET /decision`: why this arm, and what happened to its reward."""
    decision_id = request.query_params.get("id", "")

    def afterwards(bandit: BanditRow) -> dict[str, Any]:
        if not decision_id:
            raise not_found("the address names no decision")
        record = service.decision(bandit.name, decision_id)
        parts = _parts(record, _contributions(service, bandit, record))
        return {
            "decision": record,
            "parts": parts,
            "estimate": _estimate(record),
            "metrics": sorted({name for part in record.parts for name in part.metrics}),
            "combined": _COMBINED[bandit.configuration.parts],
        }

    return page.bandit_page(
        service, request, "decisions", "decision.html", lambda *_: {}, afterwards
    )


class _Contribution(NamedTuple):
    """What a feature, or those of an attribute or a cross, contributed."""

    name: str
    value: float | None  # None for those of several columns
    from_prior: float
    from_rewards: float


def _contributions(
    service: Service, bandit: BanditRow, record: DecisionRecord
) -> list[_Contribution]:
    schema, parts = bandit.schema, record.contributions
    if schema is None:
        return [_Contribution(p.feature, p.value, p.from_prior, p.from_rewards) for p in parts]
    with service.database.reading() as connection:
        items = items_of(connection, bandit.id, ids=[record.arm])
    raw = items[0].attributes if items else None
    x = np.array([part.value for part in parts])
    return [
        _Contribution(
            text,
            x[columns[0]] if len(columns) == 1 else None,
            sum(parts[i].from_prior for i in columns),
            sum(parts[i].from_rewards for i in columns),
        )
        for text, columns in Words(schema, [raw or {}]).groups(x, raw)
    ]


def reward_decimals(listed: queries.DecisionPage) -> int:
    """How many decimals the rewards of a list have, and what was expected."""
    return column_decimals(
        value for row in listed.rows for value in (row.value, row.mean) if value is not None
    )


def _parts(record: DecisionRecord, parts: list[_Contribution]) -> dict[str, Any] | None:
    """Contributions as bars from zero, those of the prior and of the rewards, the largest first."""
    if record.observed or not parts:
        return None
    prior = np.array([part.from_prior for part in parts])
    rewards = np.array([part.from_rewards for part in parts])
    order = np.argsort(-np.abs(prior + rewards), kind="stable")
    first, rest = order[:_SHOWN_FEATURES], order[_SHOWN_FEATURES:]
    ends = np.stack([prior, rewards, prior + rewards])
    scale = charts.symmetric_scale(ends.min(0), ends.max(0))
    return {
        "decimals": column_decimals(ends.ravel()),
        "zero": scale.at(0.0),
        "rows": [
            {
                "name": parts[i].name,
                "value": parts[i].value,
                "total": prior[i] + rewards[i],
                "at": scale.at(prior[i] + rewards[i]),
                "bars": [
                    _bar("prior", prior[i], scale),
                    _bar("rewards", rewards[i], scale),
                ],
            }
            for i in first
        ],
        "rest": len(rest),
        "rest_total": float((prior + rewards)[rest].sum()),
        "from_prior": float(prior.sum()),
        "from_rewards": float(rewards.sum()),
    }


def _bar(kind: str, value: float, scale: charts.Scale) -> dict[str, Any]:
    low, high = min(value, 0.0), max(value, 0.0)
    return {
        "kind": kind,
        "value": value,
        "x": scale.at(low),
        "width": max(scale.width(high - low), 0.15) if value else 0.0,
    }


def _estimate(record: DecisionRecord) -> dict[str, Any]:
    """The mean with its interval, and the reward where there is one, on one scale."""
    ends = [record.low, record.high, *([] if record.value is None else [record.value])]
    scale = charts.symmetric_scale(np.array([min(ends)]), np.array([max(ends)]))
    return {
        "zero": scale.at(0.0),
        "at": scale.at(record.mean),
        "from": scale.at(record.low),
        "width": scale.width(record.high - record.low),
        "reward_at": None if record.value is None else scale.at(record.value),
    }
