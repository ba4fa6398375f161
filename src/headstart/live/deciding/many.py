"""Deciding for n tasks at once: all of them, or none."""

from collections.abc import Iterator, Sequence
from contextlib import nullcontext

import numpy as np

from headstart import kernels
from headstart.arrays import Booleans, Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.live import inputs
from headstart.live.deciding.batches import ArmsOfTasks, Batch, Made, MaskOfTasks, read_batch
from headstart.live.deciding.choosing import Choosing, choose, choose_ranked
from headstart.live.deciding.one import chosen_draw, keep, n_numbers, reading_in, scores_of
from headstart.live.deciding.scoring import Scoring, UnreadableArmError, read_task
from headstart.live.deciding.uniforms import UniformStream
from headstart.live.decision import Decisions, Name
from headstart.live.processes.threads import one_blas_thread
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.ids import Ids
from headstart.live.tasks.layout import NONE
from headstart.live.tasks.pending import undo_hold

# The types of names that a dictionary finds as they are: True and 1.0 would find the task 1.
_PLAIN = {str, int}

# Numbers that a policy's scores and uniforms may take at once.
_BLOCK = 1 << 20


@compiled(fastmath=False)
def _decide_tasks(
    rows: Floats,
    slots: Integers,
    radii: Floats,
    shown: tuple[Floats, Integers, Booleans],
    uniforms: Floats,
    exploration: float,
    scratch: Floats,
    pending: tuple[Floats, Integers],
    places: Integers,
    results: tuple[Floats, Integers, Integers, Floats],
) -> int:
    """`decide_one` for n tasks; the first whose arms cannot be read, with none kept, or NONE.

    Shown are sets of arms (s, K, d), which of them each task has, and masks (n, K) or (0, K).
    Results are scores, choices, ids and propensities. One task's projections at a time, so that
    they stay in cache.
    """
    arms, which, allowed = shown
    scores, choices, ids, propensities = results
    _, n_arms, dimension = arms.shape
    reading = reading_in(scratch, n_arms, dimension)
    for i in range(slots.shape[0]):
        if not read_task(rows, slots[i], arms, which[i], reading, 0):
            for j in range(i):
                undo_hold(pending[1], rows, places[j])
            return i
        kernels.index_one(reading.predictions, reading.widths, 0, radii[i], scores, i)
        if allowed.shape[0] > 0:
            for k in range(n_arms):
                if not allowed[i, k]:
                    scores[i, k] = -np.inf
        choice, propensity = choose(scores, i, uniforms[i], exploration)
        choices[i], propensities[i] = choice, propensity
        projections = reading.projections
        ids[i] = keep(rows, slots[i], arms, which[i], projections, choice, pending, places[i])
    return NONE


def decide_many(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    names: Sequence[Name],
    arms: ArmsOfTasks,
    *,
    mask: MaskOfTasks | None,
) -> Decisions:
    """`MetaBandit.decide_many`."""
    wanted = tuple(names)
    if not set(map(type, wanted)) <= _PLAIN:
        wanted = tuple(map(inputs.name_of, wanted))
    if len(set(wanted)) < len(wanted):
        raise ValueError("tasks must be different names, got one of them more than once")
    batch = read_batch(len(wanted), arms, mask, choosing.names)
    scores, choices, codes, propensities = choose_batch(
        tasks, scoring, stream, choosing, wanted, batch
    )
    ids = Ids(tasks.pending.prefix, codes).texts()
    return Decisions(ids, wanted, batch.ids(choices), choices, scores, propensities)


def choose_batch(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    wanted: tuple[Name, ...],
    batch: Batch,
) -> Made:
    """Choose for n different tasks among the arms of a batch; a choice is held under its code."""
    slots, opened = _start_all(tasks, wanted)
    try:
        if scoring.index is not None and not _has_cached(tasks, batch):
            made = _by_index(tasks, scoring, stream, choosing, slots, batch)
        else:
            made = _by_scores(tasks, scoring, stream, choosing, slots, batch)
    except UnreadableArmError as error:
        _close_all(tasks, opened)
        shown = batch.set(error.position).features
        raise inputs.too_large(f"arms[{error.position}]", shown) from None
    except BaseException:
        _close_all(tasks, opened)
        raise
    if batch.sets:
        choosing.names.note(batch.sets[0].columns)
    return made


def _by_index(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    slots: Integers,
    batch: Batch,
) -> Made:
    """The decisions by an index, in one compiled call for tasks with equally many arms."""
    n, pending = batch.n, tasks.pending
    pending.reserve(n)
    places = np.array(pending.free[len(pending.free) - n :], dtype=np.int64)
    radii, uniforms = scoring.radii(slots), stream.peek(n)
    made: list[Made] = []
    for group in batch.groups:
        part = slice(None) if len(batch.groups) == 1 else group.members
        size, n_arms = len(group.members), group.arms.shape[1]
        integers = np.empty((2, size), dtype=np.int64)
        results = (np.empty((size, n_arms)), integers[0], integers[1], np.empty(size))
        scratch, shared = scoring.scratch(n_arms)
        call = (
            tasks.rows,
            slots[part],
            radii[part],
            (group.arms, group.which, group.allowed),
            uniforms[part],
            choosing.exploration,
            scratch,
            pending.arrays,
            places[part],
            results,
        )
        with one_blas_thread if shared else nullcontext():
            position = _decide_tasks(*call)
        if position != NONE:
            for done in batch.groups[: len(made)]:
                for place in places[done.members].tolist():
                    undo_hold(pending.links, tasks.rows, place)
            raise UnreadableArmError(int(group.members[position]))
        made.append(results)
    stream.advance(n)
    del pending.free[len(pending.free) - n :]
    pending.note_time(places)
    return made[0] if len(made) == 1 else batch.together(made)


def _by_scores(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    slots: Integers,
    batch: Batch,
) -> Made:
    """The same by the scores of any policy, or by those that are cached for a catalogue."""
    before = stream.mark()
    each, choices, found = [], np.empty_like(slots), np.empty(batch.n)
    in_blocks = len(batch.groups) == 1 and not _has_cached(tasks, batch)
    scored = _in_blocks if in_blocks else _one_by_one
    given = (tasks, scoring, stream, choosing, slots, batch)
    try:
        for i, (rows, draw, uniform) in enumerate(scored(*given)):
            each.append(rows[draw].copy())
            own, uniforms = slice(i, i + 1), np.array([uniform])
            choose_ranked(rows, draw, uniforms, choosing.exploration, choices[own], found[own])
    except BaseException:
        stream.rewind(before)
        raise
    if not choosing.draws and any(scoring.n_uniforms(g.arms.shape[1]) for g in batch.groups):
        found[:] = np.nan
    held, chosen = np.empty_like(slots), choices.tolist()
    for i, slot in enumerate(slots.tolist()):
        held[i] = tasks.pending.hold(tasks.rows, slot, batch.set(i).features[chosen[i]])
    groups = [[each[i] for i in group.members.tolist()] for group in batch.groups]
    return batch.padded([np.array(scores) for scores in groups]), choices, held, found


# Scores (m, K) of one task after the other, which draw decides, and a uniform number to choose by.
_Scored = Iterator[tuple[Floats, int, float]]


def _one_by_one(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    slots: Integers,
    batch: Batch,
) -> _Scored:
    for i, slot in enumerate(slots.tolist()):
        shown = batch.set(i)
        own = scoring.n_uniforms(len(shown.features))
        numbers = stream.peek(n_numbers(choosing, own, 1))
        try:
            scores, draw = scores_of(tasks, scoring, choosing, slot, shown, numbers)
        except UnreadableArmError:
            raise UnreadableArmError(i) from None
        yield scores, draw, float(numbers[-1])
        stream.advance(len(numbers))


def _in_blocks(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    slots: Integers,
    batch: Batch,
) -> _Scored:
    (group,) = batch.groups
    n_arms = group.arms.shape[1]
    own = scoring.n_uniforms(n_arms)
    m, each = choosing.n_draws(own), n_numbers(choosing, own, 1)
    length = max(1, _BLOCK // (m * (own + n_arms) + n_arms * tasks.dimension + 1))
    for start in range(0, batch.n, length):
        block = slice(start, start + length)
        n = len(slots[block])
        numbers = stream.peek(n * each).reshape(n, each)
        uniforms = numbers[:, : m * own].reshape(n, m, own)
        try:
            found = scoring.scores_of_tasks(slots[block], group.arms[group.which[block]], uniforms)
        except UnreadableArmError as error:
            raise UnreadableArmError(start + error.position) from None
        if len(group.allowed):
            found = np.where(group.allowed[block, None], found, -np.inf)
        for scores, row in zip(found, numbers, strict=True):
            yield scores, chosen_draw(row, own, m), float(row[-1])
        stream.advance(n * each)


def _has_cached(tasks: Tasks, batch: Batch) -> bool:
    """Whether scores are cached for some of the arms: those of a catalogue."""
    sets = batch.sets or ()
    return tasks.estimate_is_kept and any(shown.catalogue is not None for shown in sets)


def _start_all(tasks: Tasks, names: tuple[Name, ...]) -> tuple[Integers, list[Name]]:
    """The tasks' slots (n,), and which of them were opened for it."""
    known = tasks.slots
    if tasks.one_call:
        try:
            return np.fromiter(map(known.__getitem__, names), np.int64, len(names)), []
        except KeyError:
            pass  # some are new
    opened: list[Name] = []
    slots = np.empty(len(names), dtype=np.int64)
    try:
        for i, name in enumerate(names):
            new = name not in known
            slots[i] = tasks.start(name)
            if new:
                opened.append(name)
    except BaseException:
        _close_all(tasks, opened)
        raise
    return slots, opened


def _close_all(tasks: Tasks, names: list[Name]) -> None:
    for name in names:
        tasks.undo_opening(name)
