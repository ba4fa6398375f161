"""Recounting: the memory with the tasks that changed, and the tasks that get a newer prior."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from headstart.arrays import Floats, floats, packed
from headstart.interfaces import n_side
from headstart.live.decision import Name
from headstart.live.memory.population import Change, State
from headstart.live.processes.threads import one_blas_thread
from headstart.live.stored import contributions
from headstart.live.stored.memory import StoredMemory
from headstart.live.stored.model import Model
from headstart.live.tasks.adoption import adopt
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import (
    AS_IT_IS,
    AS_IT_WAS,
    COUNTED,
    COUNTED_AT,
    NOT_COUNTED,
    TO_COUNT,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredTask:
    """A task as it is stored."""

    task: int
    state: bytes
    contribution: bytes | None  # what the memory counts for it
    side: Floats | None = None
    changed: bool = True  # whether its state is another than the memory counts
    moves: bool = False  # whether it is to get the newest prior
    control: bool = False  # whether it keeps the prior that it has


@dataclass(frozen=True, kw_only=True, eq=False)
class Recount:
    """What is to be stored after a recount."""

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
    """Count tasks as they are now, and give a newer prior to those that are to get one.

    What the memory counted for them before is taken out; so are the contributions of tasks that
    were erased. Others are memories that count as well, those of logs. Where `memory` does not know
    the features' scales yet, the tasks must be all that it counts; it takes the scales of others.
    """
    live, known = model.tasks(), memory.scales_known
    if not known and tasks:
        scaled = next((each for each in others if each.scales_known), None)
        if scaled is not None:
            memory, erased = _beginning_with(scaled, memory, model), ()
            tasks = [replace(each, changed=True, contribution=None) for each in tasks]
    memory.install(live.population)
    _adopt(live, tasks)
    size = n_side(model.prior)
    before = [contributions.from_bytes(each, model.dimension, size) for each in erased]
    population = live.population
    with one_blas_thread:
        if before:
            gone = [Change("erased", each, None) for each in before]
            population.install(population.refitted(population.replaced(population.state, gone)))
        live.changes.bring_up_to_date()
        counted = StoredMemory.of(population)
        found = {each.task: _counted(live, each.task) for each in tasks}
        counted.merged(list(others), model).install(population)
        if known < counted.scales_known and counted.scales is not None:
            tasks = [replace(each, moves=True) for each in tasks]
        moved = _moved(live, tasks, most_moves)
    return Recount(memory=counted, contributions=found, moved=moved)


def _beginning_with(scaled: StoredMemory, memory: StoredMemory, model: Model) -> StoredMemory:
    """The memory of no task in the scales of another."""
    state = State(model.prior.empty(model.dimension), memory.state.position)
    return StoredMemory(state=state, scales=scaled.scales, scales_known=True)


def _adopt(live: Tasks, tasks: Sequence[StoredTask]) -> None:
    rows: dict[Name, Floats] = {}
    for each in tasks:
        row = floats(each.state)
        if each.side is not None:
            live.sides[each.task] = each.side
        row[COUNTED] = TO_COUNT if each.changed else NOT_COUNTED
        if each.contribution is not None:
            size = 0 if each.side is None else len(each.side)
            counted = contributions.from_bytes(each.contribution, live.dimension, size)
            row[COUNTED], row[COUNTED_AT] = AS_IT_IS, counted.position
            if each.changed:
                row[COUNTED] = AS_IT_WAS
                live.changes.keep_earlier(each.task, counted.task)
        rows[each.task] = row
    adopt(live, {}, rows)
    for each in tasks:
        if each.changed and each.contribution is not None:
            live.changes.note(each.task)


def _counted(live: Tasks, task: int) -> bytes | None:
    contribution = live.changes.contribution(task)
    return None if contribution is None else contributions.to_bytes(contribution)


def _moved(live: Tasks, tasks: Sequence[StoredTask], most: int | None) -> dict[int, bytes]:
    """The states of tasks that get the prior of all others."""
    population = live.population
    moved: dict[int, bytes] = {}
    for each in tasks:
        if each.control or (most is not None and len(moved) >= most):
            continue
        if not each.moves and not live.has_newer_prior(live.row(each.task)):
            continue
        contribution = live.changes.contribution(each.task)
        n_others = population.state.n_tasks - (contribution is not None)
        start = population.starting_from(population.without(contribution), each.side)
        live.reopen(each.task)
        live.rebase(each.task, start, n_others)
        slot = live.slots[each.task]
        moved[each.task] = packed(live.layout.finished(live.rows[slot]))
    return moved
