"""The table of fits: logs that were learned, of which those that are promoted count."""

from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, Row, delete, insert, select, update

from headstart.live.stored import Model, floats, packed
from headstart.service.jobs.memories import memory_that_counts
from headstart.service.jobs.messages import FitReport, FitView
from headstart.service.jobs.table import Job
from headstart.service.messages import ServiceError, conflict, not_found
from headstart.service.store import schema

fits = schema.fits
# All but the memory, which may be large.
_SHOWN = [column for column in fits.c if column.name != "memory"]


def add(connection: Connection, job: Job, report: FitReport, memory: bytes, now: float) -> int:
    """Note a fit as a shadow; its number."""
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
        "report": msgspec.json.encode(report).decode(),
    }
    found = connection.execute(insert(fits).values(values).returning(fits.c.id)).scalar_one()
    return int(found)


def note_number(connection: Connection, fit: int, report: FitReport) -> None:
    """Store a report that has the number of its fit."""
    content = msgspec.json.encode(report).decode()
    connection.execute(update(fits).where(fits.c.id == fit).values(report=content))


def memories(connection: Connection, bandit: int) -> tuple[bytes | None, list[bytes]]:
    """The memory of the store's tasks, and those of the fits that are promoted."""
    priors = schema.priors
    current = (
        select(priors.c.memory)
        .where(priors.c.bandit == bandit)
        .order_by(priors.c.version.desc())
        .limit(1)
    )
    promoted = (
        select(fits.c.memory)
        .where(fits.c.bandit == bandit, fits.c.status == "promoted")
        .order_by(fits.c.id)
    )
    memory = connection.execute(current).scalar_one_or_none()
    return memory, list(connection.execute(promoted).scalars())


def check_promotable(connection: Connection, bandit: int, fit: int, model: Model) -> str:
    """Raise unless a fit can be promoted: it must not count yet, and fit what does; its status."""
    chosen = connection.execute(
        select(fits).where(fits.c.bandit == bandit, fits.c.id == fit)
    ).one_or_none()
    if chosen is None:
        raise not_found(f"there is no fit {fit} of this bandit")
    if chosen.status == "promoted":
        raise conflict(f"fit {fit} is promoted already")
    digest = _report(chosen).digest
    for other in views(connection, bandit):
        if other.status == "promoted" and digest is not None and other.report.digest == digest:
            raise conflict(
                f"fit {other.id} is promoted and of the same files as fit {fit}, so that their "
                "tasks would count twice: withdraw it first"
            )
    memory, promoted = memories(connection, bandit)
    try:
        memory_that_counts(model, memory, [*promoted, chosen.memory])
    except ValueError as error:
        raise conflict(f"fit {fit} cannot be promoted: {error}; fit the log again") from None
    return str(chosen.status)


def change_status(connection: Connection, bandit: int, fit: int, before: str, after: str) -> None:
    """Have a fit count, or no longer."""
    which = (fits.c.bandit == bandit) & (fits.c.id == fit) & (fits.c.status == before)
    if connection.execute(update(fits).where(which).values(status=after)).rowcount:
        return
    raise _wrong_status(connection, bandit, fit, before)


def remove(connection: Connection, bandit: int, fit: int) -> None:
    """Delete a fit that does not count."""
    which = (fits.c.bandit == bandit) & (fits.c.id == fit)
    if not connection.execute(delete(fits).where(which, fits.c.status != "promoted")).rowcount:
        raise _wrong_status(connection, bandit, fit, "withdrawn")


def views(connection: Connection, bandit: int, fit: int | None = None) -> list[FitView]:
    """The fits of a bandit, the latest first; or one of them."""
    query = select(*_SHOWN).where(fits.c.bandit == bandit).order_by(fits.c.id.desc())
    if fit is not None:
        query = query.where(fits.c.id == fit)
    return [_view(row) for row in connection.execute(query).all()]


def view(connection: Connection, bandit: int, fit: int) -> FitView:
    """One fit of a bandit."""
    found = views(connection, bandit, fit)
    if not found:
        raise not_found(f"there is no fit {fit} of this bandit")
    return found[0]


def _wrong_status(connection: Connection, bandit: int, fit: int, wanted: str) -> ServiceError:
    status = view(connection, bandit, fit).status
    return conflict(f"fit {fit} must be {wanted}, and it is {status}")


def _report(row: Row[Any]) -> FitReport:
    return msgspec.json.decode(row.report, type=FitReport)


def _view(row: Row[Any]) -> FitView:
    report = _report(row)
    return FitView(
        id=row.id,
        job=row.job,
        status=row.status,
        time=row.time,
        n_tasks=row.n_tasks,
        noise_scale=row.noise_scale,
        mean=floats(row.mean).tolist(),
        spread=floats(row.spread).tolist(),
        feature_names=report.feature_names,
        report=report,
    )
