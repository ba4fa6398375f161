"""LastFM and MovieLens: `Ratings` of the paper's two data sets, with the paper's settings."""

import math
from dataclasses import dataclass, field, fields, replace
from functools import cached_property
from pathlib import Path

import numpy as np

from headstart.core.task import Task
from headstart.datasets.published import (
    LASTFM,
    MOVIELENS,
    Published,
    find,
    load_filtered,
    movielens_users,
)
from headstart.datasets.table import RatingTable
from headstart.environments.ratings.embedding import Features, Transform
from headstart.environments.ratings.grouping import Clusters, Grouping, Nearest
from headstart.environments.ratings.ratings import PreparedRatings, Ratings
from headstart.environments.rewards import Mode, Shift


@dataclass(frozen=True, kw_only=True, eq=False)
class LastFM:
    """`Ratings` of HetRec 2011's play counts, 741 users × 538 artists, with the paper's settings.

    The "ratings" are play counts, so an artist never played counts as disliked.

    Parameters
    ----------
    data : str or Path, optional
        The folder of the publisher's files. By default, $HEADSTART_DATA and the download cache are
        searched; raises DataMissing if they are in neither.
    dimension, transform, features, unit_arms
        As for `Ratings`.
    grouping, n_arms, liked, disliked, unrated_disliked
        As for `Ratings`.
    reward, shift, noise_scale
        As for `Ratings`.

    Examples
    --------
    >>> environment = hs.environments.LastFM(n_arms=10)
    >>> prepared = environment.prepare(2, np.random.default_rng(0))
    >>> prepared.sample(50, 2, np.random.default_rng(1)).arms.shape
    (2, 50, 10, 10)
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
        """The environment that these settings describe."""
        return _ratings(LASTFM, self)

    @staticmethod
    def files(data: str | Path | None = None, **settings: object) -> list[Path]:
        """The file of ratings, for studies to notice when it changes.

        Parameters
        ----------
        data : str or Path, optional
            The folder of the publisher's files.
        **settings
            The other settings, which are not used.

        Returns
        -------
        list of Path
        """
        return [find(LASTFM, data)]

    @property
    def filtered(self) -> RatingTable:
        """The ratings after the filter."""
        return self.ratings.filtered

    def prepare(self, replications: int, rng: np.random.Generator) -> PreparedRatings:
        """Sample the group of users of every replication."""
        return self.ratings.prepare(replications, rng)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One user per replication, each from a group of its own."""
        return self.ratings.sample(horizon, replications, rng)


@dataclass(frozen=True, kw_only=True, eq=False)
class MovieLens:
    """`Ratings` of MovieLens-1M, 847 users × 618 films, with the paper's settings.

    Replication r plays cluster r mod `clusters` (see `Clusters`). An unrated film does not count as
    disliked, so all arms are rated. The noise variance is the paper's 0.1.

    Parameters
    ----------
    data : str or Path, optional
        As for `LastFM`.
    dimension, transform, features, unit_arms
        As for `Ratings`.
    grouping, n_arms, liked, disliked, unrated_disliked
        As for `Ratings`.
    reward, shift, noise_scale
        As for `Ratings`.
    user_attributes : bool, default False
        A task's side information is the user's gender, age and occupation, 23 numbers.

    Examples
    --------
    >>> environment = hs.environments.MovieLens(grouping=hs.environments.AllUsers())
    >>> prepared = environment.prepare(2, np.random.default_rng(0))
    >>> prepared.sample(50, 2, np.random.default_rng(1)).arms.shape
    (2, 50, 5, 10)
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
    user_attributes: bool = False

    def __post_init__(self) -> None:
        _ = self.ratings

    @cached_property
    def ratings(self) -> Ratings:
        """The environment that these settings describe."""
        ratings = _ratings(MOVIELENS, self)
        if not self.user_attributes:
            return ratings
        return replace(ratings, user_attributes=movielens_users(self.data))

    @staticmethod
    def files(data: str | Path | None = None, **settings: object) -> list[Path]:
        """The file of ratings, for studies to notice when it changes."""
        return [find(MOVIELENS, data)]

    @property
    def filtered(self) -> RatingTable:
        """The ratings after the filter."""
        return self.ratings.filtered

    @property
    def clusters(self) -> int:
        """The number of clusters that pass the filters, one per replication in turn."""
        return self.ratings.clusters

    def prepare(self, replications: int, rng: np.random.Generator) -> PreparedRatings:
        """Sample the group of users of every replication."""
        return self.ratings.prepare(replications, rng)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One user per replication, each from a group of its own."""
        return self.ratings.sample(horizon, replications, rng)


def _ratings(published: Published, environment: LastFM | MovieLens) -> Ratings:
    """The data set after the paper's filter, with the settings of the environment."""
    settings = {
        setting.name: getattr(environment, setting.name)
        for setting in fields(environment)
        if setting.name not in {"data", "user_attributes"}
    }
    # Filtered here, so that only rows in use are sent to another process.
    return Ratings(table=load_filtered(published, environment.data), **settings)
