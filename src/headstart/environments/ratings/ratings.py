"""Ratings: tasks from anybody's table of users, items and ratings, as the paper makes them."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.core.task import Task
from headstart.datasets import frames
from headstart.datasets.table import RatingTable
from headstart.environments import rewards
from headstart.environments.ratings.clusters import Clusters
from headstart.environments.ratings.decision_sets import DecisionSets
from headstart.environments.ratings.embedding import (
    FEATURES,
    TRANSFORMS,
    Embedding,
    Features,
    Transform,
    embed,
)
from headstart.environments.ratings.grouping import Everyone, Grouping


@dataclass(frozen=True, kw_only=True, eq=False)
class Ratings:
    """One task a user: w is the user's vector, the arms are items, xᵀw is the utility.

    Items with fewer than `min_item_ratings` are dropped, then users with fewer than
    `min_user_ratings`; vectors come from an SVD (`embedding`). Every round offers one item rated
    at least `liked` and `n_arms` − 1 rated at most `disliked`, never rated ones among them if
    `unrated_disliked`; a user without such items cannot be a task. `liked` and `disliked` speak of
    ratings as given, whatever the `transform`. `grouping` says which users share a replication.
    """

    table: RatingTable
    min_item_ratings: int = 1
    min_user_ratings: int = 1
    dimension: int = 10
    transform: Transform = "raw"
    features: Features = "users-scaled"
    unit_arms: bool = False
    grouping: Grouping = field(default_factory=Everyone)
    n_arms: int = 5
    liked: float = 4.0
    disliked: float = 3.0
    unrated_disliked: bool = False
    reward: rewards.Mode = "winner"
    shift: rewards.Shift | None = None
    noise_scale: float = 1.0

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

    @classmethod
    def from_frame(
        cls,
        frame: frames.Frame,
        *,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        **settings: Any,
    ) -> "Ratings":
        """From three columns of a pandas or Polars frame; settings are those of the class."""
        return cls(table=frames.from_frame(frame, user=user, item=item, rating=rating), **settings)

    @classmethod
    def from_file(
        cls,
        path: str | Path,
        *,
        user: str = "user",
        item: str = "item",
        rating: str = "rating",
        **settings: Any,
    ) -> "Ratings":
        """From three columns of a CSV or Parquet file; settings are those of the class."""
        return cls(table=frames.from_file(path, user=user, item=item, rating=rating), **settings)

    @cached_property
    def kept(self) -> RatingTable:
        """The ratings after the filter."""
        return self.table.filtered(
            item_ratings=self.min_item_ratings, user_ratings=self.min_user_ratings
        )

    @cached_property
    def embedding(self) -> Embedding:
        """The vectors of the users, (n, d), and of the items, (m, d)."""
        return embed(self.kept, self.dimension, self.transform, self.features, bool(self.unit_arms))

    @cached_property
    def decisions(self) -> DecisionSets:
        """Where the arms of a round come from."""
        return DecisionSets(
            table=self.kept,
            n_arms=self.n_arms,
            liked=self.liked,
            disliked=self.disliked,
            unrated_disliked=self.unrated_disliked,
        )

    @property
    def clusters(self) -> int:
        """How many clusters pass the filters of a `Clusters` grouping: one full turn of them."""
        if not isinstance(self.grouping, Clusters):
            raise ValueError(f"grouping must be Clusters for a number of them, {self.grouping=}")
        return len(self.grouping.members(self.embedding.users, self.decisions.fit))

    def prepare(self, replications: int, rng: np.random.Generator) -> "PreparedRatings":
        """Draw the pool of users of every replication."""
        size = checks.count("replications", replications)
        fit = self.decisions.fit
        if len(fit) == 0:
            raise ValueError(
                f"{self.table.source} must have users with an item rated at least {self.liked} "
                f"and {self.n_arms - 1} rated at most {self.disliked}, got none"
            )
        pools = self.grouping.draw(self.embedding.users, fit, size, rng)
        return PreparedRatings(law=self, pools=pools)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One user in each replication, each from a pool of its own."""
        return self.prepare(replications, rng).sample(horizon, replications, rng)


class PreparedRatings:
    """A stream: every `sample` is the next user of each pool, and nobody comes twice."""

    def __init__(self, *, law: Ratings, pools: Sequence[Integers]) -> None:
        self.law = law
        self.pools = tuple(pools)
        self._met = 0

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self.law.dimension

    @property
    def n_tasks(self) -> int:
        """How many tasks there are in all: the users of the smallest pool."""
        return min(len(pool) for pool in self.pools)

    @property
    def mean_parameter(self) -> Floats:
        """w̄ of every replication, (R, d): the mean of its pool's users, what the Oracle knows."""
        users = self.law.embedding.users
        return np.stack([users[pool].mean(0) for pool in self.pools])

    @property
    def parameter_bound(self) -> float:
        """S, the largest ‖w‖ of any user: what a radius that splits ‖h − w*‖ asks for."""
        return float(np.linalg.norm(self.law.embedding.users, axis=1).max())

    def rewind(self) -> "PreparedRatings":
        """The same pools from their first user on."""
        return PreparedRatings(law=self.law, pools=self.pools)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """The next user of every pool as a task."""
        law = self.law
        rounds = checks.count("horizon", horizon)
        if replications != len(self.pools):
            raise ValueError(f"replications must be {len(self.pools)}, as drawn, {replications=}")
        if self._met >= self.n_tasks:
            raise ValueError(
                f"tasks must be at most {self.n_tasks}, the users of the smallest pool, "
                f"got a call for task {self._met + 1}"
            )
        users = np.array([pool[self._met] for pool in self.pools])
        uniforms = rng.random((replications, rounds, 2 * law.n_arms))
        items = np.stack(
            [law.decisions.draw(int(u), row) for u, row in zip(users, uniforms, strict=True)], 1
        )
        self._met += 1
        return rewards.task(
            law.embedding.items[items],
            law.embedding.users[users],
            mode=law.reward,
            shift=law.shift,
            noise_scale=law.noise_scale,
            rng=rng,
        )
