"""Which users become the tasks of a replication: everyone or near neighbours."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headstart import checks
from headstart.arrays import Floats, Integers


class Grouping(Protocol):
    """How the pools of users are drawn, from whose members the tasks come one by one."""

    def draw(
        self, vectors: Floats, fit: Integers, replications: int, rng: np.random.Generator
    ) -> list[Integers]:
        """The pool of every replication in the order of its tasks.

        Users are rows of vectors (n, d); only those in `fit` can be a task.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class Everyone:
    """All users, in random order: the users as they come."""

    def draw(
        self, vectors: Floats, fit: Integers, replications: int, rng: np.random.Generator
    ) -> list[Integers]:
        """All users that can be a task, shuffled anew for every replication."""
        return [rng.permutation(fit) for _ in range(replications)]


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The paper's LastFM tasks: a random user and its n − 1 nearest in l2, shuffled."""

    n_users: int = 20

    def __post_init__(self) -> None:
        checks.count("n_users", self.n_users)

    def draw(
        self, vectors: Floats, fit: Integers, replications: int, rng: np.random.Generator
    ) -> list[Integers]:
        """A seed user for every replication, drawn with replacement, and its neighbours."""
        if len(fit) < self.n_users:
            raise ValueError(
                f"n_users must be at most {len(fit)}, the users that can be a task, "
                f"got {self.n_users}"
            )
        known = vectors[fit]
        pools = []
        for seed in rng.integers(len(fit), size=replications):
            distance = np.linalg.norm(known - known[seed], axis=1)
            distance[seed] = -1.0  # before a twin at distance 0
            nearest = np.argsort(distance, kind="stable")[: self.n_users]
            pools.append(rng.permutation(fit[nearest]))
        return pools
