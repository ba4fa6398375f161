"""Deciding: one compiled call where that is enough, and Python for everything else."""

from collections.abc import Hashable, Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks, kernels
from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.kernels.state import Reading
from headstart.live import inputs
from headstart.live.catalogue import Catalogue
from headstart.live.decision import Decision, Decisions, Name
from headstart.live.engine.decision_sets import decision_set
from headstart.live.engine.expiry import make_places
from headstart.live.engine.layout import NONE, n_rewards
from headstart.live.engine.pending import hold, undo_hold
from headstart.live.engine.scoring import Scoring, UnreadableArmError, read_task
from headstart.live.engine.tasks import Tasks
from headstart.live.engine.uniforms import UniformStream
from headstart.live.feature_names import FeatureNames
from headstart.live.inputs import Arms, too_large
from headstart.live.masks import Mask

# The types of names that a dictionary finds as they are: True and 1.0 would find the task 1.
_PLAIN = {str, int}


@compiled(inline="always")
def _keep(
    rows: Floats,
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
    kept[place, 2 * dimension] = n_rewards(rows[slot], dimension)


@compiled(inline="always")
def _reading(scratch: Floats, n_arms: int, dimension: int) -> Reading:
    """Scratch memory as the reading of one task."""
    end = n_arms * dimension
    return Reading(
        scratch[:end].reshape(1, n_arms, dimension),
        scratch[end : end + n_arms].reshape(1, n_arms),
        scratch[end + n_arms : end + 2 * n_arms].reshape(1, n_arms),
    )


@compiled(fastmath=False)
def decide_one(
    rows: Floats,
    slot: int,
    radius: float,
    arms: Floats,
    uniform: float,
    scratch: Floats,
    scores: Floats,
    kept: Floats,
    links: Integers,
    place: int,
) -> tuple[int, int, int]:
    """Choose among arms (K, d) by xᵀŵ + radius·‖x‖, and keep the decision in a free place.

    Returns the choice, NONE if an arm cannot be read; how many tied; and the decision's id.
    """
    n_arms, dimension = arms.shape
    reading = _reading(scratch, n_arms, dimension)
    if not read_task(rows, slot, arms.reshape(1, n_arms, dimension), 0, reading, 0):
        return NONE, 0, NONE
    kernels.index_one(reading.predictions, reading.widths, 0, radius, scores, 0)
    choice, tied = kernels.pick(scores, 0, uniform)
    _keep(rows, slot, arms, reading.projections[0], choice, kept, place)
    return choice, tied, hold(links, rows, slot, place)


@compiled
def _decide_tasks(
    rows: Floats,
    slots: Integers,
    radii: Floats,
    arms: Floats,
    uniforms: Floats,
    scratch: Floats,
    scores: Floats,
    pending: tuple[Floats, Integers],
    places: Integers,
    decided: Integers,
) -> int:
    """`decide_one` for n tasks; the first whose arms cannot be read, with none kept, or NONE.

    Decided is (3, n): choices, numbers of ties and ids. One task's projections at a time, so that
    they stay in cache.
    """
    kept, links = pending
    for i in range(slots.shape[0]):
        shown, into, place = arms[i], scores[i : i + 1], places[i]
        choice, tied, decision = decide_one(
            rows, slots[i], radii[i], shown, uniforms[i], scratch, into, kept, links, place
        )
        if choice == NONE:
            for j in range(i):
                undo_hold(links, rows, places[j])
            return i
        decided[0, i], decided[1, i], decided[2, i] = choice, tied, decision
    return NONE


@compiled
def _pick_tasks(
    rows: Floats,
    slots: Integers,
    arms: Floats,
    projections: Floats,
    scores: Floats,
    uniforms: Floats,
    pending: tuple[Floats, Integers],
    places: Integers,
    decided: Integers,
) -> None:
    """Pick from scores (n, K) that a policy gave, and keep the decisions."""
    kept, links = pending
    for i in range(slots.shape[0]):
        choice, tied = kernels.pick(scores, i, uniforms[i])
        _keep(rows, slots[i], arms[i], projections[i], choice, kept, places[i])
        decided[0, i], decided[1, i] = choice, tied
        decided[2, i] = hold(links, rows, slots[i], places[i])


def decide(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    task: Name,
    arms: Arms | Catalogue,
    *,
    mask: Mask | None,
    n: int | None,
    draws: int,
    names: FeatureNames,
) -> Decision | list[Decision]:
    """`MetaBandit.decide` for any arms, any policy and any task."""
    task = inputs.name_of(task)
    shown = decision_set(arms, mask, names)
    features, ids, allowed = shown.features, shown.ids, shown.allowed
    wanted, available = 1 if n is None else checks.count("n", n), int(allowed.sum())
    if wanted > available:
        raise ValueError(f"n must be at most the {available} available arms, got {n}")
    own = scoring.n_uniforms(len(features))
    uniforms = stream.peek(own + wanted + draws * own)
    slot, scores = _scores(tasks, scoring, task, features, uniforms[:own], shown.catalogue)
    make_places(tasks, wanted)
    scores[~allowed] = -np.inf
    left = scores[None].copy() if wanted > 1 else scores[None]
    decisions = []
    for rank in range(wanted):
        index, tied = kernels.pick(left, 0, float(uniforms[own + rank]))
        propensity = float(np.nan)
        if rank == 0 and own == 0:
            propensity = 1.0 / tied
        elif rank == 0 and draws > 0:
            # The draw that chose the arm counts with the fresh ones, so that it is never 0.
            fresh = uniforms[own + wanted :].reshape(draws, own)
            found = scoring.propensities(slot, features, allowed, fresh)[index]
            propensity = float((1.0 + draws * found) / (1.0 + draws))
        if wanted > 1:
            left[0, index] = -np.inf
        arm: Hashable = index if ids is None else ids[index]
        decision = tasks.pending.hold(tasks.rows, slot, features[index])
        decisions.append(Decision(decision, task, arm, index, scores, propensity))
    stream.advance(len(uniforms))
    names.note(shown.columns)
    return decisions[0] if n is None else decisions


def _scores(
    tasks: Tasks,
    scoring: Scoring,
    task: Name,
    features: Floats,
    uniforms: Floats,
    catalogue: Catalogue | None,
) -> tuple[int, Floats]:
    """The task's slot and its scores (K,); a task that was opened for it is closed on failure."""
    opened = task not in tasks.slots
    slot = tasks.start(task)
    try:
        if catalogue is not None and scoring.index is not None and tasks.estimate_is_kept:
            state, radius = tasks.layout.state(tasks.rows[slot]), scoring.radius(slot)
            return slot, tasks.catalogue_scores.index(catalogue, slot, state, radius)
        return slot, scoring.scores(slot, features, uniforms)
    except ValueError as error:
        if opened:
            tasks.undo_opening(task)
        if isinstance(error, UnreadableArmError):
            raise too_large("arms", features) from None
        raise


def propensities(
    tasks: Tasks,
    scoring: Scoring,
    stream: UniformStream,
    task: Name,
    arms: Arms | Catalogue,
    *,
    mask: Mask | None,
    draws: int,
    names: FeatureNames,
) -> Floats:
    """`MetaBandit.propensities`."""
    task = inputs.name_of(task)
    shown = decision_set(arms, mask, names)
    features, allowed, n_arms = shown.features, shown.allowed, len(shown.features)
    own = scoring.n_uniforms(n_arms)
    if own and not draws:
        raise ValueError("propensities of a policy that samples need propensity_draws above 0")
    n = draws if own else 1
    uniforms = stream.peek(n * own).reshape(n, own)
    opened = task not in tasks.slots
    slot = tasks.start(task)
    try:
        found = scoring.propensities(slot, features, allowed, uniforms)
    except UnreadableArmError:
        raise too_large("arms", features) from None
    finally:
        if opened:
            tasks.undo_opening(task)
    stream.advance(n * own)
    return found


def decide_many(
    tasks: Tasks, scoring: Scoring, stream: UniformStream, names: Sequence[Name], arms: ArrayLike
) -> Decisions:
    """`MetaBandit.decide_many`."""
    wanted = tuple(names)
    if not set(map(type, wanted)) <= _PLAIN:
        wanted = tuple(map(inputs.name_of, wanted))
    features = _features_of_tasks(wanted, arms, tasks.dimension)
    slots, opened = _start_all(tasks, wanted)
    n, n_arms = features.shape[:2]
    own = scoring.n_uniforms(n_arms)
    uniforms = stream.peek(n * (own + 1)).reshape(n, own + 1)
    ties = np.ascontiguousarray(uniforms[:, -1])
    pending = tasks.pending
    make_places(tasks, n)
    places = np.array(pending.free[len(pending.free) - n :], dtype=np.int64)
    decided = np.empty((3, n), dtype=np.int64)
    held = (pending.kept, pending.links)
    try:
        if scoring.index is None:
            estimates = scoring.estimates(slots, features)
            scores = scoring.policy_scores(estimates, uniforms[:, :-1])
            chosen = (features, estimates.projections, scores, ties, held, places, decided)
            _pick_tasks(tasks.rows, slots, *chosen)
        else:
            scores, scratch = np.empty((n, n_arms)), scoring.scratch(n_arms)
            given = (tasks.rows, slots, scoring.radii(slots), features, ties)
            position = _decide_tasks(*given, scratch, scores, held, places, decided)
            if position != NONE:
                raise UnreadableArmError(position)
    except UnreadableArmError as error:
        for name in opened:
            tasks.undo_opening(name)
        raise too_large(f"arms[{error.position}]", features[error.position]) from None
    stream.advance(n * (own + 1))
    del pending.free[len(pending.free) - n :]
    pending.note_time(places)
    ids = np.array([pending.id_of(code) for code in decided[2].tolist()])
    found = 1.0 / decided[1] if own == 0 else np.full(n, np.nan)
    return Decisions(ids, wanted, decided[0], scores, found)


def _features_of_tasks(names: tuple[Name, ...], arms: ArrayLike, dimension: int) -> Floats:
    """The arms (n, K, d) of n different tasks, from (n, K, d) or (K, d)."""
    n = len(names)
    if len(set(names)) < n:
        raise ValueError("tasks must be different names, got one of them more than once")
    # Finite or not shows when they are read; checking here would cost as much as choosing.
    plain = type(arms) is np.ndarray and arms.dtype == np.float64 and arms.flags.carray
    features = cast("Floats", arms) if plain else checks.floats("arms", arms)
    if features.ndim == 2:
        features = np.tile(features, (n, 1, 1))
    if features.ndim != 3 or features.shape != (n, max(features.shape[1], 1), dimension):
        raise ValueError(
            f"arms must have shape (n, K, d) = ({n}, 1 or more, {dimension}) or (K, d), "
            f"got {features.shape}"
        )
    return features


def _start_all(tasks: Tasks, names: tuple[Name, ...]) -> tuple[Integers, list[Name]]:
    """The tasks' slots (n,), and which of them were opened for it."""
    known = tasks.slots
    if tasks.one_call:
        try:
            return np.array(list(map(known.__getitem__, names)), dtype=np.int64), []
        except KeyError:
            pass  # some are new
    opened = [name for name in names if name not in known]
    return np.array([tasks.start(name) for name in names], dtype=np.int64), opened
