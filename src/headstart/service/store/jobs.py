"""Jobs: their requests and their state."""

from typing import Any

import msgspec
from sqlalchemy import Connection, Select, func, select

from headstart.service.messages import (
    EvaluateRequest,
    FitRequest,
    JobKind,
    JobStatus,
    JobView,
    Report,
)
from headstart.service.store.schema import jobs

_C = jobs.c
_UNFINISHED = _C.status.in_(("waiting", "running"))


class StoredRequest(msgspec.Struct, kw_only=True):
    """The column of a job's request, as JSON."""

    content: msgspec.Raw
    upload: str | None = None
    attempts: int = 0

    def typed(self, kind: str) -> FitRequest | EvaluateRequest:
        """The request itself."""
        wanted: type[FitRequest] | type[EvaluateRequest] = (
            FitRequest if kind == "fit" else EvaluateRequest
        )
        return msgspec.json.decode(self.content, type=wanted)


class JobRow(msgspec.Struct, kw_only=True, frozen=True):
    """A job as it is stored.

    upload: the folder of an uploaded log. attempts: how often a process began it.
    """

    id: str
    bandit: int
    kind: JobKind
    status: JobStatus
    created: float
    started: float | None
    ended: float | None
    heartbeat: float | None
    progress: float
    step: str
    request: FitRequest | EvaluateRequest
    upload: str | None
    attempts: int
    report: Report | None
    error: str | None

    def view(self, bandit: str) -> JobView:
        """The job as a message, with the name of its bandit."""
        return JobView(
            id=self.id,
            bandit=bandit,
            kind=self.kind,
            status=self.status,
            progress=self.progress,
            step=self.step,
            created=self.created,
            started=self.started,
            ended=self.ended,
            files=self.request.files,
            report=self.report,
            error=self.error,
        )


def of_bandit(connection: Connection, bandit: int, limit: int) -> list[JobRow]:
    """The jobs of a bandit, the latest first."""
    query = select(jobs).where(_C.bandit == bandit)
    return _rows(connection, query.order_by(_C.created.desc(), _C.id).limit(limit))


def one(connection: Connection, bandit: int, job: str) -> JobRow | None:
    """One job of a bandit."""
    rows = _rows(connection, select(jobs).where(_C.bandit == bandit, _C.id == job))
    return rows[0] if rows else None


def waiting(connection: Connection, limit: int) -> list[JobRow]:
    """Waiting jobs, oldest first, except those that another process has locked."""
    query = select(jobs).where(_C.status == "waiting").order_by(_C.created).limit(limit)
    return _rows(connection, query.with_for_update(skip_locked=True))


def lost(connection: Connection, before: float) -> list[JobRow]:
    """Running jobs whose process has been silent since a time."""
    query = select(jobs).where(_C.status == "running", _C.heartbeat < before)
    return _rows(connection, query.with_for_update(skip_locked=True))


def unfinished(connection: Connection) -> list[JobRow]:
    """Jobs that wait or run."""
    return _rows(connection, select(jobs).where(_UNFINISHED))


def any_unfinished(connection: Connection) -> bool:
    """Whether a job waits or runs."""
    return connection.execute(select(_C.id).where(_UNFINISHED).limit(1)).first() is not None


def n_waiting(connection: Connection) -> int:
    """How many jobs wait."""
    query = select(func.count()).select_from(jobs).where(_C.status == "waiting")
    return int(connection.execute(query).scalar_one())


def n_failed(connection: Connection, bandit: int, since: float) -> int:
    """How many jobs of a bandit have failed since a time."""
    query = select(func.count()).select_from(jobs).where(_C.bandit == bandit)
    failed = query.where(_C.status == "failed", _C.ended >= since)
    return int(connection.execute(failed).scalar_one())


def _rows(connection: Connection, query: Select[Any]) -> list[JobRow]:
    return [_row(row) for row in connection.execute(query)]


def _row(row: Any) -> JobRow:
    stored = msgspec.json.decode(row.request, type=StoredRequest)
    report = None if row.report is None else msgspec.json.decode(row.report, type=Report)
    fields = {
        **row._mapping,
        "request": stored.typed(row.kind),
        "upload": stored.upload,
        "attempts": stored.attempts,
        "report": report,
    }
    return JobRow(**fields)
