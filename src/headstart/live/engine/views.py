"""Views: what is known of an open task, as copies."""

from collections.abc import Hashable

from headstart.kernels import state as columns
from headstart.live.decision import Name, TaskView
from headstart.live.engine.layout import NONE
from headstart.live.engine.tasks import Tasks
from headstart.live.explanation import Explanation


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
        feature_names=tasks.feature_names.all,
    )


def explain(tasks: Tasks, decision: str, arm: Hashable | None) -> Explanation:
    """What the task of a pending decision says about the chosen arm."""
    place = tasks.place(decision)
    if place == NONE:
        raise ValueError(f"decision must be pending to be explained, got {decision!r}")
    x = tasks.pending.kept[place, : tasks.dimension].copy()
    return view_of(tasks, tasks.names[tasks.pending.owner(place)]).explain(x, arm=arm)
