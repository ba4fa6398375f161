"""Prior: where the next task starts, how that changed, and fits that wait for promotion."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headstart.arrays import Floats
from headstart.intervals import quantile
from headstart.service.dashboard import charts, sentences
from headstart.service.dashboard.facade import Facade, Fits
from headstart.service.dashboard.formats import clock, column_decimals, day, moment, span
from headstart.service.dashboard.pages import common
from headstart.service.dashboard.queries import priors
from headstart.service.dashboard.rendering import link
from headstart.service.messages import invalid
from headstart.service.store.queries.bandits import BanditRow

_ROWS = 50
_DAY = 86_400.0
# Spreads of coefficients are of this ratio at least where features are of very different sizes.
_UNEVEN = 30.0
_ACTIONS = {"shadow": "promote", "promoted": "withdraw"}


def prior(service: Facade, request: Request) -> Response:
    """`GET /prior`."""
    can_change = hasattr(request.app.state, "fits")
    sort = "name" if request.query_params.get("sort") == "name" else "size"
    first = common.whole(request, "first")

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        history = priors.history(connection, bandit.id)
        fits = priors.fits_of(connection, bandit.id)
        shown = {
            "sort": sort,
            "fits": [
                {
                    "row": fit,
                    "moved": _moved_by(fit, history),
                    "action": _ACTIONS.get(fit.status) if can_change else None,
                }
                for fit in fits
            ],
            "latest": priors.latest(connection, bandit.id),
            "current": history[-1] if history else None,
        }
        if not history:
            return shown | {"rows": [], "dimension": bandit.dimension}
        return shown | coefficients(bandit.feature_names, history, sort, first) | _drift(history)

    return common.with_bandit(service, request, "prior", "prior.html", gather)


def promote(fits: Fits, form: dict[str, str]) -> Response:
    """`POST /fit/promote`: its log counts for the prior."""
    fits.promote(form.get("bandit", ""), _number(form))
    return RedirectResponse(link("/prior", bandit=form.get("bandit"), notice="promoted"), 303)


def withdraw(fits: Fits, form: dict[str, str]) -> Response:
    """`POST /fit/withdraw`: its log counts no longer."""
    fits.withdraw(form.get("bandit", ""), _number(form))
    return RedirectResponse(link("/prior", bandit=form.get("bandit"), notice="withdrawn"), 303)


def _number(form: dict[str, str]) -> int:
    text = form.get("fit", "")
    if not (text.isascii() and text.isdigit() and len(text) < 10):
        raise invalid(f"fit must be a number, got {text[:20]!r}")
    return int(text)


def moved(then: priors.PriorRow, now: priors.PriorRow) -> float:
    """How far the mean is from an earlier one: √(mean of (Δh/spread)²)."""
    return _distance(then.mean, now.mean, now.spread)


def _distance(then: Floats, now: Floats, spread: Floats) -> float:
    units = np.where(spread > 0, spread, 1.0)
    return float(np.sqrt(np.mean(((now - then) / units) ** 2)))


def _moved_by(fit: priors.FitRow, history: list[priors.PriorRow]) -> float | None:
    if not history or len(history[-1].mean) != len(fit.mean):
        return None
    return _distance(history[-1].mean, fit.mean, history[-1].spread)


def coefficients(
    names: Sequence[str], history: Sequence[priors.PriorRow], sort: str, first: int
) -> dict[str, Any]:
    """The table of coefficients: by size or name, from the first on."""
    current = history[-1]
    half = quantile(np.inf) * current.spread
    low, high = current.mean - half, current.mean + half
    units, uneven = _units(current.spread)
    scale = charts.symmetric_scale(low / units, high / units)
    order = (
        sorted(range(len(names)), key=lambda i: names[i].casefold())
        if sort == "name"
        else np.argsort(-np.abs(current.mean / units), kind="stable").tolist()
    )
    means = np.array([row.mean for row in history])
    return {
        "rows": [
            {
                "name": names[i],
                "mean": float(current.mean[i]),
                "low": float(low[i]),
                "high": float(high[i]),
                "at": scale.at(current.mean[i] / units[i]),
                "from": scale.at(low[i] / units[i]),
                "width": scale.width((high[i] - low[i]) / units[i]),
                "line": charts.sparkline(means[:, i]) if len(history) > 1 else None,
            }
            for i in order[first : first + _ROWS]
        ],
        "decimals": None if uneven else column_decimals(current.mean),
        "zero": scale.at(0.0),
        "first": first,
        "next": first + _ROWS if first + _ROWS < len(names) else None,
        "previous": max(first - _ROWS, 0) if first else None,
        "dimension": len(names),
    }


def _units(spread: Floats) -> tuple[Floats, bool]:
    """What coefficients are compared in, (d,): their spread where features differ much in size."""
    known = spread[spread > 0]
    uneven = len(known) == len(spread) and bool(known.max() > _UNEVEN * known.min())
    return (spread if uneven else np.ones(len(spread))), uneven


def _drift(history: list[priors.PriorRow]) -> dict[str, Any]:
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
        "drift": sentences.drift_sentence(far, span(elapsed)),
        "moved": far,
        "moved_span": span(elapsed),
        "drift_chart": chart,
    }
