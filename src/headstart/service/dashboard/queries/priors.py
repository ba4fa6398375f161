"""Priors: the current version, and versions spread evenly over the history."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from sqlalchemy import Connection, RowMapping, func, select

from headstart.arrays import Floats
from headstart.service.store.schema import fits, priors

SHOWN_VERSIONS = 60
_NUMBERS = 60_000  # of history that a page reads, at most
_C = priors.c


@dataclass(frozen=True, kw_only=True)
class PriorRow:
    """A version of the prior, in numbers."""

    version: int
    time: float
    source: str
    n_tasks: int
    effective_tasks: float
    noise_scale: float
    mean: Floats  # (d,)
    spread: Floats  # (d,)


@dataclass(frozen=True, kw_only=True)
class FitRow:
    """A memory of a log, and the prior that promoting it would give."""

    id: int
    job: str
    time: float
    status: str
    n_tasks: int
    noise_scale: float
    mean: Floats
    spread: Floats


def history(connection: Connection, bandit: int) -> list[PriorRow]:
    """Versions spread evenly from the first to the current one, the oldest first."""
    ends = select(func.min(_C.version), func.max(_C.version)).where(_C.bandit == bandit)
    first, last = connection.execute(ends).one()
    if last is None:
        return []
    newest = _versions(connection, bandit, [last])
    room = max(min(SHOWN_VERSIONS, _NUMBERS // max(len(newest[0].mean), 1)), 2)
    wanted = np.unique(np.linspace(first, last, min(room, last - first + 1)).round().astype(int))
    return [*_versions(connection, bandit, wanted[:-1].tolist()), *newest]


def latest(connection: Connection, bandit: int, n: int = 10) -> list[tuple[int, float, str, int]]:
    """Version, time, source and number of tasks of the latest versions."""
    query = select(_C.version, _C.time, _C.source, _C.n_tasks).where(_C.bandit == bandit)
    rows = connection.execute(query.order_by(_C.version.desc()).limit(n))
    return [(row.version, row.time, row.source, row.n_tasks) for row in rows]


def fits_of(connection: Connection, bandit: int, n: int = 20) -> list[FitRow]:
    """The latest fits."""
    c = fits.c
    columns = (c.id, c.job, c.time, c.status, c.n_tasks, c.noise_scale, c.mean, c.spread)
    query = select(*columns).where(c.bandit == bandit).order_by(c.id.desc()).limit(n)
    return [FitRow(**_arrays(row)) for row in connection.execute(query).mappings()]


def _versions(connection: Connection, bandit: int, versions: list[int]) -> list[PriorRow]:
    columns = (
        _C.version,
        _C.time,
        _C.source,
        _C.n_tasks,
        _C.effective_tasks,
        _C.noise_scale,
        _C.mean,
        _C.spread,
    )
    query = select(*columns).where(_C.bandit == bandit, _C.version.in_(versions))
    rows = connection.execute(query.order_by(_C.version)).mappings()
    return [PriorRow(**_arrays(row)) for row in rows]


def _arrays(row: RowMapping) -> dict[str, Any]:
    arrays = {name: np.frombuffer(row[name], "<f8") for name in ("mean", "spread")}
    return {**row, **arrays}
