"""Schemas and raw rows for the tests of features, and hypothesis strategies for both."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import strategies as st

import headstart as hs

WIDE = hs.Features(
    item=[
        hs.Number("price", log=True, mean=1.5, scale=0.7, missing=True),
        hs.Number("weight", mean=3.0, scale=2.0),
        hs.Number("age", bins=[1, 2.5, 10]),
        hs.Category("brand", levels=["acme", "Čapek", "3"], missing=True),
        hs.Category("maker.country", buckets=20),
        hs.Tags("genres", levels=["Action", "Comedy"], missing=True),
        hs.Tags("words", buckets=14),
        hs.Vector("embedding", 3, missing=True),
        hs.Flag("new", missing=True),
    ],
    context=[
        hs.Category("device", levels=["phone", "desktop"]),
        hs.Number("hour", period=24, missing=True),
        hs.Date("at", parts=["hour", "weekday", "month"], missing=True),
    ],
    about=[hs.Category("country", levels=["NL", "BE"]), hs.Number("income", mean=30.0, scale=9.0)],
    cross=[
        ("device", "brand"),
        ("brand", "country"),
        ("price", "genres"),
        ("maker.country", "words"),
        ("income", "hour"),
        ("at", "embedding"),
    ],
)

_missing = st.none() | st.just("") | st.just(float("nan"))
_numbers = st.floats(-1e6, 1e6) | st.integers(-(10**6), 10**6)
_texts = st.text(max_size=6) | st.sampled_from(["acme", "Čapek", "NL", "phone", "Comedy"])
_levels = _texts | st.integers(0, 5)
_tags = st.lists(_texts, max_size=5) | st.sampled_from(["Action|Comedy", "a|b|a", "Drama"])
_times = (
    st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1))
    | st.datetimes(datetime(1900, 1, 1), datetime(2100, 1, 1), timezones=st.just(UTC))
    | st.dates()
    | st.floats(-1e9, 4e9)
    | st.sampled_from(["2024-05-01", "2024-05-01T21:30:00", "2024-05-01T21:30:00.25+02:00"])
)
_vectors = st.lists(st.floats(-10, 10), min_size=3, max_size=3)

VALUES: dict[str, st.SearchStrategy[Any]] = {
    "price": _missing | _numbers,
    "weight": _missing | _numbers,
    "age": _missing | _numbers,
    "brand": _missing | _levels,
    "maker.country": _missing | _levels,
    "genres": _missing | _tags,
    "words": _missing | _tags,
    "embedding": st.none() | _vectors,
    "new": _missing | st.booleans() | st.sampled_from([0, 1]),
    "device": _missing | _levels,
    "hour": _missing | _numbers,
    "at": _missing | _times,
    "country": _missing | _levels,
    "income": _missing | _numbers,
}


def rows(names: list[str]) -> st.SearchStrategy[dict[str, Any]]:
    """Raw rows of some of these attributes."""
    return st.fixed_dictionaries({}, optional={name: VALUES[name] for name in names})


ITEM = [one.name for one in WIDE.item]
CONTEXT = [one.name for one in WIDE.context]
TASK = [one.name for one in WIDE.about]
