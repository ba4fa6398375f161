import math

import numpy as np
import pytest
from scipy import stats

from headstart.intervals import (
    Interval,
    interval,
    interval_around,
    interval_from,
    quantile,
    share,
    standard_errors,
)


def test_interval_is_student_t() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    found = interval(values)
    low, high = stats.t.interval(0.95, 3, loc=4.0, scale=stats.sem(values))
    assert (found.mean, found.replications) == (4.0, 4)
    assert found.error == pytest.approx(stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_replication_has_an_unbounded_interval() -> None:
    found = interval(np.full(1, 1.25))
    assert found == Interval(1.25, math.inf, -math.inf, math.inf, 1)
    assert f"{found:.2f}" == "1.25 (1 replication)"
    assert found.with_error(".1f") == "1.2 (1 replication)"
    with pytest.raises(ValueError, match="at least 1 replication, got 0"):
        interval(np.ones(0))


def test_an_interval_follows_from_its_standard_error() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    found = interval(values)
    assert interval_from(found.mean, found.error, 4) == found
    normal = interval_from(1.0, 0.5, 4, math.inf)
    assert (normal.low, normal.high) == pytest.approx(stats.norm.interval(0.95, 1.0, 0.5))
    assert interval_from(1.0, math.inf, 9) == Interval(1.0, math.inf, -math.inf, math.inf, 9)


def test_an_interval_prints_itself() -> None:
    found = Interval(0.5, 0.125, 0.25, 0.75, 8)
    assert f"{found:.2f}" == "0.50 [0.25, 0.75]"
    assert found.with_error(".2f") == "0.50 ± 0.12"
    assert found.with_error(".3g", ".1g") == "0.5 ± 0.1"


def test_negation_swaps_the_ends() -> None:
    found = interval(np.array([1.0, 2.0, 6.0]))
    assert -found == interval(np.array([-1.0, -2.0, -6.0]))
    assert (-found).error == found.error > 0


def test_the_delta_method_of_a_mean_is_its_interval() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    assert interval_around(4.0, values) == interval(values)
    # The influence of a square at a mean of 4 is 2·4·value.
    assert interval_around(16.0, 8.0 * values).error == pytest.approx(8.0 * stats.sem(values))


def test_standard_errors_are_taken_along_the_first_axis() -> None:
    values = np.arange(12.0).reshape(3, 4) ** 2
    np.testing.assert_allclose(standard_errors(values), stats.sem(values, axis=0))
    np.testing.assert_array_equal(standard_errors(values[:1]), np.inf)


def test_quantiles_by_the_table() -> None:
    # Student's t at 97.5 %: 12.706 with 1 degree of freedom, 2.0452 with 29, 1.95996 with ∞.
    assert quantile(2) == pytest.approx(12.706, rel=1e-4)
    assert quantile(30) == pytest.approx(2.0452, rel=1e-4)
    assert quantile(math.inf) == pytest.approx(1.959964, rel=1e-6)


def test_a_share_has_its_exact_interval() -> None:
    # Clopper–Pearson for 0 of n: the upper end solves (1 − p)ⁿ = 0.025.
    none = share(0, 2000)
    assert (none.mean, none.low, none.replications) == (0.0, 0.0, 2000)
    assert none.high == pytest.approx(1 - 0.025 ** (1 / 2000), rel=1e-9)
    some = share(3, 10)
    assert some.low < 0.3 < some.high
    assert some.error == pytest.approx(math.sqrt(0.3 * 0.7 / 10))
