"""Clusters: the users of one KMeans cluster as the tasks of a replication."""

from dataclasses import dataclass
from functools import lru_cache

import numpy as np
from threadpoolctl import threadpool_limits

from headstart import checks
from headstart.arrays import Floats, Integers


@dataclass(frozen=True, kw_only=True)
class Clusters:
    """The paper's MovieLens tasks: KMeans clusters that hold together and are large enough.

    The paper filters "clusterings" by silhouette, but no clustering of its users reaches 0.15 as a
    whole; single clusters do. So a cluster stays if the mean silhouette of its users is at least
    `least_silhouette` and at least `least_users` of them can be a task. One clustering leaves one
    or two, and its seed says which: so `n_clusterings` of them are made, from `seed` onwards, and
    all that stay are used (the same users once; overlaps remain). Replication r plays cluster
    r mod (number that stay), its users shuffled anew.
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

    def draw(
        self, vectors: Floats, fit: Integers, replications: int, rng: np.random.Generator
    ) -> list[Integers]:
        """The users of the cluster whose turn it is, shuffled."""
        members = self.members(vectors, fit)
        if not members:
            best = max(silhouettes.max() for _, silhouettes in self.clusterings(vectors))
            raise ValueError(
                f"least_users={self.least_users} and least_silhouette={self.least_silhouette} "
                f"must leave a cluster, got none of {self.n_clusters * self.n_clusterings} "
                f"(the best silhouette is {best:.3f})"
            )
        return [rng.permutation(members[r % len(members)]) for r in range(replications)]

    def members(self, vectors: Floats, fit: Integers) -> list[Integers]:
        """The users that can be a task in every cluster that stays, by seed, then by label."""
        stay: dict[bytes, Integers] = {}
        for labels, silhouettes in self.clusterings(vectors):
            for k in np.flatnonzero(silhouettes >= self.least_silhouette):
                users = fit[labels[fit] == k]
                if len(users) >= self.least_users:
                    stay.setdefault(users.tobytes(), users)
        return list(stay.values())

    def clusterings(self, vectors: Floats) -> list[tuple[Integers, Floats]]:
        """Per clustering the cluster of every user, (n,), and every cluster's silhouette, (C,)."""
        if len(vectors) <= self.n_clusters:
            raise ValueError(
                f"n_clusters must be below the number of users, {len(vectors)}, "
                f"got {self.n_clusters}"
            )
        data, size = vectors.tobytes(), len(vectors)
        seeds = range(self.seed, self.seed + self.n_clusterings)
        return [_cluster(data, size, self.n_clusters, seed) for seed in seeds]


# Keyed by the vectors' bytes: a study asks for the same clustering again and again.
@lru_cache(maxsize=64)
def _cluster(data: bytes, size: int, n_clusters: int, seed: int) -> tuple[Integers, Floats]:
    try:
        from sklearn.cluster import KMeans  # noqa: PLC0415 - only clusters wait for scikit-learn
        from sklearn.metrics import silhouette_samples  # noqa: PLC0415
    except ImportError as error:
        message = "clustering needs scikit-learn: pip install 'headstart[data]'"
        raise ImportError(message) from error
    users = np.frombuffer(data).reshape(size, -1)
    # One thread, so that sums are taken in one order and the labels are the same everywhere.
    with threadpool_limits(1):
        fitted = KMeans(n_clusters, n_init=10, random_state=seed).fit(users)
        each = silhouette_samples(users, fitted.labels_)
    labels = np.asarray(fitted.labels_, dtype=np.int64)
    sizes = np.bincount(labels, minlength=n_clusters)
    return labels, np.bincount(labels, each, minlength=n_clusters) / np.maximum(sizes, 1)
