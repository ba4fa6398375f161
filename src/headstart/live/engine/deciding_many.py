"""Deciding for n tasks at once: all of them, or none."""

from collections.abc import Iterator, Sequence

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Booleans, Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.live import inputs
from headstart.live.decision import Decisions, Name
from headstart.live.engine.batches import (
    FIRST,
    SCORE,
    SIZE,
    ArmsOfTasks,
    Batch,
    MaskOfTasks,
    read_batch,
)
from headstart.live.engine.choosing import Choosing, choose, choose_ranked
from headstart.live.engine.deciding import chosen_draw, keep, n_numbers, score_one, scores_of
from headstart.live.engine.layout import NONE
from headstart.live.engine.pending import undo_hold
from headstart.live.engine.scoring import Scoring, UnreadableArmError
from headstart.live.engine.tasks import Tasks
from headstart.live.engine.uniforms import UniformStream

# The types of names that a dictionary finds as they are: True and 1.0 would find the task 1.
_PLAIN = {str, int}

# Numbers that a policy's scores and uniforms may take at once.
_BLOCK = 1 << 20


@compiled(fastmath=False)
def _decide_tasks(
    rows: Floats,
    slots: Integers,
    radii: Floats,
    batch: tuple[Floats, Integers, Booleans],
    uniforms: Floats,
    exploration: float,
    scratch: Floats,
    pending: tuple[Floats, Integers],
    places: Integers,
    results: tuple[Floats, Integers, Integers, Floats],
) -> int:
    """`decide_one` for n tasks; the first whose arms cannot be read, with none kept, or NONE.

    Results are scores, choices, ids and propensities. One task's projections at a time, so that
    they stay in cache.
    """
    features, spans, allowed = batch
    scores, choices, ids, propensities = results
    for i in range(slots.shape[0]):
        first, size, score = spans[i, FIRST], spans[i, SIZE], spans[i, SCORE]
        arms = features[first : first + size]
        own = scores[score : score + size].reshape(1, size)
        if not score_one(rows, slots[i], radii[i], arms, scratch, own):
            for j in range(i):
                undo_hold(pending[1], rows, places[j])
            return i
        if allowed.shape[0] > 0:
            for k in range(size):
                if not allowed[score + k]:
                    own[0, k] = -np.inf
        choices[i], propensities[i] = choose(own, 0, uniforms[i], exploration)
        ids[i] = keep(rows, slots[i], arms, scratch, choices[i], pending, places[i])
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
    scores, choices, ids, propensities = made
    if batch.sets:
        choosing.names.note(batch.sets[0].columns)
    found = batch.ids(choices)
    return Decisions(ids, wanted, found, choices, batch.padded(scores), propensities)


_Made = tuple[Floats, Integers, NDArray[np.str_], Floats]


def _by_index(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    slots: Integers,
    batch: Batch,
) -> _Made:
    """Scores, choices, ids and propensities by an index, in one compiled call."""
    n, pending = len(slots), tasks.pending
    pending.reserve(n)
    places = np.array(pending.free[len(pending.free) - n :], dtype=np.int64)
    results = (
        np.empty(batch.n_scores),
        np.empty(n, dtype=np.int64),
        np.empty(n, dtype=np.int64),
        np.empty(n),
    )
    position = _decide_tasks(
        tasks.rows,
        slots,
        scoring.radii(slots),
        (batch.features, batch.spans, batch.allowed),
        stream.peek(n),
        choosing.exploration,
        scoring.scratch(batch.size),
        (pending.kept, pending.links),
        places,
        results,
    )
    if position != NONE:
        raise UnreadableArmError(position)
    stream.advance(n)
    del pending.free[len(pending.free) - n :]
    pending.note_time(places)
    scores, choices, codes, propensities = results
    return scores, choices, np.array(list(map(pending.id_of, codes.tolist()))), propensities


def _by_scores(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    choosing: Choosing,
    slots: Integers,
    batch: Batch,
) -> _Made:
    """The same by the scores of any policy, or by those that are cached for a catalogue."""
    before = stream.mark()
    scores, choices, found = [np.empty(0)], np.empty_like(slots), np.empty(len(slots))
    scored = _one_by_one if _has_cached(tasks, batch) or not batch.alike else _in_blocks
    try:
        for i, (rows, draw, uniform) in enumerate(
            scored(tasks, scoring, stream, choosing, slots, batch)
        ):
            scores.append(rows[draw].copy())
            into = slice(i, i + 1)
            uniforms = np.array([uniform])
            choose_ranked(rows, draw, uniforms, choosing.exploration, choices[into], found[into])
    except BaseException:
        stream.rewind(before)
        raise
    if not choosing.draws and any(map(scoring.n_uniforms, batch.spans[:, SIZE].tolist())):
        found[:] = np.nan
    chosen = batch.features[batch.spans[:, FIRST] + choices]
    held = [
        tasks.pending.hold(tasks.rows, slot, x)
        for slot, x in zip(slots.tolist(), chosen, strict=True)
    ]
    return np.concatenate(scores), choices, np.array(held), found


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
    n_arms = batch.size
    own = scoring.n_uniforms(n_arms)
    m, each = choosing.n_draws(own), n_numbers(choosing, own, 1)
    length = max(1, _BLOCK // (m * (own + n_arms) + n_arms * tasks.dimension + 1))
    arms_of = batch.spans[:, FIRST, None] + np.arange(n_arms)
    for start in range(0, len(slots), length):
        block = slice(start, start + length)
        n = len(slots[block])
        numbers = stream.peek(n * each).reshape(n, each)
        uniforms = numbers[:, : m * own].reshape(n, m, own)
        try:
            found = scoring.scores_of_tasks(slots[block], batch.features[arms_of[block]], uniforms)
        except UnreadableArmError as error:
            raise UnreadableArmError(start + error.position) from None
        if len(batch.allowed):
            allowed = batch.allowed.reshape(len(slots), 1, n_arms)[block]
            found = np.where(allowed, found, -np.inf)
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
            return np.array(list(map(known.__getitem__, names)), dtype=np.int64), []
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
