"""Small problems that call every compiled function with the types that occur in use."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import numpy as np

from headstart import policies, priors
from headstart.interfaces import Policy, PriorEstimator
from headstart.kernels.compilation import cache_folders, n_compiled, n_loaded

if TYPE_CHECKING:
    from headstart import MetaBandit

_DIMENSION = 3


@dataclass(frozen=True, kw_only=True)
class Outcome:
    """What one part of the exercise did: specialisations compiled and read, and where they are."""

    part: str
    n_compiled: int
    n_loaded: int
    seconds: float
    folder: Path | None


def exercise(part: str) -> Outcome:
    """Run one part."""
    start, compiled, loaded = time.perf_counter(), n_compiled(), n_loaded()
    _PARTS[part]()
    return Outcome(
        part=part,
        n_compiled=n_compiled() - compiled,
        n_loaded=n_loaded() - loaded,
        seconds=time.perf_counter() - start,
        folder=cache_folders().folder,
    )


def _policies() -> list[Policy]:
    return [
        policies.OFUL(),
        policies.BayesUCB(),
        policies.Thompson(),
        policies.Greedy(),
        policies.Uniform(),
    ]


def _priors() -> list[PriorEstimator]:
    # Functions that two parts share come early in one and late in the other: one compiles them.
    return [
        priors.Hierarchical(),
        priors.Fixed(bias=np.ones(_DIMENSION), regularization=1.0),
        priors.Fixed(regularization=np.eye(_DIMENSION)),
        priors.Average(),
        priors.Pooled(),
        priors.SingleModel(),
        priors.KnownVariances(task_variance=1.0, mean_variance=1.0),
        priors.Hierarchical(covariance="full"),
    ]


def _simulation() -> None:
    """Every policy and every prior, for linear and 0/1 rewards, beyond one block of rewards."""
    # Each part imports what it needs: a second of a process's time goes into imports.
    from headstart import Learner, Optimal, evaluate, simulate
    from headstart.environments import Synthetic

    learners: list[Learner | Optimal] = [
        *(Learner(f"prior {i}", policies.BayesUCB(), each) for i, each in enumerate(_priors())),
        *(Learner(f"policy {i}", each, priors.Pooled()) for i, each in enumerate(_policies())),
        Optimal(),
    ]
    rewards: tuple[Literal["linear", "winner"], ...] = ("linear", "winner")
    for reward in rewards:
        environment = Synthetic(dimension=_DIMENSION, n_arms=2, reward=reward)
        simulate(environment, learners, n_tasks=7, horizon=70, replications=2, workers=1)
    evaluate(environment, learners, n_training_tasks=1, n_test_tasks=1, horizon=2, workers=1)


def _live() -> None:
    """Decisions and rewards one by one and many at once, for every policy and every prior.

    Where its extra is installed, what the decision service adds to them as well.
    """
    from headstart import MetaBandit

    settings: list[tuple[Policy | None, PriorEstimator | None, float]] = [
        *((each, priors.Fixed.zero(), 1.0) for each in _policies()),
        *((None, each, 1.0) for each in reversed(_priors())),
        (None, None, 0.9),
    ]
    for policy, prior, discount in settings:
        bandit = MetaBandit(
            dimension=_DIMENSION,
            policy=policy,
            prior=prior,
            discount=discount,
            propensity_draws=2,
            seed=0,
        )
        _use(bandit)
    if find_spec("msgspec") is not None and find_spec("sqlalchemy") is not None:
        from headstart.service.engine.compiling import compile_kernels

        compile_kernels()


def _use(bandit: "MetaBandit") -> None:
    from headstart import Catalogue

    rng = np.random.default_rng(0)
    arms = rng.normal(size=(4, _DIMENSION))
    catalogue = Catalogue(arms)
    names = ["a", "b"]
    for n_task in range(7):
        for t in range(9):
            # The last task contradicts the others, so that its prior is revised.
            value = float(100.0 * rng.normal() if n_task == 6 else 0.1 * rng.normal())
            items = catalogue if t % 4 == 3 else arms
            bandit.reward(bandit.decide("a", items).id, value)
            decisions = bandit.decide_many(names, arms)
            bandit.reward_many(decisions.ids, [value, value])
        bandit.decide("a", arms, mask=[True, False, True, True], n=2)
        bandit.observe("a", arms[0], 0.0, weight=0.5)
        bandit.propensities("a", arms)
        for name in names:
            bandit.task(name)
            bandit.finish(name)


def _logs() -> None:
    """Statistics of logs with features in columns and in lists, and ids of both types."""
    if find_spec("pyarrow") is None:
        return
    import pandas as pd

    from headstart import MetaBandit
    from headstart.logs import Columns, check_log

    columns = [f"x{a}" for a in range(_DIMENSION)]
    values = np.random.default_rng(0).normal(size=(6, _DIMENSION))
    table = pd.DataFrame(values, columns=columns)
    table = table.assign(task=[0, 0, 1, 1, 2, 2], reward=1.0, number=range(6), text=list("abcdef"))
    for row_id in ("number", "text"):
        bandit = MetaBandit(dimension=_DIMENSION, seed=0)
        bandit.fit(table, features=columns, id=row_id)
    lists = table.assign(features=list(values))
    check_log(lists, Columns())


_PARTS: dict[str, Callable[[], None]] = {"simulation": _simulation, "live": _live, "logs": _logs}
