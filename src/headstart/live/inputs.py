"""Checks of what an application passes by value: names, features, rewards, weights, ids."""

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import checks
from headstart.arrays import Floats
from headstart.live.decision import Name

# Keys of any kind: a mapping is invariant in them, so that Hashable would refuse strings.
Arms = ArrayLike | Mapping[Any, ArrayLike]

# An arm whose squared width exceeds this leaves no digits for the other directions.
LARGEST_GROWTH = 1e12
# Beyond this, squares and products of rewards run out of range.
_LARGEST = 1e50


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
    if type(value) is float and -_LARGEST < value < _LARGEST:
        return value
    if isinstance(value, bool | np.bool_):
        return float(value)
    number = float(checks.floats("value", checks.real("value", value)))
    if abs(number) >= _LARGEST:
        raise ValueError(f"value must be smaller than {_LARGEST:g} in size, got {value}")
    return number


def weight_of(value: float) -> float:
    """A weight."""
    if type(value) is float and 0.0 < value < _LARGEST:
        return value
    number = checks.positive("weight", value)
    if number >= _LARGEST:
        raise ValueError(f"weight must be smaller than {_LARGEST:g}, got {value}")
    return number


def id_of(value: str) -> str:
    """The id of a decision."""
    if not isinstance(value, str):
        raise ValueError(f"decision_id must be the id of a decision, a string, got {value!r}")
    return value


def rewards_of(
    decisions: Iterable[str], values: ArrayLike, weights: ArrayLike
) -> tuple[list[str] | NDArray[np.str_], Floats, Floats]:
    """The ids of n decisions, and their rewards and weights, (n,) each."""
    ids = _ids_of(decisions)
    rewards = checks.floats("values", values)
    checks.shape("values", rewards, (len(ids),), "(n,)")
    given = checks.floats("weights", weights)
    if given.shape not in ((), rewards.shape):
        raise ValueError(
            f"weights must be a number or have shape (n,) = {rewards.shape}, got {given.shape}"
        )
    counts = np.full(rewards.shape, given)
    for name, array in (("values", np.abs(rewards)), ("weights", counts)):
        if (array >= _LARGEST).any():
            raise ValueError(f"{name} must be smaller than {_LARGEST:g}, got {array.max()}")
    if (counts <= 0).any():
        raise ValueError(f"weights must be above 0, got {counts.min()}")
    return ids, rewards, counts


def _ids_of(decisions: Iterable[str]) -> list[str] | NDArray[np.str_]:
    if isinstance(decisions, np.ndarray):
        if decisions.dtype.kind == "U" and decisions.ndim == 1:
            return decisions
        decisions = decisions.tolist()
    ids = list(decisions)
    for each in ids:
        if type(each) is not str:
            id_of(each)
    return ids


def too_large(name: str, features: Floats) -> ValueError:
    """The error for arms (K, d) that are finite and still cannot be read."""
    checks.floats(name, features)
    row = int(np.abs(features).max(axis=-1).argmax())
    return ValueError(
        f"{name} must not outweigh the prior by more than 10¹²: bring the features to a common "
        f"scale; arm {row} reaches {np.abs(features[row]).max():.3g}"
    )
