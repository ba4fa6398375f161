"""Priors: their versions, and the memories of tasks and logs behind them."""

from collections.abc import Sequence
from typing import Any, NamedTuple

import msgspec
import numpy as np
from sqlalchemy import Connection, func, select

from headstart.arrays import floats
from headstart.service.messages import FitReport, FitView, PriorVersion, not_found, read
from headstart.service.store.schema import fits, priors

SPREAD_VERSIONS = 60
_NUMBERS = 60_000  # at most, in a spread history
_C = priors.c
_VERSION = select(*(_C[name] for name in PriorVersion.__struct_fields__))
# All columns of a fit except the memory, which may be large.
_FIT = select(*(column for column in fits.c if column.name not in ("memory", "bandit")))


class PriorMemory(NamedTuple):
    """The memory of the store's tasks in a version of the prior, and its fits."""

    version: int
    memory: bytes
    fits: list[int]


def versions(connection: Connection, bandit: int, limit: int) -> list[PriorVersion]:
    """The latest versions, the latest first."""
    query = _VERSION.where(_C.bandit == bandit).order_by(_C.version.desc()).limit(limit)
    return [_version(row) for row in connection.execute(query)]


def history(connection: Connection, bandit: int) -> list[PriorVersion]:
    """Versions spread evenly from the first to the current one, the oldest first."""
    ends = select(func.min(_C.version), func.max(_C.version)).where(_C.bandit == bandit)
    first, last = connection.execute(ends).one()
    if last is None:
        return []
    newest = versions(connection, bandit, 1)
    room = max(min(SPREAD_VERSIONS, _NUMBERS // max(len(newest[0].mean), 1)), 2)
    wanted = np.unique(np.linspace(first, last, min(room, last - first + 1)).round().astype(int))
    earlier = _VERSION.where(_C.bandit == bandit, _C.version.in_(wanted[:-1].tolist()))
    rows = connection.execute(earlier.order_by(_C.version))
    return [*(_version(row) for row in rows), *newest]


def times(connection: Connection, bandit: int, wanted: Sequence[int]) -> dict[int, float]:
    """When versions were made, for those that exist."""
    query = select(_C.version, _C.time).where(_C.bandit == bandit, _C.version.in_(wanted))
    return {row.version: row.time for row in connection.execute(query)}


def latest_memory(connection: Connection, bandit: int) -> PriorMemory | None:
    """The memory of the latest version; None if there is none yet."""
    query = select(_C.version, _C.memory, _C.fits).where(_C.bandit == bandit)
    row = connection.execute(query.order_by(_C.version.desc()).limit(1)).one_or_none()
    return row and PriorMemory(row.version, row.memory, msgspec.json.decode(row.fits))


def promoted(connection: Connection, bandit: int) -> list[int]:
    """The numbers of the fits that count now."""
    query = select(fits.c.id).where(fits.c.bandit == bandit, fits.c.status == "promoted")
    return list(connection.execute(query.order_by(fits.c.id)).scalars())


def fit_memories(connection: Connection, numbers: Sequence[int]) -> list[bytes]:
    """The memories of fits, in the order of their numbers."""
    query = select(fits.c.memory).where(fits.c.id.in_(numbers)).order_by(fits.c.id)
    return list(connection.execute(query).scalars())


def memories(connection: Connection, bandit: int) -> tuple[bytes | None, list[bytes]]:
    """The memory of the store's tasks (None before any), and of the fits that count now."""
    latest = latest_memory(connection, bandit)
    of_fits = fit_memories(connection, promoted(connection, bandit))
    return None if latest is None else latest.memory, of_fits


def fits_of(connection: Connection, bandit: int, limit: int | None = None) -> list[FitView]:
    """The fits of a bandit, the latest first."""
    query = _FIT.where(fits.c.bandit == bandit).order_by(fits.c.id.desc()).limit(limit)
    return [_fit(row) for row in connection.execute(query)]


def fit(connection: Connection, bandit: int, number: int) -> FitView:
    """One fit of a bandit; raises if there is none of this number."""
    row = connection.execute(_FIT.where(fits.c.bandit == bandit, fits.c.id == number)).one_or_none()
    if row is None:
        raise not_found(f"there is no fit {number} of this bandit")
    return _fit(row)


def _version(row: Any) -> PriorVersion:
    return PriorVersion(**_lists(row))


def _fit(row: Any) -> FitView:
    report = read(row.report, FitReport)
    fields = {**_lists(row), "report": report, "feature_names": report.feature_names}
    return FitView(**fields)


def _lists(row: Any) -> dict[str, Any]:
    arrays = {name: floats(getattr(row, name)).tolist() for name in ("mean", "spread")}
    return {**row._mapping, **arrays}
