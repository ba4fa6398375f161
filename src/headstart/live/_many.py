"""Many at once: decisions for n tasks, and rewards of n decisions, each in a few compiled steps."""

from collections.abc import Sequence
from typing import cast

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.live import _careful as careful
from headstart.live import _layout as rows
from headstart.live import _steps as steps
from headstart.live._scoring import Chooser, RefusedError
from headstart.live._tasks import Lifecycle
from headstart.live._uniforms import Luck
from headstart.live.decision import Decisions, Name
from headstart.live.inputs import too_large


def decide(
    tasks: Lifecycle, chooser: Chooser, luck: Luck, names: Sequence[Name], arms: ArrayLike
) -> Decisions:
    """`MetaBandit.decide_many`."""
    wanted = tuple(names)
    n, dimension = len(wanted), tasks.store.dimension
    if len(set(wanted)) < n:
        raise ValueError("tasks must be different names, got one of them more than once")
    # Finite or not shows when they are read; looking twice would cost as much as choosing.
    plain = type(arms) is np.ndarray and arms.dtype == np.float64 and arms.flags.carray
    features = cast("Floats", arms) if plain else checks.floats("arms", arms)
    if features.ndim == 2:
        features = np.tile(features, (n, 1, 1))
    if features.ndim != 3 or features.shape != (n, max(features.shape[1], 1), dimension):
        raise ValueError(
            f"arms must have shape (n, K, d) = ({n}, 1 or more, {dimension}) or (K, d), "
            f"got {features.shape}"
        )
    slots, opened = _open(tasks, wanted)
    own = chooser.n_uniforms(features.shape[1])
    numbers = luck.peek(n * (own + 1)).reshape(n, own + 1)
    pending = tasks.store.pending
    pending.reserve(n)
    places = np.array(pending.free[len(pending.free) - n :], dtype=np.int64)
    try:
        scores, choices, ties = chooser.choose(slots, features, numbers, places)
    except RefusedError as refused:
        for name in opened:
            tasks.close(name)
        raise too_large(f"arms[{refused.position}]", features[refused.position]) from None
    luck.spend(n * (own + 1))
    del pending.free[len(pending.free) - n :]
    ids = np.empty(n, dtype=np.int64)
    steps.hold_many(pending.links, tasks.store.heads, slots, places, ids)
    chances = 1.0 / ties if own == 0 else np.full(n, np.nan)
    return Decisions(ids, wanted, choices, scores, chances)


def _open(tasks: Lifecycle, names: tuple[Name, ...]) -> tuple[Integers, list[Name]]:
    """The tasks' slots (n,), and which of them were opened for it."""
    known = tasks.store.slots
    if not tasks.follows and tasks.ending.idle is None:
        try:
            return np.array(list(map(known.__getitem__, names)), dtype=np.int64), []
        except (KeyError, TypeError):
            pass  # some are new, or cannot be names: look at each
    for name in names:
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(f"tasks must be named by strings or integers, got {name!r}")
    opened = [name for name in names if name not in known]
    return np.array([tasks.touch(name) for name in names], dtype=np.int64), opened


def reward(tasks: Lifecycle, decisions: ArrayLike, values: ArrayLike, weights: ArrayLike) -> None:
    """`MetaBandit.reward_many`."""
    ids = np.asarray(decisions)
    if ids.ndim != 1 or not (np.issubdtype(ids.dtype, np.integer) or ids.size == 0):
        raise ValueError(
            f"decision_ids must be integers of shape (n,), got {ids.dtype} of shape {ids.shape}"
        )
    ids = ids.astype(np.int64)
    paid = checks.floats("values", values)
    checks.shape("values", paid, ids.shape, "(n,)")
    weighed = np.array(np.broadcast_to(checks.floats("weights", weights), ids.shape))
    for name, array, worst in (("values", paid, np.abs(paid)), ("weights", weighed, weighed)):
        if (worst >= careful.LARGEST).any():
            raise ValueError(f"{name} must be smaller than {careful.LARGEST:g}, got {array.max()}")
    if (weighed <= 0).any():
        raise ValueError(f"weights must be above 0, got {weighed.min()}")
    store, pending = tasks.store, tasks.store.pending
    slots, places = np.empty_like(ids), np.empty_like(ids)
    missing = steps.find_many(pending.links, ids, slots, places)
    if missing >= 0:
        store.find(int(ids[missing]))
        raise ValueError(f"decision_ids must be different, got {ids[missing]} more than once")
    if tasks.views or tasks.ending.discount < 1.0 or tasks.ending.horizon or tasks.ending.idle:
        for i, decision in enumerate(ids.tolist()):
            # The horizon may have ended the task that a later decision of the batch belongs to.
            if steps.find_many(pending.links, ids[i : i + 1], slots[:1], places[:1]) < 0:
                careful.reward(tasks, decision, float(paid[i]), float(weighed[i]))
        return
    answers = np.empty_like(ids)
    learned = 0
    while learned < len(ids):
        rest = slice(learned, None)
        more = steps.reward_many(
            store.state,
            pending.kept,
            pending.links,
            store.heads,
            slots[rest],
            places[rest],
            paid[rest],
            weighed[rest],
            answers[rest],
        )
        pending.free.extend(places[learned : learned + more].tolist())
        learned += more
        if more and answers[learned - 1] == rows.DUE:
            tasks.refresh(int(slots[learned - 1]))
        else:
            break
    if learned < len(ids):
        message = f"{careful.refusal(rows.REFUSED, int(ids[learned]), float(paid[learned]))}"
        raise ValueError(f"{message}; the {learned} before it were learned")
