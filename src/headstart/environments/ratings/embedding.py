"""Embedding: vectors of users and items from the singular value decomposition of their ratings."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Literal

import numpy as np

from headstart.arrays import Floats
from headstart.datasets.table import RatingTable

Transform = Literal["raw", "log"]
Features = Literal["users-scaled", "items-scaled"]
TRANSFORMS = ("raw", "log")
FEATURES = ("users-scaled", "items-scaled")


@dataclass(frozen=True, eq=False)
class Embedding:
    """Users (n, d) and items (m, d) whose inner products approximate the ratings best."""

    users: Floats
    items: Floats


@lru_cache(maxsize=16)
def embed(
    table: RatingTable, dimension: int, transform: Transform, features: Features, unit_arms: bool
) -> Embedding:
    """The leading d singular vectors of the ratings, with zeros for missing ones.

    M ≈ U S Vᵀ; users-scaled takes U S and V, items-scaled U and V S. The transform "log" takes
    log(1 + rating) first. `unit_arms` then scales every item to length 1.
    """
    left, values, right = _decompose(table, dimension, transform)
    users, items = (left * values, right) if features == "users-scaled" else (left, right * values)
    if unit_arms:
        length = np.linalg.norm(items, axis=1, keepdims=True)
        items = items / np.where(length > 0, length, 1.0)
    return Embedding(np.ascontiguousarray(users), np.ascontiguousarray(items))


@lru_cache(maxsize=8)
def _decompose(
    table: RatingTable, dimension: int, transform: Transform
) -> tuple[Floats, Floats, Floats]:
    """U (n, d), S (d,) in descending order, V (m, d); each column's largest entry of V is positive.

    The sign is a convention; without it, signs would depend on the machine's LAPACK.
    """
    from scipy.sparse import linalg  # noqa: PLC0415 - takes half a second to import

    if dimension >= min(table.shape):
        users, items = table.shape
        raise ValueError(
            f"dimension must be below the number of users and of items, {users} and {items} "
            f"after the filter, got {dimension}"
        )
    matrix = table.matrix()
    if transform == "log":
        if (lowest := table.ratings.min()) <= -1:
            raise ValueError(f"ratings must be above -1 for transform 'log', got {lowest}")
        matrix = matrix.log1p()
    start = np.ones(min(table.shape))
    left, singular, right = linalg.svds(matrix, k=dimension, v0=start)
    values = np.asarray(singular, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    left, values, right = left[:, order], values[order], right[order].T
    top = np.abs(right).argmax(0)
    sign = np.where(right[top, np.arange(dimension)] < 0, -1.0, 1.0)
    return left * sign, values, right * sign
