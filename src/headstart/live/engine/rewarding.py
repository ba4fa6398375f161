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
from headstart.live.engine.layout import NONE, dimension_of, packed_statistics, task_state
from headstart.live.engine.pending import OWNER, find, release
from headstart.live.engine.tasks import FINISH, Tasks, not_open
from headstart.live.inputs import LARGEST_GROWTH

# What learning a reward returns in place of what has to follow it.
REFUSED, UNKNOWN = -1, -2

# In place of a horizon: there is none.
NO_HORIZON = 0


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
    """Learn one reward: what has to follow, as bits, or REFUSED with nothing changed.

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
    decision: int,
    value: float,
    weight: float,
    horizon: int,
) -> tuple[int, int, int]:
    """Learn the reward of an open decision and release it: the status, the slot, the place."""
    place = find(links, decision)
    if place == NONE:
        return UNKNOWN, NONE, NONE
    slot = links[place, OWNER]
    status = learn(rows, slot, kept, place, value, weight, horizon, np.empty(0))
    if status != REFUSED:
        release(links, rows, place)
    return status, slot, place


@compiled
def _find_all(links: Integers, decisions: Integers, slots: Integers, places: Integers) -> int:
    """Find n different open decisions; the first that is none, or comes again, or NONE."""
    failed = NONE
    found = 0
    for i in range(decisions.shape[0]):
        place = find(links, decisions[i])
        if place == NONE:
            failed = i
            break
        places[i], slots[i] = place, links[place, OWNER]
        # Without an owner for the moment, so that the same decision is not found twice.
        links[place, OWNER] = NONE
        found += 1
    for i in range(found):
        links[places[i], OWNER] = slots[i]
    return failed


@compiled
def _reward_all(
    rows: Floats,
    kept: Floats,
    links: Integers,
    slots: Integers,
    places: Integers,
    values: Floats,
    weights: Floats,
    horizon: int,
) -> tuple[int, int]:
    """Learn n rewards in their order, up to one that is refused, or that something has to follow.

    Returns how many were learned, and the status of the last one tried.
    """
    nothing = np.empty(0)
    for i in range(slots.shape[0]):
        status = learn(rows, slots[i], kept, places[i], values[i], weights[i], horizon, nothing)
        if status == REFUSED:
            return i, status
        release(links, rows, places[i])
        if status > 0:
            return i + 1, status
    return len(slots), 0


def reward(tasks: Tasks, decision: int, value: float, weight: float) -> None:
    """`MetaBandit.reward`."""
    if tasks.one_call and not tasks.catalogue_scores:
        pending = tasks.pending
        status, slot, place = reward_one(
            tasks.rows, pending.kept, pending.links, decision, value, weight, tasks.horizon
        )
        if status == UNKNOWN:
            raise not_open(decision)
        if status == REFUSED:
            raise _refused(decision, value)
        pending.free.append(place)
        if status:
            tasks.follow_up(slot, status)
        return
    tasks.finish_idle()
    place, slot = tasks.find(decision)
    status = _learn(tasks, slot, tasks.pending.kept, place, value, weight)
    if status == REFUSED:
        raise _refused(decision, value)
    tasks.pending.drop(tasks.rows, place)
    tasks.note_use(tasks.names[slot], slot)
    tasks.follow_up(slot, status)


def observe(tasks: Tasks, task: Name, features: ArrayLike, value: float, weight: float) -> None:
    """`MetaBandit.observe`."""
    x = inputs.vector_of("features", features, tasks.dimension)
    task = inputs.name_of(task)
    opened = task not in tasks.slots
    slot = tasks.start(task)
    status = _learn(tasks, slot, x[None], 0, value, weight)
    if status == REFUSED:
        if opened:
            tasks.close(task)
        raise inputs.too_large("features", x[None])
    tasks.follow_up(slot, status)


def _learn(tasks: Tasks, slot: int, kept: Floats, place: int, value: float, weight: float) -> int:
    """Learn what is kept in a place, after discounting what the task learned before."""
    rows, discount = tasks.rows, tasks.ending.discount
    trace = tasks.catalogue_scores.trace(slot)
    before = rows[slot].copy() if discount < 1.0 else None
    if before is not None:
        tasks.layout.forget(rows[slot], discount)
    status = int(learn(rows, slot, kept, place, value, weight, tasks.horizon, trace))
    if status != REFUSED:
        tasks.catalogue_scores.note(slot, trace)
    elif before is not None:
        rows[slot] = before
    return status


def reward_many(
    tasks: Tasks, decision_ids: ArrayLike, values: ArrayLike, weights: ArrayLike
) -> None:
    """`MetaBandit.reward_many`."""
    ids, rewards, counts = inputs.rewards_of(decision_ids, values, weights)
    pending = tasks.pending
    slots, places = np.empty_like(ids), np.empty_like(ids)
    failed = _find_all(pending.links, ids, slots, places)
    if failed != NONE:
        tasks.find(int(ids[failed]))
        raise ValueError(f"decision_ids must be different, got {ids[failed]} more than once")
    if not tasks.one_call or tasks.catalogue_scores or tasks.horizon:
        for decision, value, weight in zip(
            ids.tolist(), rewards.tolist(), counts.tolist(), strict=True
        ):
            # The horizon may have finished the task that a later decision belongs to.
            if find(pending.links, decision) != NONE:
                reward(tasks, decision, value, weight)
        return
    done = 0
    while done < len(ids):
        rest = slice(done, None)
        learned, status = _reward_all(
            tasks.rows,
            pending.kept,
            pending.links,
            slots[rest],
            places[rest],
            rewards[rest],
            counts[rest],
            tasks.horizon,
        )
        pending.free.extend(places[done : done + learned].tolist())
        done += learned
        if status == REFUSED:
            refused = _refused(int(ids[done]), float(rewards[done]))
            raise ValueError(f"{refused}; the {done} before it were learned")
        if status:
            tasks.follow_up(int(slots[done - 1]), status)


def _refused(decision: int, value: float) -> ValueError:
    return ValueError(
        f"value must leave the task's sums finite, got {value} for decision {decision}"
    )
