"""Means over replications: standard errors and confidence intervals."""

from dataclasses import dataclass

import numpy as np
from scipy import stats

from headstart.arrays import Floats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over replications, its standard error and its 95 % interval."""

    mean: float
    error: float
    low: float
    high: float
    replications: int


def interval(values: Floats) -> Interval:
    """Student's t interval for the mean of values (R,)."""
    n = len(values)
    if n < 2:
        raise ValueError(f"an interval needs at least 2 replications, got {n}")
    mean = float(values.mean())
    error = float(values.std(ddof=1) / np.sqrt(n))
    reach = error * quantile(n)
    return Interval(mean, error, mean - reach, mean + reach, n)


def quantile(n: int) -> float:
    """How many standard errors a 95 % interval reaches to each side: Student's t, n − 1 degrees."""
    return float(stats.t.ppf(0.5 + CONFIDENCE / 2, n - 1))
