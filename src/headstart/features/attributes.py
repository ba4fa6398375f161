"""The kinds of attributes: which raw values they take, and which columns these become.

A `Number`, `Flag` or `Date` reads a value as a number, and `fill` writes the columns of one number
or of many. The other kinds write the columns of one value, which a log has once per level. For a
missing value `Features` sets only the column that says so, in the same way for all kinds.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterable, MutableMapping, MutableSequence, Sequence
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property
from typing import Any, ClassVar, Literal, cast

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.features import values
from headstart.features.columns import Column
from headstart.features.hashing import bucket

# A row, or part of one, into which an attribute writes its columns.
Row = MutableSequence[float] | MutableMapping[int, float] | Floats
# One number, or many (n,), NaN not among them.
Numbers = float | Floats
Part = Literal["hour", "weekday", "month"]

# Of one attribute, and of a schema.
MOST_LEVELS = 10_000
_LONGEST_NAME = 200
_LEVEL = f"text of at most {values.MOST_CHARACTERS:,} characters, or a number"
_LEAST_SCALE = 1e-50
_DAY = 86_400
_PARTS: tuple[Part, ...] = ("hour", "weekday", "month")
_WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
_FIRST_WEEKDAY = 3  # 1 January 1970 was a Thursday
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September",
    "October", "November", "December",
)  # fmt: skip


@dataclass(frozen=True)
class Number:
    """A number: centred and scaled, optionally as a logarithm, in bins, or as a place in a period.

    Parameters
    ----------
    name : str
        The name of the attribute.
    log : bool, default False
        Take log(1 + |x|) with the sign of x, for numbers that range over powers of ten. It is
        almost linear below 1: use a unit in which most numbers are larger.
    bins : sequence of float, optional
        The inner edges of bins. Every bin has a column, and an edge belongs to the bin above it.
    period : float, optional
        Treat the number as a place on a circle, such as an hour with period=24: sine and cosine.
    mean, scale : float, optional
        The mean and scale of x or of its logarithm. By default they follow from data, once
        (`Features.settled`).
    missing : bool, default False
        Add a column that is 1 if the number is missing. In either case a missing number counts as
        the mean.

    Examples
    --------
    >>> hs.Number("price", mean=20.0, scale=10.0).columns
    ('price',)
    >>> hs.Number("hour", period=24).columns
    ('hour sine', 'hour cosine')
    >>> hs.Number("age", bins=[18, 65], missing=True).columns
    ('age < 18', '18 ≤ age < 65', 'age ≥ 65', 'age missing')
    """

    kind: ClassVar[str] = "number"
    expected: ClassVar[str] = "a number"

    name: str
    _: KW_ONLY
    log: bool = False
    bins: Sequence[float] | None = None
    period: float | None = None
    mean: float | None = None
    scale: float | None = None
    missing: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_switch(self.name, "log", self.log)
        _check_switch(self.name, "missing", self.missing)
        ways = [way for way in ("log", "bins", "period") if getattr(self, way) not in (None, False)]
        if len(ways) > 1:
            raise ValueError(f"number {self.name!r} must have only one of {' and '.join(ways)}")
        if self.bins is not None:
            object.__setattr__(self, "bins", _edges(self.name, self.bins))
        for field in ("period", "scale"):
            self._take(field, checks.positive)
        self._take("mean", checks.real)
        if (self.mean is None) != (self.scale is None):
            raise ValueError(f"number {self.name!r} must have both mean and scale, or neither")
        if self.mean is not None and self.scale is not None:
            if ways and ways[0] != "log":
                raise ValueError(f"number {self.name!r} has {ways[0]}, so it must have no mean")
            if abs(self.mean) > values.LARGEST or not _LEAST_SCALE <= self.scale <= values.LARGEST:
                raise ValueError(
                    f"number {self.name!r} must have a mean and a scale between {_LEAST_SCALE:g} "
                    f"and {values.LARGEST:g} in size, got {self.mean:g} and {self.scale:g}"
                )

    def _take(self, field: str, check: object) -> None:
        given = getattr(self, field)
        if given is not None:
            what = f"{field} of number {self.name!r}"
            found = check(what, given)  # type: ignore[operator]
            if not math.isfinite(found):
                raise ValueError(f"{what} must be finite, got {found}")
            object.__setattr__(self, field, found)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return _with_missing(self, self._own_columns())

    def _own_columns(self) -> list[str]:
        if self.period is not None:
            return [f"{self.name} sine", f"{self.name} cosine"]
        if self.bins is None:
            return [self.name]
        edges = [values.level(self.name, edge) for edge in self.bins]
        inner = itertools.pairwise(edges)
        return [
            f"{self.name} < {edges[0]}",
            *(f"{low} ≤ {self.name} < {high}" for low, high in inner),
            f"{self.name} ≥ {edges[-1]}",
        ]

    @property
    def is_settled(self) -> bool:
        """Whether it needs nothing from data."""
        return self.bins is not None or self.period is not None or self.mean is not None

    def settled(self, numbers: Floats) -> Number:
        """The number with the mean and scale of data (n,), unless it has them; NaN is ignored.

        If all numbers are equal, for instance a single one, their size is the scale.
        """
        found = numbers[np.isfinite(numbers)]
        if self.is_settled or len(found) == 0:
            return self
        if self.log:
            found = np.asarray(_logarithm(found))
        mean, scale = float(found.mean()), float(found.std())
        if not scale > max(_LEAST_SCALE, 1e-12 * abs(mean)):  # all equal up to rounding
            scale = abs(mean) if abs(mean) > _LEAST_SCALE else 1.0
        return replace(self, mean=mean, scale=scale)

    def number(self, value: object) -> float:
        """A value as a number; raises if it is none."""
        return values.number(self.name, value)

    def numbers(self, column: Column) -> Floats | None:
        """A column as numbers, missing values as NaN; None if it holds anything else."""
        return column.numbers()

    def takes(self, numbers: Floats) -> Booleans:
        """Which of the numbers (n,) are allowed; NaN is not."""
        return np.asarray(np.abs(numbers) <= values.LARGEST)

    def fill(self, x: Numbers, rows: Floats, at: int) -> None:
        """Write the columns of one number into a row of zeros, or of many into rows (n, d)."""
        if self.period is not None:
            _wave(x, self.period, rows, at)
        elif self.bins is not None:
            _mark(rows, at + np.searchsorted(self.bins, x, side="right"))
        else:
            if self.log:
                x = _logarithm(x)
            if self.mean is not None and self.scale is not None:
                x = (x - self.mean) / self.scale
            rows[..., at] = x + 0.0  # −0 is 0

    def parsed(self, text: str) -> object:
        """What a text in a file without types says."""
        return values.from_text(text)


@dataclass(frozen=True)
class Category:
    """One of several levels: text, or numbers that name something.

    Parameters
    ----------
    name : str
        The name of the attribute.
    levels : sequence of str, optional
        The levels that have a column each; all others share one. By default, levels are hashed.
    buckets : int, default 32
        Without `levels`, the number of columns that levels are hashed into. Any number of levels is
        possible; some share a column.
    missing : bool, default False
        Add a column that is 1 if the level is missing. A missing level is in no other column.

    Examples
    --------
    >>> hs.Category("device", levels=["phone", "desktop"]).columns
    ('device=phone', 'device=desktop', 'device other')
    >>> hs.Category("brand", buckets=3).columns
    ('brand#0', 'brand#1', 'brand#2')
    """

    kind: ClassVar[str] = "category"
    expected: ClassVar[str] = _LEVEL

    name: str
    _: KW_ONLY
    levels: Sequence[str] | None = None
    buckets: int = 32
    missing: bool = False

    def __post_init__(self) -> None:
        _check_levels(self)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return _with_missing(self, _level_columns(self))

    @cached_property
    def _index(self) -> dict[str, int]:
        return {level: i for i, level in enumerate(self.levels or ())}

    def column_of(self, level: str) -> int:
        """The column of a level among its own; after theirs, if it is not in `levels`."""
        if self.levels is None:
            return bucket(f"{self.name}={level}", self.buckets)
        return self._index.get(level, len(self._index))

    def write(self, value: object, row: Row, at: int) -> None:
        """Write the columns of a value into a row of zeros."""
        column = self._index.get(value) if type(value) is str else None
        if column is None:
            column = self.column_of(values.level(self.name, value))
        row[at + column] = 1.0

    def parsed(self, text: str) -> object:
        """What a text in a file without types says: itself."""
        return text


@dataclass(frozen=True)
class Tags:
    """A list of texts, such as genres: each of n different tags adds 1/√n to its column.

    A text is a list, too: it is divided at the first of "|", ";" and ", " that it contains.

    Parameters
    ----------
    name : str
        The name of the attribute.
    levels : sequence of str, optional
        The tags that have a column each; all others share one. By default, tags are hashed.
    buckets : int, default 32
        Without `levels`, the number of columns that tags are hashed into.
    missing : bool, default False
        Add a column that is 1 if the list is missing.

    Examples
    --------
    >>> hs.Tags("genres", levels=["Action", "Comedy"]).columns
    ('genres=Action', 'genres=Comedy', 'genres other')
    """

    kind: ClassVar[str] = "tags"
    expected: ClassVar[str] = "a list of tags"

    name: str
    _: KW_ONLY
    levels: Sequence[str] | None = None
    buckets: int = 32
    missing: bool = False

    def __post_init__(self) -> None:
        _check_levels(self)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return _with_missing(self, _level_columns(self))

    @cached_property
    def _one(self) -> Category:
        return Category(self.name, levels=self.levels, buckets=self.buckets)

    def column_of(self, level: str) -> int:
        """The column of a tag, among its own."""
        return self._one.column_of(level)

    def write(self, value: object, row: Row, at: int) -> None:
        """Write the columns of a value into a row of zeros."""
        tags = values.tags(self.name, value)
        found = [at + self.column_of(tag) for tag in tags]
        for column in found:
            row[column] += 1.0
        root = math.sqrt(len(tags))
        for column in dict.fromkeys(found):
            row[column] /= root

    def parsed(self, text: str) -> object:
        """What a text in a file without types says: a list in JSON, or tags and separators."""
        return values.list_from_text(text) if text.startswith("[") else text


@dataclass(frozen=True)
class Vector:
    """A list of numbers, used unchanged, such as an embedding.

    Parameters
    ----------
    name : str
        The name of the attribute.
    size : int
        How many numbers.
    missing : bool, default False
        Add a column that is 1 where the list is missing.

    Examples
    --------
    >>> hs.Vector("embedding", 2).columns
    ('embedding[0]', 'embedding[1]')
    """

    kind: ClassVar[str] = "vector"

    name: str
    size: int
    _: KW_ONLY
    missing: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        object.__setattr__(self, "size", checks.count(f"size of {self.name!r}", self.size))
        if self.size > MOST_LEVELS:
            raise ValueError(f"size of {self.name!r} must be at most {MOST_LEVELS:,}")
        _check_switch(self.name, "missing", self.missing)

    @property
    def expected(self) -> str:
        """What its values must be."""
        return f"a list of {self.size} numbers"

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return _with_missing(self, [f"{self.name}[{i}]" for i in range(self.size)])

    def write(self, value: object, row: Row, at: int) -> None:
        """Write the columns of a value into a row of zeros."""
        for i, number in enumerate(values.vector(self.name, value, self.size)):
            row[at + i] = number

    def parsed(self, text: str) -> object:
        """What a text in a file without types says: a list in JSON."""
        return values.list_from_text(text)


@dataclass(frozen=True)
class Flag:
    """True or false: 1 or 0.

    Parameters
    ----------
    name : str
        The name of the attribute.
    missing : bool, default False
        Add a column that is 1 if the flag is missing.

    Examples
    --------
    >>> hs.Flag("new").columns
    ('new',)
    """

    kind: ClassVar[str] = "flag"
    expected: ClassVar[str] = "true or false"

    name: str
    _: KW_ONLY
    missing: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_switch(self.name, "missing", self.missing)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        return _with_missing(self, [self.name])

    def number(self, value: object) -> float:
        """A value as 1 or 0; raises if it is neither true nor false."""
        return values.flag(self.name, value)

    def numbers(self, column: Column) -> Floats | None:
        """A column as zeros and ones, missing values as NaN; None if it holds anything else."""
        return column.booleans()

    def takes(self, numbers: Floats) -> Booleans:
        """Which of the numbers (n,) are allowed; NaN is not."""
        return np.asarray((numbers == 0.0) | (numbers == 1.0))

    def fill(self, x: Numbers, rows: Floats, at: int) -> None:
        """Write the column of one number into a row of zeros, or of many into rows (n, d)."""
        rows[..., at] = x + 0.0

    def parsed(self, text: str) -> object:
        """What a text in a file without types says."""
        return values.flag_from_text(text)


@dataclass(frozen=True)
class Date:
    """A date or time: its hour as sine and cosine, its weekday and month in a column each.

    Values are text in ISO 8601, dates, datetimes or seconds since 1970. Times with a zone are
    converted to UTC; times without are taken as UTC.

    Parameters
    ----------
    name : str
        The name of the attribute.
    parts : sequence of {"hour", "weekday", "month"}, default ("hour", "weekday")
        The parts that become columns.
    missing : bool, default False
        Add a column that is 1 if the date is missing.

    Examples
    --------
    >>> hs.Date("at", parts=["hour"]).columns
    ('at hour sine', 'at hour cosine')
    >>> len(hs.Date("at").columns)
    9
    """

    kind: ClassVar[str] = "date"
    expected: ClassVar[str] = values.TIME

    name: str
    _: KW_ONLY
    parts: Sequence[Part] = ("hour", "weekday")
    missing: bool = False

    def __post_init__(self) -> None:
        _check_name(self.name)
        _check_switch(self.name, "missing", self.missing)
        given = (self.parts,) if isinstance(self.parts, str) else tuple(self.parts)
        for part in given:
            checks.one_of(f"parts of {self.name!r}", part, _PARTS)
        if not given:
            raise ValueError(f"parts of {self.name!r} must be some of {', '.join(_PARTS)}")
        parts = tuple(part for part in _PARTS if part in given)
        object.__setattr__(self, "parts", parts)

    @cached_property
    def columns(self) -> tuple[str, ...]:
        """The names of its columns."""
        names: dict[str, list[str]] = {
            "hour": [f"{self.name} hour sine", f"{self.name} hour cosine"],
            "weekday": [f"{self.name}={day}" for day in _WEEKDAYS],
            "month": [f"{self.name}={month}" for month in _MONTHS],
        }
        return _with_missing(self, [name for part in self.parts for name in names[part]])

    def number(self, value: object) -> float:
        """A value in seconds since 1970; raises if it is no time."""
        return values.seconds(self.name, value)

    def numbers(self, column: Column) -> Floats | None:
        """A column in seconds, missing values as NaN; None if it holds anything else."""
        return column.seconds()

    def takes(self, numbers: Floats) -> Booleans:
        """Which of the numbers (n,) are allowed; NaN is not."""
        return np.asarray((numbers >= values.FIRST_SECOND) & (numbers <= values.LAST_SECOND))

    def fill(self, x: Numbers, rows: Floats, at: int) -> None:
        """Write the columns of one time into a row of zeros, or of many into rows (n, d)."""
        if "hour" in self.parts:
            _wave(x, _DAY, rows, at)
            at += 2
        if "weekday" in self.parts:
            days = np.floor(np.asarray(x) / _DAY).astype(np.int64)
            _mark(rows, at + (days + _FIRST_WEEKDAY) % 7)
            at += 7
        if "month" in self.parts:
            months = np.floor(x).astype("datetime64[s]").astype("datetime64[M]")
            _mark(rows, at + months.astype(np.int64) % 12)

    def parsed(self, text: str) -> object:
        """What a text in a file without types says: seconds, or a date or time in ISO 8601."""
        return values.from_text(text)


def _mark(rows: Floats, places: Any) -> None:
    """Write a 1 into a row, or into each of many rows."""
    if rows.ndim == 1:
        rows[places] = 1.0
    else:
        rows[np.arange(len(rows)), places] = 1.0


def _logarithm(x: Numbers) -> Numbers:
    """log(1 + |x|), with the sign of x."""
    # NumPy's functions are slow for one number.
    if isinstance(x, float):
        return math.copysign(math.log1p(abs(x)), x)
    return np.asarray(np.copysign(np.log1p(np.abs(x)), x))


def _wave(x: Numbers, period: float, rows: Floats, at: int) -> None:
    """Write sine and cosine of a place in a period."""
    of: Any = math if isinstance(x, float) else np
    turns = x / period
    angle = (turns - of.floor(turns)) * math.tau
    rows[..., at], rows[..., at + 1] = of.sin(angle), of.cos(angle)


Attribute = Number | Category | Tags | Vector | Flag | Date

KINDS: dict[str, type[Attribute]] = {
    kind.kind: kind for kind in (Number, Category, Tags, Vector, Flag, Date)
}


def _check_name(name: object) -> None:
    if not isinstance(name, str) or not name:
        raise ValueError(f"an attribute must be named by text, got {checks.short(name)}")
    if len(name) > _LONGEST_NAME:
        raise ValueError(
            f"the name of an attribute must have at most {_LONGEST_NAME} characters, "
            f"got {len(name):,}: {checks.short(name)}"
        )
    values.level(name, name)


def _check_switch(name: str, field: str, value: object) -> None:
    if not isinstance(value, bool):
        raise ValueError(f"{field} of {name!r} must be true or false, got {checks.short(value)}")


def _check_levels(attribute: Category | Tags) -> None:
    name = attribute.name
    _check_name(name)
    _check_switch(name, "missing", attribute.missing)
    buckets = checks.count(f"buckets of {name!r}", attribute.buckets)
    if buckets > MOST_LEVELS:
        raise ValueError(f"buckets of {name!r} must be at most {MOST_LEVELS:,}, got {buckets:,}")
    object.__setattr__(attribute, "buckets", buckets)
    if attribute.levels is None:
        return
    if isinstance(attribute.levels, str) or not isinstance(attribute.levels, Iterable):
        raise ValueError(
            f"levels of {name!r} must be a list of texts, got {checks.short(attribute.levels)}"
        )
    given = list(attribute.levels)
    if not 1 <= len(given) <= MOST_LEVELS:
        raise ValueError(
            f"levels of {name!r} must be 1 to {MOST_LEVELS:,} texts, got {len(given):,}; "
            "leave levels out to hash them"
        )
    levels = tuple(values.level(name, level) for level in given)
    if len(set(levels)) < len(levels) or "" in levels:
        again = next(level for i, level in enumerate(levels) if not level or level in levels[:i])
        raise ValueError(f"levels of {name!r} must be different texts, got {again!r} twice")
    object.__setattr__(attribute, "levels", levels)


def _level_columns(attribute: Category | Tags) -> list[str]:
    name = attribute.name
    if attribute.levels is None:
        return [f"{name}#{i}" for i in range(attribute.buckets)]
    return [*(f"{name}={level}" for level in attribute.levels), f"{name} other"]


def _with_missing(attribute: Attribute, columns: Sequence[str]) -> tuple[str, ...]:
    return (*columns, f"{attribute.name} missing") if attribute.missing else tuple(columns)


def _edges(name: str, bins: object) -> tuple[float, ...]:
    if isinstance(bins, str) or not isinstance(bins, Iterable):
        raise ValueError(f"bins of {name!r} must be a list of numbers, got {checks.short(bins)}")
    edges = tuple(checks.real(f"bins of {name!r}", edge) for edge in cast("list[float]", bins))
    increasing = all(low < high for low, high in itertools.pairwise(edges))
    if not 1 <= len(edges) <= MOST_LEVELS or not increasing or not all(map(math.isfinite, edges)):
        raise ValueError(f"bins of {name!r} must be increasing numbers, got {checks.short(bins)}")
    return edges
