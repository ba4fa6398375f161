"""Chooser: choose arms by their scores, for one task or many, and keep the decisions."""

from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks, kernels
from headstart.arrays import Floats, Integers
from headstart.interfaces import Policy
from headstart.kernels.choice import tie_threshold
from headstart.kernels.compilation import compiled
from headstart.kernels.state import Reading
from headstart.kernels.views import view
from headstart.live._decision_sets import (
    ArmsOfTasks,
    Batch,
    DecisionSet,
    MaskOfTasks,
    decision_set,
    read_batch,
)
from headstart.live._item_effects import NO_EFFECTS, Effects, is_kept
from headstart.live._memory import Memory
from headstart.live._pending import PLACE, Ids, hold
from headstart.live._rows import NONE, count_of
from headstart.live._scores import Scores, UnreadableArmError, index_task, read_task
from headstart.live._uniforms import UniformStream
from headstart.live.catalogue import Catalogue
from headstart.live.decision import Decision, Decisions
from headstart.live.inputs import Arms, Mask, Name, name_of, too_large

_DOUBLE = np.dtype(np.float64)

# Names of these types are looked up unchanged; True and 1.0 would find the task 1.
_PLAIN = {str, int}

# How often a policy that samples scores the arms. One draw decides, and the share of draws that
# choose the same arm is the propensity.
DRAWS = 100

# How many numbers a policy's scores and uniforms may take at once.
_BLOCK = 1 << 20


@compiled(inline="always")
def _probability(tied: int, eligible: int, ties: bool, exploration: float) -> float:
    """ε/K, and (1 − ε)/tied for an arm that ties with the best."""
    return exploration / eligible + ((1.0 - exploration) / tied if ties else 0.0)


@compiled
def _probability_of(scores: Floats, i: int, arm: int, exploration: float) -> float:
    """The probability that an arm is chosen by row i of the scores (m, K)."""
    if scores[i, arm] == -np.inf:
        return 0.0
    threshold = tie_threshold(scores, i)
    tied = 0
    eligible = 0
    for k in range(scores.shape[1]):
        tied += scores[i, k] >= threshold
        eligible += scores[i, k] > -np.inf
    return _probability(tied, eligible, scores[i, arm] >= threshold, exploration)


@compiled
def choose(scores: Floats, i: int, uniform: float, exploration: float) -> tuple[int, float]:
    """An arm by row i of the scores (m, K), −∞ where chosen before, and its probability.

    A uniform number u < ε takes the eligible arm number ⌊u/ε·K⌋; else (u − ε)/(1 − ε) breaks ties
    for the largest score.
    """
    if exploration == 0.0:
        choice, tied = kernels.pick(scores, i, uniform)
        return choice, 1.0 / tied
    if uniform >= exploration:
        choice, _ = kernels.pick(scores, i, (uniform - exploration) / (1.0 - exploration))
        return choice, _probability_of(scores, i, choice, exploration)
    eligible = 0
    for k in range(scores.shape[1]):
        eligible += scores[i, k] > -np.inf
    wanted = min(int(uniform / exploration * eligible), eligible - 1)
    choice = 0
    for k in range(scores.shape[1]):
        if scores[i, k] > -np.inf:
            if wanted == 0:
                choice = k
                break
            wanted -= 1
    return choice, _probability_of(scores, i, choice, exploration)


@compiled
def choose_ranked(
    scores: Floats,
    draw: int,
    uniforms: Floats,
    exploration: float,
    choices: Integers,
    propensities: Floats,
) -> None:
    """The best n arms in order by one of m equally likely rows of the scores (m, K).

    A propensity is the arm's probability given the arms before it: each row counts by how likely it
    makes those. So the product of all n is the probability of the list. Chosen arms become −∞.
    """
    n_rows = scores.shape[0]
    weights, chances = np.ones(n_rows), np.empty(n_rows)
    for rank in range(uniforms.shape[0]):
        choice, _ = choose(scores, draw, uniforms[rank], exploration)
        least = 1.0
        for i in range(n_rows):
            chances[i] = _probability_of(scores, i, choice, exploration)
            least = min(least, chances[i])
        total = 0.0
        more = 0.0
        for i in range(n_rows):
            total += weights[i]
            more += weights[i] * (chances[i] - least)
        # In this form, rounding leaves it neither below the floor nor above 1.
        propensities[rank] = min(least + more / total, 1.0)
        choices[rank] = choice
        for i in range(n_rows):
            weights[i] *= chances[i] / propensities[rank]
            scores[i, choice] = -np.inf


def first_propensities(scores: Floats, exploration: float) -> Floats:
    """The probability (K,) that each arm is chosen first, over the rows of the scores (m, K)."""
    largest = np.empty(scores.shape[1])
    kernels.propensities(scores, largest)
    eligible = scores > -np.inf
    floors = eligible * (exploration / eligible.sum(axis=1, keepdims=True))
    least = floors.min(axis=0)
    return np.asarray(least + (floors - least).mean(axis=0) + (1.0 - exploration) * largest)


@compiled(inline="always")
def _reading_in(scratch: Floats, n_arms: int, dimension: int) -> Reading:
    """Scratch memory as the reading of one task."""
    end = n_arms * dimension
    return Reading(
        view(scratch, 0, (1, n_arms, dimension)),
        view(scratch, end, (1, n_arms)),
        view(scratch, end + n_arms, (1, n_arms)),
    )


@compiled(fastmath=False)
def _decide_one(
    rows: Floats,
    slot: int,
    radius: float,
    mean: tuple[float, Floats],
    effects: Effects,
    arms: Floats,
    uniform: float,
    exploration: float,
    scratch: Floats,
    scores: Floats,
    pending: tuple[Floats, Integers, Floats],
    place: int,
) -> tuple[int, float, int]:
    """Choose among arms (K, d) by xᵀŵ + radius·‖x‖, and keep the decision in a free place.

    With a mean radius and S̄ (1, d, d), the index has parts. Effects of items are (1, K), or none.
    Sets the scores (K,). Returns the choice, or NONE if an arm cannot be read; its propensity; and
    the code of the decision's id.
    """
    n_arms, dimension = arms.shape
    arms_of_task = arms.reshape(1, n_arms, dimension)
    reading = _reading_in(scratch, n_arms, dimension)
    if not read_task(rows, slot, arms_of_task, 0, reading, 0):
        return NONE, 0.0, NONE
    rows_of_scores = view(scores, 0, (1, n_arms))
    count = count_of(rows[slot], dimension)
    index_task(reading, arms_of_task, 0, radius, mean, effects, count, scratch, rows_of_scores, 0)
    choice, propensity = choose(rows_of_scores, 0, uniform, exploration)
    kept, links, _ = pending
    for a in range(dimension):
        kept[place, a] = arms[choice, a]
    return choice, propensity, hold(links, rows, slot, place)


@compiled(fastmath=False)
def _choose_all(
    rows: Floats,
    slots: Integers,
    radii: Floats,
    mean: tuple[Floats, Floats],
    effects: Effects,
    arms_of_tasks: tuple[Floats, Integers],
    uniforms: Floats,
    exploration: float,
    scratch: Floats,
    results: tuple[Floats, Integers, Floats],
) -> int:
    """Choose for n tasks as `_decide_one` does; the first whose arms cannot be read, or NONE.

    It takes sets of arms (s, K, d) with effects (s, K), and the set of each task. It sets scores,
    choices and propensities.
    """
    arms, which = arms_of_tasks
    mean_radii, mean_covariance = mean
    scores, choices, propensities = results
    _, n_arms, dimension = arms.shape
    reading = _reading_in(scratch, n_arms, dimension)
    for i in range(slots.shape[0]):
        if not read_task(rows, slots[i], arms, which[i], reading, 0):
            return i
        mean_of_task, count = (mean_radii[i], mean_covariance), count_of(rows[slots[i]], dimension)
        index_task(
            reading, arms, which[i], radii[i], mean_of_task, effects, count, scratch, scores, i
        )
        choice, propensity = choose(scores, i, uniforms[i], exploration)
        choices[i], propensities[i] = choice, propensity
    return NONE


@compiled
def _keep_all(
    rows: Floats,
    slots: Integers,
    features: Floats,
    pending: tuple[Floats, Integers, Floats],
    places: Integers,
    codes: Integers,
) -> None:
    """Keep the chosen features (n, d) of n tasks in free places; sets the codes (n,) of the ids."""
    kept, links, _ = pending
    for i in range(slots.shape[0]):
        for a in range(features.shape[1]):
            kept[places[i], a] = features[i, a]
        codes[i] = hold(links, rows, slots[i], places[i])


class Choices(NamedTuple):
    """Arms that were chosen for n tasks, and are not kept yet."""

    indices: Integers  # (n,)
    propensities: Floats  # (n,); nan if another system chose
    scores: Sequence[Floats]  # (g, K) of each group of the batch


class Chooser:
    """A policy that decides for the tasks of a bandit: it chooses arms, and keeps the decisions."""

    def __init__(self, policy: Policy, memory: Memory, stream: UniformStream) -> None:
        self._memory = memory
        self._tasks = memory.tasks
        self._stream = stream
        self._scores = Scores(policy, memory)
        self._names = memory.tasks.feature_names
        self._exploration = float(memory.tasks.settings.exploration)  # ε
        self._draws = DRAWS  # m
        self._in_one_call = memory.one_call and self._scores.index is not None
        self._counts_items = memory.tasks.settings.item_effects

    # One task.

    def decide(
        self,
        task: Name,
        arms: Arms | Catalogue | DecisionSet,
        *,
        mask: Mask | None,
        n: int | None,
        about: ArrayLike | None,
    ) -> Decision | list[Decision]:
        """`MetaBandit.decide`: in one compiled call where that is enough."""
        if mask is not None or isinstance(arms, Catalogue):
            arms = decision_set(arms, self._names).masked(mask)
        if n is None and about is None:
            decision = self._decide_in_one_call(task, arms)
            if decision is not None:
                return decision
        name = name_of(task)
        if about is None:
            return self._decide(name, arms, n)
        with self._memory.knowing(name, about):
            return self._decide(name, arms, n)

    def _decide_in_one_call(self, task: Name, arms: Arms | DecisionSet) -> Decision | None:
        """Decide for an open task among arms (K, d), compiled; None if that is not enough."""
        effects, given = NO_EFFECTS, None
        if isinstance(arms, DecisionSet):
            if arms.are_items:
                effects = self._scores.effects([arms])
            given, arms = arms, arms.features
        # True and 1.0 would find the task 1.
        plain = self._in_one_call and (type(task) is str or type(task) is int)
        tasks, stream = self._tasks, self._stream
        slot, pending = tasks.slots.get(task) if plain else None, tasks.pending
        if slot is None or type(arms) is not np.ndarray or arms.dtype is not _DOUBLE:
            return None
        shape, free = arms.shape, pending.free
        if len(shape) != 2 or shape[1] != tasks.dimension or not shape[0] or not arms.flags.carray:
            return None
        if not free:
            pending.reserve(1)
        self._memory.catch_up(slot)
        scores = np.empty(shape[0])
        scratch = self._scores.scratch(shape[0])
        call = (
            tasks.rows,
            slot,
            self._scores.radius(slot),
            self._scores.mean(shape[0]),
            effects,
            arms,
            stream.peek_one(),
            self._exploration,
            scratch,
            scores,
            pending.arrays,
            free[-1],
        )
        choice, propensity, code = _decide_one(*call)
        if choice < 0:
            raise too_large("arms", arms)
        pending.note_time(free.pop())
        stream.advance(1)
        if given is None:
            return Decision(pending.id_of(code), task, choice, choice, scores, propensity)
        self._names.note(given.columns)
        return self._decision(code, task, given, choice, given.whole(scores, -np.inf), propensity)

    def _decision(
        self,
        code: int,
        task: Name,
        arms: DecisionSet,
        choice: int,
        scores: Floats,
        propensity: float,
    ) -> Decision:
        """A decision that was just kept."""
        arm = arms.id(choice)
        if arms.are_items:
            self._note_item(code, arm)
        decision_id = self._tasks.pending.id_of(code)
        return Decision(decision_id, task, arm, arms.place(choice), scores, propensity)

    def _note_item(self, code: int, item: Hashable) -> None:
        """Note which item of a catalogue a decision chose, so that the item gets the reward."""
        if self._counts_items and is_kept(item):
            self._tasks.pending.items[code & PLACE] = item

    def _decide(
        self, name: Name, arms: Arms | DecisionSet, n: int | None
    ) -> Decision | list[Decision]:
        """Decide for any arms, any policy and any task."""
        arms_of_task = decision_set(arms, self._names)
        wanted = 1 if n is None else checks.count("n", n)
        with self._memory.opened((name,)) as slots:
            choices = self.choose_ranked(slots, arms_of_task, wanted)
        tasks, slot = self._tasks, int(slots[0])
        scores = arms_of_task.whole(choices.scores[0][0], -np.inf)
        decisions = []
        pairs = zip(choices.indices.tolist(), choices.propensities.tolist(), strict=True)
        for index, propensity in pairs:
            code = tasks.pending.hold(tasks.rows, slot, arms_of_task.features[index])
            decisions.append(self._decision(code, name, arms_of_task, index, scores, propensity))
        return decisions[0] if n is None else decisions

    def choose_ranked(self, slots: Integers, arms: DecisionSet, n: int) -> Choices:
        """The best n arms of a decision set for the task in the only slot, (1,)."""
        available = len(arms.features)
        if n > available:
            raise ValueError(f"n must be at most the {available} available arms, got {n}")
        n_uniforms = self._scores.n_uniforms(len(arms.features))
        numbers = self._stream.peek(self._n_numbers(n_uniforms, n))
        self._memory.catch_up(int(slots[0]))
        scores, draw = self._scores_of(int(slots[0]), arms, numbers, n_uniforms)
        indices, propensities = np.empty(n, dtype=np.int64), np.empty(n)
        best = scores[draw].copy()
        choose_ranked(scores, draw, numbers[-n:], self._exploration, indices, propensities)
        self._stream.advance(len(numbers))
        self._names.note(arms.columns)
        return Choices(indices, propensities, (best[None],))

    def propensities(
        self,
        task: Name,
        arms: Arms | Catalogue | DecisionSet,
        *,
        mask: Mask | None,
        about: Floats | None = None,
    ) -> Floats:
        """`MetaBandit.propensities`."""
        name = name_of(task)
        if about is not None:
            with self._memory.knowing(name, about, keep=False):
                return self.propensities(name, arms, mask=mask)
        arms_of_task = decision_set(arms, self._names).masked(mask)
        with self._memory.opened((name,), keep=False) as slots:
            return arms_of_task.whole(self.propensities_in(int(slots[0]), arms_of_task), 0.0)

    def propensities_in(self, slot: int, arms: DecisionSet) -> Floats:
        """The probability (K,) that each arm is chosen first, for the task in a slot."""
        n_uniforms = self._scores.n_uniforms(len(arms.features))
        numbers = self._stream.peek(self._n_numbers(n_uniforms, 0))
        self._memory.catch_up(slot)
        scores, _ = self._scores_of(slot, arms, numbers, n_uniforms)
        self._stream.advance(len(numbers))
        return first_propensities(scores, self._exploration)

    def _n_draws(self, n_uniforms: int) -> int:
        """How many rows of scores a decision needs: one if the policy does not sample."""
        return self._draws if n_uniforms else 1

    def _n_numbers(self, n_uniforms: int, n: int) -> int:
        """How many uniform numbers n arms take: the draws, which draw decides, one per choice."""
        return self._n_draws(n_uniforms) * n_uniforms + (1 if n_uniforms else 0) + n

    def _scores_of(
        self,
        slot: int,
        arms: DecisionSet,
        numbers: Floats,
        n_uniforms: int,
        what: str = "arms",
    ) -> tuple[Floats, int]:
        """The scores (m, K) of a task, and which of the m draws decides."""
        m = self._n_draws(n_uniforms)
        uniforms = numbers[: m * n_uniforms].reshape(m, n_uniforms)
        try:
            scores = self._scores.scores(slot, arms, uniforms)
        except UnreadableArmError:
            raise too_large(what, arms.features) from None
        return scores, _deciding_draw(numbers, n_uniforms, m)

    # Many tasks.

    def decide_many(
        self,
        tasks: Sequence[Name],
        arms: ArmsOfTasks,
        *,
        mask: MaskOfTasks | None,
        abouts: Mapping[Name, Floats] | None = None,
    ) -> Decisions:
        """`MetaBandit.decide_many`."""
        names = tuple(tasks)
        if not set(map(type, names)) <= _PLAIN:
            names = tuple(map(name_of, names))
        if len(set(names)) < len(names):
            raise ValueError("tasks must be different names, got one of them more than once")
        batch = read_batch(len(names), arms, mask, self._names)
        with ExitStack() as stack:
            for name, about in (abouts or {}).items():
                stack.enter_context(self._memory.knowing(name, about))
            with self._memory.opened(names) as slots:
                choices = self.choose_batch(slots, batch)
            codes = self._keep_batch(slots, batch, choices)
        if any(arms_of_task.are_items for arms_of_task in batch.sets or ()):
            chosen = zip(codes.tolist(), batch.sets or (), choices.indices.tolist(), strict=True)
            for code, arms_of_task, index in chosen:
                if arms_of_task.are_items:
                    self._note_item(code, arms_of_task.id(index))
        ids = Ids(self._tasks.pending.prefix, codes).texts()
        indices, scores = choices.indices, batch.padded(choices.scores)
        arms_chosen, places = batch.ids(indices), batch.places(indices)
        return Decisions(ids, names, arms_chosen, places, scores, choices.propensities)

    def choose_batch(self, slots: Integers, batch: Batch) -> Choices:
        """One arm for each of n different tasks."""
        self._memory.catch_up_all(slots)
        try:
            if self._scores.index is not None:
                choices = self._choose_by_index(slots, batch)
            else:
                in_blocks = len(batch.groups) == 1
                choices = self._choose_by_scores(slots, batch, in_blocks=in_blocks)
        except UnreadableArmError as error:
            features = batch.set(error.position).features
            raise too_large(f"arms[{error.position}]", features) from None
        if batch.sets:
            self._names.note(batch.sets[0].columns)
        return choices

    def _choose_by_index(self, slots: Integers, batch: Batch) -> Choices:
        """The choices by an index, in one compiled call for tasks with equally many arms."""
        n = batch.n
        radii, uniforms = self._scores.radii(slots), self._stream.peek(n)
        indices, propensities = np.empty(n, dtype=np.int64), np.empty(n)
        scores = []
        for group in batch.groups:
            whole = len(batch.groups) == 1
            part = slice(None) if whole else group.members
            size, n_arms = len(group.members), group.arms.shape[1]
            results = (
                np.empty((size, n_arms)),
                indices if whole else np.empty(size, dtype=np.int64),
                propensities if whole else np.empty(size),
            )
            scratch = self._scores.scratch(n_arms)
            call = (
                self._tasks.rows,
                slots[part],
                radii[part],
                self._scores.means(slots[part], n_arms),
                self._scores.effects(batch.sets_of(group)),
                (group.arms, group.which),
                uniforms[part],
                self._exploration,
                scratch,
                results,
            )
            position = _choose_all(*call)
            if position != NONE:
                raise UnreadableArmError(int(group.members[position]))
            if not whole:
                indices[part], propensities[part] = results[1], results[2]
            scores.append(results[0])
        self._stream.advance(n)
        return Choices(indices, propensities, scores)

    def _choose_by_scores(self, slots: Integers, batch: Batch, *, in_blocks: bool) -> Choices:
        """The same by the scores of any policy."""
        mark = self._stream.mark()
        best: list[Floats] = []
        indices, propensities = np.empty_like(slots), np.empty(batch.n)
        scored = (self._in_blocks if in_blocks else self._one_by_one)(slots, batch)
        try:
            for i, (scores, draw, uniform) in enumerate(scored):
                best.append(scores[draw].copy())
                one, uniforms = slice(i, i + 1), np.array([uniform])
                exploration = self._exploration
                choose_ranked(scores, draw, uniforms, exploration, indices[one], propensities[one])
        except BaseException:
            self._stream.rewind(mark)
            raise
        of_groups = [np.array([best[i] for i in g.members.tolist()]) for g in batch.groups]
        return Choices(indices, propensities, of_groups)

    def _one_by_one(self, slots: Integers, batch: Batch) -> "_Scored":
        for i, slot in enumerate(slots.tolist()):
            arms = batch.set(i)
            n_uniforms = self._scores.n_uniforms(len(arms.features))
            numbers = self._stream.peek(self._n_numbers(n_uniforms, 1))
            scores, draw = self._scores_of(slot, arms, numbers, n_uniforms, f"arms[{i}]")
            yield scores, draw, float(numbers[-1])
            self._stream.advance(len(numbers))

    def _in_blocks(self, slots: Integers, batch: Batch) -> "_Scored":
        (group,) = batch.groups
        n_arms = group.arms.shape[1]
        n_uniforms = self._scores.n_uniforms(n_arms)
        m, n_numbers = self._n_draws(n_uniforms), self._n_numbers(n_uniforms, 1)
        size = m * (n_uniforms + n_arms) + n_arms * self._tasks.dimension + 1
        length = max(1, _BLOCK // size)
        effects = self._scores.effects(batch.sets_of(group))
        for start in range(0, batch.n, length):
            block = slice(start, start + length)
            n = len(slots[block])
            numbers = self._stream.peek(n * n_numbers).reshape(n, n_numbers)
            uniforms = numbers[:, : m * n_uniforms].reshape(n, m, n_uniforms)
            which = group.which[block]
            some = Effects(*(part[which] for part in effects)) if len(effects[0]) else NO_EFFECTS
            try:
                arms = group.arms[which]
                scores = self._scores.scores_of_tasks(slots[block], arms, some, uniforms)
            except UnreadableArmError as error:
                raise UnreadableArmError(start + error.position) from None
            for scores_of_task, row in zip(scores, numbers, strict=True):
                yield scores_of_task, _deciding_draw(row, n_uniforms, m), float(row[-1])
            self._stream.advance(n * n_numbers)

    def _keep_batch(self, slots: Integers, batch: Batch, choices: Choices) -> Integers:
        """Keep the choices of n tasks as pending decisions; the codes (n,) of their ids."""
        tasks, pending, n = self._tasks, self._tasks.pending, batch.n
        codes = np.empty(n, dtype=np.int64)
        pending.reserve(n)
        places = np.array(pending.free[len(pending.free) - n :], dtype=np.int64)
        features = batch.features(choices.indices)
        _keep_all(tasks.rows, slots, features, pending.arrays, places, codes)
        del pending.free[len(pending.free) - n :]
        pending.note_time(places)
        return codes


# One task after another: its scores (m, K), which draw decides, and a uniform number to choose by.
_Scored = Iterator[tuple[Floats, int, float]]


def _deciding_draw(numbers: Floats, n_uniforms: int, m: int) -> int:
    """Which of m equally likely draws decides, by the uniform number after those of the draws."""
    return min(int(numbers[m * n_uniforms] * m), m - 1) if n_uniforms else 0
