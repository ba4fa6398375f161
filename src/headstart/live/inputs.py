"""Checks of what an application passes: arms, masks, names, rewards, weights, ids."""

from collections.abc import Hashable, Iterable, Mapping, Sequence
from typing import Any, cast

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.live.decision import Name

# Keys of any kind: a mapping is invariant in them, so that Hashable would refuse strings.
Arms = ArrayLike | Mapping[Any, ArrayLike]

# An arm whose squared width exceeds this leaves no digits for the other directions.
LARGEST_GROWTH = 1e12
# Beyond this, squares and products of rewards run out of range.
_LARGEST = 1e50


def features_of(arms: Arms, dimension: int) -> tuple[Floats, Sequence[Hashable] | None]:
    """Arms as an array (K, d), and their ids where they have any."""
    ids: Sequence[Hashable] | None = None
    if isinstance(arms, Mapping):
        ids = list(arms)
        arms = [vector_of(f"the features of arm {key!r}", arms[key], dimension) for key in ids]
    features = checks.floats("arms", arms)
    if features.ndim != 2 or features.shape[1] != dimension or not len(features):
        raise ValueError(
            f"arms must have shape (K, d) = (1 or more, {dimension}), got {features.shape}"
        )
    return features, ids


def features_of_tasks(names: tuple[Name, ...], arms: ArrayLike, dimension: int) -> Floats:
    """The arms (n, K, d) of n different tasks, from (n, K, d) or (K, d)."""
    n = len(names)
    if len(set(names)) < n:
        raise ValueError("tasks must be different names, got one of them more than once")
    # Finite or not shows when they are read; checking here would cost as much as choosing.
    plain = type(arms) is np.ndarray and arms.dtype == np.float64 and arms.flags.carray
    features = cast("Floats", arms) if plain else checks.floats("arms", arms)
    if features.ndim == 2:
        features = np.tile(features, (n, 1, 1))
    if features.ndim != 3 or features.shape != (n, max(features.shape[1], 1), dimension):
        raise ValueError(
            f"arms must have shape (n, K, d) = ({n}, 1 or more, {dimension}) or (K, d), "
            f"got {features.shape}"
        )
    return features


def vector_of(name: str, features: ArrayLike, dimension: int) -> Floats:
    """Features of one arm, (d,)."""
    vector = checks.floats(name, features)
    checks.shape(name, vector, (dimension,), "(d,)")
    return vector


def mask_of(mask: ArrayLike, n_arms: int) -> Booleans:
    """Which arms may be chosen, (K,); at least one."""
    allowed = np.asarray(mask)
    if allowed.dtype != np.bool_ or allowed.shape != (n_arms,):
        raise ValueError(
            f"mask must be booleans of shape (K,) = ({n_arms},), "
            f"got {allowed.dtype} of shape {allowed.shape}"
        )
    if not allowed.any():
        raise ValueError("mask must leave at least one arm, got none")
    return allowed


def name_of(value: object) -> Name:
    """The name of a task."""
    if not isinstance(value, str | int) or isinstance(value, bool):
        raise ValueError(f"task must be named by a string or an integer, got {value!r}")
    return value


def reward_of(value: float) -> float:
    """A reward."""
    if type(value) is float and -_LARGEST < value < _LARGEST:
        return value
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
) -> tuple[list[str], Floats, Floats]:
    """The ids of n decisions, and their rewards and weights, (n,) each."""
    ids = decisions.tolist() if isinstance(decisions, np.ndarray) else list(decisions)
    for each in ids:
        if type(each) is not str:
            id_of(each)
    rewards = checks.floats("values", values)
    checks.shape("values", rewards, (len(ids),), "(n,)")
    counts = np.array(np.broadcast_to(checks.floats("weights", weights), len(ids)))
    for name, array in (("values", np.abs(rewards)), ("weights", counts)):
        if (array >= _LARGEST).any():
            raise ValueError(f"{name} must be smaller than {_LARGEST:g}, got {array.max()}")
    if (counts <= 0).any():
        raise ValueError(f"weights must be above 0, got {counts.min()}")
    return ids, rewards, counts


def too_large(name: str, features: Floats) -> ValueError:
    """The error for arms (K, d) that are finite and still cannot be read."""
    checks.floats(name, features)
    row = int(np.abs(features).max(axis=-1).argmax())
    return ValueError(
        f"{name} must not outweigh the prior by more than 10¹²: bring the features to a common "
        f"scale; arm {row} reaches {np.abs(features[row]).max():.3g}"
    )
