"""DecisionSet and Batch: the arms of one decision, and of n decisions."""

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, cast

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats, Integers
from headstart.live.catalogue import Catalogue
from headstart.live.inputs import Arms, FeatureNames, Mask, is_frame, read_arms, read_mask

# Arms for all tasks, or for each of them; masks likewise.
ArmsOfTasks = Arms | Catalogue | Sequence["Arms | Catalogue | DecisionSet"]
MaskOfTasks = Mask | Sequence[Mask | None]


@dataclass(frozen=True, kw_only=True, eq=False)
class DecisionSet:
    """The arms of one decision, checked."""

    features: Floats  # (K, d)
    ids: Sequence[Hashable] | None  # None for the indices 0 to K − 1
    allowed: Booleans  # (K,), which may be chosen; at least one
    columns: tuple[str, ...] | None  # the names of the features, if the arms have any
    index: Mapping[Hashable, int] | None = None  # of the ids that a mask may name; None for all
    is_whole: bool = False  # whether all are known to be allowed
    are_items: bool = False  # whether they are items of a catalogue, with effects of their own

    @classmethod
    def of(cls, features: Floats, ids: Sequence[Hashable] | None) -> "DecisionSet":
        """Checked arms that may all be chosen."""
        every: Booleans = np.ones(len(features), dtype=np.bool_)
        return cls(features=features, ids=ids, allowed=every, columns=None, is_whole=True)

    @classmethod
    def of_items(
        cls,
        features: Floats,
        ids: Sequence[Hashable],
        index: Mapping[Hashable, int] | None = None,
        columns: tuple[str, ...] | None = None,
    ) -> "DecisionSet":
        """Items that may all be chosen, each with an effect of its own."""
        return replace(cls.of(features, ids), index=index, columns=columns, are_items=True)

    def id(self, index: int) -> Hashable:
        """The id of an arm, or its index if it has none."""
        return index if self.ids is None else self.ids[index]

    def masked(self, mask: Mask | None) -> "DecisionSet":
        """The same arms; only those of the mask may be chosen."""
        if mask is None:
            return self
        ids = self.ids if self.index is None else self.index
        allowed = self.allowed & read_mask(mask, len(self.features), ids)
        if not allowed.any():
            raise ValueError("mask must leave at least one item of the catalogue, got none")
        return replace(self, allowed=allowed, is_whole=False)


def decision_set(
    arms: "Arms | Catalogue | DecisionSet", names: FeatureNames, what: str = "arms"
) -> DecisionSet:
    """Arms as a decision set."""
    if isinstance(arms, DecisionSet):
        return arms
    if isinstance(arms, Catalogue):
        return _of_catalogue(arms, names)
    table = read_arms(arms, names.dimension, names.known, what)
    return DecisionSet(
        features=table.features,
        ids=table.ids,
        allowed=np.ones(len(table.features), dtype=np.bool_),
        columns=table.columns,
    )


def _of_catalogue(catalogue: Catalogue, names: FeatureNames) -> DecisionSet:
    (features, ids, index), columns = catalogue.items, catalogue.feature_names
    if catalogue.schema is not None and not catalogue.schema.is_fixed:
        raise ValueError("a catalogue whose items have attributes needs a bandit with its features")
    checks.shape("the catalogue", features, (len(features), names.dimension), "(K, d)")
    if columns is not None and names.known is not None and columns != names.known:
        raise ValueError(
            f"the catalogue's features must be {checks.short(names.known)} in this order, "
            f"got {checks.short(columns)}: give it feature_names"
        )
    if not ids:
        raise ValueError("the catalogue must have at least one item, got none")
    return DecisionSet.of_items(features, ids, index, columns)


@dataclass(frozen=True, kw_only=True, eq=False)
class Group:
    """Tasks of a batch that have equally many arms, K."""

    members: Integers  # (g,), their places in the batch, ascending
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
        """The ids of the chosen arms."""
        if self.sets is None:
            return tuple(choices.tolist())
        pairs = zip(self.sets, choices.tolist(), strict=True)
        return tuple(arms.id(choice) for arms, choice in pairs)

    def features(self, choices: Integers) -> Floats:
        """The chosen features, (n, d)."""
        chosen = np.empty((self.n, self.groups[0].arms.shape[2] if self.groups else 0))
        for group in self.groups:
            chosen[group.members] = group.arms[group.which, choices[group.members]]
        return chosen

    def padded(self, scores: Sequence[Floats]) -> Floats:
        """The scores of all groups as (n, K), −∞ after the last arm of a task."""
        if len(scores) == 1:
            return scores[0]
        size = max((array.shape[1] for array in scores), default=0)
        padded = np.full((self.n, size), -np.inf)
        for group, array in zip(self.groups, scores, strict=True):
            padded[group.members, : array.shape[1]] = array
        return padded

    def sets_of(self, group: Group) -> Sequence[DecisionSet]:
        """The different decision sets of a group, in the order of its arms; none for arrays."""
        if self.sets is None:
            return ()
        members = dict(zip(group.which.tolist(), group.members.tolist(), strict=True))
        return [self.sets[members[i]] for i in range(len(group.arms))]

    def set(self, i: int) -> DecisionSet:
        """The arms of one task."""
        if self.sets is not None:
            return self.sets[i]
        (group,) = self.groups
        arms = DecisionSet.of(group.arms[i], None)
        if not len(group.allowed):
            return arms
        return replace(arms, allowed=group.allowed[i], is_whole=False)


def read_batch(n: int, arms: ArmsOfTasks, mask: MaskOfTasks | None, names: FeatureNames) -> Batch:
    """The checked arms and masks of n tasks: (n, K, d), a decision set for all, or n of them."""
    array = _array(arms)
    if array is not None and array.ndim == 3:
        return _of_array(array, n, mask, names)
    if array is None and isinstance(arms, list | tuple):
        if len(arms) != n:
            raise ValueError(f"arms must be one decision set or n = {n} of them, got {len(arms)}")
        sets = [decision_set(some, names, f"arms[{i}]") for i, some in enumerate(arms)]
    else:
        shared = cast("Arms | Catalogue", arms if array is None else array)
        sets = [decision_set(shared, names)] * n
    if mask is not None:
        done: dict[tuple[int, int], DecisionSet] = {}
        for i, some_mask in enumerate(_masks(mask, n)):
            key = (id(sets[i]), id(some_mask))
            done[key] = sets[i] = done[key] if key in done else sets[i].masked(some_mask)
    return batch_of(sets)


def _array(arms: object) -> Any:
    """The arms as an array if they are all numbers, else None."""
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
    return isinstance(arms, Mapping | Catalogue | DecisionSet) or is_frame(arms)


def _masks(mask: MaskOfTasks | None, n: int) -> list[Mask | None]:
    """The masks of n tasks; a list of lists, arrays, sets, mappings or None holds one for each."""
    several = isinstance(mask, list | tuple) and len(mask) > 0 and all(map(_is_mask, mask))
    if not several and not (isinstance(mask, np.ndarray) and mask.ndim == 2):
        return [cast("Mask | None", mask)] * n
    masks = list(cast("Sequence[Mask | None]", mask))
    if len(masks) != n:
        raise ValueError(f"mask must be one mask or n = {n} of them, got {len(masks)}")
    return masks


def _is_mask(value: object) -> bool:
    # Tuples may be ids, from a MultiIndex.
    kinds = (list, np.ndarray, AbstractSet, Mapping)
    return value is None or isinstance(value, kinds) or hasattr(value, "to_numpy")


def _of_array(array: Any, n: int, mask: MaskOfTasks | None, names: FeatureNames) -> Batch:
    size, d = array.shape[1], names.dimension
    if array.dtype != np.float64 or not array.flags.carray:
        array = checks.floats("arms", array)
    # Reading them shows whether they are finite; checking here would cost as much as choosing.
    if array.shape != (n, max(size, 1), d):
        raise ValueError(
            f"arms must have shape (n, K, d) = ({n}, 1 or more, {d}) or (K, d), got {array.shape}"
        )
    allowed: Booleans = np.empty((0, size), dtype=np.bool_)
    if mask is not None:
        every = np.ones(size, dtype=np.bool_)
        masks = [every if m is None else read_mask(m, size, None) for m in _masks(mask, n)]
        allowed = np.array(masks, dtype=np.bool_).reshape(n, size)
    members = np.arange(n)
    return Batch(n=n, groups=[Group(members=members, arms=array, which=members, allowed=allowed)])


def batch_of(sets: Sequence[DecisionSet]) -> Batch:
    """A batch of n decision sets; arms that several of them share are stored once."""
    if sets and list(sets).count(sets[0]) == len(sets):
        return _of_one_set(sets)
    by_size: dict[int, list[int]] = {}
    for i, arms_of_task in enumerate(sets):
        by_size.setdefault(len(arms_of_task.features), []).append(i)
    groups = []
    for size, members in by_size.items():
        arms: dict[int, tuple[int, Floats]] = {}
        group = [sets[i] for i in members]
        which = [arms.setdefault(id(s.features), (len(arms), s.features))[0] for s in group]
        different = [features for _, features in arms.values()]
        free = all(s.allowed.all() for s in {id(s): s for s in group}.values())
        allowed = [] if free else [s.allowed for s in group]
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
    """A batch of n tasks that all have the same arms and the same mask."""
    n, shared = len(sets), sets[0]
    allowed = shared.allowed[None][[0] * (0 if shared.allowed.all() else n)]
    which: Integers = np.zeros(n, dtype=np.int64)
    group = Group(members=np.arange(n), arms=shared.features[None], which=which, allowed=allowed)
    return Batch(n=n, groups=[group], sets=sets)
