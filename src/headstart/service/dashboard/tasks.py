"""Tasks: a searchable list, and what is known of one."""

from typing import Any

import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headstart.intervals import quantile
from headstart.service.dashboard import charts, page
from headstart.service.dashboard.attributes import Words
from headstart.service.dashboard.decisions import reward_decimals
from headstart.service.dashboard.formats import column_decimals, moment
from headstart.service.dashboard.page import link
from headstart.service.engine.service import Service
from headstart.service.messages import TaskRecord, not_found
from headstart.service.store import decisions
from headstart.service.store import tasks as queries
from headstart.service.store.bandits import BanditRow

_SHOWN_FEATURES = 50
_SHOWN_ROUNDS = 200


def tasks(service: Service, request: Request) -> Response:
    """`GET /tasks`: by name with a search, else the last used first."""
    query = request.query_params
    prefix, after = query.get("prefix", ""), query.get("after") or None
    by_name = bool(prefix) or query.get("sort") == "name"

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        listed = (
            queries.by_prefix(connection, bandit.id, prefix, after)
            if by_name
            else queries.by_use(connection, bandit.id, _place(after))
        )
        last = listed.rows[-1] if listed.rows and listed.more else None
        return {
            "rows": listed.rows,
            "prefix": prefix,
            "by_name": by_name,
            "decimals": column_decimals(row.mean_reward or 0.0 for row in listed.rows),
            "after": after,
            "next": last and (last.name if by_name else f"{last.last_used!r}:{last.id}"),
        }

    live = 0 if after else page.LIVE_SECONDS
    return page.bandit_page(service, request, "tasks", "tasks.html", gather, live=live)


def task(service: Service, request: Request) -> Response:
    """`GET /task`: its rounds, and its estimate against the prior."""
    name = request.query_params.get("task", "")
    before = request.query_params.get("before") or None

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        number = queries.number_of(connection, bandit.id, name)
        if number is None:
            raise not_found(f"there is no task {name!r} in bandit {bandit.name!r}")
        rounds = decisions.of_task(connection, number, before, _SHOWN_ROUNDS)
        return {
            "rounds": rounds,
            "decimals": reward_decimals(rounds),
            "chart": _rewards_chart(rounds),
            "before": before,
        }

    def afterwards(bandit: BanditRow) -> dict[str, Any]:
        record = service.task(bandit.name, name)
        if bandit.schema is not None:
            record.feature_names = Words(bandit.schema).columns
        return {"task": record, "estimates": _estimates(record)}

    return page.bandit_page(
        service,
        request,
        "tasks",
        "task.html",
        gather,
        afterwards,
        live=0 if before else page.LIVE_SECONDS,
    )


def erase(service: Service, form: dict[str, str]) -> Response:
    """`POST /task/erase`: the task and its decisions go, and the prior is computed without it."""
    bandit, name = form.get("bandit", ""), form.get("task", "")
    if form.get("confirmed") != name:
        address = link("/task", bandit=bandit, task=name, notice="unconfirmed")
        return RedirectResponse(address, 303)
    service.erase(bandit, name)
    return RedirectResponse(link("/tasks", bandit=bandit, notice="erased"), 303)


def _place(after: str | None) -> tuple[float, int] | None:
    """Where a page by last use begins."""
    time, _, number = (after or "").partition(":")
    try:
        return float(time), int(number)
    except ValueError:
        return None


def _rewards_chart(rounds: decisions.DecisionPage) -> charts.LineChart | None:
    paid = [row for row in reversed(rounds.rows) if row.value is not None and row.round]
    paid.sort(key=lambda row: row.round or 0)
    if len(paid) < 2:
        return None
    rewards = np.array([row.value for row in paid], dtype=float)
    expected = np.array([np.nan if row.mean is None else row.mean for row in paid])
    ticks = sorted({0, len(paid) // 2, len(paid) - 1})
    return charts.line_chart(
        "Reward by round, and the mean that was expected of the arm",
        [
            charts.Series(name="Expected", kind="expected", y=expected),
            charts.Series(name="Reward", kind="reward", y=rewards),
        ],
        names=[f"Round {row.round}, {row.arm}, {moment(row.time)}" for row in paid],
        column="Round",
        ticks=ticks,
        tick_names=[str(paid[i].round) for i in ticks],
        from_zero=False,
    )


def _estimates(record: TaskRecord) -> dict[str, Any]:
    """The task's parameter with its interval, and the prior's, by feature, the largest first."""
    parameter, prior = np.array(record.parameter), np.array(record.prior_mean)
    half = quantile(np.inf) * np.array(record.spread)
    scale = charts.symmetric_scale(
        np.minimum(parameter - half, prior), np.maximum(parameter + half, prior)
    )
    order = np.argsort(-np.abs(parameter), kind="stable")[:_SHOWN_FEATURES]
    return {
        "decimals": column_decimals(np.append(parameter, prior)),
        "zero": scale.at(0.0),
        "hidden": len(parameter) - len(order),
        "rows": [
            {
                "name": record.feature_names[i],
                "value": parameter[i],
                "prior": prior[i],
                "low": parameter[i] - half[i],
                "high": parameter[i] + half[i],
                "at": scale.at(parameter[i]),
                "prior_at": scale.at(prior[i]),
                "from": scale.at(parameter[i] - half[i]),
                "width": scale.width(2.0 * half[i]),
            }
            for i in order
        ],
    }
