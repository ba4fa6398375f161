"""AVG's and RR's bias for two tasks, worked out by hand."""

import numpy as np
import pytest

from headstart.core.statistics import TaskStatistics
from headstart.interfaces import PriorEstimator
from headstart.priors import Average, Fixed, Pooled

# d = 1. Task 1: x = 1, 1 and y = 2, 4, so V = 2, b = 6, T = 2. Task 2: x = 3, y = 5: V = 9, b = 15.
FIRST = TaskStatistics.from_data([[1.0], [1.0]], [2.0, 4.0])
SECOND = TaskStatistics.from_data([[3.0]], [5.0])


def _bias(estimator: PriorEstimator, *tasks: TaskStatistics) -> float:
    memory = estimator.empty(1)
    for task in tasks:
        memory = estimator.absorb(memory, task)
    return float(estimator.prior(memory).bias[0])


def test_average_by_hand() -> None:
    # λ = 1: ŵ₁ = 6/3 = 2, ŵ₂ = 15/10 = 1.5, h = (2·2 + 1·1.5)/3 = 11/6.
    estimator = Average(regularization=7.0, estimation_regularization=1.0)
    assert _bias(estimator) == 0
    assert _bias(estimator, FIRST) == pytest.approx(2)
    assert _bias(estimator, FIRST, SECOND) == pytest.approx(11 / 6)


def test_average_with_the_same_regularization_by_hand() -> None:
    # λ = 4: ŵ₁ = 6/6 = 1, ŵ₂ = 15/13, h = (2 + 15/13)/3.
    estimator = Average(regularization=4.0, estimation_regularization="same")
    assert _bias(estimator, FIRST, SECOND) == pytest.approx((2 + 15 / 13) / 3)


def test_pooled_by_hand() -> None:
    # λ = 1: h = (6 + 15)/(2 + 9 + 1) = 1.75; with the same λ = 10: 21/21 = 1.
    estimator = Pooled(regularization=7.0, estimation_regularization=1.0)
    assert _bias(estimator) == 0
    assert _bias(estimator, FIRST) == pytest.approx(2)
    assert _bias(estimator, FIRST, SECOND) == pytest.approx(1.75)
    same = Pooled(regularization=10.0, estimation_regularization="same")
    assert _bias(same, FIRST, SECOND) == pytest.approx(1)


def test_two_dimensions_by_hand() -> None:
    # Task 1 sees (1, 0) pay 4, task 2 sees (1, 1) pay 6 and (0, 1) pay 0; λ = 1.
    one = TaskStatistics.from_data([[1, 0]], [4.0])
    two = TaskStatistics.from_data([[1, 1], [0, 1]], [6.0, 0.0])
    # ŵ₁ = (2, 0). V₂ + I = [[2, 1], [1, 3]], det 5, b₂ = (6, 6): ŵ₂ = (3·6 − 6, −6 + 2·6)/5.
    average = Average(estimation_regularization=1.0)
    memory = average.absorb(average.absorb(average.empty(2), one), two)
    np.testing.assert_allclose(average.prior(memory).bias, [(2 + 24 / 5) / 3, (12 / 5) / 3])
    # V₁ + V₂ + I = [[3, 1], [1, 3]], det 8, b = (10, 6): h = (3·10 − 6, −10 + 3·6)/8 = (3, 1).
    pooled = Pooled(estimation_regularization=1.0)
    memory = pooled.absorb(pooled.absorb(pooled.empty(2), one), two)
    np.testing.assert_allclose(pooled.prior(memory).bias, [3, 1])


def test_within_the_second_task_by_hand() -> None:
    # The task's one round, x = 3 and y = 5, counts as a task of one round does.
    for estimator, expected in (
        (Average(estimation_regularization=1.0), 11 / 6),
        (Pooled(estimation_regularization=1.0), 1.75),
    ):
        memory = estimator.absorb(estimator.empty(1), FIRST)
        running = estimator.running_bias(memory)
        assert running is not None
        bias = running.observe(np.array([3.0]), np.array(5.0))
        assert float(bias[0]) == pytest.approx(expected)


def test_a_constant_bias_has_no_running_bias() -> None:
    for estimator in (Average(within_task=False), Pooled(within_task=False), Fixed.zero()):
        assert estimator.running_bias(estimator.empty(1)) is None


def test_regularization_is_the_next_tasks() -> None:
    for estimator in (Average(regularization=7.0), Pooled(regularization=7.0)):
        assert float(estimator.prior(estimator.empty(1)).regularization) == 7


def test_fixed_never_learns() -> None:
    fixed = Fixed(bias=[2.5], regularization=3.0)
    assert _bias(fixed) == _bias(fixed, FIRST, SECOND) == 2.5


def test_large_regularization_shrinks_the_literal_average_to_zero() -> None:
    # With one λ everywhere h → 0; with a small one of the estimator's own it does not.
    literal = Average(regularization=1e6, estimation_regularization="same")
    separate = Average(regularization=1e6, estimation_regularization=0.01)
    assert abs(_bias(literal, FIRST, SECOND)) < 1e-4
    assert _bias(separate, FIRST, SECOND) == pytest.approx((2 * 6 / 2.01 + 15 / 9.01) / 3)
