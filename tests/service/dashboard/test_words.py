"""Numbers, times and sentences as the pages show them."""

import math

import pytest

from headstart.intervals import Interval
from headstart.service.dashboard import formats
from headstart.service.dashboard.prior import drift_sentence


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (0.0312, "0.0312"),
        (-3.1234, "−3.12"),
        (31_200.0, "31,200"),
        (1e-9, "1.00e−09"),
        (math.nan, "–"),
        (None, "–"),
    ],
)
def test_number(value: float | None, text: str) -> None:
    assert formats.number(value) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.0031, "3.1 ms"), (42.0, "42 s"), (600.0, "10 min"), (7200.0, "2 h")]
)
def test_span(seconds: float, text: str) -> None:
    assert formats.span(seconds) == text


def test_counts() -> None:
    assert formats.count(999_999) == "999,999"
    assert formats.count(3_412_000) == "3.41 M"
    assert formats.fixed(-0.0004, 2) == "0.00"
    assert formats.column_decimals([0.5, -31.0]) == 1
    assert formats.moment(0.0) == "1 Jan 1970, 00:00:00"
    assert formats.brief(0.0, 100.0) == "00:00:00"
    assert formats.brief(0.0, 90_000.0) == "1 Jan, 00:00"


def test_decimals_follow_the_interval() -> None:
    words = formats.interval_words(Interval(0.3123, 0.02, 0.2712, 0.3511, 100))
    assert words == ("0.31", "0.27", "0.35")


def test_an_end_next_to_zero_is_told_from_zero() -> None:
    assert formats.interval_words(Interval(0.21, 0.1, 0.003, 0.42, 9)) == (
        "0.210",
        "0.003",
        "0.420",
    )
    assert formats.interval_words(Interval(0.2, 0.1, 0.0, 0.4, 9)) == ("0.2", "0.0", "0.4")


def test_small_rates_are_per_thousand() -> None:
    small = formats.rate(Interval(0.0031, 0.001, 0.0004, 0.0058, 900))
    assert (small.mean, small.low, small.high) == ("3.1", "0.4", "5.8")
    assert small.unit == "per 1,000 rounds"
    large = formats.rate(Interval(0.31, 0.02, 0.27, 0.35, 100))
    assert (large.mean, large.unit) == ("0.31", "per round")
    unknown = formats.rate(Interval(0.31, math.inf, -math.inf, math.inf, 1))
    assert (unknown.low, unknown.unit) == ("–", "per round")


def test_drift_is_a_sentence() -> None:
    assert "steady" in drift_sentence(0.02, "1 d")
    assert "somewhat" in drift_sentence(0.3, "1 d")
    assert "changed" in drift_sentence(2.0, "1 d")
    assert "one version" in drift_sentence(None, "")
