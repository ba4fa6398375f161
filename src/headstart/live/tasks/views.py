"""Views: what is known of an open task, as copies."""

import math
from collections.abc import Hashable

import numpy as np

from headstart import kernels
from headstart.kernels import state as columns
from headstart.live.decision import Name, TaskView
from headstart.live.explanation import Explanation
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import NONE
from headstart.live.tasks.pending import owner


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
    """What the kept estimate of a task says about the arm of its pending decision; O(d²)."""
    place = tasks.place(decision)
    if place == NONE:
        raise ValueError(f"decision must be pending to be explained, got {decision!r}")
    slot = owner(tasks.pending, place)
    tasks.move_bias(slot)
    row = tasks.rows[slot]
    x = tasks.pending.kept[place, : tasks.dimension].copy()
    state, u = tasks.layout.state(row), np.empty_like(x)
    kernels.project(state, 0, x, u)
    return Explanation.of(
        x,
        task=tasks.names[slot],
        arm=arm,
        names=tasks.feature_names.all,
        parameter=state.parameter[0],
        bias=row[tasks.layout.bias],
        width=math.sqrt(max(float(x @ u), 0.0)),
        noise_scale=tasks.scalar(slot, columns.NOISE_SCALE),
    )
