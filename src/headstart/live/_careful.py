"""The careful path: any arms, any policy, any task; everything is checked before anything moves."""

from collections.abc import Hashable, Sequence

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.kernels import pick
from headstart.live import _layout as rows
from headstart.live._scoring import Chooser, RefusedError
from headstart.live._tasks import Lifecycle
from headstart.live._uniforms import Luck
from headstart.live.catalogue import Catalogue
from headstart.live.decision import Decision, Name
from headstart.live.inputs import Arms, features_of, mask_of, too_large

# Beyond this, squares and products of rewards run out of range.
LARGEST = 1e50
# Ids take 53 bits.
_LARGEST_ID = 2**53


def decide(
    tasks: Lifecycle,
    chooser: Chooser,
    luck: Luck,
    task: Name,
    arms: Arms | Catalogue,
    mask: ArrayLike | None,
    n: int | None,
    draws: int,
) -> Decision | list[Decision]:
    """`MetaBandit.decide`."""
    ids: Sequence[Hashable] | None
    if isinstance(arms, Catalogue):
        features, ids, allowed = arms.features, arms.ids, arms.alive.copy()
        checks.shape("the catalogue", features, (len(features), tasks.store.dimension), "(K, d)")
    else:
        features, ids = features_of(arms, tasks.store.dimension)
        allowed = np.ones(len(features), bool)
    if mask is not None:
        allowed &= mask_of(mask, len(features))
    wanted = 1 if n is None else checks.count("n", n)
    rest = np.flatnonzero(allowed)
    if wanted > len(rest):
        raise ValueError(f"n must be at most the number of arms to be had, {len(rest)}, got {n}")
    own = chooser.n_uniforms(len(features))
    numbers = luck.peek(own + wanted + (draws * own))
    catalogue = arms if isinstance(arms, Catalogue) else None
    slot, scores = _scores(tasks, chooser, task, features, numbers[:own], catalogue)
    open_to_all = len(rest) == len(features)
    if not open_to_all:
        scores[~allowed] = -np.inf
    decisions = []
    for rank in range(wanted):
        among = scores[None] if open_to_all and rank == 0 else scores[None, rest]
        place, tied = pick(among, 0, float(numbers[own + rank]))
        index = int(rest[place])
        chance = float(np.nan)
        if rank == 0 and own == 0:
            chance = 1.0 / tied
        elif rank == 0 and draws > 0:
            # The draw that chose the arm counts with the fresh ones, so that it is never 0.
            fresh = numbers[own + wanted :].reshape(draws, own)
            won = chooser.chances(slot, features, allowed, fresh)[index]
            chance = float((1.0 + draws * won) / (1.0 + draws))
        if wanted > 1:
            rest = np.delete(rest, place)
        arm: Hashable = index if ids is None else ids[index]
        identity = tasks.store.hold(slot, features[index])
        decisions.append(Decision(identity, task, arm, index, scores, chance))
    luck.spend(len(numbers))
    return decisions[0] if n is None else decisions


def _scores(
    tasks: Lifecycle,
    chooser: Chooser,
    task: Name,
    features: Floats,
    luck: Floats,
    catalogue: Catalogue | None,
) -> tuple[int, Floats]:
    """The task's slot and its scores (K,); a task that was opened for it is closed on failure."""
    opened = task not in tasks.store.slots
    slot = tasks.touch(task)
    standing = not tasks.follows and tasks.ending.discount == 1.0
    try:
        if catalogue is not None and chooser.index is not None and standing:
            return slot, tasks.views.scores(catalogue, slot, chooser.radius(slot))
        return slot, chooser.scores(slot, features, luck)
    except ValueError as error:
        if opened:
            tasks.close(task)
        if isinstance(error, RefusedError):
            raise too_large("arms", features) from None
        raise


def chances(
    tasks: Lifecycle,
    chooser: Chooser,
    luck: Luck,
    task: Name,
    arms: Arms,
    mask: ArrayLike | None,
    draws: int,
) -> Floats:
    """`MetaBandit.chances`."""
    features, _ = features_of(arms, tasks.store.dimension)
    allowed = np.ones(len(features), bool) if mask is None else mask_of(mask, len(features))
    own = chooser.n_uniforms(len(features))
    if own and not draws:
        raise ValueError("chances of a policy with luck of its own need propensity_draws above 0")
    n = draws if own else 1
    numbers = luck.peek(n * own).reshape(n, own)
    opened = task not in tasks.store.slots
    slot = tasks.touch(task)
    try:
        found = chooser.chances(slot, features, allowed, numbers)
    except RefusedError:
        raise too_large("arms", features) from None
    finally:
        if opened:
            tasks.close(task)
    luck.spend(n * own)
    return found


def reward(tasks: Lifecycle, decision: int, value: float, weight: float) -> None:
    """`MetaBandit.reward`."""
    tasks.sweep()
    store = tasks.store
    place, slot = store.find(decision)
    answer = tasks.learn(slot, store.pending.kept, place, value, weight)
    if answer == rows.REFUSED:
        raise refusal(answer, decision, value)
    store.pending.drop(store.heads, place)
    tasks.stamp(store.name(slot), slot)
    tasks.learned(slot, answer)


def observe(tasks: Lifecycle, task: Name, features: ArrayLike, value: float, weight: float) -> None:
    """`MetaBandit.observe`."""
    x = checks.floats("features", features)
    checks.shape("features", x, (tasks.store.dimension,), "(d,)")
    opened = task not in tasks.store.slots
    slot = tasks.touch(task)
    answer = tasks.learn(slot, x[None], 0, value, weight)
    if answer == rows.REFUSED:
        if opened:
            tasks.close(task)
        raise too_large("features", x[None])
    tasks.learned(slot, answer)


def refusal(answer: int, decision: int, value: float) -> ValueError:
    """Why a reward was refused."""
    if answer == rows.REFUSED:
        return ValueError(
            f"value must leave the task's sums finite, got {value} for decision {decision}"
        )
    return ValueError(
        f"decision {decision} is not open: it was rewarded already, its task was finished, "
        "or it was never made here"
    )


def pay(value: float) -> float:
    """A reward."""
    if type(value) is float and -LARGEST < value < LARGEST:
        return value
    number = float(checks.floats("value", checks.real("value", value)))
    if abs(number) >= LARGEST:
        raise ValueError(f"value must be smaller than {LARGEST:g} in size, got {value}")
    return number


def weight(value: float) -> float:
    """A weight."""
    if type(value) is float and 0.0 < value < LARGEST:
        return value
    number = checks.positive("weight", value)
    if number >= LARGEST:
        raise ValueError(f"weight must be smaller than {LARGEST:g}, got {value}")
    return number


def identity(value: int) -> int:
    """An id of a decision."""
    if type(value) is int and 0 <= value < _LARGEST_ID:
        return value
    number = checks.count("decision_id", value, least=0)
    return min(number, _LARGEST_ID)
