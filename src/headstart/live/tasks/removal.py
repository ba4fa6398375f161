"""Removal: of pending decisions, and of all that is known of a task."""

from headstart.live.decision import Name
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import FIRST_PENDING, NONE
from headstart.live.tasks.pending import owner


def drop(tasks: Tasks, place: int) -> None:
    """Give up a pending decision, whether its task is open or finished."""
    whose = owner(tasks.pending, place)
    if whose > NONE:
        tasks.pending.drop(tasks.rows, place)
        return
    name = tasks.finished.names[-2 - whose]
    tasks.pending.own(tasks.finished.row(name), -2 - whose)
    tasks.pending.drop(tasks.finished.rows, place)
    row = tasks.finished.row(name)
    tasks.pending.own(row, whose)
    if row[FIRST_PENDING] == NONE and tasks.layout.finished_statistics(row).count == 0.0:
        tasks.finished.remove(name)


def erase(tasks: Tasks, name: Name) -> None:
    """Forget a task, what it has pending, and what the memory counts for it."""
    if name in tasks.finished:
        tasks.reopen(name)
    slot = tasks.slot(name)
    for place in tasks.pending.of(tasks.rows[slot]):
        tasks.pending.drop(tasks.rows, place)
    tasks.changes.erase(name)
    tasks.close(name)
    tasks.sides.pop(name, None)
    tasks.changes.bring_up_to_date()
