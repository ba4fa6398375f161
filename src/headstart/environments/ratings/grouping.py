"""Which users become the tasks of a replication: all of them, or near neighbours."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headstart import checks
from headstart.arrays import Floats, Integers


class Grouping(Protocol):
    """A rule for the group of users whose members become the tasks of one replication."""

    def sample(
        self, vectors: Floats, eligible: Integers, replications: int, rng: np.random.Generator
    ) -> list[Integers]:
        """The group of every replication, its users in the order of their tasks.

        `vectors` (n, d) are those of all users; only the `eligible` ones can be a task.
        """
        ...


@dataclass(frozen=True, kw_only=True)
class AllUsers:
    """All eligible users, in random order.

    >>> grouping = hs.environments.AllUsers()
    >>> groups = grouping.sample(np.eye(4), np.array([0, 2, 3]), 1, np.random.default_rng(0))
    >>> sorted(groups[0].tolist())
    [0, 2, 3]
    """

    def sample(
        self, vectors: Floats, eligible: Integers, replications: int, rng: np.random.Generator
    ) -> list[Integers]:
        """All eligible users, shuffled anew for every replication."""
        return [rng.permutation(eligible) for _ in range(replications)]


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The paper's LastFM tasks: a random user and its n − 1 nearest in l2, shuffled.

    >>> vectors = np.array([[0.0], [0.1], [5.0], [5.2]])
    >>> grouping = hs.environments.Nearest(n_users=2)
    >>> groups = grouping.sample(vectors, np.arange(4), 1, np.random.default_rng(0))
    >>> sorted(groups[0].tolist()) in ([0, 1], [2, 3])
    True
    """

    n_users: int = 20

    def __post_init__(self) -> None:
        checks.count("n_users", self.n_users)

    def sample(
        self, vectors: Floats, eligible: Integers, replications: int, rng: np.random.Generator
    ) -> list[Integers]:
        """A seed user for every replication, sampled with replacement, and its neighbours."""
        if len(eligible) < self.n_users:
            raise ValueError(
                f"n_users must be at most {len(eligible)}, the users that can be a task, "
                f"got {self.n_users}"
            )
        candidates = vectors[eligible]
        groups = []
        for seed in rng.integers(len(eligible), size=replications):
            distance = np.linalg.norm(candidates - candidates[seed], axis=1)
            distance[seed] = -1.0  # before a duplicate at distance 0
            nearest = np.argsort(distance, kind="stable")[: self.n_users]
            groups.append(rng.permutation(eligible[nearest]))
        return groups
