"""Means over independent replications, with standard errors and 95 % confidence intervals.

`watched_difference` is for experiments that people watch while they run: it holds at every look.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import betaln, ndtri, stdtrit

from headstart.arrays import Floats

CONFIDENCE = 0.95
# An interval that holds at every look is tightest at this many values of both groups.
PLANNED = 1_000
# nρ² of the widest mixture that is tightest there (Waudby-Smith et al., 2021).
_TIGHTEST = 7.9


@dataclass(frozen=True)
class Interval:
    """A mean over replications, its standard error and the ends of its 95 % interval.

    With one replication the error is unknown: it is ∞, and the interval is (−∞, ∞).
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


@dataclass(frozen=True, kw_only=True)
class Moments:
    """Number n, sum Σy and squares Σy² of values."""

    n: int = 0
    total: float = 0.0
    squares: float = 0.0

    def __add__(self, other: "Moments") -> "Moments":
        return Moments(
            n=self.n + other.n,
            total=self.total + other.total,
            squares=self.squares + other.squares,
        )

    @property
    def mean(self) -> float:
        """Σy/n, nan without values."""
        return self.total / self.n if self.n else math.nan

    @property
    def variance(self) -> float:
        """The variance s² of the values; ∞ for fewer than two."""
        if self.n < 2:
            return math.inf
        return max(self.squares - self.total * self.total / self.n, 0.0) / (self.n - 1)

    @property
    def interval(self) -> Interval:
        """Student's t interval of the mean."""
        error = math.inf if self.n < 2 else math.sqrt(self.variance / self.n)
        return interval_from(self.mean, error, self.n)


def interval(values: Floats) -> Interval:
    """Student's t interval for the mean of values (R,)."""
    return interval_around(float(np.mean(values)) if len(values) else math.nan, values)


def interval_around(estimate: float, influence: Floats) -> Interval:
    """Student's t interval of an estimate with the error of the mean of influence (R,).

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

    It is Student's t with n − 1 degrees of freedom; n is the replications unless given.
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


def rate(values: Moments) -> Interval:
    """The mean of values with an interval: Wilson's if all are 0 or 1, else Student's t.

    If all values are 0, or all are 1, Student's interval would have no width.
    """
    n, p = values.n, values.mean
    if n == 0 or values.squares != values.total:
        return values.interval
    z = quantile(math.inf)
    size = 1.0 + z * z / n
    centre = (p + z * z / (2 * n)) / size
    half = z * math.sqrt(p * (1.0 - p) / n + (z / (2 * n)) ** 2) / size
    low, high = max(centre - half, 0.0), min(centre + half, 1.0)
    return Interval(p, math.sqrt(p * (1.0 - p) / n), low, high, n)


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


def watched_difference(first: Moments, second: Moments) -> Interval:
    """The interval of mean(first) − mean(second) that holds however often one looks.

    The groups grow while one watches; each value joins either group at random. With probability 95
    %, the interval contains the difference at all times. It is unbounded while a group has fewer
    than two values.
    """
    mean, n = first.mean - second.mean, first.n + second.n
    if min(first.n, second.n) < 2:
        return Interval(mean, math.inf, -math.inf, math.inf, n)
    groups = (first, second)
    error, half = watched_margin(
        np.array([float(group.n) for group in groups]),
        np.array([group.mean for group in groups]),
        np.array([group.variance for group in groups]),
    )
    return Interval(mean, float(error), mean - float(half), mean + float(half), n)


def watched_until(found: Interval) -> float:
    """How many values a watched interval needs in all until zero is outside of it.

    That is if the mean and the spread of the values stay as they are; ∞ if the mean is 0.
    """
    n, half = float(found.replications), found.high - found.mean
    if half < abs(found.mean) or not math.isfinite(half):
        return n if math.isfinite(half) else math.inf
    if found.mean == 0.0:
        return math.inf

    def margin(factor: float) -> float:
        reach = float(_reach(np.array(n * factor)) / _reach(np.array(n)))
        return half * reach / math.sqrt(factor)

    low, high = 1.0, 2.0
    while margin(high) >= abs(found.mean):
        low, high = high, 2.0 * high
    for _ in range(50):
        middle = 0.5 * (low + high)
        low, high = (middle, high) if margin(middle) >= abs(found.mean) else (low, middle)
    return n * high


def watched(found: Interval) -> Interval:
    """The interval of a mean that holds at every look, from the one for a single look.

    It reaches as many standard errors as `watched_margin`.
    """
    if math.isinf(found.error):
        return found
    half = float(_reach(np.array(float(found.replications)))) * found.error
    return replace(found, low=found.mean - half, high=found.mean + half)


def watched_margin(n: Floats, means: Floats, variances: Floats) -> tuple[Floats, Floats]:
    """The standard error of a difference of means, and how far its interval reaches, (…) each.

    For two groups, the first axis of all arguments (2, …), and n = n₁ + n₂,

        √(2(nρ² + 1)/(nρ²) · log(√(nρ² + 1)/α)) · √(s₁²/n₁ + s₂²/n₂)

    (Waudby-Smith, Arbour, Sinha, Kennedy and Ramdas, 2021). It is exact for large groups. A small
    group of rare events has at first no event and no variance, so every group is given at least the
    variance of all values together.
    """
    total = n.sum(0)
    mean = (n * means).sum(0) / total
    between = (n * (means - mean) ** 2).sum(0)
    together = (((n - 1.0) * variances).sum(0) + between) / (total - 1.0)
    error = np.sqrt((np.maximum(variances, together) / n).sum(0))
    return error, _reach(total) * error


def _reach(n: Floats) -> Floats:
    """How many standard errors a watched interval of a mean of n values reaches."""
    size = _TIGHTEST / PLANNED * n
    factor = 2.0 * (1.0 + 1.0 / size) * np.log(np.sqrt(size + 1.0) / (1.0 - CONFIDENCE))
    return np.asarray(np.sqrt(factor))


def share_doubt(hits: int, trials: int, log_chance: float) -> float:
    """How improbable hits with known chances are: a p-value that holds at every look.

    log_chance: the logarithm of the probability of these hits and misses, each by its own chance.
    It is compared with their probability under an unknown chance, by Jeffreys' prior. If the
    chances are right, that ratio ever exceeds 1/p with probability p at most (Ville).
    """
    log_ratio = betaln(0.5 + hits, 0.5 + trials - hits) - betaln(0.5, 0.5) - log_chance
    return math.exp(-max(float(log_ratio), 0.0))
