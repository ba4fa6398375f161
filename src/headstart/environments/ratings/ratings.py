"""Ratings: tasks from a table of users, items and ratings, as the paper makes them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.core.task import Task
from headstart.datasets.published import LASTFM, MOVIELENS, find, load_filtered
from headstart.datasets.table import Frame, RatingTable
from headstart.environments import rewards
from headstart.environments.ratings.decision_sets import DecisionSets
from headstart.environments.ratings.embedding import (
    FEATURES,
    TRANSFORMS,
    Embedding,
    Features,
    Transform,
    embed,
)
from headstart.environments.ratings.grouping import AllUsers, Clusters, Grouping, Nearest
from headstart.habits import hinted


@hinted
@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """One task per user: w is the user's vector, the arms are items, xᵀw is the utility.

    Vectors come from an SVD of the ratings (`embedding`). Every round offers one liked item and
    disliked ones; a user without such items is not eligible as a task. `from_frame` and `from_file`
    read your own tables; `lastfm` and `movielens` are the paper's, after its filter and with its
    settings.

    Parameters
    ----------
    table : RatingTable
        The ratings.
    min_item_ratings, min_user_ratings : int, default 1
        Items with fewer ratings are dropped, then users with fewer.
    dimension : int, default 10
        The number of singular vectors, d.
    transform : {"raw", "log"}, default "raw"
        "log" takes log(1 + rating) before the SVD.
    features : {"users-scaled", "items-scaled"}, default "users-scaled"
        Of M ≈ U S Vᵀ, users and items are U S and V, or U and V S.
    unit_arms : bool, default False
        Whether every item is scaled to length 1.
    grouping : Grouping, default AllUsers()
        Selects the users of a replication: `AllUsers`, `Clusters` or `Nearest`.
    n_arms : int, default 5
        The number of arms of a round: one liked item, the others disliked.
    liked, disliked : float, default 4.0 and 3.0
        The smallest rating of a liked item and the largest of a disliked one, before the
        `transform`.
    unrated_disliked : bool, default False
        Whether unrated items count as disliked.
    reward : {"winner", "linear"}, default "winner"
        "winner" pays 1 to the arm that is best after noise and 0 to the others, as in the paper's
        plots; "linear" pays xᵀw plus noise, as in its theory.
    shift : {"round", "none"}, optional
        "round" maps each round's utilities to [0, 1] before the noise. By default the paper's
        choice: "round" for "winner" and "none" for "linear".
    noise_scale : float, default 1.0
        The standard deviation of the noise.
    user_attributes : mapping of user names to array_like of shape (p,), optional
        The tasks' side information: equally many numbers for each user.

    Examples
    --------
    >>> from headstart.datasets import RatingTable
    >>> rng = np.random.default_rng(0)
    >>> table = RatingTable.from_columns(
    ...     users=np.repeat(np.arange(30), 20),
    ...     items=np.tile(np.arange(20), 30),
    ...     ratings=rng.integers(1, 6, 600),
    ...     source="mine",
    ... )
    >>> environment = hs.environments.Ratings(table=table, dimension=4)
    >>> prepared = environment.prepare(2, rng)
    >>> prepared.sample(10, 2, rng).arms.shape
    (2, 10, 5, 4)
    """

    table: RatingTable
    min_item_ratings: int = 1
    min_user_ratings: int = 1
    dimension: int = 10
    transform: Transform = "raw"
    features: Features = "users-scaled"
    unit_arms: bool = False
    grouping: Grouping = field(default_factory=AllUsers)
    n_arms: int = 5
    liked: float = 4.0
    disliked: float = 3.0
    unrated_disliked: bool = False
    reward: rewards.Mode = "winner"
    shift: rewards.Shift | None = None
    noise_scale: float = 1.0
    user_attributes: Mapping[Any, ArrayLike] | None = None

    def __post_init__(self) -> None:
        checks.count("min_item_ratings", self.min_item_ratings, least=0)
        checks.count("min_user_ratings", self.min_user_ratings, least=0)
        checks.count("dimension", self.dimension)
        checks.one_of("transform", self.transform, TRANSFORMS)
        checks.one_of("features", self.features, FEATURES)
        checks.count("n_arms", self.n_arms, least=2)
        rewards.check(self.reward, self.shift, self.noise_scale)
        if not self.disliked < self.liked:
            raise ValueError(f"disliked must be below liked={self.liked}, got {self.disliked}")
        _ = self.abouts

    @classmethod
    def from_frame(
        cls,
        frame: Frame,
        *,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        **settings: Any,
    ) -> Ratings:
        """From three columns of a frame.

        Parameters
        ----------
        frame : pandas or Polars DataFrame
            The ratings, a row each.
        user, item, rating : str, default "user", "item" and "rating"
            The names of the columns.
        **settings
            The other parameters of `Ratings`.

        Returns
        -------
        Ratings
        """
        table = RatingTable.from_frame(frame, user=user, item=item, rating=rating)
        return cls(table=table, **settings)

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        **settings: Any,
    ) -> Ratings:
        """From three columns of a file.

        Parameters
        ----------
        path : str or Path
            A CSV or Parquet file.
        user, item, rating : str, default "user", "item" and "rating"
            The names of the columns.
        **settings
            The other parameters of `Ratings`.

        Returns
        -------
        Ratings
        """
        table = RatingTable.from_file(path, user=user, item=item, rating=rating)
        made = {"path": str(path), "user": user, "item": item, "rating": rating, **settings}
        return cls(table=table, **settings)._described("from_file", made)

    @classmethod
    def lastfm(cls, data: str | Path | None = None, **settings: Any) -> Ratings:
        """HetRec 2011's play counts, 741 users × 538 artists, as in the paper.

        The "ratings" are play counts, so an artist never played counts as disliked.

        Parameters
        ----------
        data : str or Path, optional
            The folder of the publisher's files. By default, $HEADSTART_DATA and the download cache
            are searched.
        **settings
            The other parameters of `Ratings`; `Nearest()` and `unrated_disliked` by default.

        Returns
        -------
        Ratings

        Raises
        ------
        DataMissing
            If the files are in none of the folders.

        Examples
        --------
        >>> environment = hs.environments.Ratings.lastfm(n_arms=10)
        >>> prepared = environment.prepare(2, np.random.default_rng(0))
        >>> prepared.sample(50, 2, np.random.default_rng(1)).arms.shape
        (2, 50, 10, 10)
        """
        chosen = {"grouping": Nearest(), "unrated_disliked": True, **settings}
        made = cls(table=load_filtered(LASTFM, data), **chosen)
        return made._described("lastfm", _found(data) | settings)

    @classmethod
    def movielens(cls, data: str | Path | None = None, **settings: Any) -> Ratings:
        """MovieLens-1M, 847 users × 618 films, as in the paper.

        Replication r plays cluster r mod `clusters` (see `Clusters`). An unrated film does not
        count as disliked, so all arms are rated. The noise variance is the paper's 0.1.

        Parameters
        ----------
        data : str or Path, optional
            As for `lastfm`.
        **settings
            The other parameters of `Ratings`; `Clusters()` and the noise by default.

        Returns
        -------
        Ratings

        Raises
        ------
        DataMissing
            If the files are in none of the folders.

        Examples
        --------
        >>> environment = hs.environments.Ratings.movielens(grouping=hs.environments.AllUsers())
        >>> prepared = environment.prepare(2, np.random.default_rng(0))
        >>> prepared.sample(50, 2, np.random.default_rng(1)).arms.shape
        (2, 50, 5, 10)
        """
        chosen = {"grouping": Clusters(), "noise_scale": math.sqrt(0.1), **settings}
        made = cls(table=load_filtered(MOVIELENS, data), **chosen)
        return made._described("movielens", _found(data) | settings)

    @staticmethod
    def lastfm_files(data: str | Path | None = None, **settings: object) -> list[Path]:
        """The file that `lastfm` reads, for studies to notice when it changes."""
        return [find(LASTFM, data)]

    @staticmethod
    def movielens_files(data: str | Path | None = None, **settings: object) -> list[Path]:
        """The file that `movielens` reads, for studies to notice when it changes."""
        return [find(MOVIELENS, data)]

    def _described(self, constructor: str, settings: Mapping[str, Any]) -> Ratings:
        """The same object, which a study file describes by its constructor, not by its table."""
        object.__setattr__(self, "constructed", (constructor, settings))
        return self

    @cached_property
    def filtered(self) -> RatingTable:
        """The ratings after the filter."""
        return self.table.filtered(
            item_ratings=self.min_item_ratings, user_ratings=self.min_user_ratings
        )

    @cached_property
    def abouts(self) -> Floats | None:
        """The attributes of the users after the filter, (n, p)."""
        if self.user_attributes is None:
            return None
        rows: list[Floats] = []
        for user in self.filtered.user_names.tolist():
            if user not in self.user_attributes:
                raise ValueError(f"user_attributes must include every user, got none for {user!r}")
            row = checks.floats(f"user_attributes of {user!r}", self.user_attributes[user])
            size = rows[0].shape if rows else row.shape
            if row.ndim != 1 or row.shape != size or not len(row):
                raise ValueError(
                    "user_attributes must have equally many numbers for every user, "
                    f"got shapes {size} and {row.shape} for {user!r}"
                )
            rows.append(row)
        return np.stack(rows)

    @cached_property
    def embedding(self) -> Embedding:
        """The vectors of the users, (n, d), and of the items, (m, d)."""
        return embed(
            self.filtered, self.dimension, self.transform, self.features, bool(self.unit_arms)
        )

    @cached_property
    def decision_sets(self) -> DecisionSets:
        """The rounds' sets of arms."""
        return DecisionSets(
            table=self.filtered,
            n_arms=self.n_arms,
            liked=self.liked,
            disliked=self.disliked,
            unrated_disliked=self.unrated_disliked,
        )

    @property
    def clusters(self) -> int:
        """The number of clusters that pass the filters of a `Clusters` grouping."""
        if not isinstance(self.grouping, Clusters):
            raise ValueError(f"grouping must be Clusters to count them, got {self.grouping}")
        return len(self.grouping.members(self.embedding.users, self.decision_sets.eligible))

    def prepare(self, replications: int, rng: np.random.Generator) -> PreparedRatings:
        """Sample the group of users of every replication."""
        size = checks.count("replications", replications)
        eligible = self.decision_sets.eligible
        if len(eligible) == 0:
            raise ValueError(
                f"{self.table.source} must have a user with an item rated at least {self.liked} "
                f"and {self.n_arms - 1} rated at most {self.disliked}, got none"
            )
        groups = self.grouping.sample(self.embedding.users, eligible, size, rng)
        return PreparedRatings(environment=self, groups=groups)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One user per replication, each from a group of its own."""
        return self.prepare(replications, rng).sample(horizon, replications, rng)


class PreparedRatings:
    """Ratings with the users of every replication, in the order of their tasks."""

    def __init__(self, *, environment: Ratings, groups: Sequence[Integers]) -> None:
        self.environment = environment
        self.groups = tuple(groups)

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self.environment.dimension

    @property
    def n_tasks(self) -> int:
        """The number of tasks: the users of the smallest group."""
        return min(len(group) for group in self.groups)

    @property
    def mean_parameter(self) -> Floats:
        """w̄ of every replication, (R, d), which the Oracle knows: the mean of the group."""
        users = self.environment.embedding.users
        return np.stack([users[group].mean(0) for group in self.groups])

    @property
    def parameter_bound(self) -> float:
        """S, the largest ‖w‖ of all users, which `NormBound` asks for."""
        return float(np.linalg.norm(self.environment.embedding.users, axis=1).max())

    @property
    def cohorts(self) -> Integers | None:
        """The cohort of every replication, (R,), if replications share users; else None.

        Intervals count the mean over the replications of a cohort as one value.
        """
        settings = self.environment
        if not isinstance(settings.grouping, Clusters):
            return None
        users, eligible = settings.embedding.users, settings.decision_sets.eligible
        return settings.grouping.cohorts(users, eligible, len(self.groups))

    def sample(
        self, horizon: int, replications: int, rng: np.random.Generator, number: int = 0
    ) -> Task:
        """The user of this number in every group, as a task; −1 is the last of a group."""
        settings = self.environment
        rounds = checks.count("horizon", horizon)
        if replications != len(self.groups):
            raise ValueError(
                f"replications must be {len(self.groups)}, as prepared, got {replications}"
            )
        n_tasks = self.n_tasks
        if not -n_tasks <= number < n_tasks:
            raise ValueError(
                f"number must be from {-n_tasks} to {n_tasks - 1}, since the smallest group has "
                f"{n_tasks} users, got {number}"
            )
        users = np.array([group[number] for group in self.groups])
        uniforms = rng.random((replications, rounds, 2 * settings.n_arms))
        decision_sets = settings.decision_sets
        items = np.stack(
            [decision_sets.sample(int(u), own) for u, own in zip(users, uniforms, strict=True)], 1
        )
        return rewards.sample_task(
            settings.embedding.items[items],
            settings.embedding.users[users],
            mode=settings.reward,
            shift=settings.shift,
            noise_scale=settings.noise_scale,
            rng=rng,
            about=None if settings.abouts is None else settings.abouts[users],
        )


def _found(data: str | Path | None) -> dict[str, Any]:
    return {} if data is None else {"data": str(data)}
