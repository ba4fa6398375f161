"""Formats: numbers, times and durations as the pages show them."""

import math
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from headstart.intervals import Interval

MISSING = "–"
# Of the ends of an interval.
_MOST_DECIMALS = 9
_FEW = 0.1  # rewards per round; fewer are counted per 1,000
_UNITS = ((1e9, "G"), (1e6, "M"), (1e3, "k"))
_SPANS = ((86_400, "d"), (3_600, "h"), (60, "min"), (1, "s"))


def count(value: float | None) -> str:
    """A whole number: 1,204 or, from a million on, 3.41 M."""
    if value is None or not math.isfinite(value):
        return MISSING
    if abs(value) >= 999_999.5:
        return short(value)
    return f"{value:,.0f}".replace("-", "−")


def short(value: float) -> str:
    """Three digits and a unit: 12.3 k."""
    for size, unit in _UNITS:
        if abs(value) >= size:
            return f"{number(value / size)} {unit}"
    return number(value)


def number(value: float | None, digits: int = 3) -> str:
    """A number with about three digits that count: 0.0312, 3.12, 312, 31,200."""
    if value is None or not math.isfinite(value):
        return MISSING
    if value == 0.0:
        return "0"
    size = math.floor(math.log10(abs(value)))
    if size < -5 or size > 8:
        return f"{value:.{digits - 1}e}".replace("-", "−")
    return fixed(value, max(digits - 1 - size, 0))


def column_decimals(values: Iterable[float], digits: int = 3) -> int:
    """How many decimals the numbers of a column have: three digits of the largest."""
    largest = max((abs(v) for v in values if math.isfinite(v)), default=0.0)
    if largest == 0.0:
        return 0
    return min(max(digits - 1 - math.floor(math.log10(largest)), 0), 8)


def fixed(value: float | None, decimals: int) -> str:
    """A number with so many decimals, and a proper minus."""
    if value is None or not math.isfinite(value):
        return MISSING
    text = f"{value:,.{decimals}f}"
    if float(text.replace(",", "")) == 0.0:
        text = text.removeprefix("-")
    return text.replace("-", "−")


def signed(value: float | None, decimals: int | None = None) -> str:
    """A number with its sign: +0.31."""
    text = number(value) if decimals is None else fixed(value, decimals)
    return f"+{text}" if value is not None and value > 0 else text


def decimals_of(half: float) -> int:
    """How many decimals a value has whose interval reaches so far to each side."""
    if not 0.0 < half < math.inf:
        return 3
    return min(max(-math.floor(math.log10(half / 2)), 0), 6)


def interval_words(interval: Interval) -> tuple[str, str, str]:
    """The mean and the ends with as many decimals as the interval's width asks for.

    An end next to zero has as many as it takes to tell it from zero.
    """
    n = decimals_of((interval.high - interval.low) / 2)
    nearest = min((abs(end) for end in (interval.low, interval.high) if end), default=1.0)
    while n < _MOST_DECIMALS and nearest < 0.5 * 10.0**-n:
        n += 1
    return fixed(interval.mean, n), fixed(interval.low, n), fixed(interval.high, n)


@dataclass(frozen=True, kw_only=True)
class Rate:
    """Rewards per round in words, or per 1,000 rounds where they are few: mean, ends and unit."""

    mean: str
    low: str
    high: str
    unit: str
    rounds: int  # of the unit


def rate(interval: Interval) -> Rate:
    """An interval of rewards per round, in the unit that it is read in."""
    ends = [abs(end) for end in (interval.mean, interval.low, interval.high) if math.isfinite(end)]
    n = 1_000 if ends and max(ends) < _FEW else 1
    scaled = Interval(
        n * interval.mean,
        n * interval.error,
        n * interval.low,
        n * interval.high,
        interval.replications,
    )
    mean, low, high = interval_words(scaled)
    unit = "per round" if n == 1 else f"per {count(n)} rounds"
    return Rate(mean=mean, low=low, high=high, unit=unit, rounds=n)


def percent(share: float | None) -> str:
    """A share: 12.3 %."""
    if share is None or not math.isfinite(share):
        return MISSING
    return f"{number(100.0 * share)} %"


def tenths(share: float | None) -> str:
    """A share in a column of shares, by tenths of a percent: 12.3 %."""
    if share is None:
        return MISSING
    return "< 0.1 %" if 0.0 < share < 0.0005 else f"{100.0 * share:.1f} %"


def moment(seconds: float | None) -> str:
    """A time: 1 Mar 2026, 12:00:05, in UTC."""
    return _spelled(seconds, "%-d %b %Y, %H:%M:%S")


def clock(seconds: float | None) -> str:
    """The time of day: 12:00:05."""
    return _spelled(seconds, "%H:%M:%S")


def hour(seconds: float | None) -> str:
    """The time of day without seconds: 12:00."""
    return _spelled(seconds, "%H:%M")


def day(seconds: float | None) -> str:
    """The day: 1 Mar."""
    return _spelled(seconds, "%-d %b")


def brief(seconds: float | None, now: float) -> str:
    """12:00:05 for a time of the last day, else 1 Mar, 12:00."""
    if seconds is None or now - seconds < 43_200:
        return clock(seconds)
    return f"{day(seconds)}, {hour(seconds)}"


def _spelled(seconds: float | None, pattern: str) -> str:
    return MISSING if seconds is None else datetime.fromtimestamp(seconds, UTC).strftime(pattern)


def iso(seconds: float) -> str:
    """A time for machines."""
    return datetime.fromtimestamp(seconds, UTC).isoformat(timespec="seconds")


def span(seconds: float | None) -> str:
    """A duration in its largest unit: 3 min."""
    if seconds is None or not math.isfinite(seconds):
        return MISSING
    for size, unit in _SPANS:
        if seconds >= size:
            return f"{seconds / size:.0f} {unit}"
    return f"{1e3 * seconds:.3g} ms" if seconds > 0 else "0 s"


def ago(seconds: float) -> str:
    """How long ago: 3 min ago."""
    return f"{span(seconds)} ago" if seconds >= 1.0 else "now"


def plain(value: float) -> str:
    """A number as it was set: 10 or 0.05."""
    return f"{value:g}".replace("-", "−")
