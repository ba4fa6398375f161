"""MovieLens: the paper's tasks from how 847 people rated films."""

import math
from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from headstart.core.task import Task
from headstart.datasets.published import MOVIELENS, kept
from headstart.datasets.table import RatingTable
from headstart.environments.ratings.clusters import Clusters
from headstart.environments.ratings.embedding import Features, Transform
from headstart.environments.ratings.grouping import Grouping
from headstart.environments.ratings.ratings import PreparedRatings, Ratings
from headstart.environments.rewards import Mode, Shift


@dataclass(frozen=True, kw_only=True, eq=False)
class MovieLens:
    """`Ratings` of MovieLens-1M, 847 users × 618 films, with the paper's settings.

    Replication r plays cluster r mod `clusters` (see `Clusters`). A film that somebody never rated
    is not one that they disliked, so that arms are rated ones. The noise variance is the paper's
    0.1. `data` is as in `LastFM`; the other settings are those of `Ratings`.
    """

    data: str | Path | None = None
    dimension: int = 10
    transform: Transform = "raw"
    features: Features = "users-scaled"
    unit_arms: bool = False
    grouping: Grouping = field(default_factory=Clusters)
    n_arms: int = 5
    liked: float = 4.0
    disliked: float = 3.0
    unrated_disliked: bool = False
    reward: Mode = "winner"
    shift: Shift | None = None
    noise_scale: float = math.sqrt(0.1)

    def __post_init__(self) -> None:
        _ = self.ratings

    @cached_property
    def ratings(self) -> Ratings:
        """The same as an environment of its own."""
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "data"}
        # Filtered here, so that only what is used travels to another process.
        return Ratings(table=kept(MOVIELENS, self.data), **settings)

    @property
    def kept(self) -> RatingTable:
        """The ratings after the filter."""
        return self.ratings.kept

    @property
    def clusters(self) -> int:
        """How many clusters pass the filters: replications for one full turn of them."""
        return self.ratings.clusters

    def prepare(self, replications: int, rng: np.random.Generator) -> PreparedRatings:
        """Draw the pool of users of every replication."""
        return self.ratings.prepare(replications, rng)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One user in each replication, each from a pool of its own."""
        return self.ratings.sample(horizon, replications, rng)
