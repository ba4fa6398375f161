"""What every environment must do."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from tests.contracts.finding import implementing, instances
from tests.rated import random_table

import headstart as hs
from headstart import environments
from headstart.environments import Basis, Gaussian, Kinds
from headstart.interfaces import Environment, PreparableEnvironment

SETTINGS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "Synthetic": [
        {"dimension": 3, "n_arms": 7, "reward": "linear", "tasks": Gaussian(variance=3.0)},
        {"dimension": 1, "n_arms": 1, "noise_scale": 0.0},
        {
            "dimension": 5,
            "n_arms": 2,
            "spread": 0.0,
            "tasks": Gaussian(mean=np.arange(5.0), variance=0.0),
        },
        {"dimension": 4, "tasks": Basis(size=2.0), "decision_set": "fixed"},
        {"dimension": 2, "tasks": Gaussian(variance=[[1.0, 1.0], [1.0, 1.0]]), "shift": "none"},
        {"dimension": 3, "tasks": Kinds(n_kinds=2, within=0.0), "reward": "linear"},
        {"dimension": 3, "tasks": Kinds(n_kinds=2), "n_about": 2, "about_explains": 0.5},
    ],
    "Hierarchy": [
        {"dimension": 4, "n_directions": 2, "decision_set": "fresh", "noise_scale": 0.0},
        {"dimension": 1, "n_arms": 1, "task_variance": 0.0, "mean_variance": 0.0},
    ],
    "NonStochastic": [{"adversary": "reacting"}, {"dimension": 2, "share": 0.5, "spread": 0.0}],
    "Ratings": [
        {"table": random_table(seed=1), "dimension": 3, "n_arms": 4},
        {"table": random_table(seed=2), "dimension": 2, "reward": "linear", "unit_arms": True},
    ],
}
ENVIRONMENTS: dict[str, Environment] = instances(environments, Environment, SETTINGS)

every_environment = pytest.mark.parametrize(
    "environment", ENVIRONMENTS.values(), ids=ENVIRONMENTS.keys()
)


def _prepared(environment: Environment, replications: int, seed: int) -> Environment:
    if isinstance(environment, PreparableEnvironment):
        return environment.prepare(replications, np.random.default_rng((seed, 0)))
    return environment


def _sample(environment: Environment, seed: int = 0) -> hs.Task:
    return _prepared(environment, 3, seed).sample(6, 3, np.random.default_rng((seed, 1)))


def test_environments_are_found() -> None:
    found = {kind.__name__ for kind in implementing(environments, Environment)}
    assert found >= {
        "Hierarchy",
        "NonStochastic",
        "Ratings",
        "Synthetic",
    }
    assert {name.split("-")[0] for name in ENVIRONMENTS} >= found


class Extra(environments.Synthetic):
    """An environment that no test lists."""


def test_a_new_environment_needs_no_change_of_the_tests(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environments, "Extra", Extra, raising=False)
    monkeypatch.setattr(environments, "__all__", [*environments.__all__, "Extra"])
    assert Extra in implementing(environments, Environment)
    made = instances(environments, Environment, SETTINGS)
    monkeypatch.setitem(ENVIRONMENTS, "Extra-0", made["Extra-0"])
    test_environments_are_found()
    test_tasks_have_the_right_shapes(made["Extra-0"])


@every_environment
def test_tasks_have_the_right_shapes(environment: Environment) -> None:
    for prepared in (environment, _prepared(environment, 3, 0)):
        assert prepared.dimension == environment.dimension
        task = prepared.sample(6, 3, np.random.default_rng(0))
        assert task.lead == (3,)
        assert task.horizon == 6
        assert task.dimension == environment.dimension
        assert task.arms.shape == (3, 6, task.n_arms, environment.dimension)
        assert task.rewards.shape == task.means.shape == (3, 6, task.n_arms)
        assert task.parameter is None or task.parameter.shape == (3, environment.dimension)
        for array in (task.arms, task.rewards, task.means):
            assert np.isfinite(array).all()


@every_environment
def test_the_same_seed_gives_the_same_task(environment: Environment) -> None:
    one, two = _sample(environment), _sample(environment)
    for name in ("arms", "rewards", "means", "parameter"):
        np.testing.assert_array_equal(getattr(one, name), getattr(two, name))


@every_environment
def test_sampling_does_not_depend_on_earlier_samples(environment: Environment) -> None:
    # A task follows from the generator alone, and not from the tasks sampled before.
    prepared = _prepared(environment, 3, 0)
    first = prepared.sample(6, 3, np.random.default_rng(1))
    prepared.sample(6, 3, np.random.default_rng(2))
    again = prepared.sample(6, 3, np.random.default_rng(1))
    np.testing.assert_array_equal(first.arms, again.arms)
    np.testing.assert_array_equal(first.rewards, again.rewards)


@every_environment
def test_every_learner_can_play_there(environment: Environment) -> None:
    learners: list[hs.Learner | hs.Optimal] = [
        hs.Learner("ITL", hs.policies.OFUL(), hs.priors.Fixed.zero()),
        hs.Learner("AVG-OFUL", hs.policies.Thompson(), hs.priors.Average()),
    ]
    task = _sample(environment)
    if task.adversary is None:
        learners.append(hs.Optimal())
    results = hs.simulate(environment, learners, n_tasks=2, horizon=5, replications=3, seed=1)
    assert np.isfinite(results["reward"].to_numpy()).all()
    if task.adversary is None:
        optimal = results["regret"].sel(learner="OPT")
        # Regret against one comparator for all rounds may be below 0: OPT follows what changes.
        assert (optimal <= 0).all() if task.comparator is not None else (optimal == 0).all()
        assert (results["regret"] >= optimal).all()
