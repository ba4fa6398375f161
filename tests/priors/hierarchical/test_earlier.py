"""Tasks that are no longer stored: what the sums over all tasks say about the mean task."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.priors.hierarchical.dense import Data, sample_tasks, statistics

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.kernels import FactorModel, expect
from headstart.priors import Hierarchical
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.earlier import with_earlier
from headstart.priors.hierarchical.factors import thin_tasks
from headstart.priors.hierarchical.recent import RecentTasks
from headstart.priors.hierarchical.sums import Spectrum, Sums

DIMENSION = 3
LAMBDAS = grid.regularizations(np.array(1.0))
seeds = st.integers(0, 2**32 - 1)
# Fewer rounds than features, too.
rounds = st.lists(st.integers(1, 9), min_size=2, max_size=6)


def _stacked(data: Data) -> TaskStatistics:
    return TaskStatistics.stack(statistics(data), DIMENSION)


def _found(earlier: Data, stored: Data, model: FactorModel) -> tuple[Floats, Floats]:
    """The mean task and its covariance, from the sums over all tasks and those stored."""
    every = _stacked([*earlier, *stored])
    sums = Sums.of_task(every, LAMBDAS[None]).over_tasks()
    those = _stacked(stored)
    recent = RecentTasks.zeros(DIMENSION, ()).with_tasks(those, 1.0, Spectrum.of(those))
    tasks = thin_tasks(recent, ())
    expected = expect(tasks, model)
    return with_earlier(
        expected.coefficients, expected.mean_covariance, sums, LAMBDAS, tasks, model
    )


def _dense(tasks: Data, model: FactorModel) -> tuple[Floats, Floats]:
    """The posterior of h from all rewards, given N(0, κ²I) before."""
    precision, target = np.eye(DIMENSION) / model.means[0], np.zeros(DIMENSION)
    for x, y in tasks:
        covariance = model.noise * np.eye(len(x)) + model.task * x @ x.T
        precision = precision + x.T @ np.linalg.solve(covariance, x)
        target = target + x.T @ np.linalg.solve(covariance, y)
    inverse = np.linalg.inv(precision)
    return inverse @ target, inverse


def _isotropic(place: int, task: float, mean: float) -> FactorModel:
    """Without directions, with λ on the grid."""
    noise = float(LAMBDAS[place]) * task
    return FactorModel(np.zeros((DIMENSION, 0)), noise, task, np.array([mean]), 1.0)


@settings(max_examples=60, deadline=None)
@given(
    seed=seeds,
    first=rounds,
    second=rounds,
    place=st.integers(4, 12),
    task=st.floats(0.1, 10.0),
    mean=st.floats(0.1, 10.0),
)
def test_without_directions_it_is_the_posterior_given_all_tasks(
    seed: int, first: list[int], second: list[int], place: int, task: float, mean: float
) -> None:
    rng = np.random.default_rng(seed)
    earlier, stored = (sample_tasks(rng, each, DIMENSION) for each in (first, second))
    model = _isotropic(place, task, mean)
    found, covariance = _found(earlier, stored, model)
    expected, inverse = _dense([*earlier, *stored], model)
    scale = max(1.0, float(np.abs(expected).max()))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-7 * scale)
    np.testing.assert_allclose(covariance, inverse, rtol=1e-7, atol=1e-8 * np.trace(inverse))


@settings(max_examples=40, deadline=None)
@given(seed=seeds, first=rounds, second=rounds, rank=st.integers(1, 2))
def test_more_tasks_never_make_the_mean_less_certain(
    seed: int, first: list[int], second: list[int], rank: int
) -> None:
    rng = np.random.default_rng(seed)
    earlier, stored = (sample_tasks(rng, each, DIMENSION) for each in (first, second))
    noise, task = 10.0 ** rng.uniform(-1.0, 1.0, 2)
    model = FactorModel(rng.standard_normal((DIMENSION, rank)), noise, task, np.ones(1), 1.0)
    _, alone = _found([], stored, model)
    _, covariance = _found(earlier, stored, model)
    np.testing.assert_allclose(covariance, covariance.T)
    assert np.linalg.eigvalsh(covariance).min() > 0.0
    assert np.linalg.eigvalsh(alone - covariance).min() > -1e-9 * np.trace(alone)


@settings(max_examples=20, deadline=None)
@given(seed=seeds, second=rounds, rank=st.integers(0, 2))
def test_without_earlier_tasks_nothing_changes(seed: int, second: list[int], rank: int) -> None:
    rng = np.random.default_rng(seed)
    stored = sample_tasks(rng, second, DIMENSION)
    model = FactorModel(rng.standard_normal((DIMENSION, rank)), 1.0, 0.5, np.ones(1), 1.0)
    mean, covariance = _found([], stored, model)
    those = _stacked(stored)
    recent = RecentTasks.zeros(DIMENSION, ()).with_tasks(those, 1.0, Spectrum.of(those))
    expected = expect(thin_tasks(recent, ()), model)
    np.testing.assert_array_equal(mean, expected.coefficients)
    np.testing.assert_array_equal(covariance, expected.mean_covariance)


@pytest.mark.slow
def test_the_mean_of_thousands_of_tasks_is_kept() -> None:
    # Only the latest 256 tasks are stored; the mean of all 1,500 is known better.
    rng, prior = np.random.default_rng(0), Hierarchical()
    memory, truth = prior.empty(DIMENSION), np.array([1.0, -1.0, 0.5])
    direction = np.array([1.0, 1.0, 0.0])
    for _ in range(30):
        batch = []
        for _ in range(50):
            x = rng.standard_normal((6, DIMENSION))
            w = truth + direction * rng.standard_normal() + 0.1 * rng.standard_normal(DIMENSION)
            batch.append((x, x @ w + 0.5 * rng.standard_normal(6)))
        none = TaskStatistics.zeros(DIMENSION, (0,))
        memory = prior.recount(memory, none, _stacked(batch))
    # The mean along the direction has a standard error of 1/√1500 = 0.026 if all tasks count, and
    # of 0.0625 if only 256 do.
    found = prior.prior(memory)
    assert found.mean_covariance is not None
    spread = float(found.noise_scale) ** 2 * direction @ found.mean_covariance @ direction / 4.0
    assert np.sqrt(spread) < 0.04
    assert abs((found.bias - truth) @ direction / 2.0) < 4 * 0.026
