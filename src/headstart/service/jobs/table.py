"""The tables of jobs and fits: a job is noted, taken by a process, kept alive and ended.

A job belongs to the process that took it, identified by the moment `started`. Every write of that
process names it, so a job that was cancelled, or taken up by another process, is left alone.
"""

import uuid
from collections.abc import Callable
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, insert, update
from sqlalchemy.sql.elements import ColumnElement

from headstart.arrays import packed
from headstart.service.jobs.work import Done
from headstart.service.messages import EvaluateRequest, FitReport, FitRequest, ServiceError
from headstart.service.store import jobs as queries
from headstart.service.store.jobs import JobRow, StoredRequest
from headstart.service.store.schema import fits, jobs

# How often a job is started if its process ends each time.
MOST_ATTEMPTS = 3
MOST_WAITING = 100
_LOOKED_AT = 20  # waiting jobs, the oldest first
_NEVER_TAKEN_SECONDS = 600.0
_LOST = (
    f"the process that ran the job ended {MOST_ATTEMPTS} times before the job did; it may need "
    "more memory than there is: use a part of the log"
)
_NOT_HERE = "no process of the service has the files of this job: upload the log again"


def add(
    connection: Connection,
    bandit: int,
    request: FitRequest | EvaluateRequest,
    upload: str | None,
    now: float,
) -> str:
    """Note a job to run. Returns its id."""
    if queries.n_waiting(connection) >= MOST_WAITING:
        raise ServiceError(
            429,
            "Too many requests",
            f"{MOST_WAITING} jobs are already waiting: cancel some, or wait",
        )
    job = uuid.uuid4().hex
    values = {
        "id": job,
        "bandit": bandit,
        "kind": "fit" if isinstance(request, FitRequest) else "evaluate",
        "status": "waiting",
        "created": now,
        "progress": 0.0,
        "step": "waiting",
        "request": _text(request, upload, 0),
    }
    connection.execute(insert(jobs).values(values))
    return job


def take(
    connection: Connection, now: float, has_files: Callable[[JobRow], bool]
) -> tuple[JobRow | None, list[str | None]]:
    """Take the oldest job that waits and whose files are here.

    Also returns the uploads of jobs that failed because no process took them.
    """
    gone: list[str | None] = []
    for job in queries.waiting(connection, _LOOKED_AT):
        if has_files(job):
            attempts = job.attempts + 1
            values = {
                "status": "running",
                "started": now,
                "heartbeat": now,
                "step": "starting",
                "request": _text(job.request, job.upload, attempts),
            }
            connection.execute(update(jobs).where(jobs.c.id == job.id).values(values))
            return msgspec.structs.replace(job, started=now, attempts=attempts), gone
        if now - job.created > _NEVER_TAKEN_SECONDS:
            _end(connection, jobs.c.id == job.id, "failed", now, error=_NOT_HERE)
            gone.append(job.upload)
    return None, gone


def beat(connection: Connection, job: JobRow, progress: float, step: str, now: float) -> bool:
    """Report that a job is alive, and its progress. Returns whether this process still owns it."""
    values = {"heartbeat": now, "progress": progress, "step": step}
    return bool(connection.execute(update(jobs).where(_mine(job)).values(values)).rowcount)


def finish(connection: Connection, job: JobRow, done: Done, now: float) -> None:
    """Store a job's report, unless it was cancelled or another process took it up.

    What a fit learned becomes a shadow fit, whose number the report has.
    """
    if not _end(connection, _mine(job), "done", now, progress=1.0):
        return
    report = done.report
    if isinstance(report, FitReport) and done.memory is not None:
        report.fit = _add_shadow(connection, job, report, done.memory, now)
        of_fit = update(fits).where(fits.c.id == report.fit)
        connection.execute(of_fit.values(report=msgspec.json.encode(report).decode()))
    of_job = update(jobs).where(jobs.c.id == job.id)
    connection.execute(of_job.values(report=msgspec.json.encode(report).decode()))


def _add_shadow(
    connection: Connection, job: JobRow, report: FitReport, memory: bytes, now: float
) -> int:
    """Note a fit that does not count. Returns its number."""
    if report.after is None:
        raise ValueError("a fit must have the prior that it gives, got none")
    aside = report.log.set_aside
    values = {
        "bandit": job.bandit,
        "job": job.id,
        "time": now,
        "status": "shadow",
        "memory": memory,
        "n_tasks": report.log.tasks - (0 if aside is None else aside.count),
        "noise_scale": report.after.noise_scale,
        "mean": packed(np.array(report.after.mean)),
        "spread": packed(np.array(report.after.spread)),
        "report": "",  # which follows, with the number
    }
    return int(connection.execute(insert(fits).values(values).returning(fits.c.id)).scalar_one())


def fail(connection: Connection, job: JobRow, error: str, now: float) -> bool:
    """Note that a job has failed. Returns whether this process still owned it."""
    return _end(connection, _mine(job), "failed", now, error=error)


def put_back(connection: Connection, job: JobRow) -> None:
    """Leave a job to the next process, because this one stops through no fault of the job."""
    request = _text(job.request, job.upload, job.attempts - 1)
    values = {"status": "waiting", "step": "waiting", "request": request}
    connection.execute(update(jobs).where(_mine(job)).values(progress=0.0, **values))


def cancel(connection: Connection, bandit: int, job: str, now: float) -> bool:
    """Cancel a job that has not ended. Returns whether it had not."""
    which = (jobs.c.id == job) & (jobs.c.bandit == bandit)
    unfinished = which & jobs.c.status.in_(("waiting", "running"))
    return _end(connection, unfinished, "cancelled", now)


def take_up_lost(connection: Connection, before: float, now: float) -> int:
    """Restart jobs whose process has been silent since a time. Returns how many there are."""
    lost = queries.lost(connection, before)
    for job in lost:
        one = jobs.c.id == job.id
        if job.attempts >= MOST_ATTEMPTS:
            _end(connection, one, "failed", now, error=_LOST)
        else:
            values = {"status": "waiting", "step": "waiting", "progress": 0.0}
            connection.execute(update(jobs).where(one).values(values))
    return len(lost)


def _mine(job: JobRow) -> ColumnElement[bool]:
    return (jobs.c.id == job.id) & (jobs.c.status == "running") & (jobs.c.started == job.started)


def _end(
    connection: Connection, which: ColumnElement[bool], status: str, now: float, **more: Any
) -> bool:
    values = {"status": status, "step": status, "ended": now, **more}
    return bool(connection.execute(update(jobs).where(which).values(values)).rowcount)


def _text(request: FitRequest | EvaluateRequest, upload: str | None, attempts: int) -> str:
    content = msgspec.Raw(msgspec.json.encode(request))
    stored = StoredRequest(content=content, upload=upload, attempts=attempts)
    return msgspec.json.encode(stored).decode()
