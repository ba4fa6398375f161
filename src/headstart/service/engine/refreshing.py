"""Refreshing the prior: from the tasks that changed, by one process at a time, in versions."""

from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, case, delete, insert, update
from sqlalchemy.dialects import postgresql, sqlite

from headstart.arrays import floats, packed
from headstart.live.decision import Learned
from headstart.live.stored import Model, Recount, StoredMemory, StoredTask, recount
from headstart.service.engine.bandits import Bandit, PriorInUse
from headstart.service.engine.registry import Registry, read_fits
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import conflict
from headstart.service.store import schema
from headstart.service.store.queries import priors as queries
from headstart.service.store.queries import tasks as task_queries
from headstart.service.store.queries.tasks import TaskToCount
from headstart.service.store.schema import contributions, priors, tasks

# How many tasks one refresh counts at most, and how many get a newer prior with it. It writes their
# statistics in one transaction, for which requests wait: so many bytes at most.
_TASKS_PER_REFRESH = 256
_MOVES_PER_REFRESH = 32
_BYTES_PER_REFRESH = 1 << 19
# Versions whose memory is kept, and versions that are kept at all; of older ones, one per hour.
_MEMORIES_KEPT = 10
_VERSIONS_KEPT = 500

_COUNTED = (
    update(tasks)
    .where(tasks.c.id == bindparam("task"))
    .values(
        counted_in=bindparam("counted"),
        changed=case((tasks.c.version == bindparam("seen"), 0), else_=tasks.c.changed),
    )
)
_MOVED = (
    update(tasks)
    .where(tasks.c.id == bindparam("task"))
    .values(state=bindparam("moved"), version=tasks.c.version + 1, moves=0)
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Seen:
    """What a refresh starts from."""

    version: int
    memory: StoredMemory
    fits: list[int]
    others: list[StoredMemory]
    tasks: list[StoredTask]
    versions: dict[int, int]  # of the tasks' states
    erased: dict[int, bytes]  # contributions of tasks that were erased
    more: bool  # whether further tasks have changed


@dataclass(frozen=True, kw_only=True, eq=False)
class Refreshed:
    """What a refresh has computed."""

    seen: Seen
    found: Recount
    prior: PriorInUse
    learned: Learned
    source: str
    memory: bytes  # that of `found`, as it is stored


def see(connection: Connection, bandit: int, model: Model) -> Seen:
    """Read what changed since the last version."""
    latest = queries.latest_memory(connection, bandit)
    version, memory = 0, StoredMemory.empty(model)
    if latest is not None:
        version, memory = latest.version, StoredMemory.from_bytes(latest.memory, model)
    most = max(16, min(_TASKS_PER_REFRESH, _BYTES_PER_REFRESH // (4 * model.dimension**2)))
    rows = task_queries.changed(connection, bandit, most + 1)
    more = len(rows) > most
    rows = rows[:most]
    if not memory.scales_known:
        # All tasks that are counted: few, as long as the features' scales are not known.
        numbers = {row.id for row in rows}
        rows += [row for row in task_queries.counted(connection, bandit) if row.id not in numbers]
    fits = queries.promoted(connection, bandit)
    return Seen(
        version=version,
        memory=memory,
        fits=fits,
        others=read_fits(connection, fits, model),
        tasks=[_task(row) for row in rows],
        versions={row.id: row.version for row in rows},
        erased=task_queries.erased(connection, bandit),
        more=more,
    )


def _task(row: TaskToCount) -> StoredTask:
    return StoredTask(
        task=row.id,
        state=row.state,
        contribution=row.content,
        side=None if row.side is None else floats(row.side),
        changed=row.changed == 1,
        moves=row.moves == 1,
        control=bool(row.control),
    )


def compute(seen: Seen, model: Model, source: str) -> Refreshed:
    """Count the tasks anew; the prior that comes of it."""
    found = recount(
        model,
        seen.memory,
        seen.tasks,
        erased=list(seen.erased.values()),
        others=seen.others,
        most_moves=_MOVES_PER_REFRESH,
    )
    merged = found.memory.merged(seen.others, model)
    start = merged.start(model)
    state = merged.state
    learned = Learned.from_prior(start.prior, n_tasks=state.n_tasks, weight=state.weight)
    prior = PriorInUse(version=seen.version + 1, memory=merged, start=start)
    memory = found.memory.to_bytes()
    return Refreshed(
        seen=seen, found=found, prior=prior, learned=learned, source=source, memory=memory
    )


def store(transaction: Transaction, registry: Registry, name: str, done: Refreshed) -> int:
    """Store a version, and what it counted; new tasks start from it."""
    bandit = registry.get(transaction, name)
    connection, version = transaction.connection, done.prior.version
    _check_latest(connection, bandit.number, version)
    _insert_version(transaction, bandit, done)
    present = task_queries.versions(
        connection, numbers=done.seen.versions, lock=not transaction.owns_store
    )
    _write_counted(transaction, bandit, done, present)
    _write_moved(transaction, bandit, done, present)
    gone = list(done.seen.erased)
    if gone:
        connection.execute(delete(contributions).where(contributions.c.task.in_(gone)))
    transaction.after_commit(lambda: bandit.use(done.prior))
    return version


def _check_latest(connection: Connection, bandit: int, version: int) -> None:
    """Make the next version this one, unless another process was faster."""
    table = schema.bandits
    statement = (
        update(table)
        .where(table.c.id == bandit, table.c.prior_version == version - 1)
        .values(prior_version=version)
    )
    if connection.execute(statement).rowcount != 1:
        raise conflict("another process has refreshed the prior meanwhile")


def _insert_version(transaction: Transaction, bandit: Bandit, done: Refreshed) -> None:
    connection, version, learned = transaction.connection, done.prior.version, done.learned
    connection.execute(
        insert(priors).values(
            bandit=bandit.number,
            version=version,
            time=transaction.now,
            source=done.source,
            memory=done.memory,
            fits=msgspec.json.encode(done.seen.fits).decode(),
            n_tasks=learned.n_tasks,
            effective_tasks=learned.effective_tasks,
            noise_scale=learned.noise_scale,
            mean=packed(learned.mean),
            spread=packed(learned.spread),
        )
    )
    # The memory of an erased task must not stay in earlier versions.
    oldest = version if done.seen.erased else version - _MEMORIES_KEPT
    own = priors.c.bandit == bandit.number
    drop = update(priors).where(own, priors.c.version < oldest, priors.c.memory.is_not(None))
    connection.execute(drop.values(memory=None))
    _thin(connection, bandit.number, version - _VERSIONS_KEPT)


def _thin(connection: Connection, bandit: int, version: int) -> None:
    """Delete a version, unless it is the last of its hour."""
    times = queries.times(connection, bandit, [version, version + 1])
    if len(times) == 2 and times[version] // 3600 == times[version + 1] // 3600:
        own = (priors.c.bandit == bandit) & (priors.c.version == version)
        connection.execute(delete(priors).where(own))


def _write_counted(
    transaction: Transaction, bandit: Bandit, done: Refreshed, present: dict[int, int]
) -> None:
    connection, version = transaction.connection, done.prior.version
    found = done.found.contributions
    counted = [
        {
            "task": task,
            "bandit": bandit.number,
            "content": content,
            "erased": int(task not in present),
        }
        for task, content in found.items()
        if content is not None
    ]
    if counted:
        connection.execute(_replacing(connection.dialect.name), counted)
    aside = [task for task, content in found.items() if content is None]
    if aside:
        connection.execute(delete(contributions).where(contributions.c.task.in_(aside)))
    rows = [
        {"task": task, "counted": version, "seen": done.seen.versions[task]}
        for task in found
        if task in present
    ]
    if rows:
        connection.execute(_COUNTED, rows)


def _write_moved(
    transaction: Transaction, bandit: Bandit, done: Refreshed, present: dict[int, int]
) -> None:
    """Store the states of tasks with a newer prior, if they have not learned meanwhile."""
    versions = done.seen.versions
    moved = {
        task: state
        for task, state in done.found.moved.items()
        if present.get(task) == versions[task]
    }
    if not moved:
        return
    rows = [{"task": task, "moved": state} for task, state in moved.items()]
    transaction.connection.execute(_MOVED, rows)
    for task in moved:
        entry = bandit.by_number(task)
        if entry is not None:
            bandit.drop([entry])


_statements: dict[str, Any] = {}


def _replacing(dialect: str) -> Any:
    if dialect not in _statements:
        insertion = sqlite.insert if dialect == "sqlite" else postgresql.insert
        statement: Any = insertion(contributions)
        _statements[dialect] = statement.on_conflict_do_update(
            index_elements=["task"],
            set_={name: statement.excluded[name] for name in ("content", "erased")},
        )
    return _statements[dialect]
