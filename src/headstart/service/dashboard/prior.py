"""Prior: where the next task starts, how that changed, and fits that wait for promotion."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headstart.arrays import Floats
from headstart.intervals import quantile
from headstart.service.dashboard import charts, page
from headstart.service.dashboard.attributes import Words
from headstart.service.dashboard.formats import clock, column_decimals, day, moment, span
from headstart.service.dashboard.page import link
from headstart.service.engine.measures import prior_lag
from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import FitView, PriorVersion, invalid
from headstart.service.store import priors
from headstart.service.store.bandits import BanditRow, items_of

_ROWS, _FITS, _VERSIONS = 50, 20, 10
_SEARCHED_ITEMS = 2_000  # for the levels behind columns
_DAY = 86_400.0
# Spreads of coefficients are of this ratio at least where features are of very different sizes.
_UNEVEN = 30.0
_ACTIONS = {"shadow": "promote", "promoted": "withdraw"}


def prior(service: Service, request: Request) -> Response:
    """`GET /prior`."""
    sort = "name" if request.query_params.get("sort") == "name" else "size"
    first = page.whole(request, "first")

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        history = priors.history(connection, bandit.id)
        fits = priors.fits_of(connection, bandit.id, _FITS)
        context = {
            "sort": sort,
            "fits": [
                {
                    "row": fit,
                    "moved": _moved_by(fit, history),
                    "action": _ACTIONS.get(fit.status),
                }
                for fit in fits
            ],
            "latest": priors.versions(connection, bandit.id, _VERSIONS),
            "current": history[-1] if history else None,
            "lag": prior_lag(connection, bandit.id, service.clock()),
        }
        if not history:
            return context | {"rows": [], "dimension": bandit.dimension}
        names, groups = _named(connection, bandit)
        shown = coefficients(names, history, sort, first, groups)
        return context | shown | _drift(history)

    return page.bandit_page(service, request, "prior", "prior.html", gather)


def promote(jobs: Jobs, form: dict[str, str]) -> Response:
    """`POST /fit/promote`: its log counts for the prior."""
    jobs.promote(form.get("bandit", ""), _number(form))
    return RedirectResponse(link("/prior", bandit=form.get("bandit"), notice="promoted"), 303)


def withdraw(jobs: Jobs, form: dict[str, str]) -> Response:
    """`POST /fit/withdraw`: its log counts no longer."""
    jobs.withdraw(form.get("bandit", ""), _number(form))
    return RedirectResponse(link("/prior", bandit=form.get("bandit"), notice="withdrawn"), 303)


def _number(form: dict[str, str]) -> int:
    text = form.get("fit", "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise invalid(f"fit must be a number, got {text[:20]!r}")
    return int(text)


def moved(then: PriorVersion, now: PriorVersion) -> float:
    """How far the mean is from an earlier one: √(mean of (Δh/spread)²)."""
    return _distance(then.mean, now.mean, now.spread)


def _distance(then: Sequence[float], now: Sequence[float], spread: Sequence[float]) -> float:
    units = np.where(np.array(spread) > 0, spread, 1.0)
    return float(np.sqrt(np.mean((np.subtract(now, then) / units) ** 2)))


def _moved_by(fit: FitView, history: list[PriorVersion]) -> float | None:
    if not history or len(history[-1].mean) != len(fit.mean):
        return None
    return _distance(history[-1].mean, fit.mean, history[-1].spread)


def _named(connection: Connection, bandit: BanditRow) -> tuple[Sequence[str], Sequence[str] | None]:
    """What the features are called, and the attribute or cross of each where there is a schema."""
    schema = bandit.schema
    if schema is None:
        return bandit.feature_names, None
    items = items_of(connection, bandit.id, limit=_SEARCHED_ITEMS)
    words = Words(schema, [item.attributes or {} for item in items])
    return words.columns, [schema.group_names[i] for i in schema.groups]


def coefficients(
    names: Sequence[str],
    history: Sequence[PriorVersion],
    sort: str,
    first: int,
    groups: Sequence[str] | None = None,
) -> dict[str, Any]:
    """The table of coefficients: by size or name, from the first on.

    By size, those of one attribute are together, and the attribute with the largest comes first.
    """
    mean, spread = np.array(history[-1].mean), np.array(history[-1].spread)
    half = quantile(np.inf) * spread
    low, high = mean - half, mean + half
    units, uneven = _units(spread)
    scale = charts.symmetric_scale(low / units, high / units)
    order = (
        sorted(range(len(names)), key=lambda i: names[i].casefold())
        if sort == "name"
        else np.argsort(-np.abs(mean / units), kind="stable").tolist()
    )
    if groups is not None and sort != "name":
        places = list(dict.fromkeys(groups[i] for i in order))
        order = sorted(order, key=lambda i: places.index(groups[i]))
    means = np.array([row.mean for row in history])
    shown = order[first : first + _ROWS]
    by_group = groups is not None and sort != "name"
    titles = _titles(groups, shown) if groups is not None and by_group else {}
    return {
        "rows": [
            {
                "name": _level(names[i], groups[i])
                if groups is not None and by_group
                else names[i],
                "group": titles.get(i),
                "within": by_group and groups is not None and groups.count(groups[i]) > 1,
                "mean": float(mean[i]),
                "low": float(low[i]),
                "high": float(high[i]),
                "at": scale.at(mean[i] / units[i]),
                "from": scale.at(low[i] / units[i]),
                "width": scale.width((high[i] - low[i]) / units[i]),
                "line": charts.sparkline(means[:, i]) if len(history) > 1 else None,
            }
            for i in shown
        ],
        "decimals": None if uneven else column_decimals(mean),
        "zero": scale.at(0.0),
        "first": first,
        "next": first + _ROWS if first + _ROWS < len(names) else None,
        "previous": max(first - _ROWS, 0) if first else None,
        "dimension": len(names),
    }


def _level(name: str, group: str) -> str:
    """What a column is called below the title of its attribute or cross: its levels."""
    for attribute in group.split(" × "):
        name = name.replace(f"{attribute} = ", "", 1)
    return name


def _titles(groups: Sequence[str], shown: Sequence[int]) -> dict[int, str]:
    """The titles of groups of several columns, at the first of each."""
    found: dict[str, int] = {}
    for i in shown:
        found.setdefault(groups[i], i)
    return {i: group for group, i in found.items() if groups.count(group) > 1}


def _units(spread: Floats) -> tuple[Floats, bool]:
    """What coefficients are compared in, (d,): their spread where features differ much in size."""
    positive = spread[spread > 0]
    uneven = len(positive) == len(spread) and bool(positive.max() > _UNEVEN * positive.min())
    return (spread if uneven else np.ones(len(spread))), uneven


def _drift(history: list[PriorVersion]) -> dict[str, Any]:
    now = history[-1]
    recent = [row for row in history if row.time >= now.time - _DAY]
    then = recent[0] if len(recent) > 1 else (history[-2] if len(history) > 1 else None)
    elapsed = 0.0 if then is None else now.time - then.time
    far = None if then is None else moved(then, now)
    ticks = sorted({0, len(history) // 2, len(history) - 1})
    chart = None
    if len(history) > 2:
        distances = np.array([moved(row, now) for row in history])
        spell = clock if now.time - history[0].time < _DAY else day
        chart = charts.line_chart(
            "Distance of earlier means from the current one, in spreads",
            [charts.Series(name="Distance", kind="drift", y=distances)],
            names=[f"Version {row.version}, {moment(row.time)}" for row in history],
            column="Version",
            ticks=ticks,
            tick_names=[spell(history[i].time) for i in ticks],
        )
    return {
        "drift": drift_sentence(far, span(elapsed)),
        "moved": far,
        "moved_span": span(elapsed),
        "drift_chart": chart,
    }


def drift_sentence(moved: float | None, span: str) -> str:
    """How far the prior's mean moved, and what that means."""
    if moved is None:
        return "The prior has one version: there is no movement to show yet."
    text = f"In {span} the mean moved by {moved:.2g} of its spread"
    if moved < 0.1:
        return f"{text}: the prior is steady."
    if moved < 1.0:
        return f"{text}: tasks now start from somewhat other values."
    return f"{text}: what tasks have in common has changed, or is still being learned."
