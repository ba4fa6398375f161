import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from headstart import theory
from headstart.intervals import Interval

TASKS = arrays(
    np.float64, st.tuples(st.integers(1, 12), st.integers(1, 4)), elements=st.floats(-5, 5)
)


def test_moments_by_hand() -> None:
    # Tasks (0, 0), (6, 8) and h = (3, 4): both at distance 5. About 0: 0 and 10.
    tasks = np.array([[0.0, 0.0], [6.0, 8.0]])
    assert theory.task_variance(tasks, [3.0, 4.0]) == 25.0
    assert theory.task_deviation(tasks, [3.0, 4.0]) == 5.0
    assert theory.task_variance(tasks, [0.0, 0.0]) == 50.0
    assert theory.task_deviation(tasks, [0.0, 0.0]) == 5.0
    np.testing.assert_array_equal(theory.mean_parameter(tasks), [3.0, 4.0])


@given(tasks=TASKS, data=st.data())
def test_the_mean_minimises_the_variance_and_the_median_the_deviation(
    tasks: np.ndarray, data: st.DataObject
) -> None:
    other = data.draw(arrays(np.float64, tasks.shape[1], elements=st.floats(-6, 6)))
    mean, median = theory.mean_parameter(tasks), theory.geometric_median(tasks)
    assert theory.task_variance(tasks, mean) <= theory.task_variance(tasks, other) + 1e-9
    assert theory.task_deviation(tasks, median) <= theory.task_deviation(tasks, other) + 1e-6
    # Bias and variance: Var_h = Var_w̄ + ‖w̄ − h‖², the identity behind Var_w̄ + ε.
    shifted = theory.task_variance(tasks, mean) + ((mean - other) ** 2).sum()
    assert theory.task_variance(tasks, other) == pytest.approx(shifted, rel=1e-9, abs=1e-9)
    # Jensen: Mar_h ≤ √Var_h.
    assert (
        theory.task_deviation(tasks, other) <= np.sqrt(theory.task_variance(tasks, other)) + 1e-12
    )


def test_the_median_of_a_triangle_with_a_wide_corner_is_that_corner() -> None:
    # An angle of at least 120° moves the Fermat point into its corner; Weiszfeld's own iteration
    # divides by zero there. At less than 120° the point sees all sides under 120°.
    wide = np.array([[0.0, 0.0], [4.0, 0.5], [-4.0, 0.5]])
    np.testing.assert_allclose(theory.geometric_median(wide), [0.0, 0.0], atol=1e-8)
    equal = np.array([[0.0, 2.0], [np.sqrt(3.0), -1.0], [-np.sqrt(3.0), -1.0]])
    np.testing.assert_allclose(theory.geometric_median(equal), [0.0, 0.0], atol=1e-8)
    one = np.array([[1.0, 2.0]] * 3)
    np.testing.assert_array_equal(theory.geometric_median(one), [1.0, 2.0])


def test_starting_on_a_task_that_is_not_the_median_moves_on() -> None:
    # The mean of these four is the task (1, 1) itself, but the median lies elsewhere.
    tasks = np.array([[1.0, 1.0], [0.0, 0.0], [0.0, 1.0], [3.0, 2.0]])
    np.testing.assert_array_equal(theory.mean_parameter(tasks), tasks[0])
    median = theory.geometric_median(tasks)
    assert theory.task_deviation(tasks, median) <= theory.task_deviation(tasks, tasks[0])


def test_the_ratio_by_hand() -> None:
    # w = (1, ±1): Var_w̄ = 1·n/(n − 1), Var_0 = 2.
    tasks = np.array([[1.0, 1.0], [1.0, -1.0]] * 50)
    ratio = theory.low_variance_ratio(tasks)
    assert ratio.mean == pytest.approx(0.5 * 100 / 99)
    assert ratio.low == ratio.high == ratio.mean  # every task is at the same distance
    assert theory.low_variance_ratio(np.ones((5, 2))) == Interval(0.0, 0.0, 0.0, 0.0, 5)


def test_the_ratios_interval_covers_the_truth() -> None:
    # Gaussian tasks: Var_w̄ = 0.4·3, Var_0 = that + 1. 400 samples of 60 tasks, 95 % intervals; the
    # share that covers has a standard error of 1.1 %.
    rng = np.random.default_rng(3)
    truth = 1.2 / 2.2
    covered = 0
    for _ in range(400):
        tasks = np.array([1.0, 0.0, 0.0]) + np.sqrt(0.4) * rng.standard_normal((60, 3))
        ratio = theory.low_variance_ratio(tasks)
        covered += ratio.low <= truth <= ratio.high
    assert 0.90 <= covered / 400 <= 0.985


def test_bad_tasks_are_named() -> None:
    with pytest.raises(ValueError, match="shape"):
        theory.task_variance([1.0, 2.0], [0.0, 0.0])
    with pytest.raises(ValueError, match="n of at least 2"):
        theory.low_variance_ratio(np.ones((1, 2)))
    with pytest.raises(ValueError, match="Var_0 = 0"):
        theory.low_variance_ratio(np.zeros((3, 2)))
    with pytest.raises(ValueError, match="shape"):
        theory.geometric_median(np.ones((2, 3, 4)))
