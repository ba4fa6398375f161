"""Tasks: pages of them by name or by last use."""

from dataclasses import dataclass

from sqlalchemy import Connection, Select, select, tuple_

from headstart.service.store.schema import tasks

PAGE = 50
# Above every character that a name can go on with.
_LAST = "\U0010ffff"

_COLUMNS = (
    tasks.c.id,
    tasks.c.name,
    tasks.c.control,
    tasks.c.status,
    tasks.c.opened,
    tasks.c.last_used,
    tasks.c.n_rewards,
    tasks.c.reward_sum,
)


@dataclass(frozen=True, kw_only=True)
class TaskRow:
    """A task in a list."""

    id: int
    name: str
    control: bool
    status: int
    opened: float
    last_used: float
    n_rewards: int
    reward_sum: float

    @property
    def mean_reward(self) -> float | None:
        """Per round, None before the first reward."""
        return self.reward_sum / self.n_rewards if self.n_rewards else None


@dataclass(frozen=True, kw_only=True)
class TaskPage:
    """Some tasks, and whether more follow."""

    rows: list[TaskRow]
    more: bool


def tasks_by_prefix(bandit: int, prefix: str, after: str | None) -> Select[tuple[object, ...]]:
    """Tasks whose names begin with the prefix, in the order of names, from after a name on."""
    c = tasks.c
    query = select(*_COLUMNS).where(c.bandit == bandit, c.name >= prefix, c.name < prefix + _LAST)
    if after is not None:
        query = query.where(c.name > after)
    return query.order_by(c.name).limit(PAGE + 1)


def tasks_by_use(bandit: int, before: tuple[float, int] | None) -> Select[tuple[object, ...]]:
    """Tasks, the last used first, from before a (time, id) on."""
    c = tasks.c
    query = select(*_COLUMNS).where(c.bandit == bandit)
    if before is not None:
        query = query.where(c.last_used <= before[0], tuple_(c.last_used, c.id) < tuple_(*before))
    return query.order_by(c.last_used.desc(), c.id.desc()).limit(PAGE + 1)


def task_page(connection: Connection, query: Select[tuple[object, ...]]) -> TaskPage:
    """The tasks that a query finds."""
    found = [TaskRow(**row) for row in connection.execute(query).mappings()]
    return TaskPage(rows=found[:PAGE], more=len(found) > PAGE)


def task_id(connection: Connection, bandit: int, name: str) -> int | None:
    """The number of a task."""
    query = select(tasks.c.id).where(tasks.c.bandit == bandit, tasks.c.name == name)
    return connection.execute(query).scalar_one_or_none()


def task_names(connection: Connection, ids: list[int]) -> dict[int, str]:
    """The names of tasks by their numbers."""
    query = select(tasks.c.id, tasks.c.name).where(tasks.c.id.in_(sorted(set(ids))))
    return {row.id: row.name for row in connection.execute(query)}
