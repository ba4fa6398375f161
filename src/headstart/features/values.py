"""The raw values of attributes: missing, or a number, a level or a time.

Functions take the name of the attribute for their error, a `ValueError` of one sentence.
"""

import json
import math
from collections.abc import Callable, Collection, Mapping, Sequence
from datetime import UTC, date, datetime
from numbers import Real
from typing import Any

import numpy as np

from headstart import checks

# Beyond this, squares and products run out of range.
LARGEST = 1e50
# Of the text of one level.
MOST_CHARACTERS = 1_000
MOST_TAGS = 100
# What may separate the tags of a text.
SEPARATORS = ("|", ";", ", ")
# Of objects within objects: `user.address.city` has two.
MOST_DEPTH = 8

TIME = "a date or time (ISO 8601, a date, a datetime or seconds since 1970)"

# What files without types write for a missing number.
NO_NUMBERS = ("na", "n/a", "#n/a", "nan", "null", "none")
_WORDS: dict[str, float | None] = {
    **dict.fromkeys(NO_NUMBERS),
    "true": 1.0,
    "false": 0.0,
    "1": 1.0,
    "0": 0.0,
}
_LISTS = (list, tuple, set, frozenset, np.ndarray)
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECONDS = 1_000_000
# The years 1 to 9999, the range of Python's dates.
FIRST_SECOND = (datetime.min.replace(tzinfo=UTC) - _EPOCH).total_seconds()
LAST_SECOND = (datetime.max.replace(tzinfo=UTC) - _EPOCH).total_seconds()


def is_missing(value: object) -> bool:
    """Whether there is no value: None, NaN, the empty text, pandas' NA and NaT."""
    kind = type(value)
    if value is None or kind is str:
        return not value
    if kind is int or isinstance(value, _LISTS):
        return False
    if isinstance(value, Real):
        return math.isnan(value)
    if isinstance(value, np.datetime64):
        return bool(np.isnat(value))
    return kind.__name__ in ("NAType", "NaTType") or value == ""


def wrong(name: str, expected: str, value: object) -> ValueError:
    """The error for a value that an attribute does not take."""
    return ValueError(f"attribute {name!r} must be {expected}, got {checks.short(value)}")


def number(name: str, value: object) -> float:
    """A finite number; true and false are not numbers."""
    kind = type(value)
    if kind is not float and kind is not int:
        if isinstance(value, bool | np.bool_):
            raise wrong(name, "a number (hs.Flag takes true and false)", value)
        if not isinstance(value, Real) and kind.__name__ != "Decimal":
            raise wrong(name, "a number", value)
    try:
        found = float(value)  # type: ignore[arg-type]
    except (OverflowError, ValueError):
        raise wrong(name, f"at most {LARGEST:g} in size", value) from None
    if -LARGEST <= found <= LARGEST:
        return found + 0.0  # −0 is 0
    raise wrong(name, f"finite and at most {LARGEST:g} in size", value)


def flag(name: str, value: object) -> float:
    """True or false as 1 or 0; also takes the numbers 1 and 0."""
    if isinstance(value, bool | np.bool_) or (isinstance(value, Real) and value in (0, 1)):
        return float(value)
    raise wrong(name, "true or false", value)


def level(name: str, value: object) -> str:
    """The text of a category's level: text unchanged, a whole number in digits."""
    text = value
    if type(value) is not str:
        text = _level_text(value)
        if text is None:
            raise wrong(name, "text or a number", value)
    assert isinstance(text, str)
    if len(text) > MOST_CHARACTERS:
        raise ValueError(
            f"attribute {name!r} must be text of at most {MOST_CHARACTERS:,} characters, "
            f"got {len(text):,}: {checks.short(text)}"
        )
    if not text.isascii():
        try:
            text.encode()
        except UnicodeEncodeError:
            raise wrong(name, "text that UTF-8 can encode", text) from None
    return text


def _level_text(value: object) -> str | None:
    if isinstance(value, str):
        return str(value)
    if isinstance(value, bool | np.bool_):
        return "true" if value else "false"
    if isinstance(value, int | np.integer):
        try:
            return str(int(value))
        except ValueError:  # Python prints no integer of more than 4300 digits
            return None
    if isinstance(value, float | np.floating) and math.isfinite(value):
        # In columns with missing values, whole numbers come as floats.
        return str(int(value)) if value == int(value) else repr(float(value))
    return None


def divided(text: str) -> list[str]:
    """The parts of a text with separators, without empty ones."""
    separator = next((one for one in SEPARATORS if one in text), None)
    return [part for part in text.split(separator) if part] if separator else [text]


def tags(name: str, value: object) -> list[str]:
    """The different tags in a list, or in a text with separators."""
    if isinstance(value, str):
        listed: Collection[object] = divided(value)
    elif isinstance(value, _LISTS):
        listed = value.tolist() if isinstance(value, np.ndarray) else value
    else:
        raise wrong(name, "a list of tags", value)
    if not isinstance(listed, Collection) or len(listed) > MOST_TAGS:
        n = len(listed) if isinstance(listed, Collection) else 0
        raise ValueError(f"attribute {name!r} must have at most {MOST_TAGS} tags, got {n:,}")
    return list(dict.fromkeys(level(name, tag) for tag in listed if not is_missing(tag)))


def vector(name: str, value: object, size: int) -> Sequence[float]:
    """A list of this many numbers."""
    if isinstance(value, np.ndarray):
        value = value.tolist()
    if not isinstance(value, list | tuple):
        raise wrong(name, f"a list of {size} numbers", value)
    if len(value) != size:
        raise ValueError(f"attribute {name!r} must have {size} numbers, got {len(value)}")
    return [number(name, each) for each in value]


def seconds(name: str, value: object) -> float:
    """A time in seconds since 1970; without a time zone, UTC."""
    if isinstance(value, bool | np.bool_):
        raise wrong(name, TIME, value)
    if isinstance(value, Real):
        found = number(name, value)
    else:
        try:
            found = _since_1970(value)
        except (TypeError, ValueError, OverflowError):
            raise wrong(name, TIME, value) from None
    if not FIRST_SECOND <= found <= LAST_SECOND:
        raise wrong(name, "within the years 1 to 9999", value)
    return found


def _since_1970(value: object) -> float:
    if isinstance(value, np.datetime64):
        value = value.astype("datetime64[us]").item()
    if isinstance(value, str):
        value = datetime.fromisoformat(value.strip())
    if isinstance(value, datetime):
        aware = value if value.tzinfo else value.replace(tzinfo=UTC)
        gone = aware - _EPOCH
    elif isinstance(value, date):
        gone = datetime(value.year, value.month, value.day, tzinfo=UTC) - _EPOCH
    else:
        raise TypeError
    whole = (gone.days * 86_400 + gone.seconds) * _MICROSECONDS + gone.microseconds
    return whole / _MICROSECONDS


def from_text(text: str) -> object:
    """The number in a text of a file without types, else the text itself."""
    try:
        return float(text)
    except ValueError:
        return None if text.strip().lower() in NO_NUMBERS else text


def list_from_text(text: str) -> object:
    """The list in a JSON text, else the text itself."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None if text.strip().lower() in NO_NUMBERS else text
    return found if isinstance(found, list) else text


def flag_from_text(text: str) -> object:
    """True or false in a text of a file without types, else the text itself."""
    return _WORDS.get(text.strip().lower(), text)


def flat(row: object, what: str) -> dict[str, Any]:
    """A row of attributes with nested objects flattened: {"user": {"age": 3}} becomes `user.age`.

    Objects in a list are merged into one.
    """
    if row is None:
        return {}
    found: dict[str, Any] = {}
    parts = row if isinstance(row, list | tuple) else (row,)
    for part in parts:
        if not isinstance(part, Mapping):
            raise ValueError(f"{what} must be attributes by name, got {checks.short(part)}")
        _flatten(part, "", 0, found.__setitem__, what)
    return found


def _flatten(
    row: Mapping[Any, Any], prefix: str, depth: int, put: Callable[[str, Any], None], what: str
) -> None:
    if depth > MOST_DEPTH:
        raise ValueError(
            f"{what} must nest at most {MOST_DEPTH} objects, "
            f"got more at {checks.short(prefix[:-1])}"
        )
    for name, value in row.items():
        if not isinstance(name, str):
            raise ValueError(f"{what} must have attributes named by text, got {checks.short(name)}")
        if isinstance(value, Mapping):
            _flatten(value, f"{prefix}{name}.", depth + 1, put, what)
        else:
            put(prefix + name, value)
