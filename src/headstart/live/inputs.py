"""Arms as an application has them: an array, rows, or features by id."""

from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Booleans, Floats

# Keys of any kind: a mapping is invariant in them, so that Hashable would refuse strings.
Arms = ArrayLike | Mapping[Any, ArrayLike]


def features_of(arms: Arms, dimension: int) -> tuple[Floats, Sequence[Hashable] | None]:
    """Arms as a clean array (K, d), and their ids where they have any."""
    ids: Sequence[Hashable] | None = None
    if isinstance(arms, Mapping):
        ids = list(arms)
        for key, row in arms.items():
            checks.shape(f"the features of arm {key!r}", _row(key, row), (dimension,), "(d,)")
        arms = [np.asarray(row, dtype=np.float64) for row in arms.values()]
    features = checks.floats("arms", arms)
    if features.ndim != 2 or features.shape[1] != dimension or not len(features):
        raise ValueError(
            f"arms must have shape (K, d) = (1 or more, {dimension}), got {features.shape}"
        )
    return features, ids


def _row(key: Hashable, row: ArrayLike) -> Floats:
    return checks.floats(f"the features of arm {key!r}", row)


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


def too_large(name: str, features: Floats) -> ValueError:
    """What to say of arms (K, d) that are finite and still cannot be read."""
    checks.floats(name, features)
    row = int(np.abs(features).max(axis=-1).argmax())
    return ValueError(
        f"{name} must not outweigh the prior by more than 10¹²: bring the features to a common "
        f"scale; arm {row} reaches {np.abs(features[row]).max():.3g}"
    )
