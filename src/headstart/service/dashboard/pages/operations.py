"""Operations: jobs and how far they are; the health of the service."""

import platform
from collections.abc import Callable, Mapping
from importlib.metadata import version
from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.service.dashboard import formats
from headstart.service.dashboard.facade import Facade
from headstart.service.dashboard.pages import common
from headstart.service.dashboard.queries import activity, operations
from headstart.service.dashboard.queries.bandits import Bandit

# A running job whose process wrote nothing for so long is shown as one that hangs.
_QUIET_SECONDS = 60.0
_RECENT_MINUTES = 5


def jobs(service: Facade, request: Request) -> Response:
    """`GET /jobs`."""
    now = service.clock()

    def gather(connection: Connection, bandit: Bandit) -> dict[str, Any]:
        return {
            "jobs": [
                {
                    "row": row,
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


def health(service: Facade, request: Request) -> Response:
    """`GET /health`."""
    now = service.clock()

    def gather(connection: Connection, bandit: Bandit) -> dict[str, Any]:
        return {
            "facts": facts(service.status(), now),
            "store": operations.store_facts(connection),
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


# How the numbers of `Service.status` are shown: label, format, note.
_FACTS: dict[str, tuple[str, Callable[[float], str], str]] = {
    "queue": ("Queue", formats.count, "requests that wait"),
    "batches": ("Commits", formats.count, "since the start"),
    "rows_per_batch": ("Rows per commit", formats.number, "mean"),
    "commit_seconds": ("Last commit", formats.span, ""),
    "cache_bytes": ("Cache", formats.size, "task states held"),
    "cache_tasks": ("Cached tasks", formats.count, ""),
}


def facts(status: Mapping[str, object], now: float) -> list[tuple[str, str, str]]:
    """Label, value and note of each number of a status; a time as how long ago it was."""
    found = []
    for key, value in status.items():
        label, spell, note = _FACTS.get(
            key, (key.replace("_", " ").capitalize(), formats.number, "")
        )
        if isinstance(value, bool) or not isinstance(value, int | float):
            found.append((label, formats.MISSING if value is None else str(value), note))
        elif value > 1e9 and key.startswith("last"):
            found.append((label, f"{formats.span(max(now - value, 0.0))} ago", note))
        else:
            found.append((label, spell(value), note))
    return found
