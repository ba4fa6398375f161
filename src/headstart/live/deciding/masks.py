"""Reading masks: which arms may be chosen."""

from collections.abc import Collection, Hashable, Mapping, Sequence
from collections.abc import Set as AbstractSet
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Booleans

# One per arm, or the ids of those that may be chosen; ids are of any kind.
Mask = ArrayLike | Collection[Any] | Mapping[Any, bool]

# Arms' ids in their order, or the index of each id; None where ids are the indices.
Ids = Sequence[Hashable] | Mapping[Hashable, int] | None


def read_mask(mask: Mask, n_arms: int, ids: Ids) -> Booleans:
    """Which of K arms may be chosen, (K,); at least one.

    A set is always ids (indices, where arms have no ids). A mapping, or a pandas Series of
    booleans, has one boolean or 0/1 for every id. Any other sequence is a mask if it has length K
    and holds booleans or 0 and 1 alone, and else ids: so ids that are 0 and 1 have to be a set.
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


def _of_sequence(mask: Any, n_arms: int, ids: Ids) -> Booleans:
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


def _index(n_arms: int, ids: Ids) -> Mapping[Hashable, int]:
    if isinstance(ids, Mapping):
        return ids
    return {key: i for i, key in enumerate(range(n_arms) if ids is None else ids)}


def _of_ids(chosen: Collection[Any], n_arms: int, ids: Ids) -> Booleans:
    index = _index(n_arms, ids)
    allowed: Booleans = np.zeros(n_arms, dtype=np.bool_)
    for key in chosen:
        if not isinstance(key, Hashable) or key not in index:
            raise ValueError(f"mask must hold ids of the arms, got {checks.short(key)}")
        allowed[index[key]] = True
    return allowed


def _by_id(mask: Mapping[Any, Any], n_arms: int, ids: Ids) -> Booleans:
    index = _index(n_arms, ids)
    missing = [key for key in index if key not in mask]
    if missing:
        raise ValueError(f"mask must have a boolean for every arm, got none for {missing[0]!r}")
    found = _booleans(np.array([mask[key] for key in index]))
    if found is None:
        raise ValueError("mask must have a boolean or 0/1 for every arm, got other values")
    allowed: Booleans = np.zeros(n_arms, dtype=np.bool_)
    allowed[list(index.values())] = found
    return allowed
