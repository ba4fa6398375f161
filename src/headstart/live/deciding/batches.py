"""Batch: the arms of n decisions at once, and their masks."""

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats, Integers
from headstart.live.arms import is_frame
from headstart.live.catalogue import Catalogue
from headstart.live.deciding.decision_sets import DecisionSet, decision_set
from headstart.live.deciding.masks import Mask, read_mask
from headstart.live.feature_names import FeatureNames
from headstart.live.inputs import Arms

# Arms for all tasks, or for each of them; masks likewise.
ArmsOfTasks = Arms | Catalogue | Sequence[Arms | Catalogue]
MaskOfTasks = Mask | Sequence[Mask | None]
# Decisions of n tasks: scores (n, K), choices, codes of ids, and propensities, (n,) each.
Made = tuple[Floats, Integers, Integers, Floats]


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Tasks of a batch that have equally many arms, K."""

    members: Integers  # (g,), their places in the batch, in order
    arms: Floats  # (s, K, d), the different sets of arms
    which: Integers  # (g,), the set of each task
    allowed: Booleans  # (g, K); (0, K) where all arms may be chosen


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """The arms of n tasks, in groups by their number."""

    n: int
    groups: Sequence[Group]
    sets: Sequence[DecisionSet] | None = None  # None for (n, K, d): indices are the ids

    def ids(self, choices: Integers) -> tuple[Hashable, ...]:
        """What the chosen arms are called."""
        if self.sets is None:
            return tuple(choices.tolist())
        pairs = zip(self.sets, choices.tolist(), strict=True)
        return tuple(shown.id(choice) for shown, choice in pairs)

    def padded(self, scores: Sequence[Floats]) -> Floats:
        """The scores of all groups as (n, K), −∞ behind the last arm of a task."""
        if len(scores) == 1:
            return scores[0]
        size = max((each.shape[1] for each in scores), default=0)
        padded = np.full((self.n, size), -np.inf)
        for group, each in zip(self.groups, scores, strict=True):
            padded[group.members, : each.shape[1]] = each
        return padded

    def together(self, made: Sequence[Made]) -> Made:
        """What was made for each group, in the order of the batch."""
        choices, ids = np.empty((2, self.n), dtype=np.int64)
        found = np.empty(self.n)
        for group, (_, *own) in zip(self.groups, made, strict=True):
            choices[group.members], ids[group.members], found[group.members] = own
        return self.padded([scores for scores, *_ in made]), choices, ids, found

    def set(self, i: int) -> DecisionSet:
        """The arms of one task."""
        if self.sets is not None:
            return self.sets[i]
        (group,) = self.groups
        every: Booleans = np.ones(group.arms.shape[1], dtype=np.bool_)
        return DecisionSet(
            features=group.arms[i],
            ids=None,
            allowed=group.allowed[i] if len(group.allowed) else every,
            columns=None,
            catalogue=None,
        )


def read_batch(n: int, arms: ArmsOfTasks, mask: MaskOfTasks | None, names: FeatureNames) -> Batch:
    """The checked arms and masks of n tasks: (n, K, d), a decision set for all, or n of them."""
    array = _array(arms)
    if array is not None and array.ndim == 3:
        return _of_array(array, n, mask, names)
    if array is None and isinstance(arms, list | tuple):
        if len(arms) != n:
            raise ValueError(f"arms must be one decision set or n = {n} of them, got {len(arms)}")
        each = [decision_set(shown, names, f"arms[{i}]") for i, shown in enumerate(arms)]
    else:
        given = cast("Arms | Catalogue", arms if array is None else array)
        each = [decision_set(given, names)] * n
    if mask is not None:
        done: dict[tuple[int, int], DecisionSet] = {}
        for i, own in enumerate(_masks(mask, n)):
            key = (id(each[i]), id(own))
            done[key] = each[i] = done[key] if key in done else each[i].masked(own)
    return batch_of(each)


def _array(arms: object) -> Any:
    """Arms that are numbers all through as an array; None for others."""
    if isinstance(arms, np.ndarray):
        return arms
    if _has_ids(arms):
        return None
    if isinstance(arms, list | tuple) and (not arms or any(map(_has_ids, arms))):
        return None
    try:
        return np.asarray(arms)
    except ValueError:  # sets of different sizes
        return None


def _has_ids(arms: object) -> bool:
    return isinstance(arms, Mapping | Catalogue) or is_frame(arms)


def _masks(mask: MaskOfTasks | None, n: int) -> list[Mask | None]:
    """The masks of n tasks. A list of lists, arrays, sets, mappings and None has one for each."""
    each = isinstance(mask, list | tuple) and len(mask) > 0 and all(map(_is_mask, mask))
    if not each and not (isinstance(mask, np.ndarray) and mask.ndim == 2):
        return [cast("Mask | None", mask)] * n
    found = list(cast("Sequence[Mask | None]", mask))
    if len(found) != n:
        raise ValueError(f"mask must be one mask or n = {n} of them, got {len(found)}")
    return found


def _is_mask(value: object) -> bool:
    # Tuples may be ids, those of a MultiIndex.
    kinds = (list, np.ndarray, AbstractSet, Mapping)
    return value is None or isinstance(value, kinds) or hasattr(value, "to_numpy")


def _of_array(array: Any, n: int, mask: MaskOfTasks | None, names: FeatureNames) -> Batch:
    size, d = array.shape[1], names.dimension
    if array.dtype != np.float64 or not array.flags.carray:
        array = checks.floats("arms", array)
    # Finite or not shows when they are read; checking here would cost as much as choosing.
    if array.shape != (n, max(size, 1), d):
        raise ValueError(
            f"arms must have shape (n, K, d) = ({n}, 1 or more, {d}) or (K, d), got {array.shape}"
        )
    allowed: Booleans = np.empty((0, size), dtype=np.bool_)
    if mask is not None:
        every = np.ones(size, dtype=np.bool_)
        masks = [every if own is None else read_mask(own, size, None) for own in _masks(mask, n)]
        allowed = np.array(masks, dtype=np.bool_).reshape(n, size)
    members = np.arange(n)
    return Batch(n=n, groups=[Group(members=members, arms=array, which=members, allowed=allowed)])


def batch_of(sets: Sequence[DecisionSet]) -> Batch:
    """A batch of n decision sets; arms that several of them share are there once."""
    if sets and list(sets).count(sets[0]) == len(sets):
        return _of_one_set(sets)
    by_size: dict[int, list[int]] = {}
    for i, shown in enumerate(sets):
        by_size.setdefault(len(shown.features), []).append(i)
    groups = []
    for size, members in by_size.items():
        arms: dict[int, tuple[int, Floats]] = {}
        own = [sets[i] for i in members]
        which = [arms.setdefault(id(s.features), (len(arms), s.features))[0] for s in own]
        different = [features for _, features in arms.values()]
        free = all(shown.allowed.all() for shown in {id(s): s for s in own}.values())
        allowed = [] if free else [shown.allowed for shown in own]
        groups.append(
            Group(
                members=np.array(members, dtype=np.int64),
                arms=different[0][None] if len(different) == 1 else np.stack(different),
                which=np.array(which, dtype=np.int64),
                allowed=np.array(allowed, dtype=np.bool_).reshape(len(allowed), size),
            )
        )
    return Batch(n=len(sets), groups=groups, sets=sets)


def _of_one_set(sets: Sequence[DecisionSet]) -> Batch:
    """A batch of n tasks that all have the same arms, of which the same may be chosen."""
    n, shown = len(sets), sets[0]
    allowed = shown.allowed[None][[0] * (0 if shown.allowed.all() else n)]
    which: Integers = np.zeros(n, dtype=np.int64)
    group = Group(members=np.arange(n), arms=shown.features[None], which=which, allowed=allowed)
    return Batch(n=n, groups=[group], sets=sets)
