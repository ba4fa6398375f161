"""Means over independent replications, with standard errors and 95 % confidence intervals."""

import math
from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit

from headstart.arrays import Floats

CONFIDENCE = 0.95


@dataclass(frozen=True)
class Interval:
    """A mean over replications, its standard error and the ends of its 95 % interval.

    The error of one replication is unknown: it is ∞ then, and the interval is (−∞, ∞).
    """

    mean: float
    error: float
    low: float
    high: float
    replications: int

    def __neg__(self) -> "Interval":
        return Interval(-self.mean, self.error, -self.high, -self.low, self.replications)

    def __format__(self, spec: str) -> str:
        """The mean and the ends, "1.23 [1.00, 1.46]", each number with this specification."""
        if self.replications < 2:
            return f"{self.mean:{spec}} (1 replication)"
        return f"{self.mean:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"

    def record(self) -> dict[str, float | None]:
        """Its numbers by name, for tables; None for the errors of one replication."""
        alone = self.replications < 2
        return {
            "mean": self.mean,
            "standard_error": None if alone else self.error,
            "low": None if alone else self.low,
            "high": None if alone else self.high,
            "n": self.replications,
        }

    def with_error(self, spec: str, error_spec: str | None = None) -> str:
        """The mean and its standard error, "1.23 ± 0.12"."""
        if self.replications < 2:
            return f"{self.mean:{spec}} (1 replication)"
        return f"{self.mean:{spec}} ± {self.error:{spec if error_spec is None else error_spec}}"


def interval(values: Floats) -> Interval:
    """Student's t interval for the mean of values (R,)."""
    return interval_around(float(np.mean(values)) if len(values) else math.nan, values)


def interval_around(estimate: float, influence: Floats) -> Interval:
    """Student's t interval of an estimate whose error is that of the mean of influence (R,).

    The delta method: for a function of means, `influence` is its linear approximation, by
    replication. For a mean itself it is the values.
    """
    n = len(influence)
    if n == 0:
        raise ValueError("an interval needs at least 1 replication, got 0")
    return interval_from(estimate, float(standard_errors(influence)), n)


def interval_from(
    estimate: float, error: float, replications: int, n: float | None = None
) -> Interval:
    """The interval of an estimate with this standard error.

    It is Student's t with n − 1 degrees of freedom, n the replications unless given.
    """
    half = math.inf if math.isinf(error) else quantile(replications if n is None else n) * error
    return Interval(estimate, error, estimate - half, estimate + half, replications)


def share(hits: int, trials: int) -> Interval:
    """A share of trials with its exact (Clopper–Pearson) interval."""
    from scipy.stats import binomtest  # noqa: PLC0415 - half a second that live use should not take

    ends = binomtest(int(hits), int(trials)).proportion_ci(CONFIDENCE, method="exact")
    p = hits / trials
    error = math.sqrt(p * (1.0 - p) / trials)
    return Interval(p, error, float(ends.low), float(ends.high), int(trials))


def standard_errors(values: Floats) -> Floats:
    """The standard errors of means over the first axis, for values (R, …), of shape (…)."""
    n = len(values)
    if n < 2:
        return np.full(values.shape[1:], np.inf)
    return np.asarray(values.std(0, ddof=1) / np.sqrt(n))


def quantile(n: float) -> float:
    """How many standard errors a 95 % interval reaches to each side: Student's t, n − 1 degrees.

    At n = ∞ it is the normal quantile.
    """
    if n < 2:
        return math.inf
    upper = 0.5 + CONFIDENCE / 2
    return float(ndtri(upper) if math.isinf(n) else stdtrit(n - 1, upper))
