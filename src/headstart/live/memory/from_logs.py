"""Tasks of logs: counted by the memory, and kept as finished tasks where that is wanted."""

import itertools
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager
from dataclasses import replace

import numpy as np

from headstart.interfaces import n_side
from headstart.live.decision import Name
from headstart.live.feature_names import default_names
from headstart.live.memory import kept
from headstart.live.memory import scales as scaling
from headstart.live.memory.population import Change, Contribution, State
from headstart.live.tasks.all_tasks import Tasks
from headstart.logs import Columns, LoggedTask, LogReading
from headstart.progress import Progress

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
    names = reading.columns.feature_names()
    with lock:
        given = found if counted is None else _reporting(found, total, counted)
        reading.note_set_aside(absorb(tasks, given, keep=keep, names=names))
        tasks.feature_names.note(names)


def _reporting(found: Iterable[LoggedTask], total: int, counted: Progress) -> Iterator[LoggedTask]:
    for n, each in enumerate(found):
        if n % _TASKS_PER_REPORT == 0:
            counted(n, total)
        yield each


def absorb(
    tasks: Tasks,
    found: Iterable[LoggedTask],
    *,
    keep: bool,
    names: tuple[str, ...] | None = None,
) -> list[Name]:
    """Every task of a log is counted, none of them if anything is wrong; those set aside.

    names: what the log calls the features, where it does.
    """
    changes, population = tasks.changes, tasks.population
    changes.bring_up_to_date()
    before = population.state, population.scales, population.scales_known
    aside: list[Name] = []
    try:
        found = _learn_scales(tasks, iter(found), names)
        if keep:
            kept.keep(tasks, list(_to_keep(tasks, found, aside)))
        else:
            _count(tasks, _to_count(tasks, found, aside))
    except BaseException:
        state, population.scales, population.scales_known = before
        population.install(state)
        raise
    changes.generation += 1
    for name in aside:
        population.warn_set_aside(name)
    return aside


def _learn_scales(
    tasks: Tasks, found: Iterator[LoggedTask], names: tuple[str, ...] | None
) -> Iterator[LoggedTask]:
    """The same tasks, once the scales have been learned from the first of them."""
    population = tasks.population
    if population.scales_known or population.state.n_tasks:
        return found
    first = list(itertools.islice(found, _TASKS_FOR_SCALES))
    rounds = sum(float(each.statistics.count) for each in first)
    if rounds >= scaling.ROUNDS_TO_LEARN:
        squares = np.sum([np.diagonal(each.statistics.gram) for each in first], 0) / rounds
        scales = scaling.far_apart(squares)
        population.scales_known = True
        if scales is not None:
            known = tasks.feature_names.known or names or default_names(tasks.dimension)
            population.learn_scales(scales, known)
    return itertools.chain(first, found)


def _to_count(
    tasks: Tasks, found: Iterable[LoggedTask], aside: list[Name]
) -> Iterator[tuple[Name, Contribution]]:
    """What the memory is to count, one after another: each is compared with those before it."""
    for each in found:
        if tasks.population.is_outlying(each.statistics, tasks.population.state):
            aside.append(each.name)
        else:
            yield each.name, Contribution(each.statistics, _position(tasks, each, known=False))


def _to_keep(
    tasks: Tasks, found: Iterable[LoggedTask], aside: list[Name]
) -> Iterator[tuple[Name, Contribution]]:
    """What the memory is to count of tasks that are kept: of a known one, with what it was."""
    population = tasks.population
    before: State = population.state
    for each in found:
        whole, known = each.statistics, kept.is_known(tasks, each.name)
        if known:
            whole = tasks.statistics(each.name) + whole
        if any(population.is_outlying(task, before) for task in (each.statistics, whole)):
            aside.append(each.name)
            continue
        before = replace(
            before,
            n_tasks=before.n_tasks + 1,
            rounds=before.rounds + float(each.statistics.count),
            squares=before.squares + float(each.statistics.sum_of_squares),
        )
        yield each.name, Contribution(whole, _position(tasks, each, known=known))


def _position(tasks: Tasks, found: LoggedTask, *, known: bool) -> float:
    """Where in the memory a task of a log is."""
    if tasks.settings.half_life_seconds is None or found.last_time is None:
        return tasks.changes.next_position(new=not known)
    earlier = tasks.changes.contribution(found.name) if known else None
    return found.last_time if earlier is None else max(found.last_time, earlier.position)


def _count(tasks: Tasks, counted: Iterable[tuple[Name, Contribution]]) -> None:
    """Count tasks that are not kept."""
    population = tasks.population
    n = 0
    for name, each in counted:
        population.install(population.replaced(population.state, [Change(name, None, each)]))
        n += 1
    tasks.n_from_logs += n
