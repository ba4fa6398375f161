"""Operations: jobs, and what the store is."""

from dataclasses import dataclass

from sqlalchemy import Connection, select, text

from headstart.service.store.migrations import version_of
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


@dataclass(frozen=True, kw_only=True)
class StoreFacts:
    """What the store is, and how large."""

    kind: str
    bytes: int | None
    schema_version: int


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


def store_facts(connection: Connection) -> StoreFacts:
    """Kind, size and version of the store."""
    sqlite = connection.dialect.name == "sqlite"
    if sqlite:
        size = text("SELECT page_count * page_size FROM pragma_page_count, pragma_page_size")
        version = text("SELECT sqlite_version()")
    else:
        size = text("SELECT pg_database_size(current_database())")
        version = text("SHOW server_version")
    name = "SQLite" if sqlite else "PostgreSQL"
    return StoreFacts(
        kind=f"{name} {connection.execute(version).scalar_one()}",
        bytes=int(connection.execute(size).scalar_one()),
        schema_version=version_of(connection),
    )
