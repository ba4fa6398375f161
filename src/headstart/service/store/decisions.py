"""Decisions: a single one, pages of the latest, and those that wait for a reward."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from sqlalchemy import (
    ColumnElement,
    Connection,
    Select,
    bindparam,
    case,
    func,
    literal_column,
    select,
)

from headstart.arrays import floats
from headstart.service.messages import (
    Contribution,
    DecisionRecord,
    RewardPart,
    ServiceChoice,
    not_found,
)
from headstart.service.store import parts as parts_of_rewards
from headstart.service.store import tasks
from headstart.service.store.bandits import BanditRow
from headstart.service.store.blocks import of_task as conditions_of_task
from headstart.service.store.prepared import LISTED, Lookup
from headstart.service.store.schema import DECISION_STATUS, PENDING, decisions
from headstart.service.store.schema import tasks as task_table

PAGE = 50
# There is no index by arm: the latest decisions of a bandit are searched, this many numbers of
# features at once, so that a page takes the same time however rare an arm is.
_SCANNED_NUMBERS = 400_000
_COUNTED = 10_000

_C = decisions.c
STATUSES = DECISION_STATUS
# The index of pending decisions serves only queries that have its condition word for word.
_IS_PENDING = _C.status == literal_column(str(PENDING))
_PAYMENT = (
    "id",
    "task",
    "status",
    "value",
    "features",
    "time",
    "weight",
    "round",
    "observed",
    "arm",
    "effect",
    "chance",
    "paid_time",
)
_TO_PAY = Lookup(
    select(*(_C[name] for name in _PAYMENT)).where(
        _C.bandit == bindparam("own"), _C.id.in_(LISTED)
    ),
    ["own"],
)


@dataclass(frozen=True, kw_only=True)
class DecisionRow:
    """A decision in a list."""

    id: str
    bandit: int
    task: int
    rank: int
    observed: bool
    arm: str
    propensity: float | None
    mean: float | None
    half: float | None
    time: float
    status: Literal["pending", "paid", "expired"]
    value: float | None
    round: int | None


_COLUMNS = tuple(_C[name] for name in DecisionRow.__dataclass_fields__)


@dataclass(frozen=True, kw_only=True)
class DecisionPage:
    """Some decisions, where the next page begins if there is one, and how many were searched."""

    rows: list[DecisionRow]
    names: dict[int, str]  # of the tasks
    after: str | None
    searched: int | None = None  # if not all were


def record(connection: Connection, bandit: BanditRow, decision: str) -> DecisionRecord:
    """A decision, its reasons, and what happened to its reward."""
    query = (
        select(decisions, task_table.c.name, task_table.c.control)
        .join(task_table, task_table.c.id == _C.task)
        .where(_C.id == decision, _C.bandit == bandit.id)
    )
    row = connection.execute(query).one_or_none()
    if row is None:
        raise not_found(f"bandit {bandit.name!r} has no decision {decision!r}")
    x = floats(row.features)
    parts = np.zeros((2, len(x)))
    if row.parts is not None:
        parts = np.frombuffer(row.parts, dtype="<f4").astype(np.float64).reshape(2, len(x))
    mean = float(parts.sum()) if row.mean is None else row.mean
    half = 0.0 if row.half is None else row.half
    rewarded = parts_of_rewards.of_decisions(connection, bandit.id, [decision])
    by_feature = zip(bandit.feature_names, x.tolist(), *parts.tolist(), strict=True)
    return DecisionRecord(
        id=row.id,
        bandit=bandit.name,
        task=row.name,
        arm=row.arm,
        rank=row.rank,
        observed=bool(row.observed),
        time=row.time,
        propensity=row.propensity,
        mean=mean,
        low=mean - half,
        high=mean + half,
        prior_version=row.prior_version,
        control=bool(row.control),
        shadow=None
        if row.service_arm is None
        else ServiceChoice(arm=row.service_arm, propensity=row.service_propensity),
        contributions=[
            Contribution(feature=name, value=value, from_prior=prior, from_rewards=rewards)
            for name, value, prior, rewards in by_feature
        ],
        item_effect=row.effect,
        status=STATUSES[row.status],
        value=None if row.status == PENDING else row.value,
        weight=None if row.status == PENDING else row.weight,
        paid_time=row.paid_time,
        round=row.round,
        parts=[
            RewardPart(key=key or None, value=part.value, time=part.time, metrics=part.metrics)
            for key, part in sorted(rewarded.get(decision, {}).items(), key=lambda p: p[1].order)
        ],
    )


def scanned(dimension: int) -> int:
    """How many of the latest decisions are searched at once."""
    return min(max(_SCANNED_NUMBERS // max(dimension, 1), 500), 10_000)


def search(
    connection: Connection,
    bandit: BanditRow,
    *,
    before: str | None = None,
    arm: str | None = None,
    status: str | None = None,
) -> DecisionPage:
    """A page of a bandit's latest decisions, of one arm or one status if asked for."""
    scan = scanned(bandit.dimension)
    latest = select(*_COLUMNS).where(_C.bandit == bandit.id)
    # The last decision that is searched, if there are others before it.
    end = select(_C.id).where(_C.bandit == bandit.id)
    if before is not None:
        latest, end = latest.where(_C.id < before), end.where(_C.id < before)
    some = latest.order_by(_C.id.desc()).limit(scan).subquery()
    query = _selected(select(some), some.c, arm, status)
    rows = _rows(connection, query.order_by(some.c.id.desc()).limit(PAGE + 1))
    if len(rows) > PAGE:
        return _page(connection, rows[:PAGE], rows[PAGE - 1].id, None)
    end = end.order_by(_C.id.desc()).offset(scan - 1).limit(1)
    last = connection.execute(end).scalar_one_or_none()
    return _page(connection, rows, last, scan if last is not None else None)


def of_task(
    connection: Connection,
    task: int,
    before: str | None = None,
    n: int = PAGE,
    *,
    arm: str | None = None,
    status: str | None = None,
) -> DecisionPage:
    """A page of a task's latest decisions, of one arm or one status if asked for."""
    latest = select(*_COLUMNS).order_by(_C.id.desc()).limit(n + 1)
    if before is not None:
        latest = latest.where(_C.id < before)
    latest = _selected(latest, _C, arm, status)
    rows: list[DecisionRow] = []
    for condition, bound in conditions_of_task(connection, task):
        rows += _rows(connection, latest.where(condition))
        rows = sorted(rows, key=lambda row: row.id, reverse=True)[: n + 1]
        if len(rows) > n and rows[n].id >= bound:
            break
    more = len(rows) > n
    return _page(connection, rows[:n], rows[n - 1].id if more else None, None)


def _selected(query: Select[Any], c: Any, arm: str | None, status: str | None) -> Select[Any]:
    if arm is not None:
        query = query.where(c.arm == arm)
    if status is not None:
        query = query.where(c.status == STATUSES.index(status))
    return query


def _rows(connection: Connection, query: Select[Any]) -> list[DecisionRow]:
    return [DecisionRow(**_fields(row)) for row in connection.execute(query).mappings()]


def _fields(row: Any) -> dict[str, Any]:
    """The columns of a decision; while it is pending, what it counts as is not its reward."""
    value = None if row["status"] == PENDING else row["value"]
    changed = {"observed": bool(row["observed"]), "status": STATUSES[row["status"]]}
    return {**row, **changed, "value": value}


def _page(
    connection: Connection, rows: list[DecisionRow], after: str | None, searched: int | None
) -> DecisionPage:
    names = tasks.names(connection, [row.task for row in rows])
    return DecisionPage(rows=rows, names=names, after=after, searched=searched)


def pending_times(bandit: int, limit: int = _COUNTED + 1) -> Select[tuple[float]]:
    """The times of a bandit's pending decisions, oldest first."""
    query = select(_C.time).where(_C.bandit == bandit, _IS_PENDING)
    return query.order_by(_C.time).limit(limit)


def pending(connection: Connection, bandit: int) -> tuple[int, bool, float | None]:
    """How many wait for a reward, whether there are more, and the time of the oldest."""
    times = pending_times(bandit).subquery()
    n, oldest = connection.execute(select(func.count(), func.min(times.c.time))).one()
    return min(int(n), _COUNTED), int(n) > _COUNTED, None if oldest is None else float(oldest)


def overdue(connection: Connection, bandit: int, before: float, limit: int) -> list[str]:
    """The ids of decisions that have been pending since a time or longer, oldest first."""
    query = select(_C.id).where(_C.bandit == bandit, _IS_PENDING, _C.time <= before)
    return list(connection.execute(query.order_by(_C.time).limit(limit)).scalars())


def to_pay(connection: Connection, bandit: int, ids: list[str]) -> Iterable[Any]:
    """What paying decisions needs, in the order of _PAYMENT.

    They are of the driver's own types.
    """
    return _TO_PAY.rows(connection, ids, (bandit,))


def counted(
    connection: Connection, condition: ColumnElement[bool]
) -> list[tuple[str, float, float | None]]:
    """The arm, the time and the counted reward of the service's decisions."""
    value = case((_C.round.is_not(None), _C.value))
    query = select(_C.arm, _C.time, value).where(condition, _C.observed == 0)
    return [(arm, made, reward) for arm, made, reward in connection.execute(query)]
