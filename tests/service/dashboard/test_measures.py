"""Measures of the gain, against SciPy and by hand."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy import stats

from headstart.service.dashboard.overview import difference, mean_interval
from headstart.service.store.queries.activity import Sums

VALUES = st.lists(st.floats(-100.0, 100.0, width=32), min_size=2, max_size=30)


def sums(values: list[float]) -> Sums:
    array = np.array(values)
    return Sums(n=len(array), total=float(array.sum()), squares=float((array**2).sum()))


def test_difference_by_hand() -> None:
    # Means 2 and 1, variances 1 and 4, four values each: error √(1/4 + 4/4), 4.411… degrees.
    first = Sums(n=4, total=8.0, squares=16.0 + 3.0)
    second = Sums(n=4, total=4.0, squares=4.0 + 12.0)
    found = difference(first, second)
    assert found.mean == 1.0
    assert found.error == pytest.approx(math.sqrt(1.25))
    degrees = 1.25**2 / (0.25**2 / 3 + 1.0 / 3)
    assert found.high - 1.0 == pytest.approx(stats.t.ppf(0.975, degrees) * math.sqrt(1.25))


@given(VALUES, VALUES)
def test_difference_is_welch(first: list[float], second: list[float]) -> None:
    assume(min(np.std(first), np.std(second)) > 0.1)
    found = difference(sums(first), sums(second))
    test = stats.ttest_ind(first, second, equal_var=False)
    ends = test.confidence_interval(0.95)
    assert found.low == pytest.approx(ends.low, abs=1e-3)
    assert found.high == pytest.approx(ends.high, abs=1e-3)


@given(VALUES)
def test_mean_interval_is_student(values: list[float]) -> None:
    assume(np.std(values) > 0.1)
    ends = stats.ttest_1samp(values, 0.0).confidence_interval(0.95)
    found = mean_interval(sums(values))
    assert (found.low, found.high) == pytest.approx((ends.low, ends.high), abs=1e-3)


def test_one_value_says_nothing() -> None:
    found = difference(Sums(n=1, total=2.0, squares=4.0), Sums(n=3, total=3.0, squares=5.0))
    assert found.mean == 1.0
    assert (found.low, found.high) == (-math.inf, math.inf)


def test_equal_values_have_no_width() -> None:
    found = difference(Sums(n=3, total=6.0, squares=12.0), Sums(n=3, total=3.0, squares=3.0))
    assert (found.low, found.mean, found.high) == (1.0, 1.0, 1.0)
