"""Tasks that are no longer stored: what they say of the mean task."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import chi2
from tests.priors.hierarchical.dense import Data, sample_tasks, statistics

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.kernels import FactorModel
from headstart.priors import Hierarchical, _memories
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.earlier import EarlierTasks, changed_by
from headstart.priors.hierarchical.factors import FactorFit, thin_tasks
from headstart.priors.hierarchical.recent import CAPACITY, RecentTasks
from headstart.priors.hierarchical.sums import Sums

pytestmark = pytest.mark.slow

DIMENSION = 3
LAMBDAS = grid.regularizations(np.array(1.0))
seeds = st.integers(0, 2**32 - 1)
# Fewer rounds than features, too; together they have data along every direction.
rounds = st.lists(st.integers(1, 9), min_size=5, max_size=9)


def _model(rng: np.random.Generator, rank: int) -> FactorModel:
    """A model with λ's within the grid."""
    noise, task = 10.0 ** rng.uniform(-1.0, 1.0, 2)
    return FactorModel(rng.standard_normal((DIMENSION, rank)), noise, task, np.ones(1), 1.0)


def _found(earlier: Data, stored: Data, model: FactorModel) -> EarlierTasks | None:
    """From the sums over all tasks, and the thin form of those that are stored."""
    sums = Sums.zeros(DIMENSION, len(LAMBDAS), ())
    for task in statistics([*earlier, *stored]):
        sums = Sums(**_memories.merge(sums.to_memory(), Sums.of_task(task, LAMBDAS).to_memory()))
    recent = RecentTasks.zeros(DIMENSION, ())
    for task in statistics(stored):
        recent = recent.with_task(task, 1.0)
    return EarlierTasks.of(sums, LAMBDAS, thin_tasks(recent, ()), model)


def _inverse(x: Floats, model: FactorModel) -> Floats:
    """(V + λI)⁻¹ at λ = s²/σ², between the two λ's of the grid around it."""
    variance = model.task + (model.loadings**2).sum() / DIMENSION
    first, shares = grid.neighbours(LAMBDAS, model.noise / variance)
    inverses = [
        np.linalg.inv(x.T @ x + each * np.eye(DIMENSION)) for each in LAMBDAS[first : first + 2]
    ]
    return np.asarray(shares[0] * inverses[0] + shares[1] * inverses[1])


@settings(max_examples=40, deadline=None)
@given(seed=seeds, first=rounds, second=rounds, rank=st.integers(1, 2))
def test_it_is_what_the_earlier_tasks_alone_say(
    seed: int, first: list[int], second: list[int], rank: int
) -> None:
    rng = np.random.default_rng(seed)
    earlier, stored = (sample_tasks(rng, each, DIMENSION) for each in (first, second))
    model = _model(rng, rank)
    found = _found(earlier, stored, model)
    assert found is not None
    shares, variances, of_tasks = [], [], model.loadings @ model.loadings.T
    for data in (earlier, stored):
        information = [_inverse(x, model) @ x.T @ x for x, _ in data]
        shares.append(sum(information, np.zeros((DIMENSION, DIMENSION))))
        variances.append(sum((g @ of_tasks @ g.T for g in information), np.zeros_like(of_tasks)))
    ridges = sum((_inverse(x, model) @ x.T @ y for x, y in earlier), np.zeros(DIMENSION))
    # Few short tasks may leave a direction almost without data, and then without digits.
    scale = float(np.linalg.cond(shares[0]))
    mean = np.linalg.solve(shares[0], ridges)
    np.testing.assert_allclose(found.basis @ found.mean, mean, rtol=1e-9, atol=1e-11 * scale)
    whole = model.task + np.trace(of_tasks) / DIMENSION
    total = whole * shares[0] + np.trace(shares[0]) / np.trace(shares[1]) * variances[1]
    inverse = np.linalg.inv(shares[0])
    expected = inverse @ total @ inverse
    size = float(np.abs(expected).max())
    np.testing.assert_allclose(
        found.basis @ found.covariance @ found.basis.T, expected, atol=1e-12 * scale * size
    )


@settings(max_examples=40, deadline=None)
@given(seed=seeds, first=rounds, rank=st.integers(1, 2), times=st.integers(1, 5))
def test_its_covariance_is_at_least_the_true_one(
    seed: int, first: list[int], rank: int, times: int
) -> None:
    # Earlier tasks of the same designs as the stored ones, each so many times.
    rng = np.random.default_rng(seed)
    stored = sample_tasks(rng, first, DIMENSION)
    model = _model(rng, rank)
    found = _found(stored * times, stored, model)
    assert found is not None
    of_tasks = model.loadings @ model.loadings.T + model.task * np.eye(DIMENSION)
    information, scatter = np.zeros((2, DIMENSION, DIMENSION))
    for x, _ in stored * times:
        estimate = _inverse(x, model) @ x.T
        information = information + estimate @ x
        rewards = x @ of_tasks @ x.T + model.noise * np.eye(len(x))
        scatter = scatter + estimate @ rewards @ estimate.T
    inverse = np.linalg.inv(information)
    stated = found.basis @ found.covariance @ found.basis.T
    excess = np.linalg.eigvalsh(stated - inverse @ scatter @ inverse)
    assert excess.min() > -1e-9 * np.trace(stated)
    # The mean variance along L counts twice, at most; and the λ is between two of the grid.
    assert np.trace(stated) < 2.5 * np.trace(inverse @ scatter @ inverse)


@settings(max_examples=40, deadline=None)
@given(seed=seeds, known=st.integers(1, DIMENSION))
def test_both_estimates_count_by_their_precision(seed: int, known: int) -> None:
    rng = np.random.default_rng(seed)
    roots = rng.standard_normal((2, DIMENSION, 2 * DIMENSION))
    covariance, other = roots @ roots.mT
    basis = np.linalg.qr(rng.standard_normal((DIMENSION, DIMENSION))).Q[:, :known]
    earlier = EarlierTasks(basis, rng.standard_normal(known), other[:known, :known])
    mean = rng.standard_normal(DIMENSION)
    found_mean, found_covariance = earlier.added_to(mean, covariance)
    precision = np.linalg.inv(covariance)
    weight = basis @ np.linalg.inv(earlier.covariance)
    expected = np.linalg.inv(precision + weight @ basis.T)
    gap = earlier.mean - basis.T @ mean
    total = gap @ np.linalg.solve(basis.T @ covariance @ basis + earlier.covariance, gap)
    if total <= chi2.isf(1e-5, known):
        np.testing.assert_allclose(found_covariance, expected, atol=1e-9)
        np.testing.assert_allclose(
            found_mean, expected @ (precision @ mean + weight @ earlier.mean), atol=1e-8
        )
    else:  # something between the two
        assert (np.linalg.eigvalsh(found_covariance - expected) > -1e-9).all()
        assert (np.linalg.eigvalsh(covariance - found_covariance) > -1e-9).all()


@settings(max_examples=100, deadline=None)
@given(seed=seeds, size=st.integers(1, 30), ratio=st.floats(0.01, 1e6))
def test_a_change_of_mean_explains_the_gap(seed: int, size: int, ratio: float) -> None:
    rng = np.random.default_rng(seed)
    variances = 10.0 ** rng.uniform(-3.0, 3.0, size)
    squares = variances * rng.chisquare(1.0, size)
    limit = chi2.isf(1e-5, size)
    squares *= ratio * limit / (squares / variances).sum()
    found = changed_by(squares, variances)
    if ratio <= 1.0 - 1e-9:
        assert found == 0.0
    elif ratio >= 1.0 + 1e-9:
        expected = max(limit / ratio, size)
        assert (squares / (variances + found)).sum() == pytest.approx(expected, rel=1e-6)


def _learn(tasks: list[TaskStatistics]) -> Memory:
    estimator = Hierarchical()
    memory = estimator.empty(DIMENSION)
    for task in tasks:
        memory = estimator.absorb(memory, task)
    return memory


def _with_direction(memory: Memory, loading: float, *, noise: float, task: float) -> Memory:
    """With a fit of one direction, along the first feature."""
    fit = FactorFit.zeros(DIMENSION, (), 0).to_memory()
    fit["loadings"][0, 0] = loading
    fit |= {"rank": np.array(1.0), "fitted_mean": np.array(1.0), "fitted_at": memory["seen"]}
    fit |= {"fitted_noise": np.array(noise), "fitted_task": np.array(task)}
    return dict(memory) | fit


def test_a_direction_found_or_lost_leaves_the_mean() -> None:
    # Of 600 tasks 64 are stored: from these alone the mean is √(600/64) = 3 times as uncertain.
    moved, error, scale = [], [], np.sqrt((0.49 + 0.05) / 600)
    for seed in range(6):
        data = sample_tasks(np.random.default_rng(seed), (8,) * 600, DIMENSION)
        memory = _learn(statistics(data))
        without = dict(memory) | FactorFit.zeros(DIMENSION, (), 0).to_memory()
        one = _with_direction(memory, 0.3, noise=0.25, task=0.46)
        biases = [Hierarchical().prior(each).bias for each in (without, one)]
        moved.append((biases[1] - biases[0]) / scale)
        error.append((biases[1] - 1.0) / scale)
    assert np.abs(moved).max() < 0.3
    # 18 numbers: their mean square has a standard error of a third.
    assert np.sqrt(np.mean(np.square(error))) < 1.5


def test_with_all_tasks_stored_there_are_no_earlier_ones() -> None:
    data = sample_tasks(np.random.default_rng(0), (4,) * CAPACITY, DIMENSION)
    model = FactorModel(np.ones((DIMENSION, 1)), 0.3, 0.5, np.ones(1), 1.0)
    assert _found([], data, model) is None
    assert _found(data[:1], data[1:], model) is not None


@settings(max_examples=5, deadline=None)
@given(seed=seeds, number=st.integers(0, 15))
def test_replacing_an_earlier_task_equals_absorbing_afresh(seed: int, number: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = statistics(sample_tasks(rng, (5,) * (CAPACITY + 16), DIMENSION))
    after = statistics(sample_tasks(rng, (7,), DIMENSION))[0]
    estimator = Hierarchical()
    replaced = estimator.absorb(estimator.absorb(_learn(tasks), tasks[number], -1.0), after)
    afresh = _learn([*tasks[:number], *tasks[number + 1 :], after])
    one, two = (
        estimator.prior(_with_direction(each, 0.5, noise=0.25, task=0.4))
        for each in (replaced, afresh)
    )
    np.testing.assert_allclose(one.bias, two.bias, atol=1e-9)
    np.testing.assert_allclose(one.regularization, two.regularization, atol=1e-8)


def test_the_order_of_earlier_tasks_does_not_matter() -> None:
    rng = np.random.default_rng(1)
    tasks = statistics(sample_tasks(rng, (5,) * (CAPACITY + 40), DIMENSION))
    order = rng.permutation(40)
    memories = (_learn(tasks), _learn([*(tasks[i] for i in order), *tasks[40:]]))
    one, two = (
        Hierarchical().prior(_with_direction(each, 0.5, noise=0.25, task=0.4)) for each in memories
    )
    np.testing.assert_allclose(one.bias, two.bias, atol=1e-10)
    np.testing.assert_allclose(one.regularization, two.regularization, atol=1e-9)


def test_a_mean_that_changed_is_that_of_the_latest_tasks() -> None:
    rng = np.random.default_rng(2)
    before = sample_tasks(rng, (8,) * 300, DIMENSION)
    now = sample_tasks(rng, (8,) * CAPACITY, DIMENSION, mean=4.0)
    memory = _learn(statistics([*before, *now]))
    prior = Hierarchical().prior(_with_direction(memory, 0.3, noise=0.25, task=0.46))
    # The standard error of 64 tasks is 0.7/8, and a little is left of the earlier ones.
    np.testing.assert_allclose(prior.bias, 4.0, atol=0.35)
