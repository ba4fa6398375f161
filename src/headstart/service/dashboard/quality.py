"""Data quality: rewards that were refused, decisions without one, and scales of features."""

from typing import Any

import numpy as np
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart import checks
from headstart.arrays import Floats
from headstart.service.dashboard import charts, page
from headstart.service.dashboard.formats import count
from headstart.service.engine.service import Service
from headstart.service.store.queries import activity, decisions
from headstart.service.store.queries.bandits import BanditRow

# What each count is, and what to do about many.
MEANINGS = (
    ("duplicates", "Duplicate", "The same reward again. Counted once; a sign of retries."),
    ("conflicts", "Conflict", "Another value for a decision that has its reward. The first stays."),
    ("unknown", "Unknown", "No such decision: a wrong id, or one past its retention."),
    ("late", "Late", "The decision had expired when its reward came."),
    ("out_of_range", "Out of range", "Outside of the reward range. Not learned."),
    (
        "expired",
        "Expired",
        "No reward by the deadline. Where a default reward is set, it stays the decision's reward.",
    ),
)
_SHOWN_FEATURES = 50


def quality(service: Service, request: Request) -> Response:
    """`GET /quality`."""
    now = service.clock()
    window = page.chosen_window(request, now)

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        parts = page.stretch(window, now, bandit.created)
        both = activity.activity(
            connection, bandit.id, start=parts.start, width=parts.width, n=parts.n
        )
        sums = {name: both[0].sums[name] + both[1].sums[name] for name in activity.COUNTS}
        decided, rewarded = float(sums["decisions"].sum()), float(sums["rewards"].sum())
        pending, more, oldest = decisions.pending(connection, bandit.id)
        features = decisions.latest_features(connection, bandit.id, bandit.dimension)
        return {
            "window": window,
            "windows": page.WINDOWS.values(),
            "kinds": [_kind(name, label, text, sums, parts) for name, label, text in MEANINGS],
            "order": range(parts.n - 1, -1, -1),
            "decided": decided,
            "rewarded": rewarded,
            "expired": float(sums["expired"].sum()),
            "pending": pending,
            "pending_more": more,
            "pending_oldest": None if oldest is None else now - oldest,
            "default": bandit.configuration.default_reward,
            "range": bandit.configuration.reward_range,
            "deadline": bandit.configuration.deadline_seconds,
            "scales": _scales(features, bandit),
            "n_features": len(features),
        }

    return page.bandit_page(service, request, "quality", "quality.html", gather, live=window.live)


def _kind(
    name: str, label: str, meaning: str, sums: dict[str, Any], parts: page.Stretch
) -> dict[str, Any]:
    values = sums[name]
    total = float(values.sum())
    base = float(sums["decisions" if name == "expired" else "rewards"].sum())
    chart = charts.line_chart(
        f"{label}: how many over time",
        [charts.Series(name=label, kind="count", y=values)],
        names=parts.names,
        column="Time",
        ticks=parts.ticks[:: max(len(parts.ticks) - 1, 1)],
        tick_names=parts.tick_names[:: max(len(parts.ticks) - 1, 1)],
        spell=count,
        whole=True,
    )
    return {
        "name": name,
        "label": label,
        "meaning": meaning,
        "total": total,
        "share": total / base if base else None,
        "base": "decisions" if name == "expired" else "paid rewards",
        "chart": chart,
    }


def _scales(features: Floats, bandit: BanditRow) -> dict[str, Any] | None:
    """Size and range of each feature over the latest decisions."""
    if not len(features):
        return None
    sizes = np.sqrt(np.mean(features**2, axis=0))
    middle = float(np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1.0
    order = np.argsort(-sizes, kind="stable")
    largest = float(np.log10(max(sizes.max(), 1e-12)))
    smallest = float(np.log10(max(sizes[sizes > 0].min(), 1e-12))) if (sizes > 0).any() else 0.0
    scale = charts.Scale(low=min(smallest, largest - 1.0) - 0.3, high=largest + 0.1)
    names = bandit.feature_names
    return {
        "hidden": max(len(order) - _SHOWN_FEATURES, 0),
        "rows": [
            {
                "name": names[i],
                "size": float(sizes[i]),
                "low": float(features[:, i].min()),
                "high": float(features[:, i].max()),
                "zeros": float(np.mean(features[:, i] == 0.0)),
                "width": scale.clipped(float(np.log10(sizes[i]))) if sizes[i] > 0 else 0.0,
                "note": _note(float(sizes[i]), features[:, i], middle),
            }
            for i in order[:_SHOWN_FEATURES].tolist()
        ],
    }


def _note(size: float, values: Floats, middle: float) -> str:
    if size == 0.0:
        return "always zero"
    if len(values) > 1 and float(np.ptp(values)) == 0.0:
        return "constant"
    if size > checks.FAR * middle:
        return "much larger than most"
    return "much smaller than most" if size * checks.FAR < middle else ""
