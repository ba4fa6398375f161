"""Health: what the process does, and what the store is."""

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.service.dashboard import formats, page
from headstart.service.engine.service import Service
from headstart.service.store.database import facts as store_facts
from headstart.service.store.queries import activity
from headstart.service.store.queries.bandits import BanditRow

_RECENT_MINUTES = 5


def health(service: Service, request: Request) -> Response:
    """`GET /health`."""
    now, status = service.clock(), service.status()

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        return {
            "facts": facts(status, now),
            "commits": mean_commit(status),
            "reachable": status.get("store_reachable", True),
            "store": store_facts(connection),
            "processes": activity.processes(
                connection, bandit.id, since=int(now // 60) - _RECENT_MINUTES
            ),
            "versions": {
                "headstart": version("headstart"),
                "Python": platform.python_version(),
                "NumPy": version("numpy"),
                "SQLAlchemy": version("sqlalchemy"),
            },
        }

    return page.bandit_page(service, request, "health", "health.html", gather)


# How the numbers of `Service.status` are shown: label, format, note. Others are shown as they are.
_FACTS: dict[str, tuple[str, Callable[[float], str], str]] = {
    "waiting_rows": ("Queue", formats.count, "rows that wait for a commit"),
    "transactions": ("Commits", formats.count, "since the start"),
    "rows": ("Rows", formats.count, "decisions and rewards committed"),
    "failed_transactions": ("Failed commits", formats.count, "answered with 503"),
    "last_transaction_rows": ("Last batch", formats.count, "rows in one commit"),
    "last_transaction_seconds": ("Last commit", formats.span, "from batch to disk"),
    "wal_bytes": ("Log of the store", formats.size, "not yet copied into it"),
    "disk_free_bytes": ("Free", formats.size, "on the disk of the store"),
    "tasks_in_memory": ("Tasks in memory", formats.count, "the cache"),
    "task_bytes_in_memory": ("Cache", formats.size, "of task states"),
    "refreshes": ("Refreshes of priors", formats.count, "by this process"),
    "last_refresh": ("Last refresh", formats.span, ""),
    "last_refresh_seconds": ("Refresh took", formats.span, ""),
}
# These are sums that say more by the row or as a sentence.
_LEFT_OUT = ("transaction_seconds", "store_reachable", "bandits_in_memory", "store_bytes")


def facts(
    status: Mapping[str, float | int | bool | None], now: float
) -> list[tuple[str, str, str]]:
    """Label, value and note of each number of a status; a time as how long ago it was."""
    rows = []
    for key, value in status.items():
        words = key.replace("_", " ").capitalize()
        label, spell, note = _FACTS.get(key, (words, formats.number, ""))
        if key in _LEFT_OUT:
            continue
        if value is None or isinstance(value, bool):
            text = {None: formats.MISSING, True: "yes", False: "no"}[value]
        elif key == "last_refresh":
            text = formats.ago(now - value) if value else formats.MISSING
        else:
            text = spell(value)
        rows.append((label, text, note))
    return rows


def mean_commit(status: Mapping[str, float | int | bool | None]) -> str:
    """What a commit takes and holds on average, in words."""
    commits, seconds = status.get("transactions"), status.get("transaction_seconds")
    if not commits or seconds is None:
        return "Nothing was committed since the start."
    rows = float(status.get("rows") or 0) / commits
    return (
        f"On average a commit took {formats.span(float(seconds) / commits)} and held "
        f"{formats.number(rows)} rows."
    )
