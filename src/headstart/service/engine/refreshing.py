"""Refreshing the prior: from the tasks that changed, by one process at a time, in versions."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec
from sqlalchemy import Connection, Select, bindparam, case, delete, insert, or_, select, update
from sqlalchemy.dialects import postgresql, sqlite

from headstart.live.decision import Learned
from headstart.live.stored import Model, Recount, StoredMemory, StoredTask, floats, packed, recount
from headstart.service.engine.bandits import Bandit, PriorInUse
from headstart.service.engine.registry import Registry, promoted, read_fits, read_memory
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import conflict
from headstart.service.store import schema
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
    found = read_memory(connection, bandit, model)
    version, memory = (0, StoredMemory.empty(model)) if found is None else found[:2]
    most = max(16, min(_TASKS_PER_REFRESH, _BYTES_PER_REFRESH // (4 * model.dimension**2)))
    rows = list(connection.execute(_changed(bandit).limit(most + 1)))
    more = len(rows) > most
    rows = rows[:most]
    if not memory.scales_known:
        rows += _unchanged(connection, bandit, {row.id for row in rows})
    fits = promoted(connection, bandit)
    gone = select(contributions.c.task, contributions.c.content).where(
        contributions.c.bandit == bandit, contributions.c.erased == 1
    )
    return Seen(
        version=version,
        memory=memory,
        fits=fits,
        others=read_fits(connection, fits, model),
        tasks=[_task(row) for row in rows],
        versions={row.id: row.version for row in rows},
        erased={row.task: row.content for row in connection.execute(gone)},
        more=more,
    )


def _query() -> Select[Any]:
    names = ("id", "version", "control", "changed", "moves", "side", "state")
    return select(*(tasks.c[name] for name in names), contributions.c.content).outerjoin(
        contributions, contributions.c.task == tasks.c.id
    )


def _changed(bandit: int) -> Select[Any]:
    """The tasks that changed, those that were counted longest ago first."""
    condition = or_(tasks.c.changed == 1, tasks.c.moves == 1)
    return (
        _query()
        .where(tasks.c.bandit == bandit, condition)
        .order_by(tasks.c.bandit, tasks.c.counted_in)
    )


def _unchanged(connection: Connection, bandit: int, known: set[int]) -> list[Any]:
    """The other tasks that are counted: few, as long as the features' scales are not known."""
    rows = connection.execute(_query().where(tasks.c.bandit == bandit, tasks.c.counted_in > 0))
    return [row for row in rows if row.id not in known]


def _task(row: Any) -> StoredTask:
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
    present = _lock(transaction, done.seen.versions)
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
    query = select(priors.c.version, priors.c.time).where(
        priors.c.bandit == bandit, priors.c.version.in_([version, version + 1])
    )
    times = {row.version: row.time for row in connection.execute(query)}
    if len(times) == 2 and times[version] // 3600 == times[version + 1] // 3600:
        own = (priors.c.bandit == bandit) & (priors.c.version == version)
        connection.execute(delete(priors).where(own))


def _lock(transaction: Transaction, numbers: dict[int, int]) -> dict[int, int]:
    """The versions of tasks that are still there."""
    query = select(tasks.c.id, tasks.c.version).where(tasks.c.id.in_(sorted(numbers)))
    if not transaction.owns_store:
        query = query.order_by(tasks.c.id).with_for_update()
    return {row.id: row.version for row in transaction.connection.execute(query)}


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


def needs_refresh(connection: Connection, bandit: int) -> bool:
    """Whether tasks changed or were erased."""
    gone = select(contributions.c.task).where(
        contributions.c.bandit == bandit, contributions.c.erased == 1
    )
    queries: Sequence[Select[Any]] = (_first_changed(bandit), gone)
    return any(connection.execute(query.limit(1)).first() is not None for query in queries)


def _first_changed(bandit: int) -> Select[Any]:
    condition = or_(tasks.c.changed == 1, tasks.c.moves == 1)
    return select(tasks.c.id).where(tasks.c.bandit == bandit, condition)
