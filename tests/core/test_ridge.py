"""The algebra: laws of statistics and estimates, and small cases worked out by hand."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from tests.core.seen import seen

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics

pytestmark = pytest.mark.slow

seeds = st.integers(0, 2**32 - 1)
numbers = st.floats(-10, 10, allow_subnormal=False)


def data(horizon: int, dimension: int) -> st.SearchStrategy[tuple[Floats, Floats]]:
    return st.tuples(
        hnp.arrays(np.float64, (horizon, dimension), elements=numbers),
        hnp.arrays(np.float64, (horizon,), elements=numbers),
    )


sizes = st.tuples(st.integers(0, 12), st.integers(1, 6))
tasks = sizes.flatmap(lambda size: data(*size))


def assert_same(one: TaskStatistics, two: TaskStatistics) -> None:
    # Sums of at most 12 products of at most 10 · 10 round by less than 1e-12.
    for name in ("gram", "moment", "count", "sum_of_squares"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=0, atol=1e-11)


@given(task=tasks, seed=seeds)
def test_rewards_commute(task: tuple[Floats, Floats], seed: int) -> None:
    x, y = task
    order = np.random.default_rng(seed).permutation(len(y))
    one, two = TaskStatistics.from_data(x, y), TaskStatistics.from_data(x[order], y[order])
    assert_same(one, two)
    prior = Prior(np.ones(x.shape[1]), np.array(1.0))
    # λ = 1 bounds the inverse by 1, and the moment's rounding by 1e-11.
    np.testing.assert_allclose(
        RidgeEstimate(one, prior).parameter, RidgeEstimate(two, prior).parameter, atol=1e-9
    )


@given(task=tasks, cut=st.integers(0, 12))
def test_adding_statistics_equals_observing_everything(
    task: tuple[Floats, Floats], cut: int
) -> None:
    x, y = task
    parts = TaskStatistics.from_data(x[:cut], y[:cut]) + TaskStatistics.from_data(x[cut:], y[cut:])
    assert_same(parts, TaskStatistics.from_data(x, y))


@given(task=tasks)
def test_no_data_is_the_neutral_element(task: tuple[Floats, Floats]) -> None:
    statistics = TaskStatistics.from_data(*task)
    assert_same(statistics + TaskStatistics.zeros(statistics.dimension), statistics)


@given(task=tasks, largest_eigenvalue=st.floats(1e-3, 1e3))
def test_without_data_the_estimate_is_the_prior(
    task: tuple[Floats, Floats], largest_eigenvalue: float
) -> None:
    bias = task[0].sum(0)
    prior = Prior(bias, np.array(largest_eigenvalue))
    estimate = RidgeEstimate(TaskStatistics.zeros(len(bias)), prior)
    np.testing.assert_allclose(estimate.parameter, bias, rtol=1e-12, atol=1e-12)
    assert abs(float(estimate.log_determinant)) < 1e-12


@given(task=tasks, largest_eigenvalue=st.floats(1e-3, 1e3))
def test_estimate_minimises_the_biased_objective(
    task: tuple[Floats, Floats], largest_eigenvalue: float
) -> None:
    # At ŵ the gradient of ‖Xw − y‖² + λ‖w − h‖² is zero.
    x, y = task
    h = np.linspace(-1, 1, x.shape[1])
    prior = Prior(h, np.array(largest_eigenvalue))
    w = RidgeEstimate(TaskStatistics.from_data(x, y), prior).parameter
    gradient = x.T @ (x @ w - y) + largest_eigenvalue * (w - h)
    assert np.abs(gradient).max() < 1e-8 * (1 + np.abs(x).sum() ** 2)


@given(task=tasks, largest_eigenvalue=st.floats(1e-3, 1e3), seed=seeds)
def test_a_scalar_regularization_is_its_matrix(
    task: tuple[Floats, Floats], largest_eigenvalue: float, seed: int
) -> None:
    x, y = task
    rng = np.random.default_rng(seed)
    bias, arms = rng.standard_normal((x.shape[1],)), rng.standard_normal((3, x.shape[1]))
    statistics = TaskStatistics.from_data(x, y)
    scalar = RidgeEstimate(statistics, Prior(bias, np.array(largest_eigenvalue)))
    matrix = RidgeEstimate(statistics, Prior(bias, largest_eigenvalue * np.eye(x.shape[1])))
    one, two = scalar.read(arms), matrix.read(arms)
    other = seen(two)
    for name, value in seen(one).items():
        np.testing.assert_allclose(value, other[name], rtol=1e-7, atol=1e-9, err_msg=name)
    assert scalar.prior.isotropic
    assert not matrix.prior.isotropic


@given(seed=seeds)
def test_leading_axes_are_independent(seed: int) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((2, 3, 5, 4)), rng.standard_normal((2, 3, 5))
    bias, ridge = rng.standard_normal((2, 3, 4)), rng.uniform(0.1, 10, (2, 3))
    arms = rng.standard_normal((2, 3, 6, 4))
    whole = RidgeEstimate(TaskStatistics.from_data(x, y), Prior(bias, ridge))
    estimates = whole.read(arms)
    for i in np.ndindex(2, 3):
        prior = Prior(bias[i], np.asarray(ridge[i]))
        part = RidgeEstimate(TaskStatistics.from_data(x[i], y[i]), prior).read(arms[i])
        own = seen(estimates[i])
        for name, value in seen(part).items():
            np.testing.assert_allclose(own[name], value, rtol=1e-12, atol=1e-12, err_msg=name)


def test_one_dimension_by_hand() -> None:
    # Features 1 and 2 with rewards 3 and 4: V = 1 + 4 = 5, b = 3 + 8 = 11, q = 9 + 16 = 25.
    statistics = TaskStatistics.from_data([[1.0], [2.0]], [3.0, 4.0])
    assert statistics.gram == 5
    assert statistics.moment == 11
    assert statistics.count == 2
    assert statistics.sum_of_squares == 25
    # With λ = 3 and h = 7: ŵ = (11 + 21) / (5 + 3) = 4.
    estimate = RidgeEstimate(statistics, Prior(np.array([7.0]), np.array(3.0)))
    assert estimate.parameter == pytest.approx(4, abs=1e-14)
    assert estimate.predict([[2.0], [-1.0]]) == pytest.approx(np.array([8, -4]), abs=1e-13)
    # ‖x‖ = |x| / √8, log det(I + V/λ) = log(8/3).
    assert estimate.widths([[2.0], [-4.0]]) == pytest.approx(np.array([0.5, 1]) * math.sqrt(2))
    assert float(estimate.log_determinant) == pytest.approx(math.log(8 / 3))
    # β = R √(2 log(1/δ) + log(8/3)) + √3 · error, and at δ = e⁻² the first part is R √(4 + …).
    radius = estimate.radius(
        noise_scale=0.5, failure_probability=math.exp(-2), bias_error=np.array(10.0)
    )
    expected = 0.5 * math.sqrt(4 + math.log(8 / 3)) + math.sqrt(3) * 10
    assert float(radius) == pytest.approx(expected)


def test_two_dimensions_by_hand() -> None:
    # x = (1, 0), (1, 1), (0, 1) with y = 1, 2, 3: V = [[2, 1], [1, 2]], b = (3, 5), q = 14.
    statistics = TaskStatistics.from_data([[1, 0], [1, 1], [0, 1]], [1.0, 2.0, 3.0])
    np.testing.assert_array_equal(statistics.gram, [[2, 1], [1, 2]])
    np.testing.assert_array_equal(statistics.moment, [3, 5])
    assert statistics.sum_of_squares == 14
    # λ = 1, h = (1, -1): (V + I)⁻¹ = [[3, -1], [-1, 3]] / 8, b + h = (4, 4), ŵ = (1, 1).
    estimate = RidgeEstimate(statistics, Prior(np.array([1.0, -1.0]), np.array(1.0)))
    np.testing.assert_allclose(estimate.precision, [[3, 1], [1, 3]])
    np.testing.assert_allclose(estimate.inverse, np.array([[3, -1], [-1, 3]]) / 8, atol=1e-15)
    np.testing.assert_allclose(estimate.parameter, [1, 1], atol=1e-15)
    # ‖(1, 0)‖² = 3/8, ‖(1, 1)‖² = 4/8, ‖(1, -1)‖² = 8/8; det(I + V) = 8.
    widths = estimate.widths([[1, 0], [1, 1], [1, -1]])
    np.testing.assert_allclose(widths, [math.sqrt(3 / 8), math.sqrt(1 / 2), 1], atol=1e-15)
    assert float(estimate.log_determinant) == pytest.approx(math.log(8))


def test_full_matrix_by_hand() -> None:
    # Λ = [[2, 1], [1, 2]], one observation x = (1, 1), y = 6: V + Λ = [[3, 2], [2, 3]], det 5.
    # h = (1, 0): Λh = (2, 1), b + Λh = (8, 7), ŵ = [[3, -2], [-2, 3]](8, 7)/5 = (2, 1).
    prior = Prior(np.array([1.0, 0.0]), np.array([[2.0, 1.0], [1.0, 2.0]]))
    estimate = RidgeEstimate(TaskStatistics.from_data([[1, 1]], [6.0]), prior)
    np.testing.assert_allclose(estimate.parameter, [2, 1], atol=1e-14)
    # det(V + Λ)/det Λ = 5/3; the largest eigenvalue of Λ is 3; ‖(1, 2) − h‖² in Λ = 2·2·2 = 8.
    assert float(estimate.log_determinant) == pytest.approx(math.log(5 / 3))
    assert float(prior.largest_eigenvalue) == pytest.approx(3)
    assert float(prior.distance(np.array([1.0, 2.0]))) == pytest.approx(math.sqrt(8))
    np.testing.assert_allclose(prior.prior_moment(prior.bias), [2, 1])


def test_confidence_set_by_hand() -> None:
    # One observation x = 1, y = 2, λ = 1, h = 0: ŵ = 1, and w is in the set of Theorem 1 when
    # √2 |1 − w| ≤ R √(2 log(1/δ) + log 2) + |w|. With R = 0: √2 |1 − w| ≤ |w|, that is
    # w ≥ √2/(1 + √2) = 0.5858 and, above 1, w ≤ √2/(√2 − 1) = 3.4142.
    one = TaskStatistics.from_data([[1.0]], [2.0])
    estimate = RidgeEstimate(one, Prior(np.array([0.0]), np.array(1.0)))
    inside = {
        w: bool(estimate.contains([w], noise_scale=0.0, failure_probability=0.1))
        for w in (0.58, 0.59, 3.41, 3.42)
    }
    assert inside == {0.58: False, 0.59: True, 3.41: True, 3.42: False}
    # R = 1 and δ = e⁻²: the first part is √(4 + log 2) = 2.1664, and at w = -2 the sides are
    # 4.2426 and 4.1664, at w = -1.8 they are 3.9598 and 3.9664.
    assert not estimate.contains([-2.0], noise_scale=1.0, failure_probability=math.exp(-2))
    assert estimate.contains([-1.8], noise_scale=1.0, failure_probability=math.exp(-2))


def test_confidence_set_contains_the_parameter_with_its_probability() -> None:
    # 4,000 tasks of 30 rounds at δ = 0.1. The theorem promises at most 10 % misses over all
    # rounds together, so at the last one; three standard errors of 0.1 are 0.014.
    rng = np.random.default_rng(0)
    w = rng.standard_normal((4_000, 3))
    x = rng.standard_normal((4_000, 30, 3))
    y = (x @ w[:, :, None])[..., 0] + rng.standard_normal((4_000, 30))
    estimate = RidgeEstimate(TaskStatistics.from_data(x, y), Prior(np.zeros_like(w), np.array(1.0)))
    held = estimate.contains(w, noise_scale=1.0, failure_probability=0.1)
    assert held.mean() > 0.9 - 0.014
    # With a tenth of the noise promised, the set is too small, and the check can fail.
    small = estimate.contains(w, noise_scale=0.1, failure_probability=0.1)
    assert small.mean() < 0.8
