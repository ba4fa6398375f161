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
from headstart.live.engine.decision_sets import DecisionSet, decision_set
from headstart.live.feature_names import FeatureNames
from headstart.live.inputs import Arms
from headstart.live.masks import Mask, read_mask

# Arms for all tasks, or for each of them; masks likewise.
ArmsOfTasks = Arms | Catalogue | Sequence[Arms | Catalogue]
MaskOfTasks = Mask | Sequence[Mask | None]

# The columns of `Batch.spans`.
FIRST, SIZE, SCORE = range(3)

_ALL: Booleans = np.empty(0, dtype=np.bool_)


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """The arms of n tasks. Task i has `size` of them from `first` on; its scores begin at `score`.

    Tasks with the same arms share their features, and not their scores.
    """

    features: Floats  # (N, d)
    spans: Integers  # (n, 3): first, size, score
    allowed: Booleans  # by score; (0,) where all arms may be chosen
    size: int  # K, of the task with most arms
    sets: Sequence[DecisionSet] | None = None  # None for (n, K, d): indices are the ids

    @property
    def alike(self) -> bool:
        """Whether all tasks have K arms."""
        return self.n_scores == len(self.spans) * self.size

    @property
    def n_scores(self) -> int:
        """How many scores the tasks have together."""
        return int(self.spans[-1, SCORE] + self.spans[-1, SIZE]) if len(self.spans) else 0

    def ids(self, choices: Integers) -> tuple[Hashable, ...]:
        """What the chosen arms are called."""
        if self.sets is None:
            return tuple(choices.tolist())
        pairs = zip(self.sets, choices.tolist(), strict=True)
        return tuple(shown.id(choice) for shown, choice in pairs)

    def padded(self, scores: Floats) -> Floats:
        """Scores as (n, K), −∞ behind the last arm of a task."""
        if self.alike:
            return scores.reshape(len(self.spans), self.size)
        padded = np.full((len(self.spans), self.size), -np.inf)
        for i, (_, size, score) in enumerate(self.spans.tolist()):
            padded[i, :size] = scores[score : score + size]
        return padded

    def set(self, i: int) -> DecisionSet:
        """The arms of one task."""
        if self.sets is not None:
            return self.sets[i]
        first, size, score = self.spans[i].tolist()
        every = np.ones(size, dtype=np.bool_)
        return DecisionSet(
            features=self.features[first : first + size],
            ids=None,
            allowed=self.allowed[score : score + size] if len(self.allowed) else every,
            columns=None,
            catalogue=None,
        )


def read_batch(n: int, arms: ArmsOfTasks, mask: MaskOfTasks | None, names: FeatureNames) -> Batch:
    """The checked arms and masks of n tasks: (n, K, d), a decision set for all, or n of them."""
    array = _array(arms)
    if array is not None and array.ndim == 3:
        return _of_array(array, _masks(mask, n), names)
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
    return _of_sets(each, names.dimension)


def _array(arms: object) -> Any:
    """Arms that are numbers all through as an array; None for others."""
    if isinstance(arms, np.ndarray):
        return arms
    if _has_ids(arms) or (isinstance(arms, list | tuple) and any(map(_has_ids, arms))):
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


def _of_array(array: Any, masks: list[Mask | None], names: FeatureNames) -> Batch:
    n, size, d = len(masks), array.shape[1], names.dimension
    if array.dtype != np.float64 or not array.flags.carray:
        array = checks.floats("arms", array)
    # Finite or not shows when they are read; checking here would cost as much as choosing.
    if array.shape != (n, max(size, 1), d):
        raise ValueError(
            f"arms must have shape (n, K, d) = ({n}, 1 or more, {d}) or (K, d), got {array.shape}"
        )
    spans = np.empty((n, 3), dtype=np.int64)
    spans[:, FIRST] = spans[:, SCORE] = np.arange(n) * size
    spans[:, SIZE] = size
    allowed = _ALL
    if any(mask is not None for mask in masks):
        every = np.ones((n, size), dtype=np.bool_)
        for i, mask in enumerate(masks):
            if mask is not None:
                every[i] = read_mask(mask, size, None)
        allowed = every.reshape(-1)
    return Batch(features=array.reshape(-1, d), spans=spans, allowed=allowed, size=size)


def _of_sets(sets: Sequence[DecisionSet], dimension: int) -> Batch:
    """Batch of decision sets; features that several of them share are there once."""
    firsts: dict[int, int] = {}
    features, spans = [np.empty((0, dimension))], []
    end = score = 0
    for shown in sets:
        size = len(shown.features)
        if id(shown.features) not in firsts:
            firsts[id(shown.features)] = end
            features.append(shown.features)
            end += size
        spans.append((firsts[id(shown.features)], size, score))
        score += size
    everything = all(shown.allowed.all() for shown in sets)
    return Batch(
        features=features[-1] if len(features) == 2 else np.concatenate(features),
        spans=np.array(spans, dtype=np.int64).reshape(-1, 3),
        allowed=_ALL if everything else np.concatenate([shown.allowed for shown in sets]),
        size=max((size for _, size, _ in spans), default=0),
        sets=sets,
    )
