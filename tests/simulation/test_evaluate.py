"""Several training sizes in one evaluation, and agents made from the prepared environment."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pytest
import xarray as xr

import headstart as hs
from headstart.core.prior import Prior
from headstart.environments.synthetic import PreparedSynthetic
from headstart.interfaces import Environment, Memory


def learners(_: Environment | None = None) -> Sequence[hs.Learner | hs.Optimal]:
    policy = hs.policies.Thompson()
    return [
        hs.Optimal(),
        hs.Learner("ITL", policy, hs.priors.Fixed.zero()),
        hs.Learner("AVG-OFUL", policy, hs.priors.Average()),
    ]


def test_each_training_size_has_the_numbers_of_that_size_alone() -> None:
    environment = hs.environments.Synthetic(dimension=4, n_arms=3)
    several = hs.evaluate(
        environment,
        learners(),
        n_training_tasks=[2, 0, 3],
        n_test_tasks=2,
        horizon=6,
        replications=5,
        seed=9,
    )
    assert several["regret"].dims == ("learner", "trained", "replication", "task", "round")
    assert several["trained"].to_numpy().tolist() == [2, 0, 3]
    assert several["task"].to_numpy().tolist() == [1, 2]
    for size in (0, 2, 3):
        alone = hs.evaluate(
            environment,
            learners(),
            n_training_tasks=size,
            n_test_tasks=2,
            horizon=6,
            replications=5,
            seed=9,
        )
        xr.testing.assert_identical(several.sel(trained=[size]), alone)


@pytest.mark.parametrize("sizes", [[], [1, 1], [-1], [2.5]])
def test_training_sizes_are_different_counts(sizes: list[int]) -> None:
    with pytest.raises(ValueError, match="n_training_tasks must be"):
        hs.evaluate(hs.environments.Synthetic(), learners(), n_training_tasks=sizes, horizon=2)


def test_progress_counts_every_training_size() -> None:
    told: list[tuple[int, int]] = []
    hs.evaluate(
        hs.environments.Synthetic(dimension=2),
        learners(),
        n_training_tasks=[1, 3],
        n_test_tasks=2,
        horizon=1,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(i + 1, 21) for i in range(21)]


def test_agents_may_be_made_from_the_prepared_environment() -> None:
    seen: list[Environment] = []

    def made(environment: Environment) -> Sequence[hs.Learner | hs.Optimal]:
        seen.append(environment)
        return learners()

    environment = hs.environments.Synthetic(dimension=3)
    late = hs.simulate(environment, made, n_tasks=2, horizon=4, replications=3, seed=1)
    early = hs.simulate(environment, learners(), n_tasks=2, horizon=4, replications=3, seed=1)
    assert isinstance(seen[0], PreparedSynthetic)
    assert late.identical(early)


def test_an_environment_that_needs_no_preparation_is_passed_as_it_is() -> None:
    @dataclass(frozen=True)
    class Plain:
        dimension: int = 2

        def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> hs.Task:
            arms = rng.standard_normal((replications, horizon, 3, 2))
            return hs.Task(arms=arms, rewards=arms[..., 0], means=arms[..., 0])

    seen: list[Environment] = []

    def made(environment: Environment) -> Sequence[hs.Learner | hs.Optimal]:
        seen.append(environment)
        return [hs.Optimal()]

    plain = Plain()
    hs.simulate(plain, made, n_tasks=1, horizon=1)
    assert seen == [plain]


def test_agents_made_from_the_environment_are_checked_too() -> None:
    with pytest.raises(ValueError, match="at least one agent"):
        hs.simulate(hs.environments.Synthetic(), lambda _: [], n_tasks=1, horizon=1)


def test_the_prior_of_a_memory_is_computed_once_for_all_its_test_tasks(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    environment = hs.environments.Synthetic(dimension=4, n_arms=3)
    calls: list[Memory] = []
    prior = hs.priors.Hierarchical.prior

    def counted(estimator: hs.priors.Hierarchical, memory: Memory) -> Prior:
        calls.append(memory)
        return prior(estimator, memory)

    monkeypatch.setattr(hs.priors.Hierarchical, "prior", counted)

    def play(n_test_tasks: int) -> xr.Dataset:
        ours = hs.Learner("ours", hs.policies.BayesUCB(), hs.priors.Hierarchical())
        return hs.evaluate(
            environment,
            [ours],
            n_training_tasks=[0, 2],
            n_test_tasks=n_test_tasks,
            horizon=6,
            replications=5,
        )

    several = play(4)
    # Memories after 0, 1 and 2 tasks; the first two are those of the training tasks.
    assert len(calls) == 3
    assert several.isel(task=slice(1)).identical(play(1))
