"""Tasks of logs: counted by the memory, and kept as finished tasks where that is wanted."""

import itertools
import logging
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager

import numpy as np

from headstart.interfaces import n_side
from headstart.live.decision import Name
from headstart.live.memory import scales as scaling
from headstart.live.memory.population import Change, Contribution, Population, State
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import (
    AS_IT_IS,
    COUNTED,
    COUNTED_AT,
    FIRST_PENDING,
    NONE,
    PRIOR_TASKS,
)
from headstart.logs import Columns, LoggedTask, LogReading
from headstart.progress import Progress

_log = logging.getLogger("headstart.live")

# A task that is kept starts from what the other parts of the log say, so that it does not learn
# from itself: the prior of a part is that of seven eighths of the log.
_PARTS = 8
# How often the number of tasks is reported.
_TASKS_PER_REPORT = 256
# How many tasks the features' scales are learned from.
_TASKS_FOR_SCALES = 256


def check(tasks: Tasks, columns: Columns) -> None:
    """Raise unless the columns are those that the settings need."""
    if tasks.settings.half_life_seconds is not None and columns.time is None:
        raise ValueError("time must name a column where there is a half-life in seconds, got None")
    size = n_side(tasks.population.estimator)
    if len(columns.side) not in (0, size):
        raise ValueError(
            f"side must be the {size} columns that the prior takes, got {list(columns.side)}"
        )


def fit(
    tasks: Tasks,
    lock: AbstractContextManager[object],
    reading: LogReading,
    *,
    keep: bool,
    counted: Progress | None = None,
) -> None:
    """`MetaBandit.fit`: read a log and count its tasks; `counted` is told how many."""
    check(tasks, reading.columns)
    # Without the lock, if possible: reading takes long.
    found = reading if reading.grouped_by_task else reading.statistics()
    total = 0 if isinstance(found, LogReading) else len(found)
    with lock:
        absorb(tasks, found if counted is None else _reporting(found, total, counted), keep=keep)
        tasks.feature_names.note(reading.columns.feature_names())


def _reporting(found: Iterable[LoggedTask], total: int, counted: Progress) -> Iterator[LoggedTask]:
    for n, each in enumerate(found):
        if n % _TASKS_PER_REPORT == 0:
            counted(n, total)
        yield each


def absorb(tasks: Tasks, found: Iterable[LoggedTask], *, keep: bool) -> None:
    """Every task of a log is counted; none of them if anything is wrong."""
    changes, population = tasks.changes, tasks.population
    changes.bring_up_to_date()
    before = population.state, population.scales, population.scales_known
    try:
        found = _learn_scales(population, iter(found))
        counted = (_contribution(tasks, each, keep=keep) for each in found)
        if keep:
            _keep(tasks, [each for each in counted if each is not None])
        else:
            _count(tasks, (each for each in counted if each is not None))
    except BaseException:
        state, population.scales, population.scales_known = before
        population.install(state)
        raise
    changes.generation += 1


def _learn_scales(population: Population, found: Iterator[LoggedTask]) -> Iterator[LoggedTask]:
    """The same tasks, once the scales have been learned from the first of them."""
    if population.scales_known or population.state.n_tasks:
        return found
    first = list(itertools.islice(found, _TASKS_FOR_SCALES))
    rounds = sum(float(each.statistics.count) for each in first)
    if rounds >= scaling.ROUNDS_TO_LEARN:
        squares = np.sum([np.diagonal(each.statistics.gram) for each in first], 0) / rounds
        scales = scaling.far_apart(squares)
        population.scales_known = True
        if scales is not None:
            population.learn_scales(scales)
    return itertools.chain(first, found)


def _contribution(
    tasks: Tasks, found: LoggedTask, *, keep: bool
) -> tuple[Name, Contribution] | None:
    name = found.name
    if keep and (name in tasks.slots or name in tasks.finished):
        raise ValueError(f"the log's tasks must be new to be kept, got {name!r}, which is known")
    if tasks.population.is_outlying(found.statistics):
        _log.warning("task %r is set aside: its rewards are a thousand times the others'", name)
        return None
    if tasks.settings.half_life_seconds is not None and found.last_time is not None:
        return name, Contribution(found.statistics, found.last_time)
    return name, Contribution(found.statistics, tasks.changes.next_position(new=True))


def _count(tasks: Tasks, counted: Iterable[tuple[Name, Contribution]]) -> None:
    """Count tasks that are not kept."""
    population = tasks.population
    n = 0
    for name, each in counted:
        population.install(population.replaced(population.state, [Change(name, None, each)]))
        n += 1
    tasks.n_from_logs += n


def _keep(tasks: Tasks, counted: list[tuple[Name, Contribution]]) -> None:
    """Count tasks and keep each as a finished one, which goes on when it comes back."""
    population = tasks.population
    base, empty = population.state, population.estimator.empty(tasks.dimension)
    parts = [State(empty) for _ in range(_PARTS)]
    for i, (name, each) in enumerate(counted):
        parts[i % _PARTS] = population.replaced(parts[i % _PARTS], [Change(name, None, each)])
    starts = []
    for part in range(_PARTS):
        others = base
        for i, state in enumerate(parts):
            others = others if i == part else population.merged(others, state)
        starts.append((population.starting_from(others.memory), others))
    whole = base
    for state in parts:
        whole = population.merged(whole, state)
    population.install(whole)
    for i, (name, each) in enumerate(counted):
        start, others = starts[i % _PARTS]
        if each.task.side is not None:
            start = population.starting_from(others.memory, each.task.side)
        row = tasks.layout.packed(each.task, start.prior)
        row[COUNTED], row[COUNTED_AT], row[FIRST_PENDING] = AS_IT_IS, each.position, NONE
        row[PRIOR_TASKS] = others.n_tasks
        tasks.finished.add(name, tasks.layout.finished(row))
        if each.task.side is not None:
            tasks.sides[name] = each.task.side
