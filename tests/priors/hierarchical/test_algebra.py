"""The sums over tasks give what one dense Gaussian over all rewards gives."""

import numpy as np
import pytest
from tests.priors.hierarchical.dense import Dense, sample_tasks, statistics

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.priors import _memories
from headstart.priors.hierarchical.grid import Weights, split_at_median
from headstart.priors.hierarchical.isotropic import Posterior
from headstart.priors.hierarchical.normal import Normal, regularization_from
from headstart.priors.hierarchical.sums import Sums

DIMENSION = 3
# Fewer rounds than features, none at all, and many.
HORIZONS = (1, 5, 0, 2, 9)
LAMBDAS = np.array([0.01, 0.4, 30.0])
RHOS = np.array([0.02, 5.0])
CORNERS = [(g, p) for g in range(len(LAMBDAS)) for p in range(len(RHOS))]
every_corner = pytest.mark.parametrize(("g", "p"), CORNERS)


def _posterior(tasks: list[TaskStatistics], lambdas: Floats = LAMBDAS) -> Posterior:
    sums = Sums.zeros(DIMENSION, len(lambdas), ())
    for task in tasks:
        sums = Sums(**_memories.merge(sums.to_memory(), Sums.of_task(task, lambdas).to_memory()))
    return Posterior(sums, lambdas, RHOS / lambdas[:, None])


def _averaged(posterior: Posterior, weights: Floats) -> Weights:
    """The average over grid points with these weights (G, P)."""
    task = weights * posterior.noise_variance / LAMBDAS[:, None]
    noise = (weights * posterior.noise_variance).sum()
    return Weights(weights, task, np.asarray(noise), np.asarray(task.sum()))


def _at(posterior: Posterior, g: int, p: int) -> Weights:
    weights = np.zeros((len(LAMBDAS), len(RHOS)))
    weights[g, p] = 1.0
    return _averaged(posterior, weights)


@pytest.fixture(name="data")
def _data() -> list[tuple[Floats, Floats]]:
    return sample_tasks(np.random.default_rng(0), HORIZONS, DIMENSION)


def _dense(data: list[tuple[Floats, Floats]], posterior: Posterior, g: int, p: int) -> Dense:
    noise = float(posterior.noise_variance[g, p])
    return Dense(data, noise, noise / LAMBDAS[g] * np.eye(DIMENSION), noise / float(RHOS[p]))


@every_corner
def test_likelihood_is_the_dense_one(data: list[tuple[Floats, Floats]], g: int, p: int) -> None:
    posterior = _posterior(statistics(data))
    n = sum(HORIZONS)
    expected = _dense(data, posterior, g, p).deviance
    assert posterior.deviance[g, p] + n * (1 + np.log(2 * np.pi)) == pytest.approx(
        expected, rel=1e-10, abs=1e-10
    )


@every_corner
def test_noise_is_the_most_likely(data: list[tuple[Floats, Floats]], g: int, p: int) -> None:
    posterior = _posterior(statistics(data))
    best = _dense(data, posterior, g, p)
    for factor in (0.9, 1.1):
        other = Dense(data, best.noise * factor, best.task * factor, best.mean * factor)
        assert other.deviance > best.deviance


@every_corner
def test_mean_is_generalised_least_squares(
    data: list[tuple[Floats, Floats]], g: int, p: int
) -> None:
    posterior = _posterior(statistics(data))
    expected, mean_covariance = _dense(data, posterior, g, p).mean_task()
    found = posterior.next_task(_at(posterior, g, p))
    bias, covariance = found.mean, found.covariance
    task = posterior.noise_variance[g, p] / LAMBDAS[g] * np.eye(DIMENSION)
    np.testing.assert_allclose(bias, expected, rtol=1e-10, atol=1e-10)
    np.testing.assert_allclose(covariance, task + mean_covariance, rtol=1e-9, atol=1e-10)


@every_corner
def test_a_constant_prior_equals_one_refreshed_every_round(g: int, p: int) -> None:
    # The estimate from the other tasks' prior is the posterior given everything, this task in it.
    data = sample_tasks(np.random.default_rng(1), (4, 7, 6), DIMENSION)
    posterior = _posterior(statistics(data[:-1]))
    found = posterior.next_task(_at(posterior, g, p))
    bias, covariance = found.mean, found.covariance
    noise = posterior.noise_variance[g, p]
    prior = Prior(bias, regularization_from(covariance, noise))
    estimate = RidgeEstimate(statistics(data)[-1], prior)
    dense = _dense(data, posterior, g, p)
    expected, expected_covariance = dense.last_task()
    np.testing.assert_allclose(estimate.parameter, expected, rtol=1e-8, atol=1e-9)
    np.testing.assert_allclose(noise * estimate.inverse, expected_covariance, rtol=1e-8, atol=1e-9)


def test_small_lambda_averages_least_squares_and_large_lambda_pools() -> None:
    data = sample_tasks(np.random.default_rng(2), (6, 9, 30), DIMENSION)
    x, y = (np.concatenate(part) for part in zip(*data, strict=True))
    average = np.mean([np.linalg.lstsq(x, y)[0] for x, y in data], axis=0)
    pooled = np.linalg.lstsq(x, y)[0]
    assert np.abs(average - pooled).max() > 0.1
    lambdas = np.array([1e-7, 1e7])
    sums = Sums.zeros(DIMENSION, 2, ())
    for task in statistics(data):
        sums = Sums(**_memories.merge(sums.to_memory(), Sums.of_task(task, lambdas).to_memory()))
    posterior = Posterior(sums, lambdas, np.array([[1e-9], [1e-14]]))
    for expected, own in ((average, [[1.0], [0.0]]), (pooled, [[0.0], [1.0]])):
        weights = np.array(own)
        mean = posterior.next_task(Weights(weights, weights, np.ones(()), np.ones(()))).mean
        np.testing.assert_allclose(mean, expected, rtol=1e-5)


def test_moments_are_those_of_the_mixture(data: list[tuple[Floats, Floats]]) -> None:
    posterior = _posterior(statistics(data))
    weights = np.random.default_rng(3).random((len(LAMBDAS), len(RHOS)))
    weights /= weights.sum()
    mean, second = np.zeros(DIMENSION), np.zeros((DIMENSION, DIMENSION))
    for g, p in CORNERS:
        one = posterior.next_task(_at(posterior, g, p))
        mean += weights[g, p] * one.mean
        second += weights[g, p] * (one.covariance + np.outer(one.mean, one.mean))
    found = posterior.next_task(_averaged(posterior, weights))
    np.testing.assert_allclose(found.mean, mean, rtol=1e-10)
    np.testing.assert_allclose(found.covariance, second - np.outer(mean, mean), rtol=1e-8)


def test_the_posterior_is_split_at_the_median_of_lambda() -> None:
    weights = np.random.default_rng(4).random((2, len(LAMBDAS), len(RHOS)))
    weights /= weights.sum((-2, -1), keepdims=True)
    lower, upper = split_at_median(weights)
    np.testing.assert_allclose((lower + upper) / 2.0, weights, rtol=1e-12, atol=1e-15)
    for half in (lower, upper):
        np.testing.assert_allclose(half.sum((-2, -1)), 1.0)
    for i in range(2):
        # They meet in one value of λ.
        assert np.flatnonzero(lower[i].sum(-1))[-1] <= np.flatnonzero(upper[i].sum(-1))[0]


def test_moment_matching_gives_the_moments_of_the_mixture() -> None:
    rng = np.random.default_rng(5)
    one, two = (
        Normal(
            mean=rng.standard_normal(3),
            covariance=np.diag(1.0 + rng.random(3)),
            noise_variance=np.asarray(rng.random()),
            mean_covariance=np.diag(rng.random(3)),
        )
        for _ in range(2)
    )
    means = [one.mean, two.mean]
    both = one.moment_matched(two)
    np.testing.assert_allclose(both.mean, np.mean(means, axis=0))
    expected = (one.covariance + two.covariance) / 2.0 + np.cov(np.array(means).T, bias=True)
    np.testing.assert_allclose(both.covariance, expected)
    # What is between the two is the mean's uncertainty, not tasks' variance about it.
    between_tasks = (
        one.covariance + two.covariance - one.mean_covariance - two.mean_covariance
    ) / 2
    np.testing.assert_allclose(both.covariance - both.mean_covariance, between_tasks)
    assert both.noise_variance == (one.noise_variance + two.noise_variance) / 2.0


def test_an_outlier_is_as_large_as_the_others_in_any_direction() -> None:
    usual = Normal(np.array([3.0, 0.0]), np.diag([1.0, 2.0]), np.array(0.5), np.eye(2))
    outlier = usual.outlier()
    np.testing.assert_array_equal(outlier.mean, 0.0)
    # E wwᵀ = diag(10, 2), and its mean 6 in every direction.
    np.testing.assert_allclose(outlier.covariance, np.diag([16.0, 8.0]))
    assert outlier.noise_variance == 0.5


@pytest.mark.parametrize("horizons", [(3, 0, 7), (140, 2, 5)])
def test_sums_with_many_features_are_those_of_ridge_regression(horizons: tuple[int, ...]) -> None:
    dimension = 130
    tasks = statistics(sample_tasks(np.random.default_rng(8), horizons, dimension))
    stacked = TaskStatistics(
        gram=np.stack([task.gram for task in tasks]),
        moment=np.stack([task.moment for task in tasks]),
        count=np.stack([task.count for task in tasks]),
        sum_of_squares=np.stack([task.sum_of_squares for task in tasks]),
    )
    together = Sums.of_task(stacked, LAMBDAS)
    for i, task in enumerate(tasks):
        for g, ridge in enumerate(LAMBDAS):
            inverse = np.linalg.inv(task.gram + ridge * np.eye(dimension))
            for found in (Sums.of_task(task, LAMBDAS).information[g], together.information[i, g]):
                np.testing.assert_allclose(found, inverse @ task.gram, atol=1e-10)
            np.testing.assert_allclose(together.ridges[i, g], inverse @ task.moment, atol=1e-9)
            fitted = task.moment @ inverse @ task.moment
            np.testing.assert_allclose(
                together.residual[i, g], task.sum_of_squares - fitted, atol=1e-8
            )


def test_order_of_tasks_does_not_matter(data: list[tuple[Floats, Floats]]) -> None:
    one, two = _posterior(statistics(data)), _posterior(statistics(data[::-1]))
    np.testing.assert_allclose(one.deviance, two.deviance, rtol=1e-10)
    for g, p in CORNERS:
        first, second = (found.next_task(_at(found, g, p)).mean for found in (one, two))
        np.testing.assert_allclose(first, second, rtol=1e-9)
