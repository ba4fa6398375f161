"""Jobs: what each reads, what for, and how far it is."""

from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import Response

from headstart.service.dashboard import page
from headstart.service.engine.service import Service
from headstart.service.messages import FitRequest
from headstart.service.store.queries import jobs as queries
from headstart.service.store.queries.bandits import BanditRow
from headstart.service.store.queries.jobs import JobRow

_JOBS = 30
# A running job whose process wrote nothing for so long is shown as one that hangs.
_QUIET_SECONDS = 60.0


def jobs(service: Service, request: Request) -> Response:
    """`GET /jobs`."""
    now = service.clock()

    def gather(connection: Connection, bandit: BanditRow) -> dict[str, Any]:
        rows = queries.of_bandit(connection, bandit.id, _JOBS)
        return {"jobs": [_job(row, now) for row in rows]}

    return page.bandit_page(service, request, "jobs", "jobs.html", gather)


def _job(row: JobRow, now: float) -> dict[str, Any]:
    quiet = row.heartbeat is not None and now - row.heartbeat > _QUIET_SECONDS
    end = now if row.ended is None else row.ended
    return {
        "row": row,
        "what": _what(row),
        "quiet": row.status == "running" and quiet,
        "seconds": None if row.started is None else end - row.started,
    }


def _what(row: JobRow) -> str:
    """What a job reads, and what for."""
    files = ", ".join(row.request.files or ["a log that was uploaded"])
    if not isinstance(row.request, FitRequest):
        return files
    return f"{files} · {'dry run' if row.request.dry_run else 'shadow fit'}"
