"""Intervals of means over replications."""

import numpy as np
import pytest
from scipy import stats

from headstart.intervals import interval


def test_interval_is_student_t() -> None:
    values = np.array([1.0, 2.0, 4.0, 9.0])
    found = interval(values)
    low, high = stats.t.interval(0.95, 3, loc=4.0, scale=stats.sem(values))
    assert (found.mean, found.replications) == (4.0, 4)
    assert found.error == pytest.approx(stats.sem(values))
    assert (found.low, found.high) == pytest.approx((low, high))


def test_one_replication_has_no_interval() -> None:
    with pytest.raises(ValueError, match="at least 2 replications, got 1"):
        interval(np.ones(1))
