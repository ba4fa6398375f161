"""Rewards of n decisions: those that one compiled call is enough for, and the others one by one."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.live import inputs
from headstart.live.outcomes import Outcome
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.following import follow_up
from headstart.live.tasks.ids import Ids, read_ids
from headstart.live.tasks.layout import NONE
from headstart.live.tasks.pending import Pending
from headstart.live.tasks.rewarding import CHANGES, PAID, reward, reward_one


@compiled
def _reward_all(
    rows: Floats,
    kept: Floats,
    links: Integers,
    codes: Integers,
    values: Floats,
    weights: Floats,
    horizon: int,
    places: Integers,
) -> tuple[int, int, int]:
    """`reward_one` for n decisions in their order, and the places (n,) that they had.

    It ends at one that is not learned, or that something follows. Returns how many were learned,
    and the status and the slot of the last one tried.
    """
    for i in range(codes.shape[0]):
        status, slot, places[i] = reward_one(
            rows, kept, links, codes[i], values[i], weights[i], horizon
        )
        if status < 0:
            return i, status, slot
        if status > 0:
            return i + 1, status, slot
    return len(codes), 0, NONE


def reward_many(
    tasks: Tasks, decision_ids: Iterable[str], values: ArrayLike, weights: ArrayLike
) -> list[Outcome]:
    """`MetaBandit.reward_many`."""
    ids, rewards, counts = inputs.rewards_of(decision_ids, values, weights)
    simple = tasks.one_call and not tasks.catalogue_scores.by_slot and not tasks.horizon
    if not simple or not _in_range(tasks, rewards):
        given = zip(_plain(ids), rewards.tolist(), counts.tolist(), strict=True)
        return [reward(tasks, decision, value, weight) for decision, value, weight in given]
    codes, own = _parse(tasks.pending, ids)
    outcomes, done = [PAID] * len(ids), 0
    while done < len(ids):
        first = done
        done, status = _reward_some(tasks, codes, rewards, counts, done)
        if own is None:
            paid = _plain(ids[first:done])
            tasks.settled.note_all(zip(paid, rewards[first:done].tolist(), strict=True))
        else:
            paid_ids = Ids(own.origin, codes[first:done])
            tasks.settled.note_batch(paid_ids, rewards[first:done].copy())
        if status < 0:  # not pending, or not of an open task, or too large
            value, weight = float(rewards[done]), float(counts[done])
            outcomes[done] = reward(tasks, str(ids[done]), value, weight)
            done += 1
    return outcomes


def _reward_some(
    tasks: Tasks, codes: Integers, values: Floats, weights: Floats, done: int
) -> tuple[int, int]:
    """Pay a batch from a decision on: how many are done then, and the status of what ended it.

    That is below 0 for the reward of the next decision, which was not learned, and else 0.
    """
    pending = tasks.pending
    while done < len(codes):
        rest = slice(done, None)
        places = np.empty(len(codes) - done, dtype=np.int64)
        learned, status, slot = _reward_all(
            tasks.rows,
            pending.kept,
            pending.links,
            codes[rest],
            values[rest],
            weights[rest],
            tasks.horizon,
            places,
        )
        _free(pending, places[:learned].tolist())
        done += learned
        if status == CHANGES:
            tasks.note_change(slot)
        elif status < 0:
            return done, status
        elif status:
            follow_up(tasks, slot, status)
    return done, 0


def _parse(
    pending: Pending, decisions: Sequence[str] | NDArray[np.str_]
) -> tuple[Integers, Ids | None]:
    """The codes of decisions, as `Pending.parse` has them; and as ids, if all were decided here."""
    ids = read_ids(pending.prefix, decisions)
    if ids is not None:
        return ids.codes, ids
    return np.array([pending.parse(each) for each in decisions], dtype=np.int64), None


def _free(pending: Pending, places: Sequence[int]) -> None:
    """Take back places that were released."""
    if not pending.foreign:
        pending.free.extend(places)
        return
    for place in places:
        pending.freed(place)


def _in_range(tasks: Tasks, values: Floats) -> bool:
    """Whether all rewards are within the range, if there is one."""
    limits = tasks.settings.reward_range
    return limits is None or bool(((values >= limits[0]) & (values <= limits[1])).all())


def _plain(ids: Sequence[str] | NDArray[np.str_]) -> list[str]:
    return ids.tolist() if isinstance(ids, np.ndarray) else list(ids)
