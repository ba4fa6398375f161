"""Recount: update the memory with the tasks that changed, and give tasks a newer prior."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import n_about
from headstart.live._counted import Contribution
from headstart.live._item_effects import itemized
from headstart.live._population import Population, State
from headstart.live._rows import FIRST_PENDING, NONE, PRIOR_REWARDS, PRIOR_TASKS
from headstart.live.inputs import Name
from headstart.live.stored.memory import (
    Model,
    StoredMemory,
    contribution_bytes,
    read_contribution,
    read_task,
    task_bytes,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredTask:
    """A task as it is stored."""

    task: int
    state: bytes
    contribution: bytes | None  # what the memory counts for it
    about: Floats | None = None
    changed: bool = True  # whether the memory counts an earlier state
    moves: bool = False  # whether it should get the newest prior
    control: bool = False  # whether it keeps its prior


@dataclass(frozen=True, kw_only=True, eq=False)
class Recount:
    """What to store after a recount."""

    memory: StoredMemory  # of the store's tasks
    contributions: dict[int, bytes | None] = field(default_factory=dict)  # None: not counted
    moved: dict[int, bytes] = field(default_factory=dict)  # states with a newer prior


def recount(
    model: Model,
    memory: StoredMemory,
    tasks: Sequence[StoredTask],
    *,
    erased: Sequence[bytes] = (),
    others: Sequence[StoredMemory] = (),
    most_moves: int | None = None,
) -> Recount:
    """Count tasks in their present state, and give a newer prior to those that should get one.

    Their old contributions are subtracted, and so are those of erased tasks. `others` are memories
    that count as well, such as those of logs. If `memory` does not know the features' scales yet,
    the tasks must be all that it counts; it takes the scales of others.
    """
    knew_scales = memory.scales_known
    if not knew_scales and tasks:
        scaled = next((other for other in others if other.scales_known), None)
        if scaled is not None:
            memory, erased = _beginning_with(scaled, memory, model), ()
            tasks = [replace(task, changed=True, contribution=None) for task in tasks]
    population, size = model.population(memory), n_about(model.prior)
    gone = [read_contribution(content, model.dimension, size) for content in erased]
    if gone:
        population.install(population.take_out(gone))
    counted = _count(population, tasks, model)
    own = StoredMemory.of(population)
    own.merged(list(others), model).install(population)
    if knew_scales < own.scales_known and own.scales is not None:
        tasks = [replace(task, moves=True) for task in tasks]
    moved = _moved(population, tasks, counted, most_moves)
    contents = {
        task: None
        if contribution is None
        else contribution_bytes(contribution, n_about(model.prior))
        for task, contribution in counted.items()
    }
    return Recount(memory=own, contributions=contents, moved=moved)


def _beginning_with(scaled: StoredMemory, memory: StoredMemory, model: Model) -> StoredMemory:
    """An empty memory in the scales of another."""
    state = State(model.prior.empty(model.dimension), memory.state.position)
    return StoredMemory(state=state, scales=scaled.scales, scales_known=True)


def _count(
    population: Population, tasks: Sequence[StoredTask], model: Model
) -> dict[int, Contribution | None]:
    """Count the tasks that changed. Returns what the memory then counts for every task."""
    counted: dict[int, Contribution | None] = {}
    size = n_about(model.prior)
    for task in tasks:
        content = task.contribution
        counted[task.task] = (
            None if content is None else read_contribution(content, model.dimension, size)
        )
    # New tasks come first.
    changed = sorted(
        (task for task in tasks if task.changed), key=lambda task: task.contribution is not None
    )
    changes = [
        population.change(task.task, counted[task.task], _statistics(population, task, model))
        for task in changed
    ]
    population.count(changes)
    for task, change in zip(changed, changes, strict=True):
        counted[task.task] = change.after
    if population.wants_scales:
        present: dict[Name, Contribution] = {
            name: part for name, part in counted.items() if part is not None
        }
        population.learn_scales(present, model.feature_names.all)
    return counted


def _statistics(population: Population, task: StoredTask, model: Model) -> TaskStatistics:
    row, items = read_task(task.state, population.layout)
    statistics = population.layout.finished_statistics(row)
    if n_about(model.prior):  # without it, side information may still be in the features
        about = model.unknown_about if task.about is None else task.about
        statistics = statistics if about is None else replace(statistics, about=about)
    return itemized(statistics, items)


def _moved(
    population: Population,
    tasks: Sequence[StoredTask],
    counted: Mapping[int, Contribution | None],
    most: int | None,
) -> dict[int, bytes]:
    """The states of tasks that get the prior learned from all others."""
    layout = population.layout
    moved: dict[int, bytes] = {}
    for task in tasks:
        if task.control or (most is not None and len(moved) >= most):
            continue
        stored, items = read_task(task.state, layout)
        contribution, row = counted[task.task], layout.unpacked(stored)
        is_counted, own = contribution is not None, 0.0
        if contribution is not None:
            own = population.own(contribution.position, float(contribution.task.count))
        if not task.moves and not population.is_outdated(row, counted=is_counted, own=own):
            continue
        state = population.state
        start, n_others = population.starting_from_others(state, contribution, task.about)
        row[FIRST_PENDING] = NONE
        if start.is_finite:
            row = layout.rebased(row, start.prior, start.components)
            row[PRIOR_TASKS], row[PRIOR_REWARDS] = n_others, population.rewards(own)
        moved[task.task] = task_bytes(layout.finished(row), items)
    return moved
