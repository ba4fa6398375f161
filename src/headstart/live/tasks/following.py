"""What has to follow a reward: another factorisation, another prior, the end of the task."""

from headstart.kernels import revision_due
from headstart.kernels import state as columns
from headstart.live.tasks.all_tasks import FINISH, Tasks
from headstart.live.tasks.layout import AS_IT_IS, AS_IT_WAS, COUNTED


def follow_up(tasks: Tasks, slot: int, status: int) -> None:
    """Do what has to follow a reward: refactorise, revise the prior, finish the task."""
    row = tasks.rows[slot]
    if tasks.settings.discount < 1.0:
        tasks.layout.refactorise(row, restate=True)
        if revision_due(tasks.layout.state(row).scalars, 0):
            status |= columns.REVISE
        else:
            status &= ~columns.REVISE
    elif status & columns.REFACTORISE and not status & columns.REVISE:
        tasks.layout.refactorise(row, restate=False)
    if status & columns.REVISE:
        _revise(tasks, slot)
    if status & FINISH:
        tasks.finish(tasks.names[slot])


def _revise(tasks: Tasks, slot: int) -> None:
    """Revise a task's prior, with all that other tasks have taught since it began."""
    name = tasks.names[slot]
    if tasks.rows[slot, COUNTED] in (AS_IT_IS, AS_IT_WAS):
        # The memory holds the task's own rewards, which must not count as prior knowledge too.
        tasks.changes.move(name)
        return
    start, row = tasks.population.start, tasks.rows[slot]
    if start.components is None:
        tasks.layout.state(row).scalars[0, columns.REVISION] = columns.NEVER
    elif start.is_finite:
        degrees_of_freedom = float(start.prior.noise_degrees_of_freedom)
        if tasks.layout.revise(row, start.components, degrees_of_freedom):
            tasks.catalogue_scores.drop(slot)
