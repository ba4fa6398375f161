"""Priors: one process at a time computes a version from the tasks that changed."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, bindparam, case, delete, insert, update
from sqlalchemy.dialects import postgresql, sqlite

from headstart.arrays import floats, packed
from headstart.live.decision import Learned
from headstart.live.stored import Model, Recount, StoredMemory, StoredTask, recount
from headstart.service.engine.bandits import Bandit, PriorInUse
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import conflict
from headstart.service.store import priors as queries
from headstart.service.store import schema
from headstart.service.store import tasks as task_queries
from headstart.service.store.schema import contributions, priors, tasks
from headstart.service.store.tasks import TaskToCount

# How many tasks one refresh counts at most, and how many get a newer prior with it. It writes at
# most this many bytes of statistics in one transaction, since requests wait for it.
_TASKS_PER_REFRESH = 256
_MOVES_PER_REFRESH = 32
_BYTES_PER_REFRESH = 1 << 19
# How many versions keep their memory, and how many are kept at all; of older ones, one per hour.
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
class Snapshot:
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
class NewPrior:
    """What a refresh has computed."""

    snapshot: Snapshot
    recount: Recount
    prior: PriorInUse
    learned: Learned
    source: str
    memory: bytes  # the recount's, as stored


def read_prior(connection: Connection, bandit: int, model: Model) -> PriorInUse | None:
    """The latest version of a bandit's prior; None if there is none yet."""
    latest = queries.latest_memory(connection, bandit)
    if latest is None:
        return None
    fits = queries.fit_memories(connection, latest.fits)
    memory = memory_that_counts(model, latest.memory, fits)
    start, effects = memory.start(model), memory.effects(model)
    return PriorInUse(version=latest.version, memory=memory, start=start, effects=effects)


def memory_that_counts(model: Model, own: bytes | None, fits: Sequence[bytes]) -> StoredMemory:
    """The memory of the store's tasks (None before any), merged with promoted logs.

    Tasks whose features have no scales yet are few, and are left out: once a fit is promoted, they
    are counted again in its scales.
    """
    memory = None if own is None else StoredMemory.from_bytes(own, model)
    if memory is None or (fits and not memory.scales_known):
        memory = StoredMemory.empty(model)
    if not fits:
        return memory
    return memory.merged([StoredMemory.from_bytes(fit, model) for fit in fits], model)


def read_snapshot(connection: Connection, bandit: int, model: Model) -> Snapshot:
    """Read what changed since the last version."""
    latest = queries.latest_memory(connection, bandit)
    if latest is None:
        version, memory = 0, StoredMemory.empty(model)
    else:
        version, memory = latest.version, StoredMemory.from_bytes(latest.memory, model)
    most = max(16, min(_TASKS_PER_REFRESH, _BYTES_PER_REFRESH // (4 * model.dimension**2)))
    rows = task_queries.changed(connection, bandit, most + 1)
    more = len(rows) > most
    rows = rows[:most]
    if not memory.scales_known:
        # All counted tasks: few, as long as the features' scales are not known.
        numbers = {row.id for row in rows}
        rows += [row for row in task_queries.counted(connection, bandit) if row.id not in numbers]
    fits = queries.promoted(connection, bandit)
    memories = queries.fit_memories(connection, fits)
    return Snapshot(
        version=version,
        memory=memory,
        fits=fits,
        others=[StoredMemory.from_bytes(memory, model) for memory in memories],
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
        about=None if row.about is None else floats(row.about),
        changed=row.changed == 1,
        moves=row.moves == 1,
        control=bool(row.control),
    )


def compute(snapshot: Snapshot, model: Model, source: str) -> NewPrior:
    """Count the tasks again; the prior that comes of it."""
    counted = recount(
        model,
        snapshot.memory,
        snapshot.tasks,
        erased=list(snapshot.erased.values()),
        others=snapshot.others,
        most_moves=_MOVES_PER_REFRESH,
    )
    merged = counted.memory
    if snapshot.others:
        merged = merged.merged(snapshot.others, model)
    start = merged.start(model)
    state = merged.state
    return NewPrior(
        snapshot=snapshot,
        recount=counted,
        prior=PriorInUse(
            version=snapshot.version + 1,
            memory=merged,
            start=start,
            effects=merged.effects(model),
        ),
        learned=Learned.from_prior(start.prior, n_tasks=state.n_tasks, weight=state.weight),
        source=source,
        memory=counted.memory.to_bytes(),
    )


def store(transaction: Transaction, bandit: Bandit, new: NewPrior) -> int:
    """Store a version and what it counted; new tasks start from it."""
    connection, version = transaction.connection, new.prior.version
    _check_latest(connection, bandit.number, version)
    _insert_version(transaction, bandit, new)
    present = task_queries.versions(
        connection, numbers=new.snapshot.versions, lock=not transaction.owns_store
    )
    _write_counted(transaction, bandit, new, present)
    _write_moved(transaction, bandit, new, present)
    gone = list(new.snapshot.erased)
    if gone:
        connection.execute(delete(contributions).where(contributions.c.task.in_(gone)))
    transaction.after_commit(lambda: bandit.use(new.prior))
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
        raise conflict("another process has just refreshed the prior")


def _insert_version(transaction: Transaction, bandit: Bandit, new: NewPrior) -> None:
    connection, version, learned = transaction.connection, new.prior.version, new.learned
    connection.execute(
        insert(priors).values(
            bandit=bandit.number,
            version=version,
            time=transaction.now,
            source=new.source,
            memory=new.memory,
            fits=msgspec.json.encode(new.snapshot.fits).decode(),
            n_tasks=learned.n_tasks,
            effective_tasks=learned.effective_tasks,
            noise_scale=learned.noise_scale,
            mean=packed(learned.mean),
            spread=packed(learned.spread),
        )
    )
    # The memory of an erased task must not stay in earlier versions.
    oldest = version if new.snapshot.erased else version - _MEMORIES_KEPT
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
    transaction: Transaction, bandit: Bandit, new: NewPrior, present: dict[int, int]
) -> None:
    connection, version = transaction.connection, new.prior.version
    contents = new.recount.contributions
    counted = [
        {
            "task": task,
            "bandit": bandit.number,
            "content": content,
            "erased": int(task not in present),
        }
        for task, content in contents.items()
        if content is not None
    ]
    if counted:
        connection.execute(_replacing(connection.dialect.name), counted)
    aside = [task for task, content in contents.items() if content is None]
    if aside:
        connection.execute(delete(contributions).where(contributions.c.task.in_(aside)))
    rows = [
        {"task": task, "counted": version, "seen": new.snapshot.versions[task]}
        for task in contents
        if task in present
    ]
    if rows:
        connection.execute(_COUNTED, rows)


def _write_moved(
    transaction: Transaction, bandit: Bandit, new: NewPrior, present: dict[int, int]
) -> None:
    """Store the states of tasks with a newer prior, if they have not learned meanwhile."""
    versions = new.snapshot.versions
    moved = {
        task: state
        for task, state in new.recount.moved.items()
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
