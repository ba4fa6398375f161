"""Tasks: pages by name or by last use, their states, and those that a refresh counts."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from sqlalchemy import Connection, Select, bindparam, func, or_, select, tuple_

from headstart.service.store.prepared import LISTED, Lookup
from headstart.service.store.schema import SHADOW, contributions, tasks

PAGE = 50
# Above every character in a name.
_LAST = "\U0010ffff"
_C = tasks.c


@dataclass(slots=True, kw_only=True)
class TaskEntry:
    """What a process keeps of a task whose state it has in memory."""

    id: int
    name: str
    control: bool
    against: int  # what control tasks were served when it was opened; see the table
    version: int
    n_rewards: int
    reward_sum: float
    early_rewards: int
    early_sum: float
    early_metrics: str | None  # JSON: of each metric its number and sum in the first rounds
    share: float | None  # of the control when it was opened; None if there was no prior yet
    about: bytes | None
    is_new: bool = False  # whether it was opened by the transaction under way

    @property
    def group(self) -> int:
        """The group in which it is compared."""
        return 2 * self.against + self.control

    @property
    def is_compared(self) -> bool:
        """Whether it could have been warm or control, and so counts for the gain."""
        return self.share is not None and 0.0 < self.share < 1.0

    @property
    def left_out(self) -> Literal["shadow", "no_control", "no_prior"] | None:
        """Why the gain leaves it out: how it was opened; None if it counts."""
        if self.against == SHADOW:
            return "shadow"
        if self.is_compared:
            return None
        return "no_prior" if self.share is None else "no_control"


# The columns of an entry.
KEPT = tuple(name for name in TaskEntry.__slots__ if name != "is_new")
_KEPT_AND_STATE = select(*(_C[name] for name in KEPT), _C.state)
_BY_NUMBER = Lookup(_KEPT_AND_STATE.where(_C.id.in_(LISTED)))
_BY_NAME = Lookup(
    _KEPT_AND_STATE.where(_C.bandit == bindparam("own"), _C.name.in_(LISTED)), ["own"]
)


Start = Literal["warm", "control", "no prior"]


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """A task in a list."""

    id: int
    name: str
    control: bool
    opened: float
    last_used: float
    n_rewards: int
    reward_sum: float
    share: float | None

    @property
    def start(self) -> Start:
        """Whether it started warm."""
        if self.control:
            return "control"
        return "no prior" if self.share is None else "warm"

    @property
    def mean_reward(self) -> float | None:
        """Per round, None before the first reward."""
        return self.reward_sum / self.n_rewards if self.n_rewards else None


_COLUMNS = tuple(_C[name] for name in TaskRow.__dataclass_fields__)


@dataclass(frozen=True, kw_only=True)
class TaskState(TaskRow):
    """A task with its state."""

    about: bytes | None
    state: bytes


@dataclass(frozen=True, kw_only=True)
class TaskPage:
    """Some tasks, and whether more follow."""

    rows: list[TaskRow]
    more: bool


@dataclass(frozen=True, kw_only=True)
class TaskToCount:
    """A task that the next version of the prior counts, with its last contribution."""

    id: int
    version: int
    control: bool
    changed: int
    moves: int
    about: bytes | None
    state: bytes
    content: bytes | None


def by_prefix(connection: Connection, bandit: int, prefix: str, after: str | None) -> TaskPage:
    """Tasks whose names begin with the prefix, in the order of names, from after a name on."""
    query = select(*_COLUMNS).where(
        _C.bandit == bandit, _C.name >= prefix, _C.name < prefix + _LAST
    )
    if after is not None:
        query = query.where(_C.name > after)
    return _page(connection, query.order_by(_C.name))


def by_use(connection: Connection, bandit: int, before: tuple[float, int] | None) -> TaskPage:
    """Tasks, the last used first, from before a (time, id) on."""
    query = select(*_COLUMNS).where(_C.bandit == bandit)
    if before is not None:
        query = query.where(
            _C.last_used <= before[0], tuple_(_C.last_used, _C.id) < tuple_(*before)
        )
    return _page(connection, query.order_by(_C.last_used.desc(), _C.id.desc()))


def _page(connection: Connection, query: Select[Any]) -> TaskPage:
    rows = [TaskRow(**_fields(row)) for row in connection.execute(query.limit(PAGE + 1)).mappings()]
    return TaskPage(rows=rows[:PAGE], more=len(rows) > PAGE)


def number_of(connection: Connection, bandit: int, name: str) -> int | None:
    """The number of a task."""
    query = select(_C.id).where(_C.bandit == bandit, _C.name == name)
    return connection.execute(query).scalar_one_or_none()


def names(connection: Connection, numbers: Iterable[int]) -> dict[int, str]:
    """The names of tasks by their numbers."""
    query = select(_C.id, _C.name).where(_C.id.in_(sorted(set(numbers))))
    return {row.id: row.name for row in connection.execute(query)}


def state_of(connection: Connection, bandit: int, name: str) -> TaskState | None:
    """A task with its state."""
    query = select(*_COLUMNS, _C.about, _C.state).where(_C.bandit == bandit, _C.name == name)
    row = connection.execute(query).mappings().one_or_none()
    return None if row is None else TaskState(**_fields(row))


def _fields(row: Any) -> dict[str, Any]:
    return {**row, "control": bool(row["control"])}


def kept_by_number(connection: Connection, numbers: list[int]) -> Iterator[tuple[TaskEntry, bytes]]:
    """Tasks with their states."""
    return map(_kept, _BY_NUMBER.rows(connection, numbers))


def kept_by_name(
    connection: Connection, bandit: int, names: list[str]
) -> Iterator[tuple[TaskEntry, bytes]]:
    """Tasks with their states."""
    return map(_kept, _BY_NAME.rows(connection, names, [bandit]))


def _kept(row: Any) -> tuple[TaskEntry, bytes]:
    *values, state = row
    entry = TaskEntry(**dict(zip(KEPT, values, strict=True)))
    entry.control = bool(entry.control)  # SQLite has a number for it
    return entry, state


def versions(
    connection: Connection,
    *,
    numbers: Collection[int] | None = None,
    named: tuple[int, Collection[str]] | None = None,
    lock: bool,
) -> dict[int, int]:
    """The versions of tasks by number, which no other process erases meanwhile.

    `lock` keeps others from changing them too.

    Tasks are asked for by their numbers, or by a bandit and their names.
    """
    query = select(_C.id, _C.version).order_by(_C.id)
    if numbers is not None:
        query = query.where(_C.id.in_(sorted(numbers)))
    if named is not None:
        query = query.where(_C.bandit == named[0], _C.name.in_(sorted(named[1])))
    query = query.with_for_update(read=not lock, key_share=True)
    return {row.id: row.version for row in connection.execute(query)}


_TO_COUNT = select(
    *(_C[name] for name in ("id", "version", "control", "changed", "moves", "about", "state")),
    contributions.c.content,
).outerjoin(contributions, contributions.c.task == _C.id)
_HAS_CHANGED = or_(_C.changed == 1, _C.moves == 1)


def changed(connection: Connection, bandit: int, limit: int) -> list[TaskToCount]:
    """Tasks that have changed since the prior counted them, longest ago first."""
    query = _TO_COUNT.where(_C.bandit == bandit, _HAS_CHANGED)
    return _to_count(connection, query.order_by(_C.bandit, _C.counted_in).limit(limit))


def counted(connection: Connection, bandit: int) -> list[TaskToCount]:
    """All tasks that the prior counts."""
    return _to_count(connection, _TO_COUNT.where(_C.bandit == bandit, _C.counted_in > 0))


def _to_count(connection: Connection, query: Select[Any]) -> list[TaskToCount]:
    return [TaskToCount(**row) for row in connection.execute(query).mappings()]


def erased(connection: Connection, bandit: int) -> dict[int, bytes]:
    """What the prior still counts for erased tasks, by number."""
    query = select(contributions.c.task, contributions.c.content).where(_gone(bandit))
    return {row.task: row.content for row in connection.execute(query)}


def waiting_since(connection: Connection, bandit: int) -> float | None:
    """The last use of the task that has waited longest for the prior to count it."""
    query = select(func.min(_C.last_used)).where(_C.bandit == bandit, _HAS_CHANGED, _C.changed == 1)
    since: float | None = connection.execute(query).scalar_one()
    return since


def any_to_count(connection: Connection, bandit: int) -> bool:
    """Whether the prior must count tasks, or remove erased ones."""
    queries: list[Select[Any]] = [
        select(_C.id).where(_C.bandit == bandit, _HAS_CHANGED),
        select(contributions.c.task).where(_gone(bandit)),
    ]
    return any(connection.execute(query.limit(1)).first() is not None for query in queries)


def _gone(bandit: int) -> Any:
    return (contributions.c.bandit == bandit) & (contributions.c.erased == 1)
