"""Measures: what sums over tasks and rewards say about the warm start, with 95 % intervals."""

import math

from headstart.intervals import Interval, quantile
from headstart.service.store.queries.activity import Sums


def mean_interval(sums: Sums) -> Interval:
    """Student's t interval of a mean."""
    error = math.sqrt(sums.squared_error)
    return _interval(sums.mean, error, sums.n, sums.n)


def difference(first: Sums, second: Sums) -> Interval:
    """Welch's t interval of mean(first) − mean(second), for groups of unequal variance."""
    a, b = first.squared_error, second.squared_error
    error = math.sqrt(a + b)
    degrees = math.inf
    if 0.0 < error < math.inf:
        degrees = (a + b) ** 2 / (a * a / (first.n - 1) + b * b / (second.n - 1))
    return _interval(first.mean - second.mean, error, degrees + 1.0, first.n + second.n)


def _interval(mean: float, error: float, n: float, count: int) -> Interval:
    half = math.inf if math.isinf(error) else quantile(n) * error
    return Interval(mean, error, mean - half, mean + half, count)
