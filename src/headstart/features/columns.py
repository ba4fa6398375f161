"""Columns of raw values: of a pandas or Polars frame, an Arrow table, NumPy, or lists.

A column is read as an array of numbers or seconds if possible, else as its different values and
which of them each row has. So text is processed once per level.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Floats, Integers
from headstart.features.values import NO_NUMBERS

_PLAIN_NUMBERS = {int, float, type(None)}
_NUMBERS = ("i", "u", "f")  # dtype.kind of integers and floats
_MICROSECONDS = 1e6


class Column:
    """One column of n values.

    is_text: whether it comes from a file without types, so that text may mean a number.
    """

    def __init__(self, values: Any, *, is_text: bool = False) -> None:
        self.values = values
        self.is_text = is_text
        self._arrow = _as_arrow(values)

    def numbers(self) -> Floats | None:
        """The numbers (n,), NaN for missing ones; None if it is not a column of numbers."""
        values = self.values
        if self._arrow is not None:
            return _arrow_numbers(self._arrow, self.is_text)
        if isinstance(values, list | tuple):
            return _plain_numbers(values)
        if _kind(values) not in _NUMBERS:
            return None
        if hasattr(values, "iloc"):  # pandas, nullable columns included
            return np.asarray(values.to_numpy(dtype=np.float64, na_value=np.nan))
        return np.asarray(values, dtype=np.float64)

    def booleans(self) -> Floats | None:
        """True and false as 1 and 0; None if it holds neither booleans without gaps nor numbers."""
        values = self.values
        if isinstance(values, np.ndarray) and values.dtype.kind == "b":
            return values.astype(np.float64)
        return self.numbers()

    def seconds(self) -> Floats | None:
        """Times in seconds since 1970 (n,), NaN for missing ones; None if it holds no times."""
        values = self.values
        if self._arrow is not None:
            found = _arrow_seconds(self._arrow, self.is_text)
            return self.numbers() if found is None else found
        if _kind(values) != "M":
            return self.numbers()
        if hasattr(values, "iloc"):
            if getattr(values.dtype, "tz", None) is not None:
                values = values.dt.tz_convert(None)  # to UTC
            values = values.to_numpy()
        return _since_1970(np.asarray(values))

    def levels(self) -> tuple[list[object], Integers]:
        """The different values, and the index of each row's value, −1 if it is missing."""
        values = self.values
        if self._arrow is not None:
            found = _arrow_levels(self._arrow)
            return _different(self._arrow.to_pylist()) if found is None else found
        if hasattr(values, "cat") and hasattr(values.cat, "codes"):  # a pandas categorical
            codes = np.asarray(values.cat.codes, dtype=np.int64)
            return list(values.cat.categories.tolist()), codes
        if isinstance(values, np.ndarray) and values.dtype.kind in "iuU":
            levels, codes = np.unique(values, return_inverse=True)
            return list(levels.tolist()), codes.astype(np.int64)
        return _different(listed(values))

    def listed(self) -> list[object]:
        """All values as Python objects."""
        return self._arrow.to_pylist() if self._arrow is not None else listed(self.values)


def listed(values: Any) -> list[object]:
    """The values of a column as Python objects."""
    if isinstance(values, list | tuple):
        return list(values)
    if hasattr(values, "to_pylist"):  # Arrow
        return list(values.to_pylist())
    if hasattr(values, "to_list"):  # pandas, Polars
        return list(values.to_list())
    array = np.asarray(values)
    if array.dtype.kind == "M":  # NumPy would list nanoseconds as integers
        array = array.astype("datetime64[us]")
    return list(array.tolist())


def _kind(values: Any) -> str:
    return str(getattr(getattr(values, "dtype", None), "kind", ""))


def _plain_numbers(values: Sequence[Any]) -> Floats | None:
    if not set(map(type, values)) <= _PLAIN_NUMBERS:
        return None
    try:
        return np.array(values, dtype=np.float64)
    except OverflowError:  # an integer too large for a float
        return None


def _since_1970(times: NDArray[Any]) -> Floats:
    whole = times.astype("datetime64[us]").astype(np.int64)
    return np.where(np.isnat(times), np.nan, whole / _MICROSECONDS)


def _different(values: list[object]) -> tuple[list[object], Integers]:
    """The different values of a list and their codes; True, 1 and 1.0 are different."""
    levels: list[object] = []
    index: dict[object, int] = {}
    codes = np.empty(len(values), dtype=np.int64)
    for i, value in enumerate(values):
        key = _key(value)
        code = -1 if key is None else index.get(key, -1)
        if code < 0:
            code = len(levels)
            levels.append(value)
            if key is not None:
                index[key] = code
        codes[i] = code
    return levels, codes


def _key(value: object) -> object:
    """A key that tells a value from others; None for a value that is its own level."""
    kind = type(value)
    if kind is str:
        return value
    if kind is float and value != value:  # noqa: PLR0124 - one NaN is as good as another
        return kind
    if kind is list and all(type(each) is str for each in value):  # type: ignore[attr-defined]
        return tuple(value)  # type: ignore[arg-type]
    return (kind, value) if kind in (int, float, bool, type(None)) else None


# Arrow: columns that pyarrow has read, and Polars' columns, which it takes without a copy.


def _as_arrow(values: Any) -> Any:
    """A column as one Arrow array; None if it is not Arrow's or Polars'."""
    is_polars = hasattr(values, "to_arrow") and hasattr(values, "to_physical")
    if is_polars and find_spec("pyarrow") is not None:
        values = values.to_arrow()
    elif not hasattr(values, "to_pylist"):
        return None
    if hasattr(values, "combine_chunks"):
        values = values.combine_chunks()
    return _readable(values)


def _readable(array: Any) -> Any:
    """A column of categories whose levels are views of text, as in Polars, with plain text."""
    import pyarrow as pa  # noqa: PLC0415 (an optional extra)

    types = pa.types
    if types.is_dictionary(array.type) and types.is_string_view(array.type.value_type):
        texts = array.dictionary.cast(pa.large_string())
        return pa.DictionaryArray.from_arrays(array.indices, texts)
    return array.cast(pa.large_string()) if types.is_string_view(array.type) else array


def decoded(array: Any) -> Any:
    """The values of a column that may hold categories."""
    array = _readable(array)
    return array.dictionary_decode() if hasattr(array, "dictionary_decode") else array


def is_text_type(kind: Any) -> bool:
    """Whether an Arrow type is text."""
    import pyarrow as pa  # noqa: PLC0415

    types = pa.types
    return bool(types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind))


def _arrow_numbers(array: Any, is_text: bool) -> Floats | None:
    import pyarrow as pa  # noqa: PLC0415

    types = pa.types
    array = decoded(array)
    kind = array.type
    if types.is_null(kind):
        return np.full(len(array), np.nan)
    number = types.is_floating(kind) or types.is_integer(kind) or types.is_decimal(kind)
    if not number and not (is_text and is_text_type(kind)):
        return None
    if not number:
        found = cast_first(array, (pa.float64(),))
        array = cast_first(without_words(array), (pa.float64(),)) if found is None else found
    elif not types.is_float64(kind):
        array = array.cast(pa.float64(), safe=False)
    return None if array is None else np.asarray(array.to_numpy(zero_copy_only=False))


def _arrow_seconds(array: Any, is_text: bool) -> Floats | None:
    """The seconds of timestamps, dates, and texts that all have one format."""
    import pyarrow as pa  # noqa: PLC0415

    array = decoded(array)
    kind = array.type
    if is_text_type(kind):
        if is_text and _arrow_numbers(array, is_text) is not None:
            return None
        array = cast_first(array, (pa.timestamp("us"), pa.timestamp("us", tz="UTC")))
    elif not pa.types.is_timestamp(kind) and not pa.types.is_date(kind):
        return None
    return None if array is None else seconds_of(array)


def seconds_of(array: Any) -> Floats:
    """The seconds since 1970 of Arrow's timestamps or dates, NaN for missing ones."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_date(array.type):
        array = array.cast(pa.timestamp("s"))
    found = array.cast(pa.timestamp("us"), safe=False).cast(pa.int64())
    seconds = found.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)
    return np.asarray(seconds / _MICROSECONDS)


def without_words(array: Any) -> Any:
    """Text without the words that mean a missing number."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    missing = pc.is_in(pc.utf8_lower(array), pa.array(NO_NUMBERS, array.type))
    return pc.if_else(missing, None, array)


def cast_first(array: Any, kinds: tuple[Any, ...]) -> Any:
    """An array as the first of these types that all its values fit; None if there is none."""
    import pyarrow as pa  # noqa: PLC0415

    for kind in kinds:
        try:
            return array.cast(kind)
        except pa.ArrowInvalid:
            continue
    return None


def _arrow_levels(array: Any) -> tuple[list[object], Integers] | None:
    """The levels of a column that Arrow can encode; None for lists."""
    import pyarrow as pa  # noqa: PLC0415

    if pa.types.is_nested(array.type):
        return None
    encoded = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    codes = encoded.indices.cast(pa.int64()).fill_null(-1).to_numpy(zero_copy_only=False)
    return encoded.dictionary.to_pylist(), np.asarray(codes, dtype=np.int64)
