"""The table of jobs: how one is noted, taken by a process, kept alive and ended.

A job belongs to the process that took it, which is known by the moment `started`. Every write of
that process names it: a job that was cancelled, or that another process took up, is left alone.
"""

import uuid
from collections.abc import Callable, Sequence
from typing import Any

import msgspec
from sqlalchemy import Connection, Row, func, insert, select, update
from sqlalchemy.sql.elements import ColumnElement

from headstart.service.jobs.messages import EvaluateRequest, FitRequest, JobView, Kind, Report
from headstart.service.messages import BanditConfiguration, ServiceError, not_found
from headstart.service.store import schema

jobs = schema.jobs

# How many times a job is begun whose process ends each time.
MOST_ATTEMPTS = 3
MOST_WAITING = 100
_LOOKED_AT = 20  # waiting jobs, the oldest first
_NEVER_TAKEN_SECONDS = 600.0
_LOST = (
    f"the process that ran the job ended {MOST_ATTEMPTS} times before the job did; it may need "
    "more memory than there is: use a part of the log"
)
_NOT_HERE = "no process of the service has the files of this job: upload the log again"


class Request(msgspec.Struct, kw_only=True):
    """What the table keeps of a request."""

    content: msgspec.Raw
    upload: str | None = None
    attempts: int = 0

    def typed(self, kind: str) -> FitRequest | EvaluateRequest:
        """The request itself."""
        wanted: type[FitRequest] | type[EvaluateRequest] = (
            FitRequest if kind == "fit" else EvaluateRequest
        )
        return msgspec.json.decode(self.content, type=wanted)


class Job(msgspec.Struct, kw_only=True):
    """A job that this process has taken."""

    id: str
    bandit: int
    kind: Kind
    started: float
    request: Request

    def fit_request(self) -> FitRequest:
        """The request of a fit."""
        return msgspec.json.decode(self.request.content, type=FitRequest)

    def evaluate_request(self) -> EvaluateRequest:
        """The request of an evaluation."""
        return msgspec.json.decode(self.request.content, type=EvaluateRequest)


def bandit_of(connection: Connection, name: str) -> tuple[int, BanditConfiguration]:
    """The number and the configuration of a bandit."""
    table = schema.bandits
    query = select(table.c.id, table.c.configuration).where(table.c.name == name)
    found = connection.execute(query).one_or_none()
    if found is None:
        raise not_found(f"there is no bandit {name[:200]!r}")
    return found.id, msgspec.json.decode(found.configuration, type=BanditConfiguration)


def add(
    connection: Connection,
    bandit: int,
    request: FitRequest | EvaluateRequest,
    upload: str | None,
    now: float,
) -> str:
    """Note a job that is to be done; its id."""
    waiting = select(func.count()).select_from(jobs).where(jobs.c.status == "waiting")
    if connection.execute(waiting).scalar_one() >= MOST_WAITING:
        raise ServiceError(
            429, "Too many requests", f"{MOST_WAITING} jobs wait already: cancel some, or wait"
        )
    kept = Request(content=msgspec.Raw(msgspec.json.encode(request)), upload=upload)
    job = uuid.uuid4().hex
    values = {
        "id": job,
        "bandit": bandit,
        "kind": "fit" if isinstance(request, FitRequest) else "evaluate",
        "status": "waiting",
        "created": now,
        "progress": 0.0,
        "step": "waiting",
        "request": _text(kept),
    }
    connection.execute(insert(jobs).values(values))
    return job


def take(
    connection: Connection, now: float, has_files: Callable[[Job], bool]
) -> tuple[Job | None, list[str | None]]:
    """Take the oldest job that waits and whose files are here.

    Also the uploads of jobs that failed since no process took them.
    """
    query = (
        select(jobs)
        .where(jobs.c.status == "waiting")
        .order_by(jobs.c.created)
        .limit(_LOOKED_AT)
        .with_for_update(skip_locked=True)
    )
    gone: list[str | None] = []
    for row in connection.execute(query).all():
        job = _job(row, now)
        if has_files(job):
            job.request.attempts += 1
            values = {
                "status": "running",
                "started": now,
                "heartbeat": now,
                "step": "starting",
                "request": _text(job.request),
            }
            connection.execute(update(jobs).where(jobs.c.id == job.id).values(values))
            return job, gone
        if now - row.created > _NEVER_TAKEN_SECONDS:
            _end(connection, jobs.c.id == job.id, "failed", now, error=_NOT_HERE)
            gone.append(job.request.upload)
    return None, gone


def beat(connection: Connection, job: Job, progress: float, step: str, now: float) -> bool:
    """Say that a job is alive, and how far it is; whether it is still this process's."""
    values = {"heartbeat": now, "progress": progress, "step": step}
    return bool(connection.execute(update(jobs).where(_mine(job)).values(values)).rowcount)


def finish(connection: Connection, job: Job, report: Report, now: float) -> bool:
    """A job is done; whether it was still this process's."""
    content = msgspec.json.encode(report).decode()
    return _end(connection, _mine(job), "done", now, report=content, progress=1.0)


def note_report(connection: Connection, job: Job, report: Report) -> None:
    """Store a report again, with what has become known since."""
    content = msgspec.json.encode(report).decode()
    connection.execute(update(jobs).where(jobs.c.id == job.id).values(report=content))


def fail(connection: Connection, job: Job, error: str, now: float) -> bool:
    """A job has failed; whether it was still this process's."""
    return _end(connection, _mine(job), "failed", now, error=error)


def put_back(connection: Connection, job: Job) -> None:
    """Leave a job to the next process: this one stops, which is no fault of the job."""
    job.request.attempts -= 1
    values = {"status": "waiting", "step": "waiting", "request": _text(job.request)}
    connection.execute(update(jobs).where(_mine(job)).values(progress=0.0, **values))


def cancel(connection: Connection, bandit: int, job: str, now: float) -> bool:
    """Cancel a job that has not ended; whether it had not."""
    which = (jobs.c.id == job) & (jobs.c.bandit == bandit)
    unfinished = which & jobs.c.status.in_(("waiting", "running"))
    return _end(connection, unfinished, "cancelled", now)


def take_up_lost(connection: Connection, before: float, now: float) -> int:
    """Have jobs begun anew whose process has not been heard of since a time; how many there are."""
    which = (jobs.c.status == "running") & (jobs.c.heartbeat < before)
    rows = connection.execute(select(jobs).where(which).with_for_update(skip_locked=True)).all()
    for row in rows:
        one = jobs.c.id == row.id
        if _job(row, now).request.attempts >= MOST_ATTEMPTS:
            _end(connection, one, "failed", now, error=_LOST)
        else:
            values = {"status": "waiting", "step": "waiting", "progress": 0.0}
            connection.execute(update(jobs).where(one).values(values))
    return len(rows)


def uploads_needed(connection: Connection) -> list[str]:
    """The uploads of jobs that have not ended."""
    query = select(jobs.c.request).where(jobs.c.status.in_(("waiting", "running")))
    requests = (_request(content) for content in connection.execute(query).scalars())
    return [each.upload for each in requests if each.upload is not None]


def views(
    connection: Connection, bandit: int, name: str, *, job: str | None = None, limit: int = 100
) -> list[JobView]:
    """The jobs of a bandit, the latest first; or one of them."""
    query = select(jobs).where(jobs.c.bandit == bandit)
    if job is not None:
        query = query.where(jobs.c.id == job)
    query = query.order_by(jobs.c.created.desc(), jobs.c.id).limit(limit)
    return [_view(row, name) for row in connection.execute(query).all()]


def _view(row: Row[Any], name: str) -> JobView:
    request = _request(row.request)
    files: Sequence[str] = msgspec.json.decode(request.content)["files"]
    return JobView(
        id=row.id,
        bandit=name,
        kind=row.kind,
        status=row.status,
        progress=row.progress,
        step=row.step,
        created=row.created,
        started=row.started,
        ended=row.ended,
        files=list(files),
        report=None if row.report is None else msgspec.json.decode(row.report, type=Report),
        error=row.error,
    )


def _mine(job: Job) -> ColumnElement[bool]:
    return (jobs.c.id == job.id) & (jobs.c.status == "running") & (jobs.c.started == job.started)


def _end(
    connection: Connection, which: ColumnElement[bool], status: str, now: float, **more: Any
) -> bool:
    values = {"status": status, "step": status, "ended": now, **more}
    return bool(connection.execute(update(jobs).where(which).values(values)).rowcount)


def _job(row: Row[Any], now: float) -> Job:
    return Job(
        id=row.id, bandit=row.bandit, kind=row.kind, started=now, request=_request(row.request)
    )


def _request(content: str) -> Request:
    return msgspec.json.decode(content, type=Request)


def _text(request: Request) -> str:
    return msgspec.json.encode(request).decode()
