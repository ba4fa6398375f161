"""The environments of the league, one or more rows each."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from benchmarks import task_distributions as tasks
from benchmarks.league_learners import Truth

from headstart.environments import Clusters, LastFM, MovieLens, Synthetic
from headstart.environments.ratings.ratings import Ratings
from headstart.interfaces import Environment


@dataclass(frozen=True, kw_only=True)
class Row:
    """One environment, and the numbers N of training tasks after which regret is measured."""

    group: str
    name: str
    environment: Environment
    sizes: tuple[int, ...] = (10,)
    horizon: int = 50
    noise_scale: float = 1.0
    unit: float = 1.0
    truth: Truth | None = None
    share: float = 1.0  # of the replications: fewer where they are slow, more where regret is small
    structured: bool = False  # play the priors with other covariances, too
    intercept: bool = False
    n_side: int = 0
    half_life: float | None = None


_ITEMS_SCALED: Mapping[str, Any] = {"features": "items-scaled"}
_COMMON: Mapping[str, Mapping[str, Any]] = {
    "U·S, V": {"features": "users-scaled"},
    "unit arms": {"unit_arms": True},
    "log, unit arms": {"transform": "log", "unit_arms": True},
}
_SCALINGS: Mapping[type, Mapping[str, Mapping[str, Any]]] = {
    LastFM: {**_COMMON, "U, V·S": _ITEMS_SCALED},
    # Unscaled users cluster less: no cluster passes the default of 0.15.
    MovieLens: {
        **_COMMON,
        "U, V·S": {**_ITEMS_SCALED, "grouping": Clusters(least_silhouette=0.1)},
    },
}


def rows() -> Iterator[Row]:
    """All of them, real data last."""
    yield from _gaussian()
    yield from _shared()
    yield from _side()
    yield from _outside_the_model()
    yield from _winner()
    yield from _real()


def _gaussian() -> Iterator[Row]:
    for variance in (0.1, 1.0, 10.0, 40.0):
        yield Row(
            group="linear",
            name=f"variance {variance:g}",
            environment=Synthetic(reward="linear", variance=variance),
            sizes=(0, 1, 5, 10),
            truth=Truth(task=variance / 20),
        )
    for variance in (1.0, 40.0):
        yield Row(
            group="linear",
            name=f"variance {variance:g}",
            environment=Synthetic(reward="linear", variance=variance),
            sizes=(50,),
            truth=Truth(task=variance / 20),
            share=0.4,
        )
    for spread in (0.3, 3.0):
        yield Row(
            group="linear",
            name=f"variance 1, arm spread {spread:g}",
            environment=Synthetic(reward="linear", spread=spread),
            truth=Truth(task=1 / 20),
        )
    for variance in (1.0, 10.0):
        yield Row(
            group="linear",
            name=f"variance {variance:g}, T = 10 < d",
            environment=Synthetic(reward="linear", variance=variance),
            horizon=10,
            truth=Truth(task=variance / 20),
        )


def _outside_the_model() -> Iterator[Row]:
    """Distributions outside the model; the known variance is divided among all coordinates."""
    for name, variance, deviation in (
        ("heavy tails, variance 10", 10.0, tasks.heavy_tailed(10.0)),
        ("orthogonal tasks of size 4", 16.0, tasks.orthogonal(4.0)),
    ):
        truth = Truth(task=variance / 20)
        environment = tasks.DeviatingTasks(deviation)
        yield Row(group="linear", name=name, environment=environment, truth=truth)
    for size in (10, 30):
        yield Row(
            group="linear",
            name=f"drift of {0.4 * size:g} in {size} tasks",
            environment=tasks.DeviatingTasks(tasks.drifting(1.0, 10)),
            sizes=(size,),
            truth=Truth(task=1 / 20),
            half_life=5.0,
            share=10 / size,
        )
    for name, deviation in (
        ("the opposite of all before", tasks.opposite_after(1.0, 10)),
        ("like none before", tasks.novel_after(1.0, 10)),
    ):
        environment = tasks.DeviatingTasks(deviation)
        yield Row(group="adversarial", name=name, environment=environment, truth=Truth(task=1 / 20))


def _shared() -> Iterator[Row]:
    """Tasks that differ along few directions."""
    yield Row(
        group="linear",
        name="rank 2, variance 20",
        environment=tasks.DeviatingTasks(
            tasks.low_rank(20.0, 2), covariance=tasks.low_rank_covariance(20.0, 2)
        ),
        sizes=(5, 10, 30),
        truth=Truth(task=1.0),
        structured=True,
        share=0.5,
    )
    yield Row(
        group="linear",
        name="two kinds, variance 20",
        environment=tasks.DeviatingTasks(
            tasks.bimodal(20.0), covariance=tasks.bimodal_covariance(20.0)
        ),
        truth=Truth(task=1.0),
        structured=True,
    )
    yield Row(
        group="large",
        name="rank 3, variance 100, d = 100, T < d",
        environment=tasks.DeviatingTasks(
            tasks.low_rank(100.0, 3),
            Synthetic(reward="linear", variance=0.0, dimension=100),
            tasks.low_rank_covariance(100.0, 3),
        ),
        sizes=(10, 30),
        structured=True,
        share=0.1,
    )


def _side() -> Iterator[Row]:
    """Tasks with three numbers of side information."""
    for share in (0.0, 0.5, 0.9):
        yield Row(
            group="side",
            name=f"variance 20, side information explains {share:.0%}",
            environment=Synthetic(reward="linear", variance=20.0, n_side=3, side_explains=share),
            sizes=(10, 30),
            n_side=3,
            share=0.3,
        )


def _winner() -> Iterator[Row]:
    for variance in (0.1, 1.0, 10.0, 40.0):
        environment = Synthetic(reward="winner", variance=variance)
        name = f"variance {variance:g}"
        yield Row(
            group="winner", name=name, environment=environment, noise_scale=0.5, intercept=True
        )
    for spread in (0.3, 3.0):
        environment = Synthetic(reward="winner", spread=spread)
        name = f"variance 1, arm spread {spread:g}"
        yield Row(
            group="winner", name=name, environment=environment, noise_scale=0.5, intercept=True
        )


def _real() -> Iterator[Row]:
    for kind in (LastFM, MovieLens):
        for name, settings in _SCALINGS[kind].items():
            environment = kind(**settings)
            yield Row(
                group="real",
                name=f"{kind.__name__}, {name}",
                environment=environment,
                horizon=5,
                noise_scale=0.5,
                unit=_unit(environment.ratings),
                intercept=True,
                share=2.0,
            )


def _unit(ratings: Ratings) -> float:
    """The mean ‖x‖² of the items."""
    return float(np.mean((ratings.embedding.items**2).sum(-1)))
