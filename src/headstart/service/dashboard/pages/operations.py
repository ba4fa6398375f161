"""Operations: jobs and how far they are; the health of the service."""

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

import msgspec
from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.service.dashboard import formats
from headstart.service.dashboard.facade import Facade
from headstart.service.dashboard.pages import common
from headstart.service.dashboard.queries import operations
from headstart.service.messages import FitRequest
from headstart.service.store.database import facts as store_facts
from headstart.service.store.queries import activity
from headstart.service.store.queries.bandits import BanditRow
from headstart.service.store.queries.jobs import StoredRequest

# A running job whose process wrote nothing for so long is shown as one that hangs.
_QUIET_SECONDS = 60.0
_RECENT_MINUTES = 5


def jobs(service: Facade, request: Request) -> Response:
    """`GET /jobs`."""
    now = service.clock()

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        return {
            "jobs": [
                {
                    "row": row,
                    "what": asked_for(row.kind, row.request),
                    "quiet": row.status == "running"
                    and row.heartbeat is not None
                    and now - row.heartbeat > _QUIET_SECONDS,
                    "seconds": None
                    if row.started is None
                    else (row.ended if row.ended is not None else now) - row.started,
                }
                for row in operations.latest_jobs(connection, bandit.id)
            ]
        }

    return common.with_bandit(service, request, "jobs", "jobs.html", gather)


def asked_for(kind: str, stored: str) -> str:
    """What a job reads, and what for."""
    request = msgspec.json.decode(stored, type=StoredRequest).typed(kind)
    files = ", ".join(request.files or ["a log that was uploaded"])
    if not isinstance(request, FitRequest):
        return files
    return f"{files} · {'dry run' if request.dry_run else 'shadow fit'}"


def health(service: Facade, request: Request) -> Response:
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

    return common.with_bandit(service, request, "health", "health.html", gather)


# How the numbers of `Service.status` are shown: label, format, note. Others are shown as they are.
_FACTS: dict[str, tuple[str, Callable[[float], str], str]] = {
    "process": ("Process", formats.count, "its number in the store"),
    "waiting_rows": ("Queue", formats.count, "rows that wait for a commit"),
    "transactions": ("Commits", formats.count, "since the start"),
    "rows": ("Rows", formats.count, "decisions and rewards committed"),
    "failed_transactions": ("Failed commits", formats.count, "answered with 503"),
    "last_transaction_rows": ("Last batch", formats.count, "rows in one commit"),
    "last_transaction_seconds": ("Last commit", formats.span, "from batch to disk"),
    "tasks_in_memory": ("Tasks in memory", formats.count, "the cache"),
    "task_bytes_in_memory": ("Cache", formats.size, "of task states"),
    "refreshes": ("Refreshes of priors", formats.count, "by this process"),
    "last_refresh": ("Last refresh", formats.span, ""),
    "last_refresh_seconds": ("Refresh took", formats.span, ""),
}
# These are sums that say more by the row or as a sentence.
_LEFT_OUT = ("transaction_seconds", "store_reachable", "bandits_in_memory")


def facts(
    status: Mapping[str, float | int | bool | None], now: float
) -> list[tuple[str, str, str]]:
    """Label, value and note of each number of a status; a time as how long ago it was."""
    found = []
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
        found.append((label, text, note))
    return found


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
