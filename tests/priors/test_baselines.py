"""The priors that the hierarchical one is compared with."""

import numpy as np
import pytest
from tests.priors.hierarchical.dense import Dense, sample_tasks, statistics

from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory, PriorEstimator
from headstart.priors import KnownVariances, SingleModel

DATA = sample_tasks(np.random.default_rng(0), (4, 1, 9, 0, 6), 3)


def _learn(estimator: PriorEstimator, tasks: list[TaskStatistics]) -> Memory:
    memory = estimator.empty(3)
    for task in tasks:
        memory = estimator.absorb(memory, task)
    return memory


def test_single_model_is_one_regression_over_all_rewards() -> None:
    *finished, current = statistics(DATA)
    model = SingleModel(regularization=0.7)
    estimate = RidgeEstimate(current, model.prior(_learn(model, finished)))
    x, y = (np.concatenate(part) for part in zip(*DATA, strict=True))
    everything = TaskStatistics.from_data(x, y)
    expected = RidgeEstimate(everything, Prior.zero(3, regularization=0.7))
    np.testing.assert_allclose(estimate.parameter, expected.parameter, rtol=1e-10)
    np.testing.assert_allclose(estimate.inverse, expected.inverse, rtol=1e-10)


def test_known_variances_give_the_posterior() -> None:
    known = KnownVariances(noise_variance=0.3, task_variance=0.6, mean_variance=2.0)
    *finished, current = statistics(DATA)
    estimate = RidgeEstimate(current, known.prior(_learn(known, finished)))
    expected, covariance = Dense(DATA, 0.3, 0.6 * np.eye(3), 2.0).last_task()
    np.testing.assert_allclose(estimate.parameter, expected, rtol=1e-9, atol=1e-10)
    np.testing.assert_allclose(0.3 * estimate.inverse, covariance, rtol=1e-9, atol=1e-10)
    assert estimate.noise_scale == pytest.approx(np.sqrt(0.3))
