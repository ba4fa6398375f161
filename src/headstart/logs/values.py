"""The values of a log's columns: numbers, vectors, times and names, from Arrow to NumPy.

A missing number is NaN.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.features.columns import cast_first, decoded, is_text_type, seconds_of, without_words
from headstart.features.values import NO_NUMBERS
from headstart.logs.sources import Piece

if TYPE_CHECKING:
    import pyarrow as pa

# Words in columns of numbers.
_WORDS = {"true": 1.0, "false": 0.0, **dict.fromkeys(("", *NO_NUMBERS), np.nan)}
_KEYS = {"str": "strings", "int": "integers"}


def numbers(array: "pa.Array", name: str, place: str) -> tuple[Floats, Booleans | None]:
    """A column as float64, and a mask of texts that are not numbers, if any."""
    import pyarrow as pa  # noqa: PLC0415 (an optional extra)

    array = decoded(array)
    kind = array.type
    if pa.types.is_null(kind):
        return np.full(len(array), np.nan), None
    if is_text_type(kind):
        return _parsed(array, float)
    if not _is_number(kind):
        raise ValueError(f"column {name!r} must hold numbers or booleans, got {kind}{place}")
    if not pa.types.is_float64(kind):
        array = array.cast(pa.float64(), safe=False)
    return array.to_numpy(zero_copy_only=False), None


def vectors(
    array: "pa.Array", name: str, dimension: int, place: str
) -> tuple[Floats, Booleans | None]:
    """A column of lists as (n, d), and a mask of lists without d values, if any."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if pa.types.is_null(array.type):
        return np.full((len(array), dimension), np.nan), None
    _check_lists(array.type, name, place)
    lengths = pc.fill_null(pc.list_value_length(array), dimension).to_numpy(zero_copy_only=False)
    wrong = lengths != dimension
    if not array.null_count and not wrong.any():
        values, _ = numbers(array.flatten(), name, place)
        return values.reshape(-1, dimension), None
    whole = ~wrong & array.is_valid().to_numpy(zero_copy_only=False)
    found = np.full((len(array), dimension), np.nan)
    values, _ = numbers(array.filter(pa.array(whole)).flatten(), name, place)
    found[whole] = values.reshape(-1, dimension)
    return found, wrong if wrong.any() else None


def lengths(array: "pa.Array", name: str, place: str) -> Integers:
    """The numbers of lists (n,) in a column of lists of lists."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    kind = array.type
    if not pa.types.is_null(kind) and not (_is_list(kind) and _is_list(kind.value_type)):
        raise ValueError(
            f"column {name!r} must hold a list of lists of numbers in every row, got {kind}{place}"
        )
    found = pc.fill_null(pc.list_value_length(array), 0).to_numpy(zero_copy_only=False)
    return np.asarray(found, dtype=np.int64)


def list_length(array: "pa.Array", name: str, place: str) -> int:
    """The number of values in the first list of a column; 1 for numbers or text; 0 for none."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if _is_number(array.type) or is_text_type(decoded(array).type):
        return 1
    if pa.types.is_null(array.type):
        return 0
    _check_lists(array.type, name, place)
    lengths = pc.list_value_length(array).drop_null()
    return int(lengths[0].as_py()) if len(lengths) else 0


def seconds(array: "pa.Array", name: str, place: str) -> tuple[Floats, Booleans | None]:
    """Times in seconds; timestamps and dates count from 1970 (UTC if they have no zone).

    Text holds seconds, or a date or time in ISO 8601. Also returns a mask of other texts, if any.
    """
    import pyarrow as pa  # noqa: PLC0415

    array = decoded(array)
    kind = array.type
    if is_text_type(kind):
        return _parsed(array, _seconds_of)
    if not (pa.types.is_timestamp(kind) or pa.types.is_date(kind)):
        if not _is_number(kind) and not pa.types.is_null(kind):
            raise ValueError(
                f"column {name!r} must hold seconds or timestamps, got {array.type}{place}"
            )
        return numbers(array, name, place)
    return seconds_of(array), None


def _seconds_of(text: str) -> float:
    """A text as seconds: a number, or a date or time in ISO 8601."""
    try:
        return float(text)
    except ValueError:
        found = datetime.fromisoformat(text.upper())
        return (found if found.tzinfo else found.replace(tzinfo=UTC)).timestamp()


def _is_number(kind: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    types = pa.types
    return bool(
        types.is_floating(kind)
        or types.is_integer(kind)
        or types.is_boolean(kind)
        or types.is_decimal(kind)
    )


def _is_list(kind: Any) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    types = pa.types
    return bool(types.is_list(kind) or types.is_large_list(kind) or types.is_fixed_size_list(kind))


def _check_lists(kind: Any, name: str, place: str) -> None:
    import pyarrow as pa  # noqa: PLC0415

    if not _is_list(kind):
        raise ValueError(
            f"column {name!r} must hold a list of numbers in every row, got {kind}{place}"
        )
    if not _is_number(kind.value_type) and not pa.types.is_null(kind.value_type):
        raise ValueError(
            f"column {name!r} must hold lists of numbers or booleans, got {kind}{place}"
        )


def _parsed(array: "pa.Array", value_of: Callable[[str], float]) -> tuple[Floats, Booleans | None]:
    """Numbers or times from text, and a mask of other texts; the fast paths are Arrow's."""
    import pyarrow as pa  # noqa: PLC0415

    array = array.cast(pa.large_string())
    zones = (None, "UTC") if value_of is _seconds_of else ()
    kinds = (pa.float64(), *(pa.timestamp("us", tz=zone) for zone in zones))
    fitting = cast_first(array, kinds)
    if fitting is None:
        fitting = cast_first(without_words(array), kinds)
    if fitting is not None:
        is_time = pa.types.is_timestamp(fitting.type)
        return seconds_of(fitting) if is_time else fitting.to_numpy(zero_copy_only=False), None
    found = np.full(len(array), np.nan)
    wrong = np.zeros(len(array), dtype=bool)
    for i, text in enumerate(array.to_pylist()):
        word = "" if text is None else text.strip().lower()
        try:
            found[i] = _WORDS[word] if word in _WORDS else value_of(word)
        except ValueError:
            wrong[i] = True
    return found, wrong if wrong.any() else None


@dataclass
class KeyColumn:
    """A column of strings or integers of any width, possibly as categories.

    All files must have the type of the first: 5 and "5" would be two names of one task. With
    `wanted`, integers become decimal text, or texts and whole floats become integers. In text
    files, which have no types, names are integers if all in the first batch are.
    """

    name: str
    wanted: Literal["str", "int"] | None = None
    kind: str | None = None  # as found in the first batch
    first: str = ""  # where that is

    def read(self, array: "pa.Array", piece: Piece) -> "pa.Array":
        """A column as large strings or int64, including nulls."""
        import pyarrow as pa  # noqa: PLC0415 (an optional extra)

        array = decoded(array)
        if pa.types.is_null(array.type):
            return array.cast(pa.large_string() if self.kind == "str" else pa.int64())
        kind = self._kind_of(array, piece)
        if kind == "str":
            return array.cast(pa.large_string())
        try:
            return array.cast(pa.int64())
        except pa.ArrowInvalid as error:
            raise ValueError(
                f'column {self.name!r} must hold integers{piece.place()}: {error}; task_type="str" '
                "reads names as strings"
            ) from error

    def _kind_of(self, array: "pa.Array", piece: Piece) -> str:
        import pyarrow as pa  # noqa: PLC0415

        types, kind = pa.types, array.type
        if self.wanted == "int" and types.is_floating(kind):
            return "int"
        if not types.is_integer(kind) and not is_text_type(kind):
            advice = '; task_type="int" reads whole numbers' if types.is_floating(kind) else ""
            raise ValueError(
                f"column {self.name!r} must hold strings or integers, got {kind}{piece.place()}"
                f"{advice}"
            )
        if self.wanted is not None:
            return self.wanted
        found = "str" if is_text_type(kind) else "int"
        if piece.is_text:
            found = self.kind or ("int" if _all_integers(array) else "str")
        if self.kind is None:
            self.kind, self.first = found, piece.place()
        elif self.kind != found:
            raise ValueError(
                f"column {self.name!r} must be of one type, got {_KEYS[self.kind]}{self.first} "
                f'and {_KEYS[found]}{piece.place()}; task_type="str" or "int" makes them alike'
            )
        return found


def encode(array: "pa.Array") -> tuple[list[object], Integers]:
    """The different names in a column, in order of appearance, and the codes of rows."""
    encoded = array.dictionary_encode()
    return encoded.dictionary.to_pylist(), np.asarray(encoded.indices, dtype=np.int64)


def _all_integers(array: "pa.Array") -> bool:
    """Whether every text is an integer in standard form: no blanks, no leading zeros."""
    import pyarrow.compute as pc  # noqa: PLC0415

    plain = pc.match_substring_regex(array, "^(0|-?[1-9][0-9]{0,17})$")
    return bool(pc.all(plain).as_py())
