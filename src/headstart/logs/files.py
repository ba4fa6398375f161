"""The files of a log: found by path, folder or pattern, and opened by their format."""

import glob
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headstart.arrays import Integers

if TYPE_CHECKING:
    import pyarrow.dataset as ds

_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv")
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
# Bytes of a CSV file that are parsed at once.
_BLOCK = 1 << 23


class UnevenRows:
    """Rows of a text file with more or fewer columns than its first line; the parser skips them.

    It may come to a row twice, and long before the rows around it are returned.
    """

    def __init__(self) -> None:
        self.expected = 0
        self.found: dict[int, int] = {}  # from the number of a row to that of its columns

    def note(self, row: Any) -> Literal["skip", "error"]:
        """What the parser shall do with such a row."""
        if row.number is None:
            return "error"
        self.expected = row.expected_columns
        self.found[row.number - 2] = row.actual_columns  # the first line has the number 1
        return "skip"

    def numbers(self, rows: Integers) -> Integers:
        """The numbers in the file of rows that are counted without those that were skipped."""
        skipped = np.sort(np.array(list(self.found), dtype=np.int64))
        return rows + np.searchsorted(skipped - np.arange(len(skipped)), rows, side="right")

    def error(self, name: str) -> ValueError:
        """The error of the first such row."""
        row = min(self.found)
        return ValueError(
            f"every row must have {self.expected} columns, as the first line has, got "
            f"{self.found[row]} in row {row} of {name} (rows count from 0)"
        )


def find_files(sources: Sequence[str | Path]) -> list[str]:
    """The files that paths, folders and patterns name, in their order; none of them twice."""
    found = [name for source in sources for name in _find(str(source))]
    resolved = [name if "://" in name else str(Path(name).resolve()) for name in found]
    for i, name in enumerate(resolved):
        if name in resolved[:i]:
            raise ValueError(f"logs must name a file once, got {found[i]!r} twice")
    return found


def is_text(name: str) -> bool:
    """Whether a file holds text, by its name."""
    return _suffix(name) in _TEXT


def open_file(name: str, columns: Sequence[str], uneven: UnevenRows) -> "ds.Dataset":
    """A file as an Arrow dataset; the columns of a text file are strings."""
    import pyarrow as pa  # noqa: PLC0415 (an optional extra)
    import pyarrow.dataset as ds  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    if not is_text(name):
        return ds.dataset(name, format="parquet")
    given: dict[str, Any] = {"invalid_row_handler": uneven.note}  # which stubs do not know
    given["delimiter"] = "\t" if _suffix(name) == ".tsv" else ","
    form = ds.CsvFileFormat(
        # Quoted text may hold line breaks, in columns that are not even used.
        parse_options=csv.ParseOptions(newlines_in_values=True, **given),
        read_options=csv.ReadOptions(block_size=_BLOCK),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()), strings_can_be_null=True
        ),
    )
    return ds.dataset(name, format=form)


def _find(source: str) -> Iterator[str]:
    path = Path(source)
    if "://" in source or path.is_file():
        yield source
    elif path.is_dir():
        yield from _in_folder(path)
    elif any(mark in source for mark in "*?["):
        matching = sorted(glob.glob(source, recursive=True))
        if not matching:
            raise ValueError(f"logs must exist, got {source!r}, which matches no file")
        for name in matching:
            yield from _in_folder(Path(name)) if Path(name).is_dir() else [name]
    else:
        raise ValueError(f"logs must exist, got {source!r}, which is no file, folder or pattern")


def _in_folder(folder: Path) -> list[str]:
    """The files below a folder but hidden ones, and those of Spark and Hive with an underscore."""
    found = [
        str(path)
        for path in sorted(folder.rglob("*"))
        if path.is_file()
        and (_suffix(path.name) in (*_PARQUET, *_TEXT))
        and not any(part.startswith((".", "_")) for part in path.relative_to(folder).parts)
    ]
    if not found:
        raise ValueError(f"logs must hold Parquet or CSV files, got none in folder {str(folder)!r}")
    return found


def _suffix(name: str) -> str:
    """The suffix without that of a compression."""
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix


def check_format(name: str) -> None:
    """Refuse a file that is neither Parquet nor CSV."""
    if "://" in name or _suffix(name) in (*_PARQUET, *_TEXT):
        return
    with Path(name).open("rb") as file:
        if file.read(4) == b"PAR1":
            return
    raise ValueError(
        f"logs must be Parquet or CSV files (.parquet, .csv, .csv.gz, .tsv), got {name!r}"
    )
