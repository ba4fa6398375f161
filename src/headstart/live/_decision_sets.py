"""DecisionSet and Batch: the arms of one decision, and of n decisions."""

from collections.abc import Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, cast

import numpy as np

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.live.catalogue import Catalogue
from headstart.live.inputs import Arms, FeatureNames, Mask, is_frame, read_arms, read_mask

# Arms for all tasks, or for each of them; masks likewise.
ArmsOfTasks = Arms | Catalogue | Sequence["Arms | Catalogue | DecisionSet"]
MaskOfTasks = Mask | Sequence[Mask | None]


class Selection(NamedTuple):
    """Where K arms that may be chosen are among all n."""

    places: Integers  # (K,), ascending
    n: int


@dataclass(frozen=True, kw_only=True, eq=False)
class DecisionSet:
    """The arms of one decision, checked: those that may be chosen, and no others."""

    features: Floats  # (K, d)
    ids: Sequence[Hashable] | None  # None for the indices 0 to K − 1
    columns: tuple[str, ...] | None = None  # the names of the features, if the arms have any
    index: Mapping[Hashable, int] | None = None  # of the ids
    are_items: bool = False  # whether they are items of a catalogue, with effects of their own
    selection: Selection | None = None  # None if all arms may be chosen

    @classmethod
    def of_items(
        cls,
        features: Floats,
        ids: Sequence[Hashable],
        index: Mapping[Hashable, int] | None = None,
        columns: tuple[str, ...] | None = None,
    ) -> "DecisionSet":
        """Items that may all be chosen, each with an effect of its own."""
        return cls(features=features, ids=ids, index=index, columns=columns, are_items=True)

    def id(self, index: int) -> Hashable:
        """The id of an arm, or its index if it has none."""
        return index if self.ids is None else self.ids[index]

    def place(self, index: int) -> int:
        """Where an arm is among all arms."""
        return index if self.selection is None else int(self.selection.places[index])

    def whole(self, values: Floats, others: float) -> Floats:
        """The values (K,) of the arms that may be chosen, and one for all others, (n,)."""
        if self.selection is None:
            return values
        whole = np.full(self.selection.n, others)
        whole[self.selection.places] = values
        return whole

    def selected(self, places: Integers) -> "DecisionSet":
        """Some of the arms."""
        n, before = len(self.features), self.selection
        among = (
            Selection(places, n) if before is None else Selection(before.places[places], before.n)
        )
        indices = places.tolist()
        ids = among.places.tolist() if self.ids is None else [self.ids[i] for i in indices]
        features = self.features[places]
        return replace(self, features=features, ids=ids, index=None, selection=among)

    def masked(self, mask: Mask | None) -> "DecisionSet":
        """The arms that a mask leaves."""
        if mask is None:
            return self
        ids = self.ids if self.index is None else self.index
        allowed = read_mask(mask, len(self.features), ids)
        return self if allowed.all() else self.selected(np.flatnonzero(allowed))


def decision_set(
    arms: "Arms | Catalogue | DecisionSet", names: FeatureNames, what: str = "arms"
) -> DecisionSet:
    """Arms as a decision set."""
    if isinstance(arms, DecisionSet):
        return arms
    if isinstance(arms, Catalogue):
        return _of_catalogue(arms, names)
    table = read_arms(arms, names.dimension, names.known, what)
    return DecisionSet(features=table.features, ids=table.ids, columns=table.columns)


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

    @property
    def _is_masked(self) -> bool:
        return any(arms.selection is not None for arms in self.sets or ())

    def places(self, choices: Integers) -> Integers:
        """Where the chosen arms are among all arms of their tasks, (n,)."""
        if not self._is_masked:
            return choices
        pairs = zip(self.sets or (), choices.tolist(), strict=True)
        return np.array([arms.place(choice) for arms, choice in pairs], dtype=np.int64)

    def features(self, choices: Integers) -> Floats:
        """The chosen features, (n, d)."""
        chosen = np.empty((self.n, self.groups[0].arms.shape[2] if self.groups else 0))
        for group in self.groups:
            chosen[group.members] = group.arms[group.which, choices[group.members]]
        return chosen

    def padded(self, scores: Sequence[Floats]) -> Floats:
        """The scores of all groups as (n, K), −∞ where masked and after a task's last arm."""
        if len(scores) == 1 and not self._is_masked:
            return scores[0]
        rows: list[Floats] = [np.empty(0)] * self.n
        for group, array in zip(self.groups, scores, strict=True):
            for i, row in zip(group.members.tolist(), array, strict=True):
                rows[i] = row if self.sets is None else self.sets[i].whole(row, -np.inf)
        padded = np.full((self.n, max(map(len, rows), default=0)), -np.inf)
        for i, row in enumerate(rows):
            padded[i, : len(row)] = row
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
        return DecisionSet(features=group.arms[i], ids=None)


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
        for i, some_mask in enumerate(masks_of(mask, n)):
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


def masks_of(mask: MaskOfTasks | None, n: int) -> list[Mask | None]:
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
    if mask is not None:
        masks = masks_of(mask, n)
        pairs = zip(array, masks, strict=True)
        return batch_of([DecisionSet(features=x, ids=None).masked(some) for x, some in pairs])
    members = np.arange(n)
    return Batch(n=n, groups=[Group(members=members, arms=array, which=members)])


def batch_of(sets: Sequence[DecisionSet]) -> Batch:
    """A batch of n decision sets; arms that several of them share are stored once."""
    if sets and list(sets).count(sets[0]) == len(sets):
        return _of_one_set(sets)
    by_size: dict[int, list[int]] = {}
    for i, arms_of_task in enumerate(sets):
        by_size.setdefault(len(arms_of_task.features), []).append(i)
    groups = []
    for members in by_size.values():
        arms: dict[int, tuple[int, Floats]] = {}
        group = [sets[i] for i in members]
        which = [arms.setdefault(id(s.features), (len(arms), s.features))[0] for s in group]
        different = [features for _, features in arms.values()]
        groups.append(
            Group(
                members=np.array(members, dtype=np.int64),
                arms=different[0][None] if len(different) == 1 else np.stack(different),
                which=np.array(which, dtype=np.int64),
            )
        )
    return Batch(n=len(sets), groups=groups, sets=sets)


def _of_one_set(sets: Sequence[DecisionSet]) -> Batch:
    """A batch of n tasks that all have the same arms and the same mask."""
    n, shared = len(sets), sets[0]
    which: Integers = np.zeros(n, dtype=np.int64)
    group = Group(members=np.arange(n), arms=shared.features[None], which=which)
    return Batch(n=n, groups=[group], sets=sets)
