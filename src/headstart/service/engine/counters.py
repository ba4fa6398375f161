"""Sums: what a transaction adds to the sums that the dashboard shows."""

import math
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec
from sqlalchemy import Connection, Table, delete, select
from sqlalchemy.dialects import postgresql, sqlite

from headstart.live.outcomes import Outcome
from headstart.service.store import schema
from headstart.service.store.prepared import Prepared
from headstart.service.store.tasks import TaskEntry

_KEYS = {
    table: [column.name for column in table.primary_key]
    for table in (
        schema.minutes,
        schema.rounds,
        schema.gains,
        schema.metric_gains,
        schema.item_days,
    )
}
_VALUES = {
    table: [column.name for column in table.columns if not column.primary_key] for table in _KEYS
}
# The columns of `minutes` for rewards that are not paid.
OUTCOMES = {
    Outcome.DUPLICATE: "duplicates",
    Outcome.CONFLICT: "conflicts",
    Outcome.UNKNOWN: "unknown",
    Outcome.EXPIRED: "late",
    Outcome.OUT_OF_RANGE: "out_of_range",
}


_read_metrics = msgspec.json.Decoder(dict[str, tuple[int, float]]).decode

# How long sums are kept by the minute; after that, by the hour.
_MINUTES_KEPT = 7 * 24 * 60
_DAY_SECONDS = 86_400

# The primary key of a sum.
Key = tuple[int | str, ...]


class Sums:
    """Sums of one transaction, by table and key; `write` adds them to those of the store."""

    def __init__(self, process: int, now: float) -> None:
        self._process = process
        self._minute = int(now // 60)
        self._day = int(now // _DAY_SECONDS)
        self._found: dict[Table, dict[Key, dict[str, float]]] = {table: {} for table in _KEYS}

    def _add(self, table: Table, key: Key, **values: float) -> None:
        sums = self._found[table].setdefault(key, dict.fromkeys(_VALUES[table], 0))
        for name, value in values.items():
            sums[name] += value

    def _note(self, bandit: int, control: bool, **values: float) -> None:
        key = (bandit, self._minute, self._process, int(control))
        self._add(schema.minutes, key, **values)

    def opened(self, bandit: int, control: bool, n: int = 1) -> None:
        """Tasks were opened; −1 if one is closed again."""
        self._note(bandit, control, opened=n)

    def decided(self, bandit: int, control: bool, n: int) -> None:
        """Decisions were made."""
        self._note(bandit, control, decisions=n)

    def expired(self, bandit: int, control: bool) -> None:
        """A decision expired."""
        self._note(bandit, control, expired=1)

    def refused(self, bandit: int, outcome: Outcome) -> None:
        """A reward was not paid."""
        self._note(bandit, False, **{OUTCOMES[outcome]: 1})

    def shadowed(self, bandit: int, task: TaskEntry, agreed: bool) -> None:
        """The caller's own choice was served; the service would have made it too, or not."""
        self._note(bandit, task.control, shadowed=1, agreed=int(agreed))

    def rewarded(self, bandit: int, control: bool) -> None:
        """A decision's first reward came, or its default became final."""
        self._note(bandit, control, rewards=1)

    def replaced(
        self,
        bandit: int,
        task: TaskEntry,
        number: int,
        before: float,
        after: float,
        *,
        shadow: bool = False,
    ) -> None:
        """The task's reward of this number was replaced; shadow as in `counted`."""
        change, squares = after - before, after * after - before * before
        task.reward_sum += change
        control, process = task.group, self._process
        if shadow:
            return
        if number <= schema.ROUNDS_MEASURED and task.share is not None:
            self._add(
                schema.rounds, (bandit, control, number, process), sum=change, squares=squares
            )
        if number <= schema.EARLY_ROUNDS:
            mean = task.early_sum / task.early_rewards
            task.early_sum += change
            new = task.early_sum / task.early_rewards
            if task.is_compared:
                key = (bandit, control, self._day, process)
                self._add(schema.gains, key, sum=new - mean, squares=new * new - mean * mean)

    def counted(
        self,
        bandit: int,
        task: TaskEntry,
        value: float,
        *,
        shadow: bool = False,
    ) -> None:
        """A task counts one more reward, possibly a default; also changes the entry.

        shadow: whether the decision was made in shadow mode, in which warm and control tasks are
        served the same and are not compared.
        """
        task.n_rewards += 1
        task.reward_sum += value
        control, process = task.group, self._process
        if task.n_rewards == 1 and task.left_out is not None:
            why = schema.LEFT_OUT.index(task.left_out) - len(schema.LEFT_OUT)
            self._add(schema.gains, (bandit, why, self._day, process), tasks=1)
        if shadow:
            return
        if task.n_rewards <= schema.ROUNDS_MEASURED and task.share is not None:
            key = (bandit, control, task.n_rewards, process)
            self._add(schema.rounds, key, n=1, sum=value, squares=value * value)
        if task.n_rewards <= schema.EARLY_ROUNDS:
            first = task.early_rewards == 0
            before = 0.0 if first else task.early_sum / task.early_rewards
            task.early_rewards += 1
            task.early_sum += value
            after = task.early_sum / task.early_rewards
            if task.is_compared:
                self._add(
                    schema.gains,
                    (bandit, control, self._day, process),
                    tasks=int(first),
                    sum=after - before,
                    squares=after * after - before * before,
                    log_chance=_log_chance(task) if first else 0.0,
                )

    def measured(
        self,
        bandit: int,
        task: TaskEntry,
        number: int,
        metrics: Mapping[str, tuple[float | None, float]],
        *,
        shadow: bool,
    ) -> None:
        """The metrics of the task's reward of this number changed.

        Takes the old and the new value of each; also changes the entry.
        """
        if shadow or number > schema.EARLY_ROUNDS or not task.is_compared:
            return
        known = _read_metrics(task.early_metrics or "{}")
        for name, (before, after) in metrics.items():
            n, total = known.get(name, (0, 0.0))
            mean = total / n if n else 0.0
            known[name] = n + (before is None), total + after - (before or 0.0)
            new = known[name][1] / known[name][0]
            self._add(
                schema.metric_gains,
                (bandit, name, task.group, self._process),
                tasks=int(n == 0),
                sum=new - mean,
                squares=new * new - mean * mean,
            )
        task.early_metrics = msgspec.json.encode(known).decode()

    def shown(self, bandit: int, arm: str, made: float, n: int) -> None:
        """Decisions for an arm were made; −1 if one is erased."""
        self._add(schema.item_days, self._item_day(bandit, arm, made), shown=n)

    def earned(
        self,
        bandit: int,
        arm: str,
        made: float,
        before: float | None,
        after: float | None,
        n: int = 1,
    ) -> None:
        """The reward that n decisions for an arm count changed; None means none."""
        if before == after:
            return
        old, new = before or 0.0, after or 0.0
        self._add(
            schema.item_days,
            self._item_day(bandit, arm, made),
            rewards=n * (int(after is not None) - int(before is not None)),
            sum=n * (new - old),
            squares=n * (new * new - old * old),
        )

    def _item_day(self, bandit: int, arm: str, made: float) -> Key:
        return bandit, int(made // _DAY_SECONDS), arm, self._process

    def counts(self) -> Iterator[tuple[int, dict[str, float]]]:
        """What happened, by bandit."""
        for (bandit, *_), sums in self._found[schema.minutes].items():
            yield int(bandit), sums

    def write(self, connection: Connection) -> None:
        """Add everything to the sums of the store."""
        for table, found in self._found.items():
            if found:
                _write(connection, table, found)


def _log_chance(task: TaskEntry) -> float:
    assert task.share is not None
    return math.log(task.share if task.control else 1.0 - task.share)


def compact(connection: Connection, now: float, limit: int) -> int:
    """Add the sums of minutes older than a week to their hours. Returns how many there were."""
    table = schema.minutes
    oldest = int(now // 60) - _MINUTES_KEPT
    old = select(table).where(table.c.minute < oldest, table.c.minute % 60 != 0).limit(limit)
    rows = connection.execute(old.with_for_update(skip_locked=True)).all()
    hours: dict[Key, dict[str, float]] = {}
    for row in rows:
        key = (row.bandit, row.minute - row.minute % 60, row.process, row.control)
        sums = hours.setdefault(key, dict.fromkeys(_VALUES[table], 0))
        for name in sums:
            sums[name] += getattr(row, name)
        own = [table.c[name] == getattr(row, name) for name in _KEYS[table]]
        connection.execute(delete(table).where(*own))
    if hours:
        _write(connection, table, hours)
    return len(rows)


def _write(connection: Connection, table: Table, found: Mapping[Key, dict[str, float]]) -> None:
    rows = [(*key, *sums.values()) for key, sums in sorted(found.items())]
    _adding(table, connection.dialect.name).execute(connection, rows)


_statements: dict[tuple[Table, str], Prepared] = {}


def _adding(table: Table, dialect: str) -> Prepared:
    """An INSERT … ON CONFLICT DO UPDATE that adds."""
    found = _statements.get((table, dialect))
    if found is None:
        insert = sqlite.insert if dialect == "sqlite" else postgresql.insert
        statement: Any = insert(table)
        values: Mapping[str, Any] = {
            name: table.c[name] + statement.excluded[name] for name in _VALUES[table]
        }
        statement = statement.on_conflict_do_update(index_elements=_KEYS[table], set_=values)
        found = Prepared(statement, [*_KEYS[table], *_VALUES[table]])
        _statements[table, dialect] = found
    return found
