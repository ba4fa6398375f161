"""Warm-up: small problems that call every compiled function with the types used in practice.

Calling a function compiles it, or reads it from the cache.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Literal

import numpy as np

from headstart import policies, priors
from headstart.interfaces import Policy, PriorEstimator

if TYPE_CHECKING:
    from headstart.live import MetaBandit

# Each part imports what it needs: a second of a process's time goes into imports.

_DIMENSION = 3


def _policies() -> list[Policy]:
    return [
        policies.OFUL(),
        policies.BayesUCB(),
        policies.Thompson(),
        policies.Greedy(),
        policies.Uniform(),
    ]


def _priors() -> list[PriorEstimator]:
    # Functions that two parts share come early in one and late in the other, so that one compiles
    # them.
    return [
        priors.Hierarchical(),
        priors.Fixed(bias=np.ones(_DIMENSION), regularization=1.0),
        priors.Fixed(regularization=np.eye(_DIMENSION)),
        priors.Average(),
        priors.Pooled(),
        priors.SingleModel(),
        priors.KnownVariances(task_variance=1.0, mean_variance=1.0),
    ]


def simulation() -> None:
    """Every policy and every prior, for linear and 0/1 rewards, beyond one block of rewards."""
    from headstart.environments import Synthetic
    from headstart.simulation import Learner, Optimal, evaluate, simulate

    learners: list[Learner | Optimal] = [
        *(Learner(f"prior {i}", policies.BayesUCB(), prior) for i, prior in enumerate(_priors())),
        *(Learner(f"policy {i}", policy, priors.Pooled()) for i, policy in enumerate(_policies())),
        Optimal(),
    ]
    rewards: tuple[Literal["linear", "winner"], ...] = ("linear", "winner")
    for reward in rewards:
        environment = Synthetic(dimension=_DIMENSION, n_arms=2, reward=reward)
        simulate(environment, learners, n_tasks=7, horizon=70, replications=2, workers=1)
    evaluate(environment, learners, n_training_tasks=1, n_test_tasks=1, horizon=2, workers=1)
    _structure()


def _structure() -> None:
    """A prior from tasks that differ along one direction."""
    from headstart.core.statistics import TaskStatistics

    estimator, rng = priors.Hierarchical(), np.random.default_rng(0)
    memory = estimator.empty(_DIMENSION)
    for factor in rng.standard_normal(16):
        x = rng.standard_normal((10, _DIMENSION))
        rewards = 10.0 * factor * x[:, 0] + 0.1 * rng.standard_normal(10)
        memory = estimator.absorb(memory, TaskStatistics.from_data(x, rewards))
    estimator.prior(memory)


def live() -> None:
    """Decisions and rewards one by one and many at once, for every policy and every prior."""
    from headstart.live import MetaBandit

    settings: list[tuple[Policy | None, PriorEstimator | None, float]] = [
        *((policy, priors.Fixed.zero(), 1.0) for policy in _policies()),
        *((None, prior, 1.0) for prior in reversed(_priors())),
        (None, None, 0.9),
    ]
    for policy, prior, discount in settings:
        bandit = MetaBandit(
            dimension=_DIMENSION,
            policy=policy,
            prior=prior,
            discount=discount,
            seed=0,
        )
        _use(bandit)
    _use(MetaBandit(dimension=_DIMENSION, seed=0, deadline_seconds=1e9, default_reward=0.0))
    stored()


def _use(bandit: "MetaBandit") -> None:
    from headstart.live import Catalogue

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


def stored() -> None:
    """What the decision service needs before its first request: tasks kept in a store."""
    from headstart.live import defaults
    from headstart.live.settings import Settings
    from headstart.live.stored import (
        Counted,
        FeatureNames,
        Model,
        StoredMemory,
        StoredTask,
        StoredTasks,
        decision_set,
        recount,
    )

    model = Model(
        dimension=2,
        policy=defaults.POLICY,
        prior=priors.Hierarchical(),
        settings=Settings(clock=lambda: 0.0),
        feature_names=FeatureNames(2, None),
    )
    rows = StoredTasks(model)
    arms = decision_set({"a": [1.0, 0.0], "b": [0.0, 1.0]}, model.feature_names)
    for task in range(2):
        rows.open(task)
    rows.choose([0, 1], [arms, arms])
    rows.choose_ranked(0, arms, 2)
    for reward in range(4):
        rows.learn(0, np.array([1.0, 0.0]), float(reward), 1.0)
    rows.replace(0, np.array([1.0, 0.0]), Counted(3.0, 1.0, 4), 2.0, 2.0)
    rows.load(0, rows.state(0))
    states = [StoredTask(task=task, state=rows.state(0), contribution=None) for task in range(3)]
    memory = recount(model, StoredMemory.empty(model), states).memory
    rows.install(memory)
    rows.open(2)


def features() -> None:
    """Arms and rows of a log from raw attributes."""
    from headstart.features import Category, Date, Features, Number

    schema = Features(
        item=[Number("price", log=True), Category("brand", levels=["a"])],
        context=[Date("at")],
        cross=[("at", "price")],
    )
    schema.encode({"price": 1.0}, {"at": 0})
    schema.encode_log({"price": [1.0], "brand": ["a"], "at": [0.0]})


def logs() -> None:
    """Statistics of logs with features in columns and in lists, and ids of both types."""
    if find_spec("pyarrow") is None:
        return
    import pandas as pd

    from headstart.live import MetaBandit
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
