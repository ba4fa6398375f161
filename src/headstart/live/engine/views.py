"""Views: what is known of an open task, as copies."""

from headstart.kernels import state as columns
from headstart.live.decision import Name, TaskView
from headstart.live.engine.tasks import Tasks


def view_of(tasks: Tasks, name: Name) -> TaskView:
    """What is known of an open task."""
    slot = tasks.slot(name)
    tasks.move_bias(slot)
    row = tasks.rows[slot]
    return TaskView(
        task=tasks.names[slot],
        estimate=tasks.layout.estimate(row),
        n_rewards=int(tasks.scalar(slot, columns.REWARDS)),
        n_pending=len(tasks.pending.of(row)),
        noise_scale=tasks.scalar(slot, columns.NOISE_SCALE),
    )
