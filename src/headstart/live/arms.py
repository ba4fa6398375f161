"""Reading arms: an array, a mapping of ids to features, or a DataFrame whose index are the ids."""

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.live.inputs import Arms, vector_of

# What a pandas column's dtype may be: booleans, integers and floats, nullable or not.
_NUMERIC_KINDS = "biuf"


@dataclass(frozen=True, kw_only=True, eq=False)
class ArmTable:
    """K arms: their features, and what they and the features are called where that is known."""

    features: Floats  # (K, d)
    ids: Sequence[Hashable] | None = None  # K different ones; None for the indices 0 to K − 1
    columns: tuple[str, ...] | None = None  # the d names of a DataFrame's columns


def read_arms(
    arms: Arms, dimension: int | None, names: tuple[str, ...] | None = None, what: str = "arms"
) -> ArmTable:
    """Arms as a checked table. With dimension None, d is whatever the arms have.

    Where the features have names, a DataFrame's columns are found by name: their order does not
    matter, and other columns are left out.
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
        raise ValueError(f"{what} must have shape (K, d) = (1 or more, {expected}), got {shape}")
    return table


def is_frame(arms: object) -> bool:
    """Whether it is a pandas or Polars DataFrame."""
    return all(hasattr(arms, name) for name in ("columns", "dtypes", "to_numpy"))


def _read_mapping(arms: Mapping[Any, Any], dimension: int | None, what: str) -> ArmTable:
    ids = list(arms)
    try:
        features = np.array(list(arms.values()), dtype=np.float64)
    except (TypeError, ValueError, OverflowError):
        features = np.empty(0)
    # Where all is not right at once, arm by arm: the error then names the first that is wrong.
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
        ids=_different(frame.index.tolist(), what) if has_index else None,
        columns=tuple(map(str, columns)) if named else None,
    )


def _different(ids: list[Hashable], what: str) -> list[Hashable]:
    """The ids of an index, which must be different."""
    if len(set(ids)) < len(ids):
        seen: set[Hashable] = set()
        again = next(key for key in ids if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise ValueError(f"{what} must have different ids, got {again!r} more than once")
    return ids
