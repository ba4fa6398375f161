"""The names of tasks, and the ids of rows: strings or integers, the same in every file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import numpy as np

from headstart.arrays import Integers
from headstart.logs.convert import decoded, is_string
from headstart.logs.sources import Piece

if TYPE_CHECKING:
    import pyarrow as pa

_WORDS = {"str": "strings", "int": "integers"}


@dataclass
class KeyColumn:
    """A column of strings or of integers of any width, also as categories.

    The type is that of the first file, and the same in all: 5 and "5" would be two names of one
    task. With `wanted` set, integers become their decimal text, or texts and whole floats integers.
    In text files, where there are no types, names are integers if all in the first batch are.
    """

    name: str
    wanted: Literal["str", "int"] | None = None
    kind: str | None = None  # as found in the first batch
    first: str = ""  # where that is

    def read(self, array: "pa.Array", piece: Piece) -> "pa.Array":
        """A column as large strings or int64, nulls included."""
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
        if not types.is_integer(kind) and not is_string(kind):
            advice = '; task_type="int" reads whole numbers' if types.is_floating(kind) else ""
            raise ValueError(
                f"column {self.name!r} must hold strings or integers, got {kind}{piece.place()}"
                f"{advice}"
            )
        if self.wanted is not None:
            return self.wanted
        found = "str" if is_string(kind) else "int"
        if piece.is_text:
            found = self.kind or ("int" if _all_integers(array) else "str")
        if self.kind is None:
            self.kind, self.first = found, piece.place()
        elif self.kind != found:
            raise ValueError(
                f"column {self.name!r} must be of one type, got {_WORDS[self.kind]}{self.first} "
                f'and {_WORDS[found]}{piece.place()}; task_type="str" or "int" makes them alike'
            )
        return found


def encode(arrays: Sequence["pa.Array"]) -> tuple[list[object], Integers]:
    """The different names in columns, in the order of their first rows, and the codes of rows."""
    import pyarrow as pa  # noqa: PLC0415

    encoded = pa.concat_arrays(arrays).dictionary_encode()
    return encoded.dictionary.to_pylist(), np.asarray(encoded.indices, dtype=np.int64)


def _all_integers(array: "pa.Array") -> bool:
    """Whether every text is an integer as it would be written: no blanks, no leading zeros."""
    import pyarrow.compute as pc  # noqa: PLC0415

    plain = pc.match_substring_regex(array, "^(0|-?[1-9][0-9]{0,17})$")
    return bool(pc.all(plain).as_py())
