"""Which users become the tasks of a replication: all, near neighbours, or a cluster."""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import Protocol

import numpy as np
from threadpoolctl import threadpool_limits

from headstart import checks
from headstart.arrays import Floats, Integers


class Grouping(Protocol):
    """A rule that selects the users who become the tasks of one replication."""

    def sample(
        self, vectors: Floats, eligible: Integers, replications: int, rng: np.random.Generator
    ) -> list[Integers]:
        """The group of every replication, its users in the order of their tasks.

        `vectors` (n, d) belong to all users; only `eligible` users can be a task.
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
        """All eligible users, shuffled for every replication."""
        return [rng.permutation(eligible) for _ in range(replications)]


@dataclass(frozen=True, kw_only=True)
class Nearest:
    """The paper's LastFM tasks: a random user and its nearest neighbours in l2, shuffled.

    Replications draw their first users at random and with replacement. So they are independent
    groups of one data set, although users are in several: intervals are for groups that are drawn
    like this from these users, not for other users. Compare `Clusters`, whose groups are a list.

    Parameters
    ----------
    n_users : int, default 20
        The number of users, including the first one.

    Examples
    --------
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


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """The paper's MovieLens tasks: KMeans clusters that are compact and large enough.

    The paper filters "clusterings" by silhouette, but no clustering of its users reaches 0.15 as a
    whole; single clusters do. So a cluster passes if the mean silhouette of its users is large
    enough and enough of them are eligible. In one clustering one or two clusters pass, and its seed
    decides which. So several clusterings are made, and all clusters that pass are used (equal ones
    once). Replication r plays cluster r mod (number that pass), with its users shuffled. Clusters
    of different clusterings overlap, so replications are not independent; `cohorts` says which
    belong together.

    Parameters
    ----------
    n_clusters : int, default 20
        The number of clusters of a clustering.
    least_users : int, default 20
        How many users of a cluster must be eligible.
    least_silhouette : float, default 0.15
        The least mean silhouette of a cluster.
    n_clusterings : int, default 10
        How many clusterings are made.
    seed : int, default 0
        The seed of the first clustering; the others follow.

    Examples
    --------
    >>> hs.environments.Clusters(least_users=30).n_clusters
    20
    """

    n_clusters: int = 20
    least_users: int = 20
    least_silhouette: float = 0.15
    n_clusterings: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        checks.count("n_clusters", self.n_clusters, least=2)
        checks.count("least_users", self.least_users)
        if not -1.0 <= self.least_silhouette <= 1.0:
            raise ValueError(
                f"least_silhouette must be from -1 to 1, got {self.least_silhouette!r}"
            )
        checks.count("n_clusterings", self.n_clusterings)
        checks.count("seed", self.seed, least=0)

    def sample(
        self, vectors: Floats, eligible: Integers, replications: int, rng: np.random.Generator
    ) -> list[Integers]:
        """The eligible users of cluster r mod (number that pass), shuffled."""
        members = self.members(vectors, eligible)
        if not members:
            best = max(silhouettes.max() for _, silhouettes in self.clusterings(vectors))
            raise ValueError(
                f"least_users={self.least_users} and least_silhouette={self.least_silhouette} "
                f"leave none of {self.n_clusters * self.n_clusterings} clusters "
                f"(the best silhouette is {best:.3f})"
            )
        return [rng.permutation(members[r % len(members)]) for r in range(replications)]

    def members(self, vectors: Floats, eligible: Integers) -> list[Integers]:
        """The eligible users of every cluster that passes, by seed, then by label."""
        passing: dict[bytes, Integers] = {}
        for labels, silhouettes in self.clusterings(vectors):
            for k in np.flatnonzero(silhouettes >= self.least_silhouette):
                users = eligible[labels[eligible] == k]
                if len(users) >= self.least_users:
                    passing.setdefault(users.tobytes(), users)
        return list(passing.values())

    def cohorts(self, vectors: Floats, eligible: Integers, replications: int) -> Integers:
        """The cohort of every replication, (R,): clusters that overlap are in one cohort.

        Two clusters overlap if they share at least half of the users of the smaller; cohorts are
        the connected components, numbered by their first cluster. Replications of one cohort play
        mostly the same users, so only the cohorts are independent.
        """
        members = self.members(vectors, eligible)
        cohort = np.arange(len(members))
        for i, one in enumerate(members):
            for j, other in enumerate(members[:i]):
                shared = len(np.intersect1d(one, other, assume_unique=True))
                if 2 * shared >= min(len(one), len(other)):
                    cohort[cohort == cohort[i]] = cohort[j]
        numbers = np.unique(cohort, return_inverse=True)[1]
        return np.asarray(numbers[np.arange(replications) % len(members)], dtype=np.int64)

    def clusterings(self, vectors: Floats) -> list[tuple[Integers, Floats]]:
        """Per clustering, the cluster of every user, (n,), and each cluster's silhouette, (C,)."""
        if len(vectors) <= self.n_clusters:
            raise ValueError(
                f"n_clusters must be below the number of users, {len(vectors)}, "
                f"got {self.n_clusters}"
            )
        data, size = vectors.tobytes(), len(vectors)
        seeds = range(self.seed, self.seed + self.n_clusterings)
        return [_cluster(data, size, self.n_clusters, seed) for seed in seeds]


# Keyed by the vectors' bytes, since a study asks for the same clustering many times.
@lru_cache(maxsize=64)
def _cluster(data: bytes, size: int, n_clusters: int, seed: int) -> tuple[Integers, Floats]:
    try:
        from sklearn.cluster import KMeans  # noqa: PLC0415 - optional and slow
        from sklearn.metrics import silhouette_samples  # noqa: PLC0415
    except ImportError as error:
        message = "clustering needs scikit-learn: pip install 'headstart[data]'"
        raise ImportError(message) from error
    users = np.frombuffer(data).reshape(size, -1)
    # One thread, so that sums are taken in one order and labels do not depend on the machine.
    with threadpool_limits(1):
        fitted = KMeans(n_clusters, n_init=10, random_state=seed).fit(users)
        silhouettes = silhouette_samples(users, fitted.labels_)
    labels = np.asarray(fitted.labels_, dtype=np.int64)
    sizes = np.bincount(labels, minlength=n_clusters)
    return labels, np.bincount(labels, silhouettes, minlength=n_clusters) / np.maximum(sizes, 1)
