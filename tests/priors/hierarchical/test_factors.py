"""The factor model: its algebra, the directions it finds, and what it must not depend on."""

import numpy as np
import pytest
from benchmarks.ellipsoid import Ellipsoid
from tests.priors.hierarchical.dense import Data, Dense, sample_tasks

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.kernels import FactorModel, ThinTasks, climb, expect
from headstart.policies import BayesUCB
from headstart.priors import Hierarchical
from headstart.priors.hierarchical.factors import thin_tasks
from headstart.priors.hierarchical.recent import RecentTasks
from headstart.priors.hierarchical.sums import Spectrum
from headstart.simulation import Learner, simulate

DIMENSION = 3
# Fewer rounds than features, and many.
HORIZONS = (1, 5, 2, 9, 4)


def _thin(data: Data, abouts: Floats) -> ThinTasks:
    recent = RecentTasks.zeros(DIMENSION, (), n_about=abouts.shape[-1])
    tasks = TaskStatistics.stack(
        [
            TaskStatistics.from_data(x, y, about if len(about) else None)
            for (x, y), about in zip(data, abouts, strict=True)
        ],
        DIMENSION,
    )
    return thin_tasks(recent.with_tasks(tasks, 1.0, Spectrum.of(tasks)), ())


def _dense_covariance(data: Data, model: FactorModel, regressors: Floats) -> Floats:
    """That of all rewards as one vector."""
    x = np.concatenate([x for x, _ in data])
    owner = np.repeat(np.arange(len(data)), [len(x) for x, _ in data])
    tasks = model.loadings @ model.loadings.T + model.task * np.eye(DIMENSION)
    shared = (regressors * model.means) @ regressors.T
    within = (owner[:, None] == owner) * (x @ tasks @ x.T)
    total = model.noise * np.eye(len(x)) + within + shared[owner][:, owner] * (x @ x.T)
    along = model.along * model.loadings @ model.loadings.T
    return np.asarray(total + x @ along @ x.T)


@pytest.mark.parametrize("rank", [0, 1, 2])
@pytest.mark.parametrize("n_about", [0, 2])
def test_deviance_and_mean_are_those_of_one_dense_gaussian(rank: int, n_about: int) -> None:
    rng = np.random.default_rng((rank, n_about))
    data = sample_tasks(rng, HORIZONS, DIMENSION)
    tasks = _thin(data, rng.standard_normal((len(data), n_about)))
    means = np.linspace(1.0, 2.0, 1 + n_about)
    model = FactorModel(rng.standard_normal((DIMENSION, rank)), 0.7, 0.3, means, 2.5)
    found = expect(tasks, model)
    covariance = _dense_covariance(data, model, tasks.regressors)
    y = np.concatenate([y for _, y in data])
    expected = np.linalg.slogdet(covariance)[1] + y @ np.linalg.solve(covariance, y)
    assert found.deviance == pytest.approx(float(expected), rel=1e-10)
    owner = np.repeat(np.arange(len(data)), [len(x) for x, _ in data])
    x = np.concatenate([x for x, _ in data])
    cross = np.concatenate(
        [k * (tasks.regressors[owner, i][:, None] * x).T for i, k in enumerate(means)]
    )
    along = model.along * model.loadings @ model.loadings.T
    cross[:DIMENSION] += along @ x.T
    np.testing.assert_allclose(found.coefficients, cross @ np.linalg.solve(covariance, y))
    spread = np.diag(np.repeat(means, DIMENSION))
    spread[:DIMENSION, :DIMENSION] += along
    spread -= cross @ np.linalg.solve(covariance, cross.T)
    np.testing.assert_allclose(found.mean_covariance, spread, rtol=1e-8, atol=1e-10)


def test_steps_lower_the_deviance() -> None:
    rng = np.random.default_rng(2)
    tasks = _thin(sample_tasks(rng, (8,) * 12, DIMENSION), np.zeros((12, 0)))
    model = FactorModel(rng.standard_normal((DIMENSION, 1)), 3.0, 2.0, np.ones(1), 1.0)
    before = expect(tasks, model).deviance
    for _ in range(10):
        model, expected = climb(tasks, model, 1, 1e-4, 1e4)
        assert expected.deviance < before + 1e-9
        before = expected.deviance


def test_without_directions_it_ends_at_restricted_maximum_likelihood() -> None:
    data = sample_tasks(np.random.default_rng(3), (12,) * 30, DIMENSION)
    start = FactorModel(np.zeros((DIMENSION, 0)), 1.0, 1.0, np.ones(1), 1.0)
    model, _ = climb(_thin(data, np.zeros((30, 0))), start, 300, 1e-4, 1e4)

    def deviance(noise: float, task: float, mean: float) -> float:
        return Dense(data, noise, task * np.eye(DIMENSION), mean).deviance

    found = np.array([model.noise, model.task, model.means[0]])
    for step in np.concatenate([0.02 * np.eye(3), -0.02 * np.eye(3)]):
        assert deviance(*found * np.exp(step)) > deviance(*found)


def _learn(estimator: Hierarchical, tasks: list[TaskStatistics]) -> Memory:
    memory = estimator.empty(tasks[0].dimension)
    for task in tasks:
        memory = estimator.absorb(memory, task)
    return memory


def _sharing(
    seed: int, n_tasks: int, loadings: Floats, *, rotation: Floats | None = None, unit: float = 1.0
) -> list[TaskStatistics]:
    """Tasks 1 + Lf + 0.2 N(0, I) with ten rounds each and noise 0.5."""
    rng = np.random.default_rng(seed)
    found = []
    dimension, rank = loadings.shape
    for _ in range(n_tasks):
        x = rng.standard_normal((10, dimension))
        w = 1.0 + loadings @ rng.standard_normal(rank) + 0.2 * rng.standard_normal(dimension)
        y = unit * (x @ w + 0.5 * rng.standard_normal(10))
        found.append(TaskStatistics.from_data(x if rotation is None else x @ rotation, y))
    return found


LOADINGS = np.zeros((8, 2))
LOADINGS[0, 0], LOADINGS[1, 1] = 2.0, 1.5


def test_shared_directions_are_found() -> None:
    estimator = Hierarchical()
    memory = _learn(estimator, _sharing(0, 40, LOADINGS))
    found = estimator.directions(memory)
    assert found.rank == 2
    first, second = found.loadings[:, 0], found.loadings[:, 1]
    assert abs(first @ second) < 1e-9 * (first @ first)
    # The plane of the first two features, up to the noise of 40 tasks; a variance of 6.25 in it
    # has a relative standard error of about √(2/80).
    plane = np.linalg.svd(found.loadings[:, :2])[0][:2, :2]
    assert np.linalg.svd(plane)[1].min() > 0.98
    assert 3.5 < (found.loadings**2).sum() < 10.0
    assert found.share > 0.8
    np.testing.assert_array_equal(found.loadings[:, 2:], 0.0)


def test_tasks_that_share_nothing_get_the_isotropic_prior() -> None:
    tasks = _sharing(1, 30, np.zeros((8, 0)))
    factor, isotropic = Hierarchical(), Hierarchical(covariance="isotropic")
    one = _learn(factor, tasks)
    assert factor.directions(one).rank == 0
    np.testing.assert_array_equal(factor.directions(one).loadings, 0.0)
    first, second = factor.prior(one), isotropic.prior(_learn(isotropic, tasks))
    np.testing.assert_array_equal(first.bias, second.bias)
    np.testing.assert_array_equal(first.regularization, second.regularization)


def test_rotated_features_give_the_rotated_prior() -> None:
    rotation = np.linalg.qr(np.random.default_rng(4).standard_normal((8, 8))).Q
    estimator = Hierarchical()
    plain = estimator.prior(_learn(estimator, _sharing(2, 20, LOADINGS)))
    turned = estimator.prior(_learn(estimator, _sharing(2, 20, LOADINGS, rotation=rotation)))
    np.testing.assert_allclose(turned.bias, rotation.T @ plain.bias, atol=1e-6)
    np.testing.assert_allclose(
        turned.regularization, rotation.T @ plain.regularization @ rotation, atol=1e-5
    )


def test_multiplied_rewards_multiply_the_prior() -> None:
    estimator = Hierarchical()
    plain = estimator.prior(_learn(estimator, _sharing(3, 20, LOADINGS)))
    large = estimator.prior(_learn(estimator, _sharing(3, 20, LOADINGS, unit=2.0**20)))
    np.testing.assert_allclose(large.bias, 2.0**20 * plain.bias, rtol=1e-6)
    np.testing.assert_allclose(large.regularization, plain.regularization, rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
@pytest.mark.parametrize("kind", ["short", "constant feature", "twice the same", "no noise"])
def test_awkward_tasks_leave_the_prior_finite(kind: str, unit: float) -> None:
    rng = np.random.default_rng(5)
    estimator, tasks = Hierarchical(n_about=1), []
    for number in range(9):
        rounds = 1 if kind == "short" else 6
        x = unit * rng.standard_normal((rounds, 4))
        if kind == "constant feature":
            x[:, 1] = unit
        w = rng.standard_normal(4) / unit
        y = x @ w + (0.0 if kind == "no noise" else rng.standard_normal(rounds))
        task = TaskStatistics.from_data(x, y, np.array([float(number % 2)]))
        tasks += [task, task] if kind == "twice the same" else [task]
        memory = _learn(estimator, tasks)
        assert all(np.isfinite(array).all() for array in memory.values())
        for about in (None, np.zeros(1)):
            prior = estimator.prior(memory, about)
            assert np.isfinite(prior.bias).all()
            assert np.isfinite(prior.regularization).all()
            assert (np.linalg.eigvalsh(prior.regularization) > 0.0).all()


def test_intervals_cover_what_they_say() -> None:
    # 150 replications of ten tasks of the paper's size. Arms are correlated within a task, so the
    # share's standard error is about √(0.05 · 0.95/(4 · 150)) = 0.9 %.
    rng = np.random.default_rng(6)
    lead, dimension = (150,), 10
    estimator = Hierarchical()
    memory = estimator.empty(dimension, lead)
    mean = rng.standard_normal((*lead, 1, dimension))

    def draw() -> tuple[Floats, Floats]:
        w = mean[..., 0, :] + 0.3 * rng.standard_normal((*lead, dimension))
        return rng.standard_normal((*lead, 25, dimension)) / np.sqrt(dimension), w

    for _ in range(10):
        x, w = draw()
        y = (x @ w[..., None])[..., 0] + rng.standard_normal((*lead, 25))
        memory = estimator.absorb(memory, TaskStatistics.from_data(x, y))
    prior = estimator.prior(memory)
    covariance = prior.noise_scale[:, None, None] ** 2 * np.linalg.inv(prior.regularization)
    inside = []
    for _ in range(4):
        x, w = draw()
        gap = (x @ (w - prior.bias)[..., None])[..., 0]
        inside.append(np.abs(gap) < 1.96 * np.sqrt(((x @ covariance) * x).sum(-1)))
    assert 0.93 < np.mean(inside) < 0.985


def _without_noise(seed: int, parameters: Floats) -> list[TaskStatistics]:
    """Tasks of 15 rounds with these parameters (N, d), and rewards without noise."""
    rng = np.random.default_rng(seed)
    designs = rng.standard_normal((len(parameters), 15, parameters.shape[-1]))
    return [TaskStatistics.from_data(x, x @ w) for x, w in zip(designs, parameters, strict=True)]


@pytest.mark.parametrize("mean", [0.0, 1.0, 30.0])
def test_without_noise_the_mean_task_may_lie_along_a_shared_direction(mean: float) -> None:
    rng = np.random.default_rng(7)
    axis = np.ones(6) / np.sqrt(6.0)
    lengths = mean + rng.standard_normal(12)
    estimator = Hierarchical()
    memory = _learn(estimator, _without_noise(8, lengths[:, None] * axis))
    assert estimator.directions(memory).rank == 1
    prior = estimator.prior(memory)
    # The lengths' mean, shrunk by less than its standard error.
    along = float(prior.bias @ axis)
    assert abs(along - lengths.mean()) < 1.0 / np.sqrt(12.0)
    np.testing.assert_allclose(prior.bias, along * axis, atol=0.02)
    covariance = prior.noise_scale**2 * np.linalg.inv(prior.regularization)
    # Eleven degrees of freedom: a relative standard error of √(2/11), and 1/13 for the mean.
    assert 0.7 < axis @ covariance @ axis / lengths.var() < 1.6
    assert np.linalg.eigvalsh(covariance)[-2] < 0.01


def test_without_noise_tasks_that_share_nothing_have_no_directions() -> None:
    estimator, rng = Hierarchical(), np.random.default_rng(9)
    for _ in range(5):
        parameters = 1.0 + rng.standard_normal((20, 10))
        memory = _learn(estimator, _without_noise(10, parameters))
        assert estimator.directions(memory).rank == 0


def test_without_noise_directions_do_not_add_regret() -> None:
    # All tasks along one direction. In 60 replications the default had 0.43 ± 0.05 less regret in
    # 20 tasks than the isotropic prior's 1.05; in 15 that is more than eight standard errors.
    agents = [
        Learner(covariance, BayesUCB(), Hierarchical(covariance=covariance))
        for covariance in ("factor", "isotropic")
    ]
    played = simulate(
        Ellipsoid(cosine=1.0), agents, n_tasks=20, horizon=30, replications=15, seed=1
    )
    regret = played.regret.sum(["task", "round"]).mean("replication")
    assert float(regret.sel(learner="factor")) < float(regret.sel(learner="isotropic"))
