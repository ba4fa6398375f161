"""The table of fits: logs that were learned, of which those that are promoted count."""

import msgspec
import numpy as np
from sqlalchemy import Connection, delete, insert, update

from headstart.arrays import packed
from headstart.live.stored import Model
from headstart.service.engine.priors import memory_that_counts
from headstart.service.messages import FitReport, ServiceError, conflict
from headstart.service.store.queries import priors
from headstart.service.store.queries.jobs import JobRow
from headstart.service.store.schema import fits


def add(connection: Connection, job: JobRow, report: FitReport, memory: bytes, now: float) -> int:
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
    latest = priors.latest_memory(connection, bandit)
    promoted = priors.fit_memories(connection, priors.promoted(connection, bandit))
    return None if latest is None else latest.memory, promoted


def check_promotable(connection: Connection, bandit: int, fit: int, model: Model) -> str:
    """Raise unless a fit can be promoted: it must not count yet, and fit what does; its status."""
    chosen = priors.fit(connection, bandit, fit)
    if chosen.status == "promoted":
        raise conflict(f"fit {fit} is promoted already")
    digest = chosen.report.digest
    for other in priors.fits_of(connection, bandit):
        if other.status == "promoted" and digest is not None and other.report.digest == digest:
            raise conflict(
                f"fit {other.id} is promoted and of the same files as fit {fit}, so that their "
                "tasks would count twice: withdraw it first"
            )
    memory, promoted = memories(connection, bandit)
    try:
        memory_that_counts(model, memory, [*promoted, *priors.fit_memories(connection, [fit])])
    except ValueError as error:
        raise conflict(f"fit {fit} cannot be promoted: {error}; fit the log again") from None
    return chosen.status


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


def _wrong_status(connection: Connection, bandit: int, fit: int, wanted: str) -> ServiceError:
    status = priors.fit(connection, bandit, fit).status
    return conflict(f"fit {fit} must be {wanted}, and it is {status}")
