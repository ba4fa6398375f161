"""What an application passes: names, features, rewards, weights, ids, arms and masks, checked."""

from collections.abc import Collection, Hashable, Iterable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.live.settings import LARGEST

# A task's name: of the types that a file can store.
Name = str | int

# Keys of any kind: mappings are invariant in their keys, so Hashable would refuse strings.
Arms = ArrayLike | Mapping[Any, ArrayLike]

# What is known of an item, of the context or of a task, by name.
Attributes = Mapping[str, object]
# Items by id or in a list; to a type checker, a DataFrame or a table of attributes is an array.
Items = Mapping[Any, Attributes] | Sequence[Attributes]

# An arm whose squared width exceeds this leaves no digits for the other directions.
LARGEST_GROWTH = 1e12


def vector_of(name: str, features: ArrayLike, dimension: int) -> Floats:
    """Features of one arm, (d,)."""
    vector = checks.floats(name, features)
    checks.shape(name, vector, (dimension,), "(d,)")
    return vector


def name_of(value: object) -> Name:
    """The name of a task, as a plain string or integer: 1.0 and True are not the task 1."""
    kind = type(value)
    if kind is str or kind is int:
        return value  # type: ignore[return-value]
    if isinstance(value, str):
        return str(value)
    if isinstance(value, int | np.integer) and not isinstance(value, bool):
        return int(value)
    raise ValueError(
        f"task must be named by a string or an integer, got {checks.short(value)} ({kind.__name__})"
    )


def reward_of(value: float) -> float:
    """A reward: a number, or a boolean as 0 or 1."""
    if type(value) is float and -LARGEST < value < LARGEST:
        return value
    if isinstance(value, bool | np.bool_):
        return float(value)
    return float(checks.floats("value", checks.real("value", value)))


def weight_of(value: float) -> float:
    """A weight."""
    if type(value) is float and 0.0 < value < LARGEST:
        return value
    number = checks.positive("weight", value)
    if number >= LARGEST:
        raise ValueError(f"weight must be smaller than {LARGEST:g}, got {value}")
    return number


def id_of(value: object) -> str:
    """The id of a decision, given as such or as the decision."""
    if not isinstance(value, str):
        own = getattr(value, "id", None)
        if isinstance(own, str):
            return own
        raise ValueError(f"decision_id must be the id of a decision, a string, got {value!r}")
    return value


def rewards_of(
    decisions: Iterable[str], values: ArrayLike, weights: ArrayLike
) -> tuple[list[str] | NDArray[np.str_], Floats, Floats]:
    """The ids of n decisions, and their rewards and weights, (n,) each."""
    ids = _ids_of(decisions)
    rewards = checks.floats("values", values)
    checks.shape("values", rewards, (len(ids),), "(n,)")
    counts = checks.floats("weights", weights)
    if counts.shape not in ((), rewards.shape):
        raise ValueError(
            f"weights must be a number or have shape (n,) = {rewards.shape}, got {counts.shape}"
        )
    counts = np.full(rewards.shape, counts)
    if (counts >= LARGEST).any():
        raise ValueError(f"weights must be smaller than {LARGEST:g}, got {counts.max()}")
    if (counts <= 0).any():
        raise ValueError(f"weights must be above 0, got {counts.min()}")
    return ids, rewards, counts


def _ids_of(decisions: Iterable[str]) -> list[str] | NDArray[np.str_]:
    if isinstance(decisions, np.ndarray):
        if decisions.dtype.kind == "U" and decisions.ndim == 1:
            return decisions
        decisions = decisions.tolist()
    ids = list(decisions)
    for decision in ids:
        if type(decision) is not str:
            id_of(decision)
    return ids


def too_large(name: str, features: Floats) -> ValueError:
    """The error for arms (K, d) that are finite but too large to be read."""
    checks.floats(name, features)
    row = int(np.abs(features).max(axis=-1).argmax())
    return ValueError(
        f"{name} must not outweigh the prior by more than 10¹²: bring the features to a common "
        f"scale; arm {row} reaches {np.abs(features[row]).max():.3g}"
    )


class Groups(NamedTuple):
    """Which of d features belong together, such as the columns of one attribute or cross."""

    names: tuple[str, ...]
    of_features: tuple[int, ...]  # (d,), the group of every feature


class FeatureNames:
    """The names of d features: given, else a DataFrame's columns, else x1 to xd.

    `known` is None until names are given or noted. From then on, a DataFrame's columns are found by
    name, in any order. `groups`: which features belong together, if any do.
    """

    def __init__(
        self, dimension: int, names: Sequence[str] | None = None, groups: "Groups | None" = None
    ) -> None:
        self.dimension = dimension
        self.groups = groups
        self.known: tuple[str, ...] | None = None
        if names is not None:
            self.known = _different_names(names, dimension)

    @property
    def all(self) -> tuple[str, ...]:
        """All d names."""
        return default_names(self.dimension) if self.known is None else self.known

    def note(self, columns: tuple[str, ...] | None) -> None:
        """Take the columns of a DataFrame as names, unless there are names already."""
        if self.known is None:
            self.known = columns


def default_names(dimension: int) -> tuple[str, ...]:
    """x1 to xd."""
    return tuple(f"x{i}" for i in range(1, dimension + 1))


def _different_names(names: Sequence[str], dimension: int) -> tuple[str, ...]:
    listed = () if isinstance(names, str) else tuple(names)
    if len(listed) != dimension or not all(isinstance(name, str) and name for name in listed):
        raise ValueError(
            f"feature_names must be d = {dimension} different strings, got {checks.short(names)}"
        )
    if len(set(listed)) < dimension:
        again = next(name for i, name in enumerate(listed) if name in listed[:i])
        raise ValueError(f"feature_names must be different, got {again!r} more than once")
    return tuple(str(name) for name in listed)


# What a pandas column's dtype may be: booleans, integers and floats, nullable or not.
_NUMERIC_KINDS = "biuf"


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmTable:
    """K arms: their features, and the names of arms and features, if known."""

    features: Floats  # (K, d)
    ids: Sequence[Hashable] | None = None  # K different ones; None for the indices 0 to K − 1
    columns: tuple[str, ...] | None = None  # the d names of a DataFrame's columns


def read_arms(
    arms: Arms, dimension: int | None, names: tuple[str, ...] | None = None, what: str = "arms"
) -> ArmTable:
    """Arms as a checked table. With dimension None, d is whatever the arms have.

    If the features have names, a DataFrame's columns are found by name: their order does not
    matter, and other columns are ignored.
    """
    if isinstance(arms, Mapping):
        table = _read_mapping(arms, dimension, what)
    elif is_frame(arms):
        table = _read_frame(arms, names, what)
    else:
        table = ArmTable(features=checks.floats(what, arms))
    shape = table.features.shape
    if len(shape) != 2 or 0 in shape or shape[1] != (dimension or shape[1]):
        expected = "1 or more" if dimension is None else dimension
        raise ValueError(f"{what} must be 1 or more rows of {expected} features, got shape {shape}")
    return table


def is_frame(arms: object) -> bool:
    """Whether it is a pandas or Polars DataFrame."""
    return all(hasattr(arms, name) for name in ("columns", "dtypes", "to_numpy"))


def has_attributes(arms: object) -> bool:
    """Whether arms are items with attributes, rather than numbers: dicts, a frame or a table."""
    if isinstance(arms, Mapping):
        first = next(iter(arms.values()), None)
        if isinstance(first, list | tuple) and first:  # several dicts are one
            first = first[0]
        return isinstance(first, Mapping)
    if isinstance(arms, list | tuple):
        return len(arms) > 0 and isinstance(arms[0], Mapping)
    return is_frame(arms) or hasattr(arms, "column_names")


def _read_mapping(arms: Mapping[Any, Any], dimension: int | None, what: str) -> ArmTable:
    ids = list(arms)
    try:
        features = np.array(list(arms.values()), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        features = np.empty(0)
    # If something is wrong, check arm by arm, so that the error names the first bad one.
    if features.ndim != 2 or not np.isfinite(features).all() or dimension != features.shape[1]:
        for key in ids:
            dimension = len(np.atleast_1d(arms[key])) if dimension is None else dimension
            vector_of(f"the features of arm {key!r}", arms[key], dimension)
        features = checks.floats(what, list(arms.values()))
    return ArmTable(features=features, ids=ids)


def _read_frame(frame: Any, names: tuple[str, ...] | None, what: str) -> ArmTable:
    """A DataFrame's rows as arms. A pandas index holds their ids; Polars has none."""
    columns = tuple(frame.columns)
    named = all(isinstance(column, str) for column in columns)
    if named and names is not None and columns != names:
        for name in names:
            if name not in columns:
                raise ValueError(f"{what} must have a column {name!r}, got {list(columns)}")
        frame, columns = frame[list(names)], names
    has_index = hasattr(frame, "index")
    for column, dtype in zip(columns, frame.dtypes, strict=True):
        numeric = (
            dtype.kind in _NUMERIC_KINDS
            if has_index
            else dtype.is_numeric() or str(dtype) == "Boolean"
        )
        if not numeric:
            raise ValueError(f"{what} must have numeric columns, got {column!r} of type {dtype}")
    if has_index:
        features = frame.to_numpy(dtype=np.float64, na_value=np.nan)
    else:
        series = [np.asarray(frame[column].to_numpy(), dtype=np.float64) for column in columns]
        features = np.stack(series, axis=1) if series else np.empty((len(frame), 0))
    return ArmTable(
        features=checks.floats(what, features),
        ids=different_ids(frame.index.tolist(), what) if has_index else None,
        columns=tuple(map(str, columns)) if named else None,
    )


def different_ids(ids: list[Hashable], what: str) -> list[Hashable]:
    """The ids in an index; raises if two are the same."""
    if len(set(ids)) < len(ids):
        seen: set[Hashable] = set()
        again = next(key for key in ids if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"{what} must have different ids, got {again!r} more than once")
    return ids


# One per arm, or the ids of those that may be chosen; ids are of any kind.
Mask = ArrayLike | Collection[Any] | Mapping[Any, bool]

# Arms' ids in order, or the index of each id; None if the indices are the ids.
_ArmIds = Sequence[Hashable] | Mapping[Hashable, int] | None


def read_mask(mask: Mask, n_arms: int, ids: _ArmIds) -> Booleans:
    """Which of K arms may be chosen, (K,); at least one.

    A set always holds ids (indices, if arms have no ids). A mapping, or a pandas Series of
    booleans, has one boolean or 0/1 for every id. Any other sequence is a mask if it has length K
    and holds only booleans or 0 and 1; otherwise it holds ids. So give ids that are 0 and 1 as a
    set.
    """
    if isinstance(mask, AbstractSet):
        allowed = _of_ids(mask, n_arms, ids)
    elif isinstance(mask, Mapping):
        allowed = _by_id(mask, n_arms, ids)
    else:
        allowed = _of_sequence(mask, n_arms, ids)
    if not allowed.any():
        raise ValueError("mask must leave at least one arm, got none")
    return allowed


def _of_sequence(mask: Any, n_arms: int, ids: _ArmIds) -> Booleans:
    try:
        array = np.asarray(mask)
    except ValueError:  # ids of different shapes, such as tuples
        array = np.empty(0, dtype=object)
    booleans = _booleans(array)
    labels: Any = getattr(mask, "index", None)  # of a pandas Series; a list's is a method
    if booleans is not None and ids is not None and hasattr(labels, "tolist"):
        return _by_id(dict(zip(labels.tolist(), booleans.tolist(), strict=True)), n_arms, ids)
    if booleans is not None and booleans.shape == (n_arms,):
        return booleans
    listed = mask.tolist() if hasattr(mask, "tolist") else mask
    of_ids = isinstance(listed, Sequence) and not isinstance(listed, str)
    if ids is None or not of_ids or array.dtype == np.bool_:
        raise ValueError(
            f"mask must be booleans or 0 and 1 of shape (K,) = ({n_arms},), or a set of ids, "
            f"got {array.dtype} of shape {array.shape}"
        )
    return _of_ids(listed, n_arms, ids)


def _booleans(array: Any) -> Booleans | None:
    """Booleans, or integers 0 and 1, as booleans (n,); None for anything else."""
    if array.ndim != 1 or array.dtype.kind not in "biuO":
        return None
    if array.dtype.kind == "O":
        right = len(array) > 0 and all(isinstance(value, bool | np.bool_) for value in array)
    else:
        right = bool(((array == 0) | (array == 1)).all())
    return np.asarray(array, dtype=np.bool_) if right else None


def _index(n_arms: int, ids: _ArmIds) -> Mapping[Hashable, int]:
    if isinstance(ids, Mapping):
        return ids
    return {key: i for i, key in enumerate(range(n_arms) if ids is None else ids)}


def _of_ids(chosen: Collection[Any], n_arms: int, ids: _ArmIds) -> Booleans:
    index = _index(n_arms, ids)
    allowed: Booleans = np.zeros(n_arms, dtype=np.bool_)
    for key in chosen:
        if not isinstance(key, Hashable) or key not in index:
            raise ValueError(f"mask must hold ids of the arms, got {checks.short(key)}")
        allowed[index[key]] = True
    return allowed


def _by_id(mask: Mapping[Any, Any], n_arms: int, ids: _ArmIds) -> Booleans:
    index = _index(n_arms, ids)
    missing = [key for key in index if key not in mask]
    if missing:
        raise ValueError(f"mask must have a boolean for every arm, got none for {missing[0]!r}")
    booleans = _booleans(np.array([mask[key] for key in index]))
    if booleans is None:
        raise ValueError("mask must have a boolean or 0/1 for every arm, got other values")
    allowed: Booleans = np.zeros(n_arms, dtype=np.bool_)
    allowed[list(index.values())] = booleans
    return allowed
