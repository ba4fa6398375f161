"""Rewards: how a task learns one, what must follow, and decisions without a reward.

A task learns the default reward, if there is one, with the decision. V, b, T and q are sums, so
another reward replaces it exactly: `absorb` is all that a reward, a default, a correction or the
end of a decision does to a task.
"""

import math
from collections.abc import Hashable, Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import kernels
from headstart.arrays import Floats, Integers
from headstart.kernels import revision_due
from headstart.kernels import state as columns
from headstart.kernels.compilation import compiled
from headstart.kernels.state import COUNT, DRIFT, REWARDS, SUM_OF_SQUARES, SURPRISE
from headstart.live import inputs
from headstart.live._memory import Memory
from headstart.live._pending import (
    FADE,
    NUMBER,
    OWNER,
    PLACE,
    TOLD,
    VALUE,
    WEIGHT,
    Ids,
    find,
    read_ids,
    release,
)
from headstart.live._rows import NONE, dimension_of, n_rewards, packed_statistics, task_state
from headstart.live.decision import Decision, Decisions
from headstart.live.inputs import LARGEST_GROWTH, Name
from headstart.live.outcomes import DecisionState, Outcome, outcome_of

# A reward that is not learned: the sums would not stay finite; no such decision, or one that takes
# more than one call; the task is not open.
REFUSED, UNKNOWN, NOT_OPEN = -1, -2, -3

# What may have to follow a reward, besides what `kernels.state` lists: the estimate counts more
# than the statistics, and must be computed from them again.
DERIVE = 4

# Looking up a member of an enumeration takes as long as a compiled call.
PAID = Outcome.PAID


@compiled
def absorb(
    rows: Floats,
    slot: int,
    features: Floats,
    place: int,
    before: tuple[float, float, float],
    value: float,
    weight: float,
) -> int:
    """Have a task count the reward y with weight w instead of y₀ with w₀, for the x in a place.

    `before` is y₀, w₀ and the number of the reward among the task's; with a weight w₀ of 0 the
    reward is new, and with w = 0 it is removed. A weight counts the observation that many times: x
    and y grow by its root. If the weight falls, the inverse is computed from the statistics: a
    downdate by f = 1 − wxᵀAx cancels as many digits as the reward's own update did, and x may hold
    most of what the task knows. Returns what must follow, as bits; REFUSED if nothing changed.
    """
    row = rows[slot]
    dimension = dimension_of(row.shape[0])
    state = task_state(row, dimension)
    scalars = state.scalars
    value_before, weight_before, number = before
    x, u = np.empty(dimension), np.empty(dimension)
    root = math.sqrt(weight)
    for a in range(dimension):
        x[a] = root * features[place, a]
    kernels.project(state, 0, x, u)
    gram, moment = packed_statistics(row, dimension)
    size = scalars[0, SURPRISE] + scalars[0, SUM_OF_SQUARES]
    if not _stays_finite(gram, moment, state.parameter[0], size, x, u, root * value):
        return REFUSED
    if weight_before == 0.0:
        status: int = kernels.learn(state, 0, x, u, root * value, weight)
        kernels.add_observation(gram, moment, x, root * value)
        return status
    for a in range(dimension):
        x[a] = features[place, a]
    if weight < weight_before:
        _add(scalars, gram, moment, x, value_before, -weight_before)
        _add(scalars, gram, moment, x, value, weight)
        status = DERIVE
    else:
        kernels.project(state, 0, x, u)
        kernels.change_reward(state, 0, x, u, value_before, value, weight_before)
        for a in range(dimension):
            moment[a] += weight_before * (value - value_before) * x[a]
        status = columns.REFACTORISE if scalars[0, DRIFT] > kernels.DRIFT_LIMIT else 0
        if weight > weight_before:
            more = weight - weight_before
            root = math.sqrt(more)
            for a in range(dimension):
                x[a] *= root
                u[a] *= root
            scalars[0, REWARDS] -= 1.0  # it is the same one
            status |= kernels.learn(state, 0, x, u, root * value, more)
            kernels.add_observation(gram, moment, x, root * value)
    status &= ~columns.REVISE
    if kernels.revision_to_repeat(scalars, 0, number):
        status |= columns.REVISE
    return status


@compiled(inline="always")
def _stays_finite(
    gram: Floats, moment: Floats, parameter: Floats, size: float, x: Floats, u: Floats, y: float
) -> bool:
    """Whether everything stays finite; the diagonal of V bounds the rest of V."""
    predicted = 0.0
    growth = 1.0
    for a in range(x.shape[0]):
        predicted += x[a] * parameter[a]
        growth += x[a] * u[a]
    gap = y - predicted
    # One infinity or NaN shows in the sum, so one test of the sum is enough.
    total = size + y * y + gap * gap
    for a in range(x.shape[0]):
        total += abs(gram[a, a]) + x[a] * x[a] + abs(moment[a]) + abs(x[a] * y)
        total += abs(parameter[a]) + abs(gap * u[a])
    return growth < LARGEST_GROWTH and math.isfinite(total)


@compiled(inline="always")
def _add(
    scalars: Floats, gram: Floats, moment: Floats, x: Floats, value: float, weight: float
) -> None:
    """Add a reward to T, q, V and b, or with a weight below 0 take it out; 0 changes nothing.

    Without rewards, all are exactly 0.
    """
    if weight > 0.0:
        scalars[0, REWARDS] += 1.0
    elif weight < 0.0:
        scalars[0, REWARDS] -= 1.0
    left = 0.0 if scalars[0, REWARDS] <= 0.0 else 1.0
    scalars[0, COUNT] = left * max(scalars[0, COUNT] + weight, 0.0)
    squares = scalars[0, SUM_OF_SQUARES] + weight * value * value
    scalars[0, SUM_OF_SQUARES] = left * max(squares, 0.0)
    for a in range(x.shape[0]):
        moment[a] = left * (moment[a] + weight * value * x[a])
        for b in range(a + 1):
            gram[a, b] = left * (gram[a, b] + weight * x[a] * x[b])
        gram[a, a] = max(gram[a, a], 0.0)


@compiled
def _pay_one(
    rows: Floats,
    pending: tuple[Floats, Integers, Floats],
    code: int,
    value: float,
    weight: float,
) -> tuple[int, int, int]:
    """Have an open task learn the reward of a pending decision, instead of a default that counts.

    Releases the decision. Returns status, slot and place. A reward that equals the default that
    counts is left, as UNKNOWN.
    """
    features, links, provisional = pending
    place = find(links, code)
    if place == NONE:
        return UNKNOWN, NONE, NONE
    fade, weight_before = provisional[place, FADE], provisional[place, WEIGHT]
    if weight_before == 0.0:
        fade = 1.0
    elif provisional[place, VALUE] == value:
        return UNKNOWN, NONE, NONE
    slot = links[place, OWNER]
    if slot < NONE:
        return NOT_OPEN, slot, place
    before = provisional[place, VALUE], fade * weight_before, provisional[place, NUMBER]
    status = absorb(rows, slot, features, place, before, value, fade * weight)
    if status >= 0:
        release(links, rows, place)
    return status, slot, place


@compiled
def _pay_all(
    rows: Floats,
    pending: tuple[Floats, Integers, Floats],
    codes: Integers,
    values: Floats,
    weights: Floats,
    owners: Integers,
    places: Integers,
) -> tuple[int, int]:
    """`_pay_one` for n decisions in order; sets the slots and the places (n,) that they had.

    It stops before a reward that is not learned, and after one that something must follow. Returns
    how many were learned, and the status of the last one tried.
    """
    for i in range(codes.shape[0]):
        status, owners[i], places[i] = _pay_one(rows, pending, codes[i], values[i], weights[i])
        if status < 0:
            return i, status
        if status > 0:
            return i + 1, status
    return len(codes), 0


@compiled
def _count_all(
    rows: Floats, pending: tuple[Floats, Integers, Floats], places: Integers, value: float
) -> tuple[int, int, int]:
    """Have open tasks learn a default reward for n decisions, until another reward replaces it.

    It stops after a decision that something must follow. A refused reward does not count. Returns
    how many are done, how many count, and the status of the last one tried.
    """
    features, links, provisional = pending
    counted = 0
    for i in range(places.shape[0]):
        place = places[i]
        slot = links[place, OWNER]
        status = absorb(rows, slot, features, place, (0.0, 0.0, 0.0), value, 1.0)
        if status >= 0:
            counted += 1
            provisional[place, VALUE] = value
            provisional[place, WEIGHT] = provisional[place, FADE] = 1.0
            provisional[place, NUMBER] = n_rewards(rows[slot], dimension_of(rows.shape[1]))
            provisional[place, TOLD] = 0.0
        if status > 0:
            return i + 1, counted, status
    return len(places), counted, 0


class Counts(NamedTuple):
    """What a task counts for a decision: a reward, its weight, the discount of that weight since.

    And the number of the reward among the task's. With a weight of 0 it counts nothing.
    """

    value: float = 0.0
    weight: float = 0.0
    fade: float = 1.0
    number: float = 0.0


NOTHING = Counts()


class Rewards:
    """How the tasks of a bandit learn, and how their decisions expire."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._tasks = memory.tasks
        self._settings = memory.tasks.settings
        # Whether a decision counts as its default before its reward comes.
        self.counts_defaults = memory.tasks.settings.default_reward is not None
        self._one_call = memory.one_call

    def _absorb(
        self,
        slot: int,
        features: Floats,
        place: int,
        before: Counts,
        value: float,
        weight: float,
        item: Hashable | None,
    ) -> int:
        """`absorb`, for the task and an item of a catalogue; a new reward discounts earlier ones.

        Returns what must follow; REFUSED if nothing changed.
        """
        tasks, memory, discount = self._tasks, self._memory, self._settings.discount
        rows, name, fade = tasks.rows, tasks.names[slot], before.fade
        if (value, weight) == (before.value, before.weight):
            return 0
        kept = rows[slot].copy() if discount < 1.0 and not before.weight else None
        if kept is not None:
            tasks.layout.forget(rows[slot], discount)
        counts = before.value, fade * before.weight, before.number
        status = int(absorb(rows, slot, features, place, counts, value, fade * weight))
        if status == REFUSED:
            if kept is not None:
                rows[slot] = kept
            return status
        if kept is not None:
            tasks.pending.fade(rows[slot], discount)
            tasks.items.discount(name, discount)
        if item is not None and self._settings.item_effects:
            n, total = weight - before.weight, weight * value - before.weight * before.value
            tasks.items.count(name, item, features[place], fade * n, fade * total)
        memory.note(name)
        return status

    def _absorb_pending(self, slot: int, place: int, value: float, weight: float) -> int:
        """Have a task count a reward for a pending decision, instead of what counts for it."""
        pending = self._tasks.pending
        before = NOTHING
        if pending.is_provisional(place):
            before = Counts(*pending.provisional[place, :TOLD].tolist())
        item = pending.items.get(place)
        return self._absorb(slot, pending.features, place, before, value, weight, item)

    def _follow_up(self, slot: int, status: int, *, new: bool = True) -> None:
        """Do what must follow a reward: refactorise, revise the prior.

        new: whether it is an additional reward, rather than a replacement.
        """
        tasks, row = self._tasks, self._tasks.rows[slot]
        if self._settings.discount < 1.0:
            tasks.layout.refactorise(row, restate=True)
            if not new:
                pass  # a discount does not change which reward it is
            elif revision_due(tasks.layout.state(row).scalars, 0):
                status |= columns.REVISE
            else:
                status &= ~columns.REVISE
        elif status & DERIVE:
            tasks.layout.refactorise(row, restate=True)
        elif status & columns.REFACTORISE and not status & columns.REVISE:
            tasks.layout.refactorise(row, restate=False)
        if status & columns.REVISE:
            self._memory.revise(slot)

    # A reward.

    def pay(self, decision: str, value: float, weight: float) -> Outcome:
        """`MetaBandit.reward`."""
        tasks, pending = self._tasks, self._tasks.pending
        if self._one_call and self._settings.in_range(value):
            code = pending.parse(decision)
            status, slot, place = _pay_one(tasks.rows, pending.arrays, code, value, weight)
            if status >= 0:
                if pending.items:
                    self._count_item(slot, place, value, weight)
                pending.freed(place)
                self._memory.note(tasks.names[slot])
                if status:
                    self._follow_up(slot, status)
                tasks.settled.note(decision, value)
                return PAID
        place = pending.find(decision)
        if place == NONE:
            return tasks.settled.outcome(decision, value, self._settings)
        state, paid, told = DecisionState.PENDING, None, pending.is_told(place)
        if told:
            state, paid = DecisionState.PAID, float(pending.provisional[place, VALUE])
        outcome = outcome_of(state, value, self._settings, paid=paid, is_default=told)
        return outcome if outcome is not PAID else self._pay(decision, place, value, weight)

    def _pay(self, decision: str, place: int, value: float, weight: float) -> Outcome:
        """Pay a pending decision of any task.

        One that is paid the default that counts waits until the deadline: another reward may
        replace it.
        """
        tasks, pending = self._tasks, self._tasks.pending
        finished, counts = tasks.finished_owner(place), pending.provisional[place]
        slot = pending.owner(place) if finished is None else tasks.reopen(finished)
        new = not pending.is_provisional(place)
        waits = not new and value == counts[VALUE]
        status = self._absorb_pending(slot, place, value, weight)
        if status == REFUSED:
            if finished is not None:
                tasks.finish(finished)
            return Outcome.OUT_OF_RANGE
        if waits:
            counts[WEIGHT], counts[TOLD] = weight, 1.0
        else:
            pending.drop(tasks.rows, place)
            tasks.settled.note(decision, value)
        tasks.note_use(tasks.names[slot], slot)
        self._follow_up(slot, status, new=new)
        return PAID

    def _count_item(self, slot: int, place: int, value: float, weight: float) -> None:
        """Count a reward for the item of a decision that was just paid, instead of its default."""
        tasks, pending = self._tasks, self._tasks.pending
        item = pending.items.get(place)
        if item is not None:
            before, weight_before, fade, *_ = pending.provisional[place].tolist()
            n, total = weight - weight_before, weight * value - weight_before * before
            fade = fade if weight_before else 1.0
            x = pending.features[place]
            tasks.items.count(tasks.names[slot], item, x, fade * n, fade * total)

    def observe(
        self,
        name: Name,
        features: ArrayLike,
        value: float,
        weight: float,
        item: Hashable | None = None,
    ) -> Outcome:
        """`MetaBandit.observe`, for an item of a catalogue if one is given."""
        x = inputs.vector_of("features", features, self._tasks.dimension)
        if not self._settings.in_range(value):
            return Outcome.OUT_OF_RANGE
        with self._memory.opened((name,)) as slots:
            slot = int(slots[0])
            self._memory.catch_up(slot)
            status = self._absorb(slot, x[None], 0, NOTHING, value, weight, item)
            if status == REFUSED:
                raise inputs.too_large("features", x[None])
        self._follow_up(slot, status)
        return PAID

    def replace(
        self,
        name: Name,
        features: Floats,
        counts: Counts,
        value: float,
        weight: float,
        item: Hashable | None = None,
    ) -> Outcome:
        """Have an open task count another reward for features (d,): PAID, or OUT_OF_RANGE."""
        slot = self._tasks.slot(name)
        status = self._absorb(slot, features[None], 0, counts, value, weight, item)
        if status == REFUSED:
            return Outcome.OUT_OF_RANGE
        self._follow_up(slot, status, new=False)
        return PAID

    # Many rewards.

    def pay_many(
        self, decision_ids: Iterable[str], values: ArrayLike, weights: ArrayLike
    ) -> list[Outcome]:
        """`MetaBandit.reward_many`: in one compiled call for as many as possible."""
        ids, rewards, counts = inputs.rewards_of(decision_ids, values, weights)
        tasks = self._tasks
        if not self._one_call or not self._all_in_range(rewards):
            triples = zip(_plain(ids), rewards.tolist(), counts.tolist(), strict=True)
            return [self.pay(decision, value, weight) for decision, value, weight in triples]
        decided_here = read_ids(tasks.pending.prefix, ids)
        if decided_here is None:
            codes = np.array([tasks.pending.parse(decision) for decision in ids], dtype=np.int64)
        else:
            codes = decided_here.codes
        outcomes, done = [PAID] * len(ids), 0
        while done < len(ids):
            first = done
            done, status = self._pay_some(codes, rewards, counts, done)
            if decided_here is None:
                paid = _plain(ids[first:done])
                tasks.settled.note_all(zip(paid, rewards[first:done].tolist(), strict=True))
            else:
                paid_ids = Ids(decided_here.origin, codes[first:done])
                tasks.settled.note_batch(paid_ids, rewards[first:done].copy())
            if status < 0:  # not pending, or not of an open task, or too large
                value, weight = float(rewards[done]), float(counts[done])
                outcomes[done] = self.pay(str(ids[done]), value, weight)
                done += 1
        return outcomes

    def _all_in_range(self, values: Floats) -> bool:
        in_range = self._settings.in_range
        return not len(values) or (in_range(float(values.min())) and in_range(float(values.max())))

    def _pay_some(
        self, codes: Integers, values: Floats, weights: Floats, done: int
    ) -> tuple[int, int]:
        """Pay a batch from a decision on. Returns how many are done, and why it stopped.

        The status is below 0 if the next reward was not learned, else 0.
        """
        tasks, pending = self._tasks, self._tasks.pending
        owners, places = np.empty((2, len(codes)), dtype=np.int64)
        while done < len(codes):
            rest = slice(done, None)
            given = codes[rest], values[rest], weights[rest], owners[rest], places[rest]
            learned, status = _pay_all(tasks.rows, pending.arrays, *given)
            paid = slice(done, done + learned)
            slots = owners[paid].tolist()
            for i in range(done, done + learned) if pending.items else ():
                counts = float(values[i]), float(weights[i])
                self._count_item(int(owners[i]), int(places[i]), *counts)
            pending.free_all(places[paid].tolist())
            done += learned
            self._memory.note_all(slots)
            if status < 0:
                return done, status
            if status:
                self._follow_up(slots[-1], status)
        return done, 0

    # The default reward, from the decision on.

    def count(self, decisions: Decision | list[Decision] | Decisions) -> None:
        """Have tasks learn the default reward for new decisions."""
        pending = self._tasks.pending
        if isinstance(decisions, Decision):
            places = np.array([pending.parse(decisions.id) & PLACE])
        elif isinstance(decisions, list):
            places = np.array([pending.parse(decision.id) & PLACE for decision in decisions])
        else:
            ids = read_ids(pending.prefix, decisions.ids)
            places = np.empty(0, dtype=np.int64) if ids is None else ids.codes & PLACE
        self._count(places, float(self._settings.default_reward or 0.0))

    def _count(self, places: Integers, default: float) -> None:
        tasks, pending = self._tasks, self._tasks.pending
        if not self._one_call:
            for place in places.tolist():
                slot = pending.owner(place)
                status = self._absorb_pending(slot, place, default, 1.0)
                if status != REFUSED:
                    pending.count(place, default, tasks.scalar(slot, REWARDS))
                    self._follow_up(slot, status)
            return
        done = 0
        while done < len(places):
            more, counted, status = _count_all(tasks.rows, pending.arrays, places[done:], default)
            pending.n_provisional += counted
            now = places[done : done + more].tolist()
            slots = [pending.owner(place) for place in now if pending.is_provisional(place)]
            for place in now if pending.items else ():
                item = pending.items.get(place)
                if item is not None and pending.is_provisional(place):
                    name, x = tasks.names[pending.owner(place)], pending.features[place]
                    tasks.items.count(name, item, x, 1.0, default)
            done += more
            self._memory.note_all(slots)
            if status > 0:
                self._follow_up(slots[-1], status)

    def _give_up(self, place: int) -> None:
        """Forget a decision, and what its task has learned for it, unless that was reported."""
        tasks, pending = self._tasks, self._tasks.pending
        if not pending.is_provisional(place) or pending.is_told(place):
            tasks.drop_decision(place)
            return
        finished = tasks.finished_owner(place)
        slot = pending.owner(place) if finished is None else tasks.reopen(finished)
        status = self._absorb_pending(slot, place, 0.0, 0.0)
        pending.drop(tasks.rows, place)
        self._follow_up(slot, status, new=False)
        if finished is not None:
            tasks.finish(finished)

    # No reward.

    def run_out(self) -> None:
        """Settle the decisions whose deadline has passed, and finish the tasks that are idle."""
        if self._settings.deadline_seconds is not None:
            now, pending = self._settings.clock(), self._tasks.pending
            while (place := pending.oldest()) != NONE:
                if not self._settings.has_expired(float(pending.times[place]), now):
                    break
                self._expire(place)
        self._tasks.finish_idle()

    def _expire(self, place: int) -> None:
        """Settle a decision with the reward it counts as, or pay its default, if there is one."""
        tasks, default = self._tasks, self._settings.default_reward
        decision, finished = tasks.pending.decision(place), tasks.finished_owner(place)
        if tasks.pending.is_provisional(place):
            told = tasks.pending.is_told(place)
            value = float(tasks.pending.provisional[place, VALUE]) if told else None
            tasks.drop_decision(place)
            tasks.settled.note(decision, value)
            return
        if default is None or self.pay(decision, default, 1.0) is not PAID:
            tasks.drop_decision(place)
        if finished is not None and finished in tasks.slots:
            tasks.finish(finished)  # no user came back
        tasks.settled.note(decision, None)

    def drop_excess(self) -> None:
        """Let the oldest decisions expire if there are too many.

        They no longer count as their default: their deadline has not passed.
        """
        tasks, pending = self._tasks, self._tasks.pending
        while pending.are_too_many:
            place = pending.oldest()
            decision, told = pending.decision(place), pending.is_told(place)
            value = float(pending.provisional[place, VALUE]) if told else None
            self._give_up(place)
            tasks.settled.note(decision, value)

    def cancel(self, decision: str) -> bool:
        """Give up a pending decision; false if it is not pending."""
        pending = self._tasks.pending
        place = pending.find(decision)
        if place == NONE or pending.is_told(place):
            return False
        self._give_up(place)
        return True


def _plain(ids: Sequence[str] | NDArray[np.str_]) -> list[str]:
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
