"""Jobs: what each reads, what for, and how far it is."""

import math
from typing import Any

from sqlalchemy import Connection
from starlette.requests import Request
from starlette.responses import RedirectResponse, Response

from headstart.intervals import Interval
from headstart.service.dashboard import page
from headstart.service.dashboard.formats import MISSING, count, interval_words
from headstart.service.dashboard.page import link
from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs
from headstart.service.messages import Estimate, FitRequest, OwnLogReport, Report
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


def evaluate(jobs: Jobs, form: dict[str, str]) -> Response:
    """`POST /evaluate`: the settings as they are, and alternatives, on the own decisions."""
    bandit = form.get("bandit", "")
    jobs.start_own_evaluation(bandit)
    return RedirectResponse(link("/jobs", bandit=bandit), 303)


def _job(row: JobRow, now: float) -> dict[str, Any]:
    quiet = row.heartbeat is not None and now - row.heartbeat > _QUIET_SECONDS
    end = now if row.ended is None else row.ended
    return {
        "row": row,
        "what": _what(row),
        "quiet": row.status == "running" and quiet,
        "seconds": None if row.started is None else end - row.started,
        "settings": _settings(row.report),
    }


def _settings(report: Report | None) -> list[dict[str, str]]:
    """What the decisions earned, and what settings would have earned on them, in words."""
    if not isinstance(report, OwnLogReport):
        return []
    of_settings = [
        (each.name, each.doubly_robust, each.cannot, each.effective_sample_size)
        for each in report.settings
    ]
    rows = [("the decisions themselves", report.logged, None, report.rounds), *of_settings]
    return [
        {"name": name, "earns": cannot or _words(earns), "n": count(n) if n else MISSING}
        for name, earns, cannot, n in rows
    ]


def _words(of: Estimate | None) -> str:
    if of is None or of.mean is None or of.low is None or of.high is None:
        return MISSING
    mean, low, high = interval_words(Interval(of.mean, math.inf, of.low, of.high, 2))
    return f"{mean}, 95 % interval {low} to {high}"


def _what(row: JobRow) -> str:
    """What a job reads, and what for."""
    if queries.is_own_log(row):
        return "the bandit's own decisions"
    files = ", ".join(row.request.files or ["a log that was uploaded"])
    if not isinstance(row.request, FitRequest):
        return files
    return f"{files} · {'dry run' if row.request.dry_run else 'shadow fit'}"
