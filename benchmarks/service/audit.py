"""What a store holds against what was acknowledged, and against a replay of its decisions."""

import json
import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.service.load import Records
from sqlalchemy import Connection, func, select

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.live.stored import items_of, statistics_of
from headstart.service.store import schema
from headstart.service.store.database import snapshot


@dataclass(frozen=True, kw_only=True)
class Audit:
    """Numbers that must all be zero, but for those of what was acknowledged."""

    decisions: int
    rewards: int
    lost: int  # acknowledged, and not in the store as it was acknowledged
    twice: int  # one key with two decisions, one decision or observation that counts twice
    wrong: int  # answers that contradict an earlier one
    miscounted: int  # tasks whose counts differ from their decisions that count
    deviation: float  # of statistics and sums from a replay, relative; the largest of all

    @property
    def clean(self) -> bool:
        """Whether nothing was lost, counted twice, or differs from the replay by 1e-9."""
        return not (self.lost or self.twice or self.wrong or self.miscounted) and (
            self.deviation <= 1e-9
        )


def audit(store: str | Path, records: Records, dimension: int) -> Audit:
    """Compare a store with what its clients were told."""
    with snapshot(store) as connection:
        rows = {row.id: row for row in connection.execute(select(schema.decisions))}
        tasks = connection.execute(select(schema.tasks.c.id, schema.tasks.c.name))
        names = {row.id: row.name for row in tasks}
        lost = _lost(rows, names, records, _stored_parts(connection))
        twice = _twice(connection, rows, records)
        miscounted, deviation = replayed(connection, dimension)
    return Audit(
        decisions=len(records.decisions),
        rewards=len(records.rewards) + len(records.observations),
        lost=lost,
        twice=twice,
        wrong=len(records.wrong),
        miscounted=miscounted,
        deviation=deviation,
    )


def _stored_parts(connection: Connection) -> dict[str, dict[str, Any]]:
    """The parts of rewards by decision and key, those that came whole left out."""
    found: dict[str, dict[str, Any]] = {}
    for row in connection.execute(select(schema.reward_parts)):
        found.setdefault(row.decision, {})[row.key] = row
    return found


def _lost(
    rows: dict[str, Any],
    names: dict[int, str],
    records: Records,
    stored: dict[str, dict[str, Any]],
) -> int:
    n = 0
    for answer in records.decisions.values():
        for arm in answer["arms"]:
            row = rows.get(arm["id"])
            n += row is None or (names[row.task], row.arm) != (answer["task"], arm["arm"])
    for decision, parts in records.rewards.items():
        row = rows.get(decision)
        n += row is None or row.status != schema.PAID or row.value != math.fsum(parts.values())
        if row is not None and set(parts) != {""}:
            n += parts != {key: part.value for key, part in stored.get(decision, {}).items()}
    return n + sum(each not in rows for each in records.observations.values())


def _twice(connection: Connection, rows: dict[str, Any], records: Records) -> int:
    """Every request was acknowledged in the end: so many rows as there are keys, and no more."""
    observed = sum(bool(row.observed) for row in rows.values())
    decided: int = sum(len(answer["arms"]) for answer in records.decisions.values())
    n = abs(len(rows) - observed - decided) + abs(observed - len(records.observations))
    n += sum(count > 1 for count in records.paid.values())
    # A default counts as a reward that came once its decision has expired.
    final = [row for row in rows.values() if row.status != schema.PENDING]
    paid: int = sum(row.value is not None for row in final)
    minutes = schema.minutes.c
    sums = connection.execute(select(func.sum(minutes.decisions), func.sum(minutes.rewards))).one()
    return n + abs(int(sums[0] or 0) - decided) + abs(int(sums[1] or 0) - paid)


def replayed(connection: Connection, dimension: int) -> tuple[int, float]:
    """Tasks whose counts differ from their decisions that count, and how far statistics do.

    These are the statistics of tasks, and the sums behind the gain, the guardrails and the items.
    A decision counts once it is paid; with a default reward, from the start.
    """
    table = schema.decisions
    counted: dict[int, list[Any]] = {}
    decisions = connection.execute(select(table).order_by(table.c.round)).all()
    for row in decisions:
        if row.round is not None:
            counted.setdefault(row.task, []).append(row)
    tasks = connection.execute(select(schema.tasks)).all()
    miscounted, deviation = 0, _sums_deviation(connection, decisions, tasks, counted)
    for task in tasks:
        rows = counted.get(task.id, [])
        rounds = [row.round for row in rows]
        miscounted += rounds != list(range(1, len(rows) + 1)) or task.n_rewards != len(rows)
        found = statistics_of(task.state, dimension)
        deviation = max(deviation, _deviation(found, _replay(rows, dimension)))
        items = items_of(found)
        of_items = {row.arm for row in rows if row.effect is not None}
        miscounted += set(items) != of_items
        for item in set(items) & of_items:
            own = [row for row in rows if row.effect is not None and row.arm == item]
            z = [[1.0, row.value, *np.frombuffer(row.features)] for row in own]
            total = np.array([row.weight for row in own]) @ np.array(z)
            deviation = max(deviation, float(np.abs(items[item] - total).max()))
    return miscounted, deviation


def _replay(rows: Sequence[Any], dimension: int) -> TaskStatistics:
    """Sums of √w·x and √w·y over decisions: V = Σ w xxᵀ, b = Σ w yx, Σ w and Σ w y²."""
    features = np.array([np.frombuffer(row.features) for row in rows]).reshape(-1, dimension)
    weights = np.array([1.0 if row.weight is None else row.weight for row in rows])
    values, root = np.array([row.value for row in rows]), np.sqrt(weights)
    sums = TaskStatistics.from_data(features * root[:, None], values * root)
    return TaskStatistics(
        gram=sums.gram,
        moment=sums.moment,
        count=np.array(weights.sum()),
        sum_of_squares=sums.sum_of_squares,
    )


def _deviation(found: TaskStatistics, expected: TaskStatistics) -> float:
    def differs(a: Floats, b: Floats) -> float:
        return float((np.abs(a - b) / np.maximum(1.0, np.abs(b).max())).max())

    names = [each.name for each in fields(TaskStatistics) if each.name != "about"]
    return max(differs(getattr(found, name), getattr(expected, name)) for name in names)


def _group(task: Any) -> int:
    """The group of a task among the sums of the gain; below 0 if it is left out, by why."""
    if task.against == schema.SHADOW:
        why = "shadow"
    elif task.share is None:
        why = "no_prior"
    elif not 0.0 < task.share < 1.0:
        why = "no_control"
    else:
        return int(2 * task.against + task.control)
    return schema.LEFT_OUT.index(why) - len(schema.LEFT_OUT)


def _sums_deviation(
    connection: Connection,
    decisions: Sequence[Any],
    tasks: Sequence[Any],
    counted: dict[int, list[Any]],
) -> float:
    """How far the sums of the gain, of guardrails and of items are from a replay, relative."""
    parts = _stored_parts(connection)
    expected: dict[tuple[Any, ...], Floats] = {}

    def add(key: tuple[Any, ...], *values: float) -> None:
        expected[key] = expected.get(key, np.zeros(len(values))) + values

    for row in decisions:
        if not row.observed:
            y = None if row.round is None else row.value
            earned = (0.0, 0.0, 0.0) if y is None else (1.0, y, y * y)
            add(("item", row.arm), 1.0, *earned)
    for task in [task for task in tasks if task.id in counted]:
        group, early = _group(task), counted[task.id]
        if group < 0:
            add(("gain", group), 1.0, 0.0, 0.0)
            continue
        early = early[: schema.EARLY_ROUNDS]
        metrics: dict[str, list[float]] = {}
        for row in early:
            sums: Counter[str] = Counter()
            for part in parts.get(row.id, {}).values():
                sums.update(json.loads(part.metrics))
            for name, value in sums.items():
                metrics.setdefault(name, []).append(value)
        metrics["gain"] = [row.value for row in early]
        for name, values in metrics.items():
            mean = float(np.mean(values))
            add((name, group), 1.0, mean, mean * mean)
    found: dict[tuple[Any, ...], Floats] = {}
    names = ("tasks", "sum", "squares")
    for table, key, columns in (
        (schema.gains, lambda row: ("gain", row.control), names),
        (schema.metric_gains, lambda row: (row.metric, row.control), names),
        (
            schema.item_days,
            lambda row: ("item", row.item),
            ("shown", "rewards", "sum", "squares"),
        ),
    ):
        for row in connection.execute(select(table)):
            numbers = np.array([float(getattr(row, name)) for name in columns])
            found[key(row)] = found.get(key(row), np.zeros(len(columns))) + numbers
    worst = 0.0 if set(found) == set(expected) else math.inf
    for own in set(found) & set(expected):
        size = max(1.0, float(np.abs(expected[own]).max()))
        worst = max(worst, float(np.abs(found[own] - expected[own]).max()) / size)
    return worst


def status_counts(connection: Connection) -> Counter[str]:
    """How many decisions there are by status."""
    table = schema.decisions
    rows = connection.execute(select(table.c.status, func.count()).group_by(table.c.status))
    return Counter({schema.DECISION_STATUS[status]: n for status, n in rows})
