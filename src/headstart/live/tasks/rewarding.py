"""Rewards: one compiled call where that is enough, and what has to follow a reward."""

import math

import numpy as np
from numpy.typing import ArrayLike

from headstart import kernels
from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.kernels.state import REWARDS, SUM_OF_SQUARES, SURPRISE
from headstart.live import inputs
from headstart.live.decision import Name
from headstart.live.inputs import LARGEST_GROWTH
from headstart.live.outcomes import Outcome
from headstart.live.tasks.all_tasks import FINISH, Tasks
from headstart.live.tasks.following import follow_up
from headstart.live.tasks.layout import (
    AS_IT_IS,
    COUNTED,
    NONE,
    dimension_of,
    packed_statistics,
    task_state,
)
from headstart.live.tasks.pending import OWNER, find, owner, release

# What learning a reward returns in place of what has to follow it: the sums would not stay finite;
# no such decision; the task is not open; and the memory has to note first that the task changes.
REFUSED, UNKNOWN, NOT_OPEN, CHANGES = -1, -2, -3, -4

# In place of a horizon: there is none.
NO_HORIZON = 0

# Looking up a member of an enumeration takes as long as a compiled call.
PAID = Outcome.PAID


@compiled
def learn(
    rows: Floats,
    slot: int,
    kept: Floats,
    place: int,
    value: float,
    weight: float,
    horizon: int,
    trace: Floats,
) -> int:
    """Learn one reward: what has to follow, as bits, or REFUSED or CHANGES with nothing changed.

    The place holds x, u and the task's rewards at the time of the decision (`Pending`), or x alone.
    A weight counts the observation that many times: x and y grow by its root. A trace (d + 1,)
    receives u/√f and (y − xᵀŵ)/√f; one of length 0 does not.
    """
    row = rows[slot]
    dimension = dimension_of(row.shape[0])
    state = task_state(row, dimension)
    scalars = state.scalars
    root = math.sqrt(weight)
    y = root * value
    x, u = np.empty(dimension), np.empty(dimension)
    for a in range(dimension):
        x[a] = root * kept[place, a]
    if kept.shape[1] > dimension and kept[place, 2 * dimension] == scalars[0, REWARDS]:
        for a in range(dimension):
            u[a] = root * kept[place, dimension + a]
    else:
        kernels.project(state, 0, x, u)
    gram, moment = packed_statistics(row, dimension)
    size = scalars[0, SURPRISE] + scalars[0, SUM_OF_SQUARES]
    if not _stays_finite(gram, moment, state.parameter[0], size, x, u, y):
        return REFUSED
    if row[COUNTED] <= AS_IT_IS:
        return CHANGES
    status, gap = kernels.learn(state, 0, x, u, y, weight)
    if trace.shape[0] > dimension:
        for a in range(dimension):
            trace[a] = u[a]
        trace[dimension] = gap
    kernels.add_observation(gram, moment, x, y)
    if horizon != NO_HORIZON and scalars[0, REWARDS] >= horizon:
        status |= FINISH
    return status


@compiled(inline="always")
def _stays_finite(
    gram: Floats, moment: Floats, parameter: Floats, size: float, x: Floats, u: Floats, y: float
) -> bool:
    """Whether everything stays finite; off the diagonal, V is bounded by its diagonal."""
    predicted = 0.0
    growth = 1.0
    for a in range(x.shape[0]):
        predicted += x[a] * parameter[a]
        growth += x[a] * u[a]
    gap = y - predicted
    # One infinity or NaN makes the sum so, and one test of the sum is enough.
    total = size + y * y + gap * gap
    for a in range(x.shape[0]):
        total += abs(gram[a, a]) + x[a] * x[a] + abs(moment[a]) + abs(x[a] * y)
        total += abs(parameter[a]) + abs(gap * u[a])
    return growth < LARGEST_GROWTH and math.isfinite(total)


@compiled
def reward_one(
    rows: Floats,
    kept: Floats,
    links: Integers,
    code: int,
    value: float,
    weight: float,
    horizon: int,
) -> tuple[int, int, int]:
    """Learn the reward of a pending decision and release it: the status, the slot, the place."""
    place = find(links, code)
    if place == NONE:
        return UNKNOWN, NONE, NONE
    slot = links[place, OWNER]
    if slot < NONE:
        return NOT_OPEN, slot, place
    status = learn(rows, slot, kept, place, value, weight, horizon, np.empty(0))
    if status >= 0:
        release(links, rows, place)
    return status, slot, place


def reward(tasks: Tasks, decision: str, value: float, weight: float) -> Outcome:
    """`MetaBandit.reward`."""
    if tasks.settings.reward_range is not None and not tasks.settings.in_range(value):
        known = tasks.pending.find(decision) != NONE
        return (
            Outcome.OUT_OF_RANGE
            if known
            else tasks.settled.outcome(decision, value, tasks.settings)
        )
    if tasks.one_call and not tasks.catalogue_scores.by_slot:
        outcome = _reward_in_one_call(tasks, decision, value, weight)
    else:
        outcome = _reward(tasks, decision, value, weight)
    if outcome is PAID:
        tasks.settled.note(decision, value)
    return outcome


def _reward_in_one_call(tasks: Tasks, decision: str, value: float, weight: float) -> Outcome:
    pending = tasks.pending
    code, returned = pending.parse(decision), False
    while True:
        status, slot, place = reward_one(
            tasks.rows, pending.kept, pending.links, code, value, weight, tasks.horizon
        )
        if status >= 0:
            break
        if status == CHANGES:
            tasks.note_change(slot)
        elif status == NOT_OPEN:
            tasks.place(decision)
            returned = True
        elif status == REFUSED:
            if returned:
                tasks.finish(tasks.names[slot])
            return Outcome.OUT_OF_RANGE
        else:
            return tasks.settled.outcome(decision, value, tasks.settings)
    pending.freed(place)
    if status:
        follow_up(tasks, slot, status)
    return PAID


def _reward(tasks: Tasks, decision: str, value: float, weight: float) -> Outcome:
    place = tasks.pending.find(decision)
    if place == NONE:
        return tasks.settled.outcome(decision, value, tasks.settings)
    returned = owner(tasks.pending, place) < NONE
    if returned:
        tasks.place(decision)
    slot = owner(tasks.pending, place)
    status = _learn(tasks, slot, tasks.pending.kept, place, value, weight)
    if status == REFUSED:
        if returned:
            tasks.finish(tasks.names[slot])
        return Outcome.OUT_OF_RANGE
    tasks.pending.drop(tasks.rows, place)
    tasks.note_use(tasks.names[slot], slot)
    follow_up(tasks, slot, status)
    return PAID


def observe(tasks: Tasks, task: Name, features: ArrayLike, value: float, weight: float) -> Outcome:
    """`MetaBandit.observe`."""
    x = inputs.vector_of("features", features, tasks.dimension)
    if not tasks.settings.in_range(value):
        return Outcome.OUT_OF_RANGE
    task = inputs.name_of(task)
    opened = task not in tasks.slots
    slot = tasks.start(task)
    status = _learn(tasks, slot, x[None], 0, value, weight)
    if status == REFUSED:
        if opened:
            tasks.undo_opening(task)
        raise inputs.too_large("features", x[None])
    follow_up(tasks, slot, status)
    return PAID


def _learn(tasks: Tasks, slot: int, kept: Floats, place: int, value: float, weight: float) -> int:
    """Learn what is kept in a place, after discounting what the task learned before."""
    while True:
        rows, discount = tasks.rows, tasks.settings.discount
        trace = tasks.catalogue_scores.trace(slot)
        before = rows[slot].copy() if discount < 1.0 else None
        if before is not None:
            tasks.layout.forget(rows[slot], discount)
        status = int(learn(rows, slot, kept, place, value, weight, tasks.horizon, trace))
        if status >= 0:
            tasks.catalogue_scores.note(slot, trace)
        elif before is not None:
            rows[slot] = before
        if status != CHANGES:
            return status
        tasks.note_change(slot)
