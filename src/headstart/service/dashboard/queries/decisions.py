"""Decisions: the latest of a bandit or of a task, and what waits for a reward."""

from dataclasses import dataclass

import numpy as np
from sqlalchemy import Connection, Select, func, literal_column, select

from headstart.arrays import Floats
from headstart.service.dashboard.queries.tasks import task_names
from headstart.service.store import blocks
from headstart.service.store.schema import PENDING, decisions

PAGE = 50
# No index is by arm: the latest of a bandit are searched, this many numbers of features at once, so
# that a page takes its time however rare an arm is.
_SCANNED_NUMBERS = 400_000
_COUNTED = 10_000

_C = decisions.c
_COLUMNS = (
    _C.id,
    _C.bandit,
    _C.task,
    _C.rank,
    _C.observed,
    _C.arm,
    _C.propensity,
    _C.mean,
    _C.half,
    _C.time,
    _C.status,
    _C.value,
    _C.round,
)
# The index of pending decisions serves a query only that has its condition word for word.
_IS_PENDING = _C.status == literal_column(str(PENDING))


@dataclass(frozen=True, kw_only=True)
class DecisionRow:
    """A decision in a list."""

    id: str
    bandit: int
    task: int
    rank: int
    observed: int
    arm: str
    propensity: float | None
    mean: float | None
    half: float | None
    time: float
    status: int
    value: float | None
    round: int | None


@dataclass(frozen=True, kw_only=True)
class DecisionPage:
    """Some decisions, where the next page begins if there is one, and how many were searched."""

    rows: list[DecisionRow]
    names: dict[int, str]  # of the tasks
    after: str | None
    searched: int | None = None  # where not all were


def scanned(dimension: int) -> int:
    """How many of the latest decisions are searched at once."""
    return min(max(_SCANNED_NUMBERS // max(dimension, 1), 500), 10_000)


def latest_decisions(bandit: int, before: str | None, scan: int) -> Select[tuple[object, ...]]:
    """The latest of a bandit."""
    query = select(*_COLUMNS).where(_C.bandit == bandit)
    if before is not None:
        query = query.where(_C.id < before)
    return query.order_by(_C.id.desc()).limit(scan)


def pending_times(bandit: int, limit: int = _COUNTED + 1) -> Select[tuple[float]]:
    """When the decisions of a bandit that wait for a reward were made, the oldest first."""
    query = select(_C.time).where(_C.bandit == bandit, _IS_PENDING)
    return query.order_by(_C.time).limit(limit)


def search(
    connection: Connection,
    bandit: int,
    dimension: int,
    *,
    before: str | None = None,
    arm: str | None = None,
    status: int | None = None,
) -> DecisionPage:
    """A page of a bandit's latest decisions, of one arm or one status if asked for."""
    scan = scanned(dimension)
    found = latest_decisions(bandit, before, scan).subquery()
    query = select(found)
    if arm is not None:
        query = query.where(found.c.arm == arm)
    if status is not None:
        query = query.where(found.c.status == status)
    query = query.order_by(found.c.id.desc()).limit(PAGE + 1)
    rows = [DecisionRow(**row) for row in connection.execute(query).mappings()]
    if len(rows) > PAGE:
        return _page(connection, rows[:PAGE], rows[PAGE - 1].id, None)
    # The last decision that was searched, if there are others before it.
    end = select(_C.id).where(_C.bandit == bandit)
    end = end.order_by(_C.id.desc()).offset(scan - 1).limit(1)
    if before is not None:
        end = end.where(_C.id < before)
    last = connection.execute(end).scalar_one_or_none()
    return _page(connection, rows, last, scan if last is not None else None)


def of_task(
    connection: Connection,
    task: int,
    before: str | None = None,
    n: int = PAGE,
    *,
    arm: str | None = None,
    status: int | None = None,
) -> DecisionPage:
    """A page of a task's latest decisions, of one arm or one status if asked for."""
    latest = select(*_COLUMNS).order_by(_C.id.desc()).limit(n + 1)
    if before is not None:
        latest = latest.where(_C.id < before)
    if arm is not None:
        latest = latest.where(_C.arm == arm)
    if status is not None:
        latest = latest.where(_C.status == status)
    rows: list[DecisionRow] = []
    for condition, bound in blocks.of_task(connection, task):
        found = connection.execute(latest.where(condition)).mappings()
        rows += [DecisionRow(**row) for row in found]
        rows = sorted(rows, key=lambda row: row.id, reverse=True)[: n + 1]
        if len(rows) > n and rows[n].id >= bound:
            break
    more = len(rows) > n
    return _page(connection, rows[:n], rows[n - 1].id if more else None, None)


def pending(connection: Connection, bandit: int) -> tuple[int, bool, float | None]:
    """How many wait for a reward, whether there are more, and the time of the oldest."""
    times = pending_times(bandit).subquery()
    n, oldest = connection.execute(select(func.count(), func.min(times.c.time))).one()
    return min(int(n), _COUNTED), int(n) > _COUNTED, None if oldest is None else float(oldest)


def latest_features(connection: Connection, bandit: int, dimension: int) -> Floats:
    """The features of the bandit's latest decisions, (n, d)."""
    query = select(_C.features).where(_C.bandit == bandit).order_by(_C.id.desc())
    query = query.limit(min(1_000, _SCANNED_NUMBERS // dimension))
    rows = [np.frombuffer(row, "<f8") for row in connection.execute(query).scalars()]
    return np.array([row for row in rows if len(row) == dimension]).reshape(-1, dimension)


def _page(
    connection: Connection, rows: list[DecisionRow], after: str | None, searched: int | None
) -> DecisionPage:
    names = task_names(connection, [row.task for row in rows])
    return DecisionPage(rows=rows, names=names, after=after, searched=searched)
