"""Adoption: tasks and pending decisions that come from a file or from another bandit."""

from collections.abc import Mapping

from headstart.arrays import Floats
from headstart.live.decision import Name
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import COUNTED, FIRST_PENDING, NONE, TO_COUNT


def adopt(tasks: Tasks, open_rows: Mapping[Name, Floats], finished: Mapping[Name, Floats]) -> None:
    """Take tasks with their rows. The memory counts them, but for those that were to be counted."""
    for name, row in open_rows.items():
        slot = tasks.open(name, row)
        tasks.rows[slot, FIRST_PENDING] = NONE
    for name, row in finished.items():
        number = tasks.finished.add(name, row)
        tasks.finished.rows[number, FIRST_PENDING] = NONE
    for name in (*open_rows, *finished):
        if tasks.row(name)[COUNTED] == TO_COUNT:
            tasks.changes.note(name)


def adopt_decision(tasks: Tasks, name: Name, decision: str, kept: Floats, time: float) -> None:
    """Take a pending decision of a task, with the id that it has."""
    if name in tasks.slots:
        tasks.pending.restore(tasks.rows, tasks.slots[name], decision, kept, time)
        return
    number = tasks.finished.numbers[name]
    tasks.pending.restore(tasks.finished.rows, number, decision, kept, time)
    tasks.pending.own(tasks.finished.rows[number], -2 - number)
