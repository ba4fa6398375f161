"""Tasks of a log that are kept: as finished tasks, or as those that they already are."""

from collections.abc import Sequence

from headstart.arrays import Floats
from headstart.kernels.state import REWARDS
from headstart.live.decision import Name
from headstart.live.memory.population import Change, Contribution, Start, State
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import (
    AS_IT_IS,
    COUNTED,
    COUNTED_AT,
    FIRST_PENDING,
    LAST_USED,
    NONE,
    PRIOR_TASKS,
)
from headstart.live.tasks.pending import drop_projections

# A task that is kept starts from what the other parts of the log say, so that it does not learn
# from itself: the prior of a part is that of seven eighths of the log.
_PARTS = 8


def is_known(tasks: Tasks, name: Name) -> bool:
    """Whether a task is open or finished."""
    return name in tasks.slots or name in tasks.finished


def keep(tasks: Tasks, counted: Sequence[tuple[Name, Contribution]]) -> None:
    """Count tasks and keep each as a finished one, which goes on when it comes back.

    A task that is known is counted anew, with all that it has by now, and stays open if it is.
    """
    population = tasks.population
    base, empty = _without(tasks, counted), population.estimator.empty(tasks.dimension)
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
    rows = []
    for i, (name, each) in enumerate(counted):
        start, others = starts[i % _PARTS]
        if each.task.side is not None:
            start = population.starting_from(others.memory, each.task.side)
        rows.append(_row(tasks, name, each, start, others.n_tasks))
    population.install(whole)
    for (name, each), row in zip(counted, rows, strict=True):
        _put(tasks, name, row)
        if each.task.side is not None:
            tasks.sides[name] = each.task.side


def _without(tasks: Tasks, counted: Sequence[tuple[Name, Contribution]]) -> State:
    """The memory without what it counts for these tasks so far."""
    population = tasks.population
    gone = []
    for name, _ in counted:
        before = tasks.changes.contribution(name) if is_known(tasks, name) else None
        if before is not None:
            gone.append(Change(name, before, None))
    if not gone:
        return population.state
    return population.refitted(population.replaced(population.state, gone))


def _row(tasks: Tasks, name: Name, each: Contribution, start: Start, n_others: int) -> Floats:
    """The row of a task without A: the statistics, from the prior that others teach."""
    row = tasks.layout.packed(each.task, start.prior)
    row[COUNTED], row[COUNTED_AT], row[FIRST_PENDING] = AS_IT_IS, each.position, NONE
    row[PRIOR_TASKS] = n_others
    if is_known(tasks, name):
        before = tasks.row(name)
        row[FIRST_PENDING], row[LAST_USED] = before[FIRST_PENDING], before[LAST_USED]
        # As many rewards as it had and the log adds: those it has forgotten are in no statistics.
        first, last = tasks.layout.scalars.start + REWARDS, tasks.layout.length
        more = each.task.count - tasks.statistics(name).count
        row[first] = before[first - last] + more
    return tasks.layout.finished(row)


def _put(tasks: Tasks, name: Name, row: Floats) -> None:
    """Replace the row of a task that is known, or keep a new one."""
    if name in tasks.slots:
        slot = tasks.slots[name]
        tasks.rows[slot] = tasks.layout.reopened(row)
        tasks.catalogue_scores.drop(slot)
    elif name in tasks.finished:
        tasks.finished.row(name)[:] = row
    else:
        tasks.finished.add(name, row)
        return
    drop_projections(tasks.pending, tasks.row(name))
