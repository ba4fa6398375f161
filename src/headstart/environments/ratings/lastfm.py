"""LastFM: the paper's tasks from what 741 people listened to."""

from dataclasses import dataclass, field, fields
from functools import cached_property
from pathlib import Path

import numpy as np

from headstart.core.task import Task
from headstart.datasets.published import LASTFM, kept
from headstart.datasets.table import RatingTable
from headstart.environments.ratings.embedding import Features, Transform
from headstart.environments.ratings.grouping import Grouping, Nearest
from headstart.environments.ratings.ratings import PreparedRatings, Ratings
from headstart.environments.rewards import Mode, Shift


@dataclass(frozen=True, kw_only=True, eq=False)
class LastFM:
    """`Ratings` of HetRec 2011's play counts, 741 users × 538 artists, with the paper's settings.

    The "ratings" are play counts, so that at most 3 plays include none. `data` is the folder of
    the publisher's files; without it $HEADSTART_DATA and the download cache are looked at, and
    DataMissing is raised if they are in neither. The other settings are those of `Ratings`.
    """

    data: str | Path | None = None
    dimension: int = 10
    transform: Transform = "raw"
    features: Features = "users-scaled"
    unit_arms: bool = False
    grouping: Grouping = field(default_factory=Nearest)
    n_arms: int = 5
    liked: float = 4.0
    disliked: float = 3.0
    unrated_disliked: bool = True
    reward: Mode = "winner"
    shift: Shift | None = None
    noise_scale: float = 1.0

    def __post_init__(self) -> None:
        _ = self.ratings

    @cached_property
    def ratings(self) -> Ratings:
        """The same as an environment of its own."""
        settings = {f.name: getattr(self, f.name) for f in fields(self) if f.name != "data"}
        # Filtered here, so that only what is used travels to another process.
        return Ratings(table=kept(LASTFM, self.data), **settings)

    @property
    def kept(self) -> RatingTable:
        """The ratings after the filter."""
        return self.ratings.kept

    def prepare(self, replications: int, rng: np.random.Generator) -> PreparedRatings:
        """Draw the pool of users of every replication."""
        return self.ratings.prepare(replications, rng)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One user in each replication, each from a pool of its own."""
        return self.ratings.sample(horizon, replications, rng)
