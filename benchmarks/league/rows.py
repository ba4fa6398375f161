"""The environments of the league, one or more rows each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks import task_distributions as tasks
from benchmarks.decision_sets import CatalogueSubsets, ContextPerArm

from headstart.environments import Clusters, Gaussian, Kinds, Ratings, Synthetic
from headstart.interfaces import Environment


@dataclass(frozen=True, kw_only=True)
class Row:
    """One environment, and the numbers N of training tasks after which regret is measured."""

    group: str
    name: str
    environment: Environment
    sizes: tuple[int, ...] = (10,)
    horizon: int = 50
    replications: int = 120
    noise_scale: float = 1.0
    mean_square: float = 1.0  # of ‖x‖, where the environment does not tell it
    task_variance: float | None = None  # of a coordinate, for those who are told it
    fixed_arms: bool = False  # play ours with other z, too
    offset: bool = False  # play ours with a constant feature, too
    n_about: int = 0
    half_life: float | None = None

    @property
    def title(self) -> str:
        """The row in words, without N."""
        return f"{self.group}: {self.name}"

    @property
    def unit(self) -> float:
        """The mean ‖x‖²: the unit of λ."""
        if isinstance(self.environment, Ratings):
            return float(np.mean((self.environment.embedding.items**2).sum(-1)))
        return self.mean_square


_ITEMS_SCALED: Mapping[str, Any] = {"features": "items-scaled"}
_COMMON: Mapping[str, Mapping[str, Any]] = {
    "U·S, V": {"features": "users-scaled"},
    "unit arms": {"unit_arms": True},
    "log, unit arms": {"transform": "log", "unit_arms": True},
}
_SCALINGS: Mapping[str, Mapping[str, Mapping[str, Any]]] = {
    "LastFM": {**_COMMON, "U, V·S": _ITEMS_SCALED},
    # Unscaled users cluster less: no cluster passes the default of 0.15.
    "MovieLens": {
        **_COMMON,
        "U, V·S": {**_ITEMS_SCALED, "grouping": Clusters(least_silhouette=0.1)},
    },
}


def rows() -> Iterator[Row]:
    """All of them, those of real data last: only they need it."""
    yield from simulated()
    yield from _real()


def simulated() -> Iterator[Row]:
    """Those without real data."""
    yield from _gaussian()
    yield from _decision_sets()
    yield from _shared()
    yield from _side()
    yield from _outside_the_model()
    yield from _zero_one()


def _gaussian() -> Iterator[Row]:
    """Tasks as the model has them, fresh arms in every round."""
    for variance in (0.1, 1.0, 10.0, 40.0):
        yield Row(
            group="linear",
            name=f"variance {variance:g}",
            environment=Synthetic(reward="linear", tasks=Gaussian(variance=variance)),
            sizes=(0, 1, 5, 10),
            task_variance=variance / 20,
        )
    for variance in (1.0, 40.0):
        yield Row(
            group="linear",
            name=f"variance {variance:g}",
            environment=Synthetic(reward="linear", tasks=Gaussian(variance=variance)),
            sizes=(50,),
            task_variance=variance / 20,
            replications=50,
        )
    for spread in (0.3, 3.0):
        yield Row(
            group="linear",
            name=f"variance 1, arm spread {spread:g}",
            environment=Synthetic(reward="linear", spread=spread),
            task_variance=1 / 20,
        )
    for variance in (1.0, 10.0):
        yield Row(
            group="linear",
            name=f"variance {variance:g}, T = 10 < d",
            environment=Synthetic(reward="linear", tasks=Gaussian(variance=variance)),
            horizon=10,
            sizes=(5, 10),
            task_variance=variance / 20,
            replications=400,
        )


def _decision_sets() -> Iterator[Row]:
    """Tasks as the model has them, the same arms in every round, or other sets."""
    for dimension, n_arms, horizon, replications in (
        (20, 20, 5, 400),
        (5, 5, 50, 200),
        (5, 100, 50, 100),
        (20, 20, 50, 200),
        (5, 20, 500, 60),
        (20, 20, 500, 30),
    ):
        yield Row(
            group="fixed arms",
            name=f"d = {dimension}, K = {n_arms}, T = {horizon}",
            environment=Synthetic(
                reward="linear",
                tasks=Gaussian(variance=float(dimension)),
                dimension=dimension,
                n_arms=n_arms,
                decision_set="fixed",
            ),
            sizes=(5,),
            horizon=horizon,
            task_variance=1.0,
            fixed_arms=True,
            replications=replications,
        )
    yield Row(
        group="other sets",
        name="10 of a catalogue of 60, variance 10",
        environment=CatalogueSubsets(
            reward="linear", tasks=Gaussian(variance=10.0), n_arms=60, n_offered=10
        ),
        task_variance=10 / 20,
        replications=100,
    )
    yield Row(
        group="other sets",
        name="a context of 5 numbers for 4 arms, variance 10",
        environment=ContextPerArm(
            reward="linear",
            tasks=Gaussian(mean=np.random.default_rng(0).standard_normal(20), variance=10.0),
            n_arms=4,
        ),
        task_variance=10 / 20,
    )


def _shared() -> Iterator[Row]:
    """Tasks that differ along few directions, or are of few kinds."""
    yield Row(
        group="shared",
        name="rank 2, variance 20",
        environment=tasks.DeviatingTasks(
            tasks.low_rank(20.0, 2), covariance=tasks.low_rank_covariance(20.0, 2)
        ),
        sizes=(5, 10, 30),
        task_variance=1.0,
        replications=100,
    )
    for n_kinds in (2, 5, 10):
        yield Row(
            group="shared",
            name=f"{n_kinds} kinds, variance 20",
            environment=Synthetic(reward="linear", tasks=Kinds(n_kinds=n_kinds, variance=20.0)),
            sizes=(10, 30, 100),
            task_variance=1.0,
            replications=24,
        )
    yield Row(
        group="shared",
        name="rank 3, variance 100, d = 100, T < d",
        environment=tasks.DeviatingTasks(
            tasks.low_rank(100.0, 3),
            tasks.around_one(dimension=100),
            tasks.low_rank_covariance(100.0, 3),
        ),
        sizes=(10, 30),
        replications=10,
    )


def _side() -> Iterator[Row]:
    """Tasks with three numbers of side information."""
    for share in (0.0, 0.5, 0.9):
        yield Row(
            group="about",
            name=f"variance 20, side information explains {share:.0%}",
            environment=Synthetic(
                reward="linear",
                tasks=Gaussian(variance=20.0),
                n_about=3,
                about_explains=share,
            ),
            sizes=(10, 30),
            n_about=3,
            replications=40,
        )


def _outside_the_model() -> Iterator[Row]:
    """Distributions outside the model; the known variance is divided among all coordinates."""
    for name, variance, deviation in (
        ("heavy tails, variance 10", 10.0, tasks.heavy_tailed(10.0)),
        ("orthogonal tasks of size 4", 16.0, tasks.orthogonal(4.0)),
        ("the opposite of all before", 1.0, tasks.opposite_after(1.0, 10)),
        ("like none before", 1.0, tasks.novel_after(1.0, 10)),
    ):
        yield Row(
            group="outside the model",
            name=name,
            environment=tasks.DeviatingTasks(deviation),
            task_variance=variance / 20,
            replications=100,
        )
    for size in (10, 30):
        yield Row(
            group="outside the model",
            name=f"drift of {0.4 * size:g} in {size} tasks",
            environment=tasks.DeviatingTasks(tasks.drifting(1.0, 10)),
            sizes=(size,),
            task_variance=1 / 20,
            half_life=5.0,
            replications=60,
        )


def _zero_one() -> Iterator[Row]:
    """Rewards of 0 and 1."""
    for variance, spread in ((0.1, 1.0), (1.0, 1.0), (10.0, 1.0), (40.0, 1.0), (1, 0.3), (1, 3.0)):
        yield Row(
            group="winner",
            name=f"variance {variance:g}" + (f", arm spread {spread:g}" if spread != 1.0 else ""),
            environment=Synthetic(
                reward="winner", tasks=Gaussian(variance=variance), spread=spread
            ),
            noise_scale=0.5,
            offset=True,
        )


def _real() -> Iterator[Row]:
    for data, make in (("LastFM", Ratings.lastfm), ("MovieLens", Ratings.movielens)):
        for name, settings in _SCALINGS[data].items():
            yield Row(
                group="real",
                name=f"{data}, {name}",
                environment=make(**settings),
                horizon=5,
                noise_scale=0.5,
                offset=True,
                replications=200,
            )
