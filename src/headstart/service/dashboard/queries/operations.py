"""Operations: the latest jobs."""

from dataclasses import dataclass

from sqlalchemy import Connection, select

from headstart.service.store.schema import jobs


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """A job and how far it is."""

    id: str
    kind: str
    status: str
    created: float
    started: float | None
    ended: float | None
    heartbeat: float | None
    progress: float
    step: str
    request: str  # JSON
    report: str | None
    error: str | None


def latest_jobs(connection: Connection, bandit: int, n: int = 30) -> list[JobRow]:
    """The latest jobs of a bandit."""
    c = jobs.c
    columns = (
        c.id,
        c.kind,
        c.status,
        c.created,
        c.started,
        c.ended,
        c.heartbeat,
        c.progress,
        c.step,
        c.request,
        c.report,
        c.error,
    )
    query = select(*columns).where(c.bandit == bandit).order_by(c.created.desc()).limit(n)
    return [JobRow(**row) for row in connection.execute(query).mappings()]
