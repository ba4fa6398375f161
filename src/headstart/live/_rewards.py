"""Rewards: how a task learns one, what must follow, and decisions without a reward.

A task learns the default reward, if there is one, with the decision. V, b, T and q are sums, so
another reward replaces it exactly.
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
from headstart.live._rows import (
    AS_IT_IS,
    COUNTED,
    NONE,
    dimension_of,
    n_rewards,
    packed_statistics,
    task_state,
)
from headstart.live.decision import Decision, Decisions
from headstart.live.inputs import LARGEST_GROWTH, Name
from headstart.live.outcomes import DecisionState, Outcome, outcome_of

# Learning a reward returns one of these if it learned nothing: the sums would not stay finite; no
# such decision; the task is not open; the memory must first note that the task changes.
REFUSED, UNKNOWN, NOT_OPEN, CHANGES = -1, -2, -3, -4

# What may have to follow a reward, besides what `kernels.state` lists: the estimate counts more
# than the statistics, and must be computed from them again.
DERIVE = 4

# Looking up a member of an enumeration takes as long as a compiled call.
PAID = Outcome.PAID


@compiled
def _learn(
    rows: Floats,
    slot: int,
    features: Floats,
    place: int,
    value: float,
    weight: float,
) -> int:
    """Learn one reward. Returns what must follow, as bits; REFUSED or CHANGES if nothing changed.

    The place holds x (`Pending`). A weight counts the observation that many times: x and y grow by
    its root.
    """
    row = rows[slot]
    dimension = dimension_of(row.shape[0])
    state = task_state(row, dimension)
    scalars = state.scalars
    root = math.sqrt(weight)
    y = root * value
    x, u = np.empty(dimension), np.empty(dimension)
    for a in range(dimension):
        x[a] = root * features[place, a]
    kernels.project(state, 0, x, u)
    gram, moment = packed_statistics(row, dimension)
    size = scalars[0, SURPRISE] + scalars[0, SUM_OF_SQUARES]
    if not _stays_finite(gram, moment, state.parameter[0], size, x, u, y):
        return REFUSED
    if row[COUNTED] <= AS_IT_IS:
        return CHANGES
    status: int = kernels.learn(state, 0, x, u, y, weight)
    kernels.add_observation(gram, moment, x, y)
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


@compiled
def _replace(
    rows: Floats,
    slot: int,
    features: Floats,
    place: int,
    counts: Floats,
    value: float,
    weight: float,
) -> int:
    """Replace the reward that a task has learned for the decision in a place; returns as `_learn`.

    `counts` (3,) is that reward, its weight and its number. A weight of 0 removes it. If the weight
    falls, the inverse is computed from the statistics: a downdate by f = 1 − wxᵀAx cancels as many
    digits as the reward's own update did, and x may hold most of what the task knows.
    """
    row = rows[slot]
    dimension = dimension_of(row.shape[0])
    state = task_state(row, dimension)
    scalars = state.scalars
    before, weight_before, number = counts[0], counts[1], counts[2]
    x, u = np.empty(dimension), np.empty(dimension)
    root = math.sqrt(weight)
    for a in range(dimension):
        x[a] = root * features[place, a]
    kernels.project(state, 0, x, u)
    gram, moment = packed_statistics(row, dimension)
    size = scalars[0, SURPRISE] + scalars[0, SUM_OF_SQUARES]
    if not _stays_finite(gram, moment, state.parameter[0], size, x, u, root * value):
        return REFUSED
    if row[COUNTED] <= AS_IT_IS:
        return CHANGES
    for a in range(dimension):
        x[a] = features[place, a]
    if weight < weight_before:
        _take_out(scalars, gram, moment, x, before, weight_before)
        _put_back(scalars, gram, moment, x, value, weight)
        status = DERIVE
    else:
        kernels.project(state, 0, x, u)
        kernels.change_reward(state, 0, x, u, before, value, weight_before)
        for a in range(dimension):
            moment[a] += weight_before * (value - before) * x[a]
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
def _take_out(
    scalars: Floats, gram: Floats, moment: Floats, x: Floats, value: float, weight: float
) -> None:
    """Subtract a reward from T, q, V and b; without rewards, all are exactly 0."""
    scalars[0, REWARDS] -= 1.0
    is_last = scalars[0, REWARDS] <= 0.0
    left = 0.0 if is_last else 1.0
    scalars[0, COUNT] = left * max(scalars[0, COUNT] - weight, 0.0)
    squares = scalars[0, SUM_OF_SQUARES] - weight * value * value
    scalars[0, SUM_OF_SQUARES] = left * max(squares, 0.0)
    for a in range(x.shape[0]):
        moment[a] = left * (moment[a] - weight * value * x[a])
        for b in range(a + 1):
            gram[a, b] = left * (gram[a, b] - weight * x[a] * x[b])
        gram[a, a] = max(gram[a, a], 0.0)


@compiled(inline="always")
def _put_back(
    scalars: Floats, gram: Floats, moment: Floats, x: Floats, value: float, weight: float
) -> None:
    """Add a reward to T, q, V and b, unless its weight is 0."""
    if weight > 0.0:
        scalars[0, REWARDS] += 1.0
        scalars[0, COUNT] += weight
        scalars[0, SUM_OF_SQUARES] += weight * value * value
        for a in range(x.shape[0]):
            moment[a] += weight * value * x[a]
            for b in range(a + 1):
                gram[a, b] += weight * x[a] * x[b]


@compiled
def _count_all(
    rows: Floats,
    features: Floats,
    links: Integers,
    provisional: Floats,
    places: Integers,
    value: float,
) -> tuple[int, int, int, int]:
    """Learn a provisional default reward for n decisions of open tasks.

    It stops after a decision that something must follow, or before one where the memory must note a
    change. A refused reward does not count. Returns how many are done, how many count, and the
    status and slot of the last one tried.
    """
    counted = 0
    for i in range(places.shape[0]):
        place = places[i]
        slot = links[place, OWNER]
        status = _learn(rows, slot, features, place, value, 1.0)
        if status == CHANGES:
            return i, counted, status, slot
        if status >= 0:
            counted += 1
            provisional[place, VALUE] = value
            provisional[place, WEIGHT] = provisional[place, FADE] = 1.0
            provisional[place, NUMBER] = n_rewards(rows[slot], dimension_of(rows.shape[1]))
            provisional[place, TOLD] = 0.0
        if status > 0:
            return i + 1, counted, status, slot
    return len(places), counted, 0, NONE


@compiled
def _reward_one(
    rows: Floats, features: Floats, links: Integers, code: int, value: float, weight: float
) -> tuple[int, int, int]:
    """Learn the reward of a pending decision and release it. Returns status, slot and place."""
    place = find(links, code)
    if place == NONE:
        return UNKNOWN, NONE, NONE
    slot = links[place, OWNER]
    if slot < NONE:
        return NOT_OPEN, slot, place
    status = _learn(rows, slot, features, place, value, weight)
    if status >= 0:
        release(links, rows, place)
    return status, slot, place


@compiled
def _reward_all(
    rows: Floats,
    features: Floats,
    links: Integers,
    codes: Integers,
    values: Floats,
    weights: Floats,
    places: Integers,
) -> tuple[int, int, int]:
    """`_reward_one` for n decisions in order; sets the places (n,) that they had.

    It stops at a reward that is not learned, or that something must follow. Returns how many were
    learned, and the status and slot of the last one tried.
    """
    for i in range(codes.shape[0]):
        status, slot, places[i] = _reward_one(
            rows, features, links, codes[i], values[i], weights[i]
        )
        if status < 0:
            return i, status, slot
        if status > 0:
            return i + 1, status, slot
    return len(codes), 0, NONE


@compiled
def _replace_one(
    rows: Floats,
    features: Floats,
    links: Integers,
    provisional: Floats,
    code: int,
    value: float,
    weight: float,
) -> tuple[int, int, int]:
    """Replace the default of a pending decision and release it; returns as `_reward_one`.

    UNKNOWN if no default counts for the decision, or if the reward equals it.
    """
    place = find(links, code)
    if place == NONE or provisional[place, WEIGHT] == 0.0 or provisional[place, VALUE] == value:
        return UNKNOWN, NONE, NONE
    slot = links[place, OWNER]
    if slot < NONE:
        return NOT_OPEN, slot, place
    counts = np.empty(3)
    counts[0] = provisional[place, VALUE]
    counts[1] = provisional[place, FADE] * provisional[place, WEIGHT]
    counts[2] = provisional[place, NUMBER]
    status = _replace(rows, slot, features, place, counts, value, provisional[place, FADE] * weight)
    if status >= 0:
        release(links, rows, place)
    return status, slot, place


@compiled
def _replace_all(
    rows: Floats,
    features: Floats,
    links: Integers,
    provisional: Floats,
    codes: Integers,
    values: Floats,
    weights: Floats,
    places: Integers,
) -> tuple[int, int, int]:
    """`_replace_one` for n decisions in order; stops and returns as `_reward_all`."""
    for i in range(codes.shape[0]):
        status, slot, places[i] = _replace_one(
            rows, features, links, provisional, codes[i], values[i], weights[i]
        )
        if status < 0:
            return i, status, slot
        if status > 0:
            return i + 1, status, slot
    return len(codes), 0, NONE


class Counts(NamedTuple):
    """What a task counts for a decision: a reward, its weight, the discount of that weight since.

    And the number of the reward among the task's.
    """

    value: float
    weight: float
    fade: float
    number: float


class Rewards:
    """How the tasks of a bandit learn, and how their decisions expire."""

    def __init__(self, memory: Memory) -> None:
        self._memory = memory
        self._tasks = memory.tasks
        self._settings = memory.tasks.settings
        # Whether a decision counts as its default before its reward comes.
        self.counts_defaults = memory.tasks.settings.default_reward is not None
        self._one_call = memory.one_call

    # One reward.

    def pay(self, decision: str, value: float, weight: float) -> Outcome:
        """`MetaBandit.reward`."""
        tasks, settings = self._tasks, self._settings
        if not settings.in_range(value):
            return self._outcome(decision, value)
        paid = self._one_call and self._pay_in_one_call(decision, value, weight)
        if not paid and tasks.pending.n_provisional:
            place = tasks.pending.find(decision)
            if place != NONE and tasks.pending.is_provisional(place):
                return self._replace_default(place, value, weight)
        outcome = PAID if paid else self._pay(decision, value, weight)
        if outcome is PAID:
            tasks.settled.note(decision, value)
        return outcome

    def _outcome(self, decision: str, value: float) -> Outcome:
        """The outcome of a reward that is not learned."""
        pending = self._tasks.pending
        place = pending.find(decision)
        if place == NONE:
            return self._tasks.settled.outcome(decision, value, self._settings)
        return self._outcome_of_pending(place, value)

    def _outcome_of_pending(self, place: int, value: float) -> Outcome:
        """The outcome of a reward for a pending decision."""
        pending = self._tasks.pending
        if not pending.is_told(place):
            return outcome_of(DecisionState.PENDING, value, self._settings)
        paid = float(pending.provisional[place, VALUE])
        state = DecisionState.PAID
        return outcome_of(state, value, self._settings, paid=paid, is_default=True)

    def _pay_in_one_call(self, decision: str, value: float, weight: float) -> bool:
        """Have an open task learn a reward in one compiled call; false if that is not enough."""
        tasks, pending = self._tasks, self._tasks.pending
        code = pending.parse(decision)
        while True:
            if pending.n_provisional:
                status, slot, place = _replace_one(
                    tasks.rows,
                    pending.features,
                    pending.links,
                    pending.provisional,
                    code,
                    value,
                    weight,
                )
            else:
                status, slot, place = _reward_one(
                    tasks.rows, pending.features, pending.links, code, value, weight
                )
            if status >= 0:
                break
            if status != CHANGES:
                return False
            self._memory.note_change(slot)
        if pending.items:
            self._count_item(slot, place, value, weight)
        pending.freed(place)
        if status:
            self._follow_up(slot, status)
        return True

    def _pay(self, decision: str, value: float, weight: float) -> Outcome:
        """Pay any decision of any task."""
        tasks = self._tasks
        place = tasks.pending.find(decision)
        if place == NONE:
            return self._outcome(decision, value)
        finished = tasks.finished_owner(place)
        slot = tasks.pending.owner(place) if finished is None else tasks.reopen(finished)
        status = self._learn(slot, tasks.pending.features, place, value, weight)
        if status == REFUSED:
            if finished is not None:
                tasks.finish(finished)
            return Outcome.OUT_OF_RANGE
        self._count_item(slot, place, value, weight)
        tasks.pending.drop(tasks.rows, place)
        tasks.note_use(tasks.names[slot], slot)
        self._follow_up(slot, status)
        return PAID

    def _count_item(self, slot: int, place: int, value: float, weight: float) -> None:
        """Count a reward for the item of a decision, instead of the one counted so far.

        The decision is still pending, and its task has learned the reward.
        """
        before, weight_before, fade, _, _ = self._tasks.pending.provisional[place].tolist()
        fade = fade if weight_before else 1.0
        n, total = weight - weight_before, weight * value - weight_before * before
        self._add_to_item(slot, place, fade * n, fade * total)

    def _add_to_item(self, slot: int, place: int, n: float, total: float) -> None:
        """Count n rewards with this sum for the item of a decision, if it is in a catalogue."""
        tasks, pending = self._tasks, self._tasks.pending
        item = pending.items.get(place)
        if item is not None:
            x = pending.features[place]
            tasks.items.count(tasks.names[slot], item, x, n, total)

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
            status = self._learn(slot, x[None], 0, value, weight)
            if status == REFUSED:
                raise inputs.too_large("features", x[None])
        if item is not None and self._settings.item_effects:
            self._tasks.items.count(name, item, x, weight, weight * value)
        self._follow_up(slot, status)
        return PAID

    def _learn(self, slot: int, features: Floats, place: int, value: float, weight: float) -> int:
        """Learn a reward for the decision in a place, after discounting earlier rewards."""
        tasks, discount = self._tasks, self._settings.discount
        while True:
            rows = tasks.rows
            before = rows[slot].copy() if discount < 1.0 else None
            if before is not None:
                tasks.layout.forget(rows[slot], discount)
            status = int(_learn(rows, slot, features, place, value, weight))
            if status >= 0:
                if before is not None:
                    tasks.pending.fade(rows[slot], discount)
                    tasks.items.discount(tasks.names[slot], discount)
            elif before is not None:
                rows[slot] = before
            if status != CHANGES:
                return status
            self._memory.note_change(slot)

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
        while done < len(codes):
            rest = slice(done, None)
            places = np.empty(len(codes) - done, dtype=np.int64)
            given = (codes[rest], values[rest], weights[rest])
            owners = pending.owners(given[0]) if pending.items else places
            if pending.n_provisional:
                learned, status, slot = _replace_all(
                    tasks.rows, pending.features, pending.links, pending.provisional, *given, places
                )
            else:
                learned, status, slot = _reward_all(
                    tasks.rows, pending.features, pending.links, *given, places
                )
            paid = places[:learned].tolist()
            for i, place in enumerate(paid if pending.items else ()):
                self._count_item(int(owners[i]), place, float(given[1][i]), float(given[2][i]))
            pending.free_all(paid)
            done += learned
            if status == CHANGES:
                self._memory.note_change(slot)
            elif status < 0:
                return done, status
            elif status:
                self._follow_up(slot, status)
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
                status = self._learn(slot, pending.features, place, default, 1.0)
                if status != REFUSED:
                    self._count_item(slot, place, default, 1.0)
                    pending.count(place, default, tasks.scalar(slot, REWARDS))
                    self._follow_up(slot, status)
            return
        done = n_counted = 0
        while done < len(places):
            rest = places[done:]
            more, counted, status, slot = _count_all(
                tasks.rows, pending.features, pending.links, pending.provisional, rest, default
            )
            for place in rest[:more].tolist() if pending.items else ():
                if pending.is_provisional(place):
                    self._add_to_item(pending.owner(place), place, 1.0, default)
            done += more
            n_counted += counted
            if status == CHANGES:
                self._memory.note_change(slot)
            elif status > 0:
                self._follow_up(slot, status)
        pending.n_provisional += n_counted

    def _replace_default(self, place: int, value: float, weight: float) -> Outcome:
        """Pay a decision for which its task has learned a default.

        A decision that is paid its default waits until the deadline: another reward may replace it.
        """
        tasks, pending = self._tasks, self._tasks.pending
        outcome = self._outcome_of_pending(place, value)
        if outcome is not PAID:
            return outcome
        decision, finished = pending.decision(place), tasks.finished_owner(place)
        slot = pending.owner(place) if finished is None else tasks.reopen(finished)
        status = self._replace_pending(slot, place, value, weight)
        if status == REFUSED:
            if finished is not None:
                tasks.finish(finished)
            return Outcome.OUT_OF_RANGE
        counts = pending.provisional[place]
        if value == counts[VALUE]:
            counts[WEIGHT], counts[TOLD] = weight, 1.0
        else:
            pending.drop(tasks.rows, place)
            tasks.settled.note(decision, value)
        tasks.note_use(tasks.names[slot], slot)
        self._follow_up(slot, status, new=False)
        return PAID

    def _replace_pending(self, slot: int, place: int, value: float, weight: float) -> int:
        """Have a task count another reward for a decision; a weight of 0 removes it."""
        pending = self._tasks.pending
        before, weight_before, fade, number, _ = pending.provisional[place].tolist()
        counts = Counts(before, weight_before, fade, number)
        status = self._replace(slot, pending.features, place, counts, value, weight)
        if status >= 0:
            self._count_item(slot, place, value, weight)
        return status

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
        status = self._replace(slot, features[None], 0, counts, value, weight)
        if status == REFUSED:
            return Outcome.OUT_OF_RANGE
        if item is not None and self._settings.item_effects:
            more = weight - counts.weight, weight * value - counts.weight * counts.value
            self._tasks.items.count(name, item, features, *(counts.fade * each for each in more))
        self._follow_up(slot, status, new=False)
        return PAID

    def _replace(
        self, slot: int, features: Floats, place: int, counts: Counts, value: float, weight: float
    ) -> int:
        """Replace what counts for the decision in a place."""
        tasks, fade = self._tasks, counts.fade
        if (value, weight) == (counts.value, counts.weight):
            return 0
        before = np.array([counts.value, fade * counts.weight, counts.number])
        while True:
            status = int(_replace(tasks.rows, slot, features, place, before, value, fade * weight))
            if status != CHANGES:
                return status
            self._memory.note_change(slot)

    def _give_up(self, place: int) -> None:
        """Forget a decision, and what its task has learned for it, unless that was reported."""
        tasks, pending = self._tasks, self._tasks.pending
        if not pending.is_provisional(place) or pending.is_told(place):
            tasks.drop_decision(place)
            return
        finished = tasks.finished_owner(place)
        slot = pending.owner(place) if finished is None else tasks.reopen(finished)
        status = self._replace_pending(slot, place, 0.0, 0.0)
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
