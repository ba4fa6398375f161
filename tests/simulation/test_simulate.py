"""Simulated comparisons: paired tasks, no leaks, the same bits for the same seed."""

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pytest
import xarray as xr

import headstart as hs
from headstart.environments import Synthetic
from headstart.learners.oful import paper_learners

ENVIRONMENT = Synthetic(dimension=5, n_arms=3)
POLICY = hs.policies.OFUL(noise_scale=0.5)
PAPER = paper_learners(policy=POLICY, mean_parameter=np.ones(5))
THOMPSON = hs.Learner("Thompson", hs.policies.Thompson(), hs.priors.Average())
UNIFORM = hs.Learner("uniform", hs.policies.Uniform(), hs.priors.Fixed.zero())
ALL = [*PAPER, THOMPSON, UNIFORM]


def _simulate(
    learners: Iterable[hs.Learner | hs.Optimal] = ALL,
    *,
    n_tasks: int = 3,
    horizon: int = 12,
    replications: int = 6,
    seed: int = 0,
    workers: int = 1,
) -> xr.Dataset:
    return hs.simulate(
        ENVIRONMENT,
        list(learners),
        n_tasks=n_tasks,
        horizon=horizon,
        replications=replications,
        seed=seed,
        workers=workers,
    )


def _evaluate(*, n_training_tasks: int = 3, n_test_tasks: int = 4) -> xr.Dataset:
    return hs.evaluate(
        ENVIRONMENT,
        ALL,
        n_training_tasks=n_training_tasks,
        n_test_tasks=n_test_tasks,
        horizon=12,
        replications=6,
        workers=1,
    )


def test_results_are_labelled() -> None:
    results = _simulate()
    assert results.sizes == {"learner": 7, "replication": 6, "task": 3, "round": 12}
    assert list(results["learner"].to_numpy()) == [learner.name for learner in ALL]
    assert list(results["task"].to_numpy()) == [1, 2, 3]
    assert results["round"].to_numpy()[[0, -1]].tolist() == [1, 12]
    assert set(results.data_vars) == {"choice", "reward", "regret"}
    assert results.attrs["seed"] == 0
    assert results["choice"].to_numpy().min() >= 0
    assert results["choice"].to_numpy().max() < 3


def test_the_same_seed_gives_the_same_bits() -> None:
    xr.testing.assert_identical(_simulate(seed=3), _simulate(seed=3))
    assert not _simulate(seed=3).equals(_simulate(seed=4))


def test_workers_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    # Chunks of one replication, so that several threads have work.
    monkeypatch.setattr("headstart.simulation.run.CHUNK_BYTES", 1)
    xr.testing.assert_identical(_simulate(workers=1), _simulate(workers=2))


def test_the_size_of_chunks_changes_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = _simulate(n_tasks=4)
    for size in (1, 900, 2_000):
        monkeypatch.setattr("headstart.simulation.run.CHUNK_BYTES", size)
        xr.testing.assert_identical(whole, _simulate(n_tasks=4))


class Planes:
    """Tasks whose arms span one feature more in every replication than in the one before."""

    dimension = 4

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> hs.Task:
        seen = np.arange(4) <= np.arange(replications)[:, None]
        arms = rng.standard_normal((replications, horizon, 3, 4)) * seen[:, None, None]
        means = arms.sum(-1)
        rewards = means + rng.standard_normal(means.shape)
        return hs.Task(arms=arms, rewards=rewards, means=means)


def test_replications_of_one_chunk_may_have_data_along_fewer_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def played() -> xr.Dataset:
        return hs.simulate(Planes(), hs.learners.headstart(), n_tasks=6, horizon=5, replications=4)

    whole = played()
    monkeypatch.setattr("headstart.simulation.run.CHUNK_BYTES", 1)
    xr.testing.assert_identical(whole, played())


def test_other_agents_change_no_numbers() -> None:
    whole = _simulate()
    some = _simulate([UNIFORM, *PAPER[2:4]])
    xr.testing.assert_identical(some, whole.sel(learner=some["learner"]))
    backwards = _simulate(ALL[::-1])
    xr.testing.assert_identical(backwards, whole.sel(learner=backwards["learner"]))
    for learner in ALL:
        alone = _simulate([learner])
        xr.testing.assert_identical(alone, whole.sel(learner=[learner.name]))


def test_agents_play_the_same_tasks() -> None:
    # Two learners that choose alike get the same rewards: same arms, same noise.
    twins = [
        hs.Learner(name, hs.policies.Greedy(), hs.priors.Fixed(bias=np.ones(5))) for name in "ab"
    ]
    results = _simulate(twins)
    for name in ("choice", "reward", "regret"):
        one, two = results[name].to_numpy()
        np.testing.assert_array_equal(one, two)


def test_a_longer_run_begins_like_the_shorter() -> None:
    short, long = _simulate(n_tasks=2), _simulate(n_tasks=5)
    xr.testing.assert_identical(short, long.isel(task=slice(2)))


def test_the_state_alone_carries_over() -> None:
    # ITL and the Oracle carry nothing, so training does not change them; it changes the others.
    fresh = _evaluate(n_training_tasks=0)["choice"]
    trained = _evaluate(n_training_tasks=3)["choice"]
    for name in fresh["learner"].to_numpy():
        same = (fresh.sel(learner=name).to_numpy() == trained.sel(learner=name).to_numpy()).all()
        assert same == (name not in {"AVG-OFUL", "RR-OFUL", "Thompson"}), name


def test_regret_is_never_negative_and_optimal_has_none() -> None:
    for reward in ("winner", "linear"):
        results = hs.simulate(
            Synthetic(dimension=5, n_arms=3, reward=reward),
            ALL,
            n_tasks=4,
            horizon=30,
            replications=20,
            workers=1,
        )
        regret = results["regret"]
        assert (regret.to_numpy() >= 0).all()
        assert (regret.sel(learner="OPT").to_numpy() == 0).all()
        assert (regret.sel(learner="uniform").to_numpy() > 0).any()


@dataclass
class _Shuffled:
    """The synthetic environment with its tasks recorded, and returned in another order."""

    order: list[int]
    drawn: list[hs.Task] = field(default_factory=list)
    given: int = 0
    dimension: int = ENVIRONMENT.dimension

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> hs.Task:
        if not self.drawn:
            prepared = ENVIRONMENT.prepare(replications, np.random.default_rng(1))
            self.drawn = [
                prepared.sample(horizon, replications, np.random.default_rng(10 + j))
                for j in range(len(self.order))
            ]
        self.given += 1
        return self.drawn[self.order[self.given - 1]]


def test_test_tasks_do_not_leak() -> None:
    # Two training tasks, three test tasks. A test task played first or last is played alike by all
    # agents to which their random numbers, drawn per task, do not matter: no scores tie here.
    found = [
        hs.evaluate(
            _Shuffled(order),
            ALL,
            n_training_tasks=2,
            n_test_tasks=3,
            horizon=12,
            replications=6,
            workers=1,
        )
        for order in ([0, 1, 2, 3, 4], [0, 1, 4, 2, 3])
    ]
    names = ["AVG-OFUL", "RR-OFUL", "Oracle", "OPT"]
    straight, turned = (results.sel(learner=names)["choice"].to_numpy() for results in found)
    np.testing.assert_array_equal(straight, turned[:, :, :, [1, 2, 0]])


def test_test_tasks_are_the_same_whatever_the_training() -> None:
    few, many = _evaluate(n_training_tasks=1), _evaluate(n_training_tasks=6)
    np.testing.assert_array_equal(
        few["reward"].sel(learner="OPT").to_numpy(), many["reward"].sel(learner="OPT").to_numpy()
    )
    np.testing.assert_array_equal(
        few["choice"].sel(learner="uniform").to_numpy(),
        many["choice"].sel(learner="uniform").to_numpy(),
    )


def test_more_test_tasks_change_no_earlier_one() -> None:
    longer, shorter = _evaluate(n_test_tasks=4), _evaluate(n_test_tasks=2)
    xr.testing.assert_identical(longer.isel(task=slice(2)), shorter)
    assert list(longer["task"].to_numpy()) == [1, 2, 3, 4]


def test_progress_counts_every_task_of_every_agent() -> None:
    told: list[tuple[int, int]] = []
    hs.simulate(
        ENVIRONMENT,
        PAPER,
        n_tasks=2,
        horizon=3,
        replications=2,
        workers=1,
        progress=lambda done, total: told.append((done, total)),
    )
    assert told == [(i, 10) for i in range(1, 11)]


def test_an_axis_of_biases_is_one_per_replication() -> None:
    biases = np.random.default_rng(0).standard_normal((6, 5))
    learner = hs.Learner("it", POLICY, hs.priors.Fixed(bias=biases))
    together = _simulate([learner])
    for i in range(6):
        same = hs.Learner("it", POLICY, hs.priors.Fixed(bias=biases[i]))
        alone = _simulate([same])
        np.testing.assert_array_equal(
            together["choice"].isel(replication=i).to_numpy(),
            alone["choice"].isel(replication=i).to_numpy(),
        )


SHORT: dict[str, Any] = {"n_tasks": 2, "horizon": 3, "workers": 1}


def test_one_agent_is_a_list_of_it() -> None:
    alone = hs.simulate(ENVIRONMENT, THOMPSON, **SHORT)
    xr.testing.assert_identical(alone, hs.simulate(ENVIRONMENT, [THOMPSON], **SHORT))


@dataclass(frozen=True)
class Stateful:
    """An agent whose `begin` and `learn` return what they are told to."""

    begun: object
    learned: object
    name: str = "stateful"

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 0

    def begin(self, dimension: int, replications: int) -> Any:
        return self.begun

    def play(self, state: Any, rounds: hs.Rounds) -> None:
        while not rounds.over:
            rounds.choose(np.zeros(rounds.replications, dtype=int))

    def learn(self, state: Any, played: None) -> Any:
        return self.learned


@pytest.mark.parametrize(
    ("environment", "agents", "message"),
    [
        (Synthetic, [THOMPSON], r"environment must be .* got Synthetic itself: write Synthetic\("),
        (ENVIRONMENT, [hs.Optimal], r"agents must be .* got Optimal itself: write Optimal\("),
        (ENVIRONMENT, [hs.learners.itl], r"agents must be .* got itl itself: write itl\("),
        (ENVIRONMENT, "ITL", "agents must be .* got 'ITL'"),
        (ENVIRONMENT, Stateful(3, {}), "stateful.begin must return the state, .* got 3"),
        (ENVIRONMENT, Stateful({"n": 0}, {}), r"stateful.begin .* got 'n' of shape \(\)"),
        (ENVIRONMENT, Stateful({"n": np.zeros(2)}, {}), r"with 1 entry .* 'n' of shape \(2,\)"),
        (ENVIRONMENT, Stateful({}, None), "stateful.learn must return the state, .* got None"),
    ],
)
def test_what_is_no_agent_or_environment_is_named(
    environment: Any, agents: Any, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        hs.simulate(environment, agents, **SHORT)


def test_a_policy_and_a_prior_that_are_swapped_are_named() -> None:
    policy, prior = hs.policies.OFUL(), hs.priors.Pooled()
    wrong: Any
    for wrong in ((prior, policy), (hs.policies.OFUL, prior), (lambda *_: 0.0, prior)):
        with pytest.raises(ValueError, match="policy must be an object with the methods scores"):
            hs.Learner("x", *wrong)
        with pytest.raises(ValueError, match="policy must be an object with the methods scores"):
            hs.MetaBandit(dimension=2, policy=wrong[0])
    wrong = hs.priors.Pooled
    with pytest.raises(ValueError, match=r"prior must be .* got Pooled itself: write Pooled\("):
        hs.Learner("x", policy, wrong)
    with pytest.raises(ValueError, match=r"prior must be .* got Pooled itself: write Pooled\("):
        hs.MetaBandit(dimension=2, prior=wrong)


def test_numbers_of_training_tasks_may_be_an_array() -> None:
    found = hs.evaluate(ENVIRONMENT, THOMPSON, n_training_tasks=np.array([0, 2]), horizon=3)
    assert found["trained"].to_numpy().tolist() == [0, 2]


def test_what_is_written_from_habit_means_what_it_says() -> None:
    expected = hs.simulate(ENVIRONMENT, [THOMPSON], n_tasks=2, horizon=3, workers=1)
    xr.testing.assert_identical(hs.simulate(ENVIRONMENT, [THOMPSON], 2, 3), expected)
    named = hs.simulate(ENVIRONMENT, {"Thompson": UNIFORM, "other": THOMPSON}, **SHORT)
    again = hs.simulate(
        ENVIRONMENT, [replace(UNIFORM, name="Thompson"), replace(THOMPSON, name="other")], **SHORT
    )
    xr.testing.assert_identical(named, again)
    with pytest.raises(ValueError, match=r"named by a dict .* got 'mine' for"):
        hs.simulate(ENVIRONMENT, {"mine": Nameless()}, **SHORT)  # type: ignore[dict-item]


class Nameless:
    """Has no name that could be changed."""


def test_a_seed_may_be_a_generator_or_fresh() -> None:
    one, other = (
        hs.simulate(ENVIRONMENT, THOMPSON, **SHORT, seed=np.random.default_rng(3)) for _ in range(2)
    )
    xr.testing.assert_identical(one, other)
    again = hs.simulate(ENVIRONMENT, THOMPSON, **SHORT, seed=one.attrs["seed"])
    xr.testing.assert_identical(one, again)
    fresh = [hs.simulate(ENVIRONMENT, THOMPSON, **SHORT, seed=None).attrs["seed"] for _ in range(2)]
    assert fresh[0] != fresh[1]
