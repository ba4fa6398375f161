"""Tasks of a transaction: found in memory or in the store, opened or erased."""

import random
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

from sqlalchemy import Connection, bindparam, case, delete, insert, select, text, update
from sqlalchemy.dialects import postgresql

from headstart import checks
from headstart.arrays import Floats, floats, packed
from headstart.interfaces import n_about
from headstart.service.engine.bandits import Bandit
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import ServiceError, check_name, invalid, not_found
from headstart.service.store import schema
from headstart.service.store import tasks as queries
from headstart.service.store.blocks import of_task
from headstart.service.store.decisions import counted
from headstart.service.store.prepared import Prepared
from headstart.service.store.schema import tasks as table
from headstart.service.store.tasks import KEPT, TaskEntry

_LEARNED = (
    "last_used",
    "n_rewards",
    "reward_sum",
    "early_rewards",
    "early_sum",
    "early_metrics",
    "version",
    "state",
)
_CHANGE = Prepared(
    update(table)
    .where(table.c.id == bindparam("task"))
    .values(
        {name: bindparam(f"new_{name}") for name in _LEARNED}
        | {"changed": text("1"), "moves": table.c.moves.op("|")(bindparam("new_moves"))}
    ),
    ["task", *(f"new_{name}" for name in _LEARNED), "new_moves"],
)

_OPENED = ("bandit", "opened", "last_used", "changed", "moves", "counted_in", "state")
_INSERT = Prepared(insert(table), [*KEPT, *_OPENED])


def by_numbers(
    transaction: Transaction, bandit: Bandit, numbers: Collection[int], *, lock: bool
) -> dict[int, TaskEntry]:
    """Tasks of the store by number; with `lock` no other process changes them meanwhile.

    Without it, none erases them.
    """
    if not transaction.owns_store:
        versions = queries.versions(transaction.connection, numbers=numbers, lock=lock)
        return {task.id: task for task in _as_stored(transaction, bandit, versions)}
    found = {number: bandit.by_number(number) for number in numbers}
    missing = sorted(number for number, task in found.items() if task is None)
    present = {number: task for number, task in found.items() if task is not None}
    return present | {task.id: task for task in _load(transaction, bandit, missing)}


def by_names(
    transaction: Transaction, bandit: Bandit, names: Collection[str], *, lock: bool
) -> dict[str, TaskEntry]:
    """Tasks of the store by name; with `lock` no other process changes them meanwhile.

    Without it, none erases them.
    """
    connection = transaction.connection
    if not transaction.owns_store:
        named = (bandit.number, names)
        versions = queries.versions(connection, named=named, lock=lock) if names else {}
        return {task.name: task for task in _as_stored(transaction, bandit, versions)}
    found = {name: bandit.by_name(name) for name in names}
    missing = sorted(name for name, task in found.items() if task is None)
    present = {name: task for name, task in found.items() if task is not None}
    if not missing:
        return present
    rows = queries.kept_by_name(connection, bandit.number, missing)
    return present | {task.name: task for task in _kept(transaction, bandit, rows)}


def _as_stored(
    transaction: Transaction, bandit: Bandit, versions: Mapping[int, int]
) -> list[TaskEntry]:
    """Tasks in these versions, read from the store if memory has others."""
    tasks, stale = [], []
    for number, version in versions.items():
        task = bandit.by_number(number)
        if task is None or task.version != version:
            stale.append(number)
        else:
            tasks.append(task)
    return tasks + _load(transaction, bandit, stale)


def _load(transaction: Transaction, bandit: Bandit, numbers: list[int]) -> list[TaskEntry]:
    """Read tasks with their states."""
    if not numbers:
        return []
    rows = queries.kept_by_number(transaction.connection, numbers)
    return _kept(transaction, bandit, rows)


def _kept(
    transaction: Transaction, bandit: Bandit, rows: Iterable[tuple[TaskEntry, bytes]]
) -> list[TaskEntry]:
    """Take tasks that were read into memory."""
    tasks = []
    for task, state in rows:
        before = bandit.by_number(task.id)
        if before is not None:
            bandit.drop([before])
        bandit.rows(task).load(task.id, state, about=_about_of(task))
        bandit.keep(task)
        tasks.append(task)
    transaction.touch(bandit, tasks)
    return tasks


def _about_of(task: TaskEntry) -> Floats | None:
    return None if task.about is None else floats(task.about)


def open_all(
    transaction: Transaction, bandit: Bandit, abouts: Mapping[str, Floats | None]
) -> dict[str, TaskEntry | ServiceError]:
    """Open new tasks, with what is known of them beforehand."""
    opened: dict[str, TaskEntry | ServiceError] = {}
    names = sorted(abouts)
    for name, number in zip(names, _numbers(transaction.connection, len(names)), strict=True):
        try:
            check_name("task", name)
            about = about_of(bandit, abouts[name])
        except ServiceError as error:
            opened[name] = error
            continue
        share = _control_share(bandit)
        control = random.random() < share
        task = TaskEntry(
            id=number,
            name=name,
            control=control,
            against=_against(bandit),
            version=0,
            n_rewards=0,
            reward_sum=0.0,
            early_rewards=0,
            early_sum=0.0,
            early_metrics=None,
            share=share if bandit.prior_version > 0 else None,
            about=None if about is None else packed(about),
            is_new=True,
        )
        transaction.touch(bandit, [task])
        bandit.rows(task).open(number, about)
        opened[name] = task
    return _stored(transaction, bandit, opened)


def find_or_open(
    transaction: Transaction,
    bandit: Bandit,
    asked: Sequence[tuple[str, Floats | None]],
    *,
    lock: bool,
) -> tuple[dict[str, TaskEntry | ServiceError], list[TaskEntry]]:
    """Tasks by name, and those of them that were opened, with what is first said to be known."""
    names = {name for name, _ in asked}
    found: dict[str, TaskEntry | ServiceError] = {**by_names(transaction, bandit, names, lock=lock)}
    new: dict[str, Floats | None] = {}
    for name, about in asked:
        if name not in found and new.get(name) is None:
            new[name] = about
    found |= open_all(transaction, bandit, new)
    opened = (found[name] for name in new)
    return found, [task for task in opened if isinstance(task, TaskEntry) and task.is_new]


def _control_share(bandit: Bandit) -> float:
    """The share of control tasks among new tasks."""
    if bandit.configuration.shadow:
        return 0.0
    return 1.0 if bandit.paused else bandit.configuration.control_share


def _against(bandit: Bandit) -> int:
    """What new tasks are compared with, as in the table."""
    settings = bandit.configuration
    return schema.SHADOW if settings.shadow else schema.CONTROLS.index(settings.control)


def about_of(bandit: Bandit, about: Floats | None) -> Floats | None:
    """What a request says of a task, checked; with a schema it comes from attributes."""
    if bandit.schema is not None:
        return about
    size = len(bandit.configuration.about_names)
    if about is None and size == 0:
        return None
    if about is None or size == 0:
        got = "none" if about is None else f"{len(about)} numbers"
        raise invalid(f"about must be the {size} numbers of about_names for a new task, got {got}")
    try:
        return checks.about("about", about, (), size)
    except ValueError as error:
        raise invalid(str(error)) from None


def know_all(
    transaction: Transaction, bandit: Bandit, new: Iterable[tuple[TaskEntry, Floats]]
) -> None:
    """Store what becomes known of open tasks; the next refresh counts them with it."""
    for task, about in new:
        content = packed(about)
        moves = int(n_about(bandit.model.prior) > 0 and not task.control)
        statement = update(table).where(table.c.id == task.id, table.c.about.is_(None))
        values = {
            "about": content,
            "version": table.c.version + 1,
            "changed": case((table.c.n_rewards > 0, 1), else_=table.c.changed),
            "moves": table.c.moves.op("|")(moves),
        }
        transaction.touch(bandit, [task])
        if transaction.connection.execute(statement.values(values)).rowcount:
            task.about = content
            task.version += 1
            bandit.rows(task).know(task.id, about)
        else:  # another process knew it before: read it again
            bandit.drop([task])


def _numbers(connection: Connection, n: int) -> list[int]:
    """Numbers for new tasks."""
    if n == 0:
        return []
    if connection.dialect.name == "sqlite":
        query = "SELECT seq FROM sqlite_sequence WHERE name = 'tasks'"
        last = connection.exec_driver_sql(query).scalar() or 0
        return list(range(last + 1, last + 1 + n))
    drawn = text(
        "SELECT nextval(pg_get_serial_sequence('tasks', 'id')) FROM generate_series(1, :n)"
    )
    return [int(row[0]) for row in connection.execute(drawn, {"n": n})]


def _stored(
    transaction: Transaction, bandit: Bandit, opened: dict[str, TaskEntry | ServiceError]
) -> dict[str, TaskEntry | ServiceError]:
    """Insert tasks; if another process has just opened one, that one is used."""
    new = [task for task in opened.values() if isinstance(task, TaskEntry)]
    rows = [_row(transaction, bandit, task) for task in new]
    if not rows:
        return opened
    if transaction.owns_store:
        _INSERT.execute(transaction.connection, [tuple(row.values()) for row in rows])
        taken: set[str] = set()
    else:
        adding = postgresql.insert(table).on_conflict_do_nothing().returning(table.c.name)
        inserted = {row.name for row in transaction.connection.execute(adding, rows)}
        taken = {task.name for task in new} - inserted
    for task in new:
        if task.name in taken:
            bandit.rows(task).drop(task.id)
            continue
        bandit.keep(task)
        transaction.sums.opened(bandit.number, task.control)
    if taken:
        opened |= by_names(transaction, bandit, taken, lock=True)
    return opened


def close_all(transaction: Transaction, bandit: Bandit, tasks: Collection[TaskEntry]) -> None:
    """Remove tasks that were opened for refused requests."""
    if tasks:
        numbers = [task.id for task in tasks]
        transaction.connection.execute(delete(table).where(table.c.id.in_(numbers)))
        bandit.drop(tasks)
        for task in tasks:
            transaction.sums.opened(bandit.number, task.control, n=-1)


def _row(transaction: Transaction, bandit: Bandit, task: TaskEntry) -> dict[str, Any]:
    values = {name: getattr(task, name) for name in KEPT}
    return values | {
        "bandit": bandit.number,
        "opened": transaction.now,
        "last_used": transaction.now,
        "changed": 0,
        "moves": 0,
        "counted_in": 0,
        "state": bandit.rows(task).state(task.id),
    }


def write_learned(transaction: Transaction, bandit: Bandit, tasks: Collection[TaskEntry]) -> None:
    """Store tasks that learned."""
    if not tasks:
        return
    moving = {number for control in (False, True) for number in bandit.moves_of(control)}
    rows = []
    for task in tasks:
        task.version += 1
        rows.append(
            (
                task.id,
                transaction.now,
                task.n_rewards,
                task.reward_sum,
                task.early_rewards,
                task.early_sum,
                task.early_metrics,
                task.version,
                bandit.rows(task).state(task.id),
                int(task.id in moving and not task.control),
            )
        )
    _CHANGE.execute(transaction.connection, rows)


def erase(transaction: Transaction, bandit: Bandit, name: str) -> bool:
    """Erase a task with its decisions. Returns whether the prior still counts it."""
    # First what excludes decisions too, which other processes may be making for it.
    there = select(table.c.id).where(table.c.bandit == bandit.number, table.c.name == name)
    transaction.connection.execute(there.with_for_update())
    entry = by_names(transaction, bandit, [name], lock=True).get(name)
    if entry is None:
        raise not_found(f"bandit {bandit.name!r} has no task {name!r}")
    connection = transaction.connection
    bandit.drop([entry])
    transaction.sums.opened(bandit.number, entry.control, n=-1)
    parts, decisions = schema.reward_parts, schema.decisions
    for condition, _ in of_task(connection, entry.id):
        for arm, made, value in counted(connection, condition):
            transaction.sums.shown(bandit.number, arm, made, n=-1)
            transaction.sums.earned(bandit.number, arm, made, value, None)
        ids = select(decisions.c.id).where(condition)
        own = parts.c.bandit == bandit.number
        connection.execute(delete(parts).where(own, parts.c.decision.in_(ids)))
        connection.execute(delete(decisions).where(condition))
    keys = schema.idempotency
    connection.execute(delete(keys).where(keys.c.task == entry.id))
    connection.execute(delete(table).where(table.c.id == entry.id))
    known = schema.contributions
    statement = update(known).where(known.c.task == entry.id).values(erased=1)
    return connection.execute(statement).rowcount > 0
