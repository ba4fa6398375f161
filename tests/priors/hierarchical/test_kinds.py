"""Kinds of tasks: the algebra of their fit, what it finds, and what it must not change."""

import itertools
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.special import digamma
from tests.priors.hierarchical.dense import Data

from headstart.arrays import Floats, Integers
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.environments import Synthetic
from headstart.interfaces import Memory
from headstart.kernels import (
    KindVariances,
    ThinTasks,
    climb_kinds,
    information,
    partition,
)
from headstart.policies import BayesUCB
from headstart.priors import Hierarchical
from headstart.priors.hierarchical.factors import thin_tasks
from headstart.priors.hierarchical.recent import RecentTasks
from headstart.simulation import Learner, evaluate

DIMENSION = 2
HORIZONS = (1, 5, 2, 6, 4)
VARIANCES = KindVariances(noise=0.4, task=0.3, between=1.5, mean=2.0)
CORNERS = np.array([[2.0, 0.0, 0.0, 0.0], [0.0, 2.0, 0.0, 0.0], [0.0, 0.0, 2.0, 0.0]])


def _sample(seed: int, horizons: tuple[int, ...], means: Floats) -> Data:
    """Tasks of kinds with these means (C, d), in turn; a deviation of 0.2 within and of noise."""
    rng, data = np.random.default_rng(seed), []
    for j, horizon in enumerate(horizons):
        x = rng.standard_normal((horizon, means.shape[1]))
        w = means[j % len(means)] + 0.2 * rng.standard_normal(means.shape[1])
        data.append((x, x @ w + 0.2 * rng.standard_normal(horizon)))
    return data


def _thin(data: Data) -> ThinTasks:
    dimension = data[0][0].shape[1]
    recent = RecentTasks.zeros(dimension, (), directions=dimension)
    for x, y in data:
        recent = recent.with_task(TaskStatistics.from_data(x, y), 1.0)
    return thin_tasks(recent, ())


def _dense_deviance(data: Data, kinds: Integers, mean: float, centre: Floats) -> float:
    """−2 log p(rewards, division), less n log 2π, from one Gaussian over all rewards."""
    x, y = (np.concatenate(part) for part in zip(*data, strict=True))
    owner = np.repeat(np.arange(len(data)), [len(x) for x, _ in data])
    same = VARIANCES.task * (owner[:, None] == owner) + mean
    same = same + VARIANCES.between * (kinds[owner][:, None] == kinds[owner])
    covariance = VARIANCES.noise * np.eye(len(y)) + same * (x @ x.T)
    gap = y - x @ centre
    deviance = np.linalg.slogdet(covariance)[1] + gap @ np.linalg.solve(covariance, gap)
    sizes = np.unique(kinds, return_counts=True)[1]
    division = sum(math.lgamma(n) for n in sizes.tolist()) - math.lgamma(len(data) + 1)
    return float(deviance) - 2.0 * division


def _divisions(n: int) -> list[Integers]:
    """All divisions of n tasks: kinds are numbered in the order in which they come."""
    every = itertools.product(*(range(j + 1) for j in range(n)))
    return [
        np.array(one)
        for one in every
        if all(k <= max((-1, *one[:j])) + 1 for j, k in enumerate(one))
    ]


def test_the_best_division_of_a_tree_is_the_most_likely_one() -> None:
    data, centre = _sample(0, HORIZONS, np.array([[2.0, 0.0], [0.0, -1.0]])), np.array([0.5, -0.2])
    merges = np.array([[0, 2], [1, 3], [5, 4], [7, 6]])
    known = information(_thin(data), VARIANCES.noise, VARIANCES.task)
    kinds, deviance = partition(known, np.ones(5), merges, centre, VARIANCES.between)
    # Every node of the tree is whole or divided: ((0 2) 4) against (1 3).
    trees = [one for one in _divisions(5) if _fits(one)]
    assert len(trees) == 7
    expected = [_dense_deviance(data, one, 0.0, centre) for one in trees]
    assert deviance == pytest.approx(min(expected), rel=1e-10)
    best = trees[int(np.argmin(expected))]
    np.testing.assert_array_equal(kinds[:, None] == kinds, best[:, None] == best)


def _fits(kinds: Integers) -> bool:
    """Whether tasks that are together have the whole of some node of the tree to themselves."""
    nodes = [{0}, {1}, {2}, {3}, {4}, {0, 2}, {1, 3}, {0, 2, 4}, {0, 1, 2, 3, 4}]
    return all(set(np.flatnonzero(kinds == k).tolist()) in nodes for k in range(kinds.max() + 1))


def test_the_deviance_is_a_bound_of_that_over_all_divisions() -> None:
    data = _sample(1, HORIZONS, np.array([[3.0, 0.0], [0.0, -3.0]]))
    every = [_dense_deviance(data, one, VARIANCES.mean, np.zeros(2)) for one in _divisions(5)]
    exact = -2.0 * np.logaddexp.reduce(-np.array(every) / 2.0)
    tasks, start = _thin(data), np.eye(2)[[0, 1, 0, 1, 0]]
    centre, bounds = np.zeros(2), []
    for _ in range(40):  # the means and their centre, of which each is given the other
        model, _, bound = climb_kinds(tasks, start, centre, VARIANCES, 0, 1e-6, 1e6)
        centre = model.centre
        bounds.append(bound)
    assert (np.diff(bounds) < 1e-9).all()
    assert exact < bounds[-1] < exact + 3.0


def test_a_step_is_that_of_the_model_written_out() -> None:
    data = _sample(2, HORIZONS, np.array([[1.0, 0.0], [0.0, -1.0]]))
    rng = np.random.default_rng(3)
    start, centre = rng.dirichlet([1.0, 1.0], len(data)), rng.standard_normal(DIMENSION)
    model, found, _ = climb_kinds(_thin(data), start, centre, VARIANCES, 1, 1e-9, 1e9)
    means, covariances, centre = _dense_means(data, start, centre, VARIANCES)
    expected = _dense_responsibilities(data, means, covariances, start.sum(0))
    np.testing.assert_allclose(found, expected, rtol=1e-8)
    variances = _dense_variances(data, expected, means, covariances, centre)
    np.testing.assert_allclose(model.variances, variances, rtol=1e-8)
    means, covariances, centre = _dense_means(data, expected, centre, variances)
    np.testing.assert_allclose(model.means, means, rtol=1e-8)
    np.testing.assert_allclose(model.covariances, covariances, rtol=1e-8)
    np.testing.assert_allclose(model.centre, centre, rtol=1e-8)


def _dense_means(
    data: Data, shares: Floats, centre: Floats, variances: KindVariances
) -> tuple[Floats, Floats, Floats]:
    means, covariances = [], []
    for c in range(shares.shape[1]):
        precision = np.eye(DIMENSION) / variances.between
        moment = centre / variances.between
        for (x, y), share in zip(data, shares[:, c], strict=True):
            inverse = np.linalg.inv(variances.noise * np.eye(len(x)) + variances.task * x @ x.T)
            precision, moment = (
                precision + share * x.T @ inverse @ x,
                moment + share * x.T @ inverse @ y,
            )
        covariances.append(np.linalg.inv(precision))
        means.append(covariances[-1] @ moment)
    precision = shares.shape[1] / variances.between + 1.0 / variances.mean
    return np.array(means), np.array(covariances), sum(means) / variances.between / precision


def _dense_responsibilities(
    data: Data, means: Floats, covariances: Floats, counts: Floats
) -> Floats:
    logs = np.empty((len(data), len(means)))
    for j, (x, y) in enumerate(data):
        inverse = np.linalg.inv(VARIANCES.noise * np.eye(len(x)) + VARIANCES.task * x @ x.T)
        for c, (mean, covariance) in enumerate(zip(means, covariances, strict=True)):
            gap = y - x @ mean
            error = gap @ inverse @ gap + np.trace(inverse @ x @ covariance @ x.T)
            logs[j, c] = digamma(counts[c]) - error / 2.0
    shares = np.exp(logs - logs.max(1, keepdims=True))
    return np.asarray(shares / shares.sum(1, keepdims=True))


def _dense_variances(
    data: Data, shares: Floats, means: Floats, covariances: Floats, centre: Floats
) -> KindVariances:
    """Expectation-maximisation with w = h + ε of every task, given every kind, as missing data."""
    of_noise, of_task, count = 0.0, 0.0, sum(len(y) for _, y in data)
    for (x, y), share in zip(data, shares, strict=True):
        total = VARIANCES.noise * np.eye(len(x)) + VARIANCES.task * x @ x.T
        gain = VARIANCES.task * x.T @ np.linalg.inv(total)
        left = VARIANCES.task * (np.eye(DIMENSION) - gain @ x)
        rest = np.eye(len(x)) - x @ gain
        for c in range(len(means)):
            gap, spread = y - x @ means[c], x @ covariances[c] @ x.T
            second = np.outer(gap, gap) + spread
            of_task += share[c] * np.trace(gain @ second @ gain.T + left)
            of_noise += share[c] * np.trace(rest @ second @ rest.T + x @ left @ x.T)
    spread = 1.0 / (len(means) / VARIANCES.between + 1.0 / VARIANCES.mean)
    between = ((means - centre) ** 2).sum(-1) + np.trace(covariances, axis1=1, axis2=2)
    return KindVariances(
        noise=of_noise / count,
        task=of_task / (len(data) * DIMENSION),
        between=float(between.mean()) / DIMENSION + spread,
        mean=float(centre @ centre) / DIMENSION + spread,
    )


@settings(max_examples=20, deadline=None)
@given(seed=st.integers(0, 999), n_kinds=st.integers(1, 4))
def test_steps_lower_the_deviance_and_order_is_arbitrary(seed: int, n_kinds: int) -> None:
    rng = np.random.default_rng(seed)
    data = _sample(seed, (6,) * 9, 2.0 * rng.standard_normal((3, DIMENSION)))
    start, centre = rng.dirichlet(np.ones(n_kinds), len(data)), np.zeros(DIMENSION)
    _, found, before = climb_kinds(_thin(data), start, centre, VARIANCES, 0, 1e-6, 1e6)
    for steps in range(1, 6):
        model, found, deviance = climb_kinds(
            _thin(data), start, centre, VARIANCES, steps, 1e-6, 1e6
        )
        if len(model.counts) == n_kinds:  # no kind has been left out
            assert deviance < before + 1e-7
            before = deviance
        np.testing.assert_allclose(found.sum(1), 1.0, rtol=1e-12)
    tasks, kinds = rng.permutation(len(data)), rng.permutation(n_kinds)
    _, other, _ = climb_kinds(
        _thin([data[j] for j in tasks]),
        np.ascontiguousarray(start[tasks][:, kinds]),
        centre,
        VARIANCES,
        5,
        1e-6,
        1e6,
    )
    if found.shape[1] == n_kinds:
        np.testing.assert_allclose(other, found[tasks][:, kinds], atol=1e-6)


def _learn(estimator: Hierarchical, data: Data) -> Memory:
    memory = estimator.empty(data[0][0].shape[1])
    for x, y in data:
        memory = estimator.absorb(memory, TaskStatistics.from_data(x, y))
    return memory


def test_clear_kinds_are_found() -> None:
    estimator = Hierarchical()
    memory = _learn(estimator, _sample(4, (8,) * 24, CORNERS))
    prior = estimator.prior(memory)
    found = prior.mixture
    assert found is not None
    # Three kinds, one that was never seen, and outliers.
    assert found.n_kinds == 3
    np.testing.assert_allclose(found.weights, [*[0.99 * 0.32] * 3, 0.99 * 0.04, 0.01], rtol=1e-3)
    order = found.bias[:3, :3].argmax(1)
    assert sorted(order.tolist()) == [0, 1, 2]
    # A mean of eight tasks errs by 0.2/√8 in every coordinate, and by noise.
    np.testing.assert_allclose(found.bias[:3], CORNERS[order], atol=0.35)
    # Rewards of one arm tell the kind, and with it what all other arms are worth.
    x, y = np.eye(4)[:1], np.array([2.0])
    revised = prior.revised(TaskStatistics.from_data(x, y))
    np.testing.assert_allclose(revised.bias, CORNERS[0], atol=0.35)


@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_units_of_rewards_and_features_change_nothing(scale: float) -> None:
    data = _sample(5, (8,) * 12, CORNERS)
    estimator = Hierarchical()
    plain = estimator.prior(_learn(estimator, data)).mixture
    found = estimator.prior(_learn(estimator, [(x / scale, scale * y) for x, y in data])).mixture
    assert plain is not None
    assert found is not None
    assert found.n_kinds == plain.n_kinds == 3
    np.testing.assert_allclose(found.bias, scale**2 * plain.bias, rtol=1e-4)


def _arrays(prior: Prior) -> dict[str, Floats]:
    assert prior.mixture is not None
    return {name: value for name, value in vars(prior).items() if name != "mixture"} | vars(
        prior.mixture
    )


def test_where_there_are_no_kinds_the_prior_is_the_same_to_the_bit() -> None:
    data = _sample(6, (8,) * 20, np.ones((1, 4)))
    priors = [
        estimator.prior(_learn(estimator, data))
        for estimator in (Hierarchical(), Hierarchical(find_kinds=False))
    ]
    one, other = (_arrays(prior) for prior in priors)
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name])


def test_replications_with_kinds_leave_others_as_they_are() -> None:
    with_kinds, without = _sample(7, (8,) * 12, CORNERS), _sample(8, (8,) * 12, np.ones((1, 4)))
    estimator = Hierarchical()
    memory = estimator.empty(4, (2,))
    for pair in zip(with_kinds, without, strict=True):
        x, y = (np.stack(part) for part in zip(*pair, strict=True))
        memory = estimator.absorb(memory, TaskStatistics.from_data(x, y))
    both, test = estimator.prior(memory), TaskStatistics.from_data(np.eye(4), [1.0, 2.0, 9.0, 4.0])
    twice = TaskStatistics(
        *(np.stack([part, part]) for part in (test.gram, test.moment)),
        *(np.stack([part, part]) for part in (test.count, test.sum_of_squares)),
    )
    assert both.mixture is not None
    np.testing.assert_array_equal(both.mixture.n_kinds, [3.0, 0.0])
    for i, data in enumerate((with_kinds, without)):
        alone = estimator.prior(_learn(estimator, data))
        np.testing.assert_array_equal(both.bias[i], alone.bias)
        one, other = both.revised(twice), alone.revised(test)
        np.testing.assert_array_equal(one.bias[i], other.bias)
        np.testing.assert_array_equal(one.regularization[i], other.regularization)


def test_kinds_are_of_use() -> None:
    environment = Synthetic(dimension=8, n_kinds=4, variance=16.0, reward="linear")
    regret = []
    for find_kinds in (True, False):
        learner = Learner("learner", BayesUCB(), Hierarchical(find_kinds=find_kinds))
        found = evaluate(
            environment, [learner], n_training_tasks=24, n_test_tasks=3, horizon=20, replications=20
        )
        regret.append(float(found.regret.mean()))
    assert regret[0] < 0.85 * regret[1]
