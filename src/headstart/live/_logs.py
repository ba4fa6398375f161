"""Tasks of logs: counted by the memory, and kept as finished tasks if wanted."""

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from headstart.arrays import Floats
from headstart.interfaces import n_about
from headstart.kernels.state import REWARDS
from headstart.live._counted import Contribution
from headstart.live._item_effects import both, itemized, items_of
from headstart.live._memory import Memory
from headstart.live._population import Change, Start, State, warn_set_aside
from headstart.live._rows import FIRST_PENDING, LAST_USED, NONE, PRIOR_REWARDS, PRIOR_TASKS
from headstart.live.inputs import Name, default_names
from headstart.logs import Columns, LoggedTask, LogReading, LogStatistics
from headstart.progress import Progress

# How often the number of tasks is reported.
_TASKS_PER_REPORT = 256
# How many tasks are used to learn the features' scales.
_TASKS_FOR_SCALES = 256
# A kept task starts from the other parts of the log, so that it does not learn from itself: the
# prior of each part is learned from the other seven eighths of the log.
_PARTS = 8


def read(memory: Memory, reading: LogReading) -> Iterable[LoggedTask]:
    """Read a log. If it is grouped by task, its tasks are read when they are counted."""
    _check(memory, reading.columns)
    return reading if reading.grouped_by_task else reading.statistics()


def count(
    memory: Memory,
    reading: LogReading,
    logged: Iterable[LoggedTask],
    *,
    keep: bool,
    counted: Progress | None = None,
) -> None:
    """Count the tasks of a log that was read; calls `counted` with their number."""
    total = len(logged) if isinstance(logged, LogStatistics) else 0
    names = reading.columns.feature_names()
    tasks = logged if counted is None else _reporting(logged, total, counted)
    if memory.tasks.settings.item_effects:
        tasks = map(_with_items, tasks)
    reading.note_set_aside(_absorb(memory, tasks, keep=keep, names=names))
    memory.tasks.feature_names.note(names)


def _with_items(task: LoggedTask) -> LoggedTask:
    return replace(task, statistics=itemized(task.statistics, task.items))


def _check(memory: Memory, columns: Columns) -> None:
    """Raise unless the columns fit the settings."""
    if memory.tasks.settings.half_life_seconds is not None and columns.time is None:
        raise ValueError("a half-life in seconds needs a column of times: give time, got None")
    size = n_about(memory.population.estimator)
    if columns.n_about not in (0, size) and (size or columns.schema is None):
        raise ValueError(
            f"about must be the {size} columns that the prior takes, "
            f"got {list(columns.about_names())}"
        )


def _reporting(logged: Iterable[LoggedTask], total: int, counted: Progress) -> Iterator[LoggedTask]:
    for n, task in enumerate(logged):
        if n % _TASKS_PER_REPORT == 0:
            counted(n, total)
        yield task


def _absorb(
    memory: Memory, logged: Iterable[LoggedTask], *, keep: bool, names: tuple[str, ...] | None
) -> list[Name]:
    """Count every task of a log, or none if anything is wrong; returns the tasks set aside.

    names: of the features in the log, if it has any.
    """
    population = memory.population
    memory.bring_up_to_date()
    before = population.state, population.scales, population.scales_known
    aside: list[Name] = []
    try:
        logged = _with_scales(memory, iter(logged), names)
        if keep:
            _keep(memory, list(_to_keep(memory, logged, aside)))
        else:
            _count(memory, _to_count(memory, logged, aside))
    except BaseException:
        state, population.scales, population.scales_known = before
        population.install(state)
        raise
    memory.generation += 1
    for name in aside:
        warn_set_aside(name)
    return aside


def _with_scales(
    memory: Memory, logged: Iterator[LoggedTask], names: tuple[str, ...] | None
) -> Iterator[LoggedTask]:
    """The same tasks, after learning the scales from the first of them."""
    population, tasks = memory.population, memory.tasks
    if population.scales_known or population.state.n_tasks:
        return logged
    first = list(itertools.islice(logged, _TASKS_FOR_SCALES))
    names = tasks.feature_names.known or names or default_names(tasks.dimension)
    population.take_scales([task.statistics for task in first], names)
    return itertools.chain(first, logged)


def _to_count(
    memory: Memory, logged: Iterable[LoggedTask], aside: list[Name]
) -> Iterator[tuple[Name, Contribution]]:
    """The changes of the memory, one by one; each task is compared with those before it."""
    for task in logged:
        if memory.population.is_outlying(task.statistics, memory.population.state):
            aside.append(task.name)
        else:
            yield task.name, Contribution(task.statistics, _position(memory, task))


def _count(memory: Memory, counted: Iterable[tuple[Name, Contribution]]) -> None:
    """Count tasks that are not kept."""
    population = memory.population
    n = 0
    for name, contribution in counted:
        change = Change(name, None, contribution)
        population.install(population.replaced(population.state, [change]))
        n += 1
    memory.tasks.n_from_logs += n


def _to_keep(
    memory: Memory, logged: Iterable[LoggedTask], aside: list[Name]
) -> Iterator[tuple[Name, Contribution]]:
    """The changes of the memory by kept tasks; a known task's replaces its old contribution."""
    population = memory.population
    before: State = population.state
    for task in logged:
        whole, is_known = task.statistics, task.name in memory.tasks
        if is_known:
            whole = memory.tasks.statistics(task.name) + whole
            whole = itemized(
                whole, both(memory.tasks.items.of(task.name), items_of(task.statistics))
            )
        if any(population.is_outlying(part, before) for part in (task.statistics, whole)):
            aside.append(task.name)
            continue
        before = replace(
            before,
            n_tasks=before.n_tasks + 1,
            rounds=before.rounds + float(task.statistics.count),
            squares=before.squares + float(task.statistics.sum_of_squares),
        )
        yield task.name, Contribution(whole, _position(memory, task))


def _position(memory: Memory, task: LoggedTask) -> float:
    """The position of a log's task in the memory."""
    if memory.tasks.settings.half_life_seconds is None or task.last_time is None:
        return memory.population.position_now()
    earlier = memory.tasks.counted.get(task.name)
    return task.last_time if earlier is None else max(task.last_time, earlier.position)


def _keep(memory: Memory, counted: Sequence[tuple[Name, Contribution]]) -> None:
    """Count tasks and keep each as a finished one, which continues when it comes back.

    A known task is counted again with everything it has by now, and stays open if it is open.
    """
    tasks, population = memory.tasks, memory.population
    earlier = [tasks.counted.get(name) for name, _ in counted]
    base = population.take_out([contribution for contribution in earlier if contribution])
    parts = [State(population.estimator.empty(tasks.dimension)) for _ in range(_PARTS)]
    for i, (name, contribution) in enumerate(counted):
        part = i % _PARTS
        parts[part] = population.replaced(parts[part], [Change(name, None, contribution)])
    starts = []
    for part in range(_PARTS):
        others = base
        for i, state in enumerate(parts):
            others = others if i == part else population.merged(others, state)
        starts.append((population.starting_from(others.memory), others))
    whole = base
    for state in parts:
        whole = population.merged(whole, state)
    rows = []
    for i, (name, contribution) in enumerate(counted):
        start, others = starts[i % _PARTS]
        about = contribution.task.about
        if about is not None:
            start = population.starting_from(others.memory, about)
        rows.append(_row(memory, name, contribution, start, others.n_tasks))
    population.install(whole)
    for (name, contribution), row in zip(counted, rows, strict=True):
        _put(memory, name, row)
        tasks.counted.set(name, contribution)
        tasks.items.adopt(name, items_of(contribution.task))
        if contribution.task.about is not None:
            tasks.abouts[name] = contribution.task.about


def _row(
    memory: Memory, name: Name, contribution: Contribution, start: Start, n_others: int
) -> Floats:
    """The row of a task without A: its statistics, and the prior learned from other tasks."""
    tasks = memory.tasks
    row = tasks.layout.packed(contribution.task, start.prior)
    row[FIRST_PENDING], row[PRIOR_TASKS] = NONE, n_others
    row[PRIOR_REWARDS] = memory.population.rewards()
    if name in tasks:
        before = tasks.row(name)
        row[FIRST_PENDING], row[LAST_USED] = before[FIRST_PENDING], before[LAST_USED]
        # Its rewards plus the log's; statistics do not include those it has forgotten.
        first, last = tasks.layout.scalars.start + REWARDS, tasks.layout.length
        more = contribution.task.count - tasks.statistics(name).count
        row[first] = before[first - last] + more
    return tasks.layout.finished(row)


def _put(memory: Memory, name: Name, row: Floats) -> None:
    """Replace the row of a known task, or keep a new one."""
    tasks = memory.tasks
    if name in tasks.slots:
        tasks.rows[tasks.slots[name]] = tasks.layout.reopened(row)
    elif name in tasks.finished:
        tasks.finished.row(name)[:] = row
    else:
        tasks.finished.add(name, row)
        return
    tasks.pending.forget_numbers(tasks.row(name))
