"""The compiled steps of live use, for one task and for many: decide, reward."""

import math

import numpy as np
from numba import njit

from headstart.arrays import Floats, Integers
from headstart.kernels import pick
from headstart.live._layout import DUE, REFUSED, REWARDS, learn, look, scalars_at
from headstart.live._pending import NONE, find, hold, release

# What `reward` answers beside what `learn` does.
UNKNOWN = -2


@njit(cache=True, nogil=True)
def read(
    state: Floats,
    slots: Integers,
    arms: Floats,
    projections: Floats,
    predictions: Floats,
    widths: Floats,
) -> int:
    """Read arms (n, K, d) of n tasks; the first task with an arm that cannot be read, or NONE."""
    for i in range(slots.shape[0]):
        if not look(state, slots[i], arms, projections, predictions, widths, i, i):
            return i
    return NONE


@njit(cache=True, nogil=True)
def index(predictions: Floats, squares: Floats, radius: float, scores: Floats) -> None:
    """xᵀŵ + radius·‖x‖ of one task's arms (K,), from squared widths."""
    for k in range(scores.shape[0]):
        scores[k] = predictions[k] + radius * math.sqrt(max(squares[k], 0.0))


@njit(cache=True, nogil=True)
def bring_forward(predictions: Floats, squares: Floats, turned: Floats, gaps: Floats) -> None:
    """Carry arms (K,) through m rewards: with v = u/√f and c = xᵀv (K, m), ‖x‖² loses c²."""
    for k in range(turned.shape[0]):
        for m in range(turned.shape[1]):
            predictions[k] += turned[k, m] * gaps[m]
            squares[k] -= turned[k, m] * turned[k, m]


@njit(cache=True, nogil=True)
def keep(
    state: Floats,
    slot: int,
    arms: Floats,
    projections: Floats,
    choice: int,
    kept: Floats,
    place: int,
) -> None:
    """Keep the chosen x with its u = Ax, and after how many rewards that was (`Pending`)."""
    dimension = arms.shape[1]
    for a in range(dimension):
        kept[place, a] = arms[choice, a]
        kept[place, dimension + a] = projections[choice, a]
    kept[place, 2 * dimension] = state[slot, scalars_at(dimension) + REWARDS]


@njit(cache=True, nogil=True)
def decide(
    state: Floats,
    slot: int,
    radius: float,
    arms: Floats,
    uniform: float,
    projections: Floats,
    predictions: Floats,
    widths: Floats,
    scores: Floats,
    kept: Floats,
    links: Integers,
    heads: Integers,
    place: int,
) -> tuple[int, int, int]:
    """Choose among arms (K, d) by xᵀŵ + radius·‖x‖, and hold the decision in a free place.

    Returns the choice, NONE if an arm cannot be read; how many tied; and the decision's id.
    """
    n_arms, dimension = arms.shape
    shown = arms.reshape(1, n_arms, dimension)
    if not look(state, slot, shown, projections, predictions, widths, 0, 0):
        return NONE, 0, NONE
    for k in range(n_arms):
        scores[0, k] = predictions[0, k] + radius * widths[0, k]
    choice, tied = pick(scores, 0, uniform)
    keep(state, slot, arms, projections[0], choice, kept, place)
    return choice, tied, hold(links, heads, slot, place)


@njit(cache=True, nogil=True)
def decide_many(
    state: Floats,
    slots: Integers,
    radii: Floats,
    arms: Floats,
    uniforms: Floats,
    projections: Floats,
    predictions: Floats,
    widths: Floats,
    scores: Floats,
    kept: Floats,
    places: Integers,
    choices: Integers,
    ties: Integers,
) -> int:
    """`decide` for n tasks, up to holding; the first whose arms cannot be read, or NONE.

    One task's projections at a time, so that they stay in cache.
    """
    for i in range(slots.shape[0]):
        if not look(state, slots[i], arms, projections, predictions, widths, i, 0):
            return i
        for k in range(scores.shape[1]):
            scores[i, k] = predictions[0, k] + radii[i] * widths[0, k]
        choices[i], ties[i] = pick(scores, i, uniforms[i])
        keep(state, slots[i], arms[i], projections[0], choices[i], kept, places[i])
    return NONE


@njit(cache=True, nogil=True)
def pick_many(
    state: Floats,
    slots: Integers,
    arms: Floats,
    projections: Floats,
    scores: Floats,
    uniforms: Floats,
    kept: Floats,
    places: Integers,
    choices: Integers,
    ties: Integers,
) -> None:
    """Pick the best of scores (n, K) that a policy gave, and keep it, up to holding."""
    for i in range(slots.shape[0]):
        choices[i], ties[i] = pick(scores, i, uniforms[i])
        keep(state, slots[i], arms[i], projections[i], choices[i], kept, places[i])


@njit(cache=True, nogil=True)
def hold_many(
    links: Integers, heads: Integers, slots: Integers, places: Integers, decisions: Integers
) -> None:
    """Hold n decisions that were kept in free places."""
    for i in range(slots.shape[0]):
        decisions[i] = hold(links, heads, slots[i], places[i])


@njit(cache=True, nogil=True)
def reward(
    state: Floats,
    kept: Floats,
    links: Integers,
    heads: Integers,
    decision: int,
    value: float,
    weight: float,
) -> tuple[int, int, int]:
    """Learn the reward of an open decision and release it: the answer, the slot, the place."""
    place = find(links, decision)
    if place == NONE:
        return UNKNOWN, NONE, NONE
    slot = links[place, 0]
    answer = learn(state, slot, kept, place, value, weight, np.empty(0))
    if answer != REFUSED:
        release(links, heads, place)
    return answer, slot, place


@njit(cache=True, nogil=True)
def find_many(links: Integers, decisions: Integers, slots: Integers, places: Integers) -> int:
    """Find n different open decisions; the first that is none, or comes again, or NONE."""
    failed = NONE
    found = 0
    for i in range(decisions.shape[0]):
        place = find(links, decisions[i])
        if place == NONE:
            failed = i
            break
        places[i], slots[i] = place, links[place, 0]
        # Nobody's for the moment, so that the same decision is not found twice.
        links[place, 0] = NONE
        found += 1
    for i in range(found):
        links[places[i], 0] = slots[i]
    return failed


@njit(cache=True, nogil=True)
def reward_many(
    state: Floats,
    kept: Floats,
    links: Integers,
    heads: Integers,
    slots: Integers,
    places: Integers,
    values: Floats,
    weights: Floats,
    answers: Integers,
) -> int:
    """Learn n rewards in their order, up to one that is refused, or after which more is DUE.

    Returns how many were learned.
    """
    nothing = np.empty(0)
    for i in range(slots.shape[0]):
        answers[i] = learn(state, slots[i], kept, places[i], values[i], weights[i], nothing)
        if answers[i] == REFUSED:
            return i
        release(links, heads, places[i])
        if answers[i] == DUE:
            return i + 1
    return len(slots)
