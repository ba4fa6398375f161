"""Views: what is known of a task, as copies."""

import math
from collections.abc import Hashable

import numpy as np

from headstart import kernels
from headstart.arrays import Floats
from headstart.kernels import state as columns
from headstart.live import inputs
from headstart.live.decision import Name, TaskView
from headstart.live.explanation import Explanation
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import NONE
from headstart.live.tasks.pending import owner


def view_of(tasks: Tasks, name: Name) -> TaskView:
    """What is known of a task, open or finished; a finished one is not opened."""
    name = inputs.name_of(name)
    row = _finished_row(tasks, name) if name in tasks.finished else _open_row(tasks, name)
    scalars = row[tasks.layout.scalars]
    return TaskView(
        task=name,
        estimate=tasks.layout.estimate(row),
        n_rewards=int(scalars[columns.REWARDS]),
        n_pending=len(tasks.pending.of(row)),
        noise_scale=float(scalars[columns.NOISE_SCALE]),
        feature_names=tasks.feature_names.all,
    )


def _open_row(tasks: Tasks, name: Name) -> Floats:
    slot = tasks.slots.get(name)
    if slot is None:
        raise ValueError(f"task must be the name of an open or a finished task, got {name!r}")
    tasks.move_bias(slot)
    row: Floats = tasks.rows[slot]
    return row


def _finished_row(tasks: Tasks, name: Name) -> Floats:
    row = tasks.layout.reopened(tasks.finished.row(name))
    if tasks.bias_moves:
        contribution = tasks.changes.contribution(name)
        bias = tasks.population.bias_with(contribution, tasks.statistics(name))
        tasks.layout.move(row, bias)
    return row


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
