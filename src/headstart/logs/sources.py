"""Sources of a log: files, tables or partitions, each a piece with batches of rows."""

import glob
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headstart.arrays import Integers

if TYPE_CHECKING:
    import pyarrow as pa
    import pyarrow.dataset as ds

# Rows per batch: some megabytes per feature. The more rows of a task are in one batch, the fewer
# times its sums are loaded.
BATCH_ROWS = 1 << 18

_KINDS = (
    "a Parquet or CSV file, a folder, a pattern, a pandas, Polars or Arrow table, "
    "a lazy frame, Dask, or a list of these"
)
_PARQUET = (".parquet", ".pq")
_TEXT = (".csv", ".tsv")
_COMPRESSED = (".gz", ".bz2", ".zst", ".lz4")
# Bytes of a CSV file that are parsed at once.
_BLOCK = 1 << 23


class UnevenRows:
    """Rows of a text file with more or fewer columns than its first line; the parser skips them.

    The parser may report a row twice, and long before it returns the rows around it.
    """

    def __init__(self) -> None:
        self.expected = 0
        self.found: dict[int, int] = {}  # the number of columns of a row, by the row's number

    def note(self, row: Any) -> Literal["skip", "error"]:
        """What the parser should do with such a row."""
        if row.number is None:
            return "error"
        self.expected = row.expected_columns
        self.found[row.number - 2] = row.actual_columns  # the first line has the number 1
        return "skip"

    def numbers(self, rows: Integers) -> Integers:
        """The numbers in the file of rows that were counted without skipped ones."""
        skipped = np.sort(np.array(list(self.found), dtype=np.int64))
        return rows + np.searchsorted(skipped - np.arange(len(skipped)), rows, side="right")

    def error(self, name: str) -> ValueError:
        """The error for the first such row."""
        row = min(self.found)
        return ValueError(
            f"every row must have {self.expected} columns, as the first line has, got "
            f"{self.found[row]} in row {row} of {name} (rows count from 0)"
        )


@dataclass(frozen=True, kw_only=True)
class Piece:
    """A file, a table or a partition: its label in errors, and its rows in batches."""

    batches: Callable[[], Iterator["pa.RecordBatch"]]
    label: str | None = None  # empty for the only table
    n_rows: int = 0  # 0 if it is not known
    is_text: bool = False  # whether numbers must still be parsed
    uneven: UnevenRows = field(default_factory=UnevenRows)  # rows that batches left out

    def place(self, row: int | None = None) -> str:
        """Where a row is, in words."""
        where = "" if row is None else f" in row {row}"
        if self.label is None:
            return where
        return f"{where} of {self.label}" if where else f" in {self.label}"


def pieces(
    logs: Any,
    names: list[str],
    label: str | None = None,
    *,
    numeric: Collection[str] = (),
) -> list[Piece]:
    """The pieces of a log; every one has the columns, some of them numbers."""
    try:
        import pyarrow  # noqa: F401, PLC0415 (an optional extra)
    except ImportError as error:
        raise ImportError("reading logs needs pyarrow: pip install 'headstart[data]'") from error
    many = list(logs) if isinstance(logs, list | tuple) else [logs]
    if not many:
        raise ValueError(f"logs must be {_KINDS}, got an empty list")
    if all(isinstance(each, str | Path) for each in many):
        return [piece for name in find_files(many) for piece in _of_file(name, names)]
    if len(many) == 1:
        return _of_table(many[0], names, label, numeric)
    return [
        piece
        for i, each in enumerate(many)
        for piece in (
            pieces(each, names)
            if isinstance(each, str | Path)
            else _of_table(each, names, f"table {i}", numeric)
        )
    ]


def check_columns(expected: Sequence[str], present: Sequence[object], place: str) -> None:
    """Raise if a column is not in the log, or there twice."""
    names = [str(column) for column in present]
    for name in expected:
        if name not in names:
            raise ValueError(f"logs must have a column {name!r}, got {names}{place}")
        if names.count(name) > 1:
            raise ValueError(f"logs must have one column {name!r}, got several{place}")


def _of_file(name: str, names: list[str]) -> Iterator[Piece]:
    _check_format(name)
    text, uneven = is_text(name), UnevenRows()
    try:
        dataset = _open_file(name, names, uneven)
        fragments = list(dataset.get_fragments())
    except (OSError, ValueError) as error:
        raise ValueError(f"cannot read {name!r}: {error}") from error
    check_columns(names, dataset.schema.names, f" in {name}")
    for fragment in fragments:
        yield Piece(
            batches=_scan(fragment, names),
            label=name if len(fragments) == 1 else str(fragment.path),
            n_rows=0 if text else fragment.count_rows(),
            is_text=text,
            uneven=uneven,
        )


def _scan(fragment: "ds.Fragment", names: list[str]) -> Callable[[], Iterator["pa.RecordBatch"]]:
    # Readahead takes memory: two batches are enough to use disk and kernel at once.
    return lambda: fragment.to_batches(columns=names, batch_size=BATCH_ROWS, batch_readahead=2)


def _of_table(
    table: Any, names: list[str], label: str | None, numeric: Collection[str]
) -> list[Piece]:
    place = "" if label is None else f" in {label}"
    if hasattr(table, "to_delayed"):  # Dask
        check_columns(names, getattr(table, "columns", names), place)
        return [
            Piece(batches=_computed(part, names, numeric), label=f"partition {i}{place}")
            for i, part in enumerate(table.to_delayed())
        ]
    if hasattr(table, "collect_schema") and not hasattr(table, "__len__"):  # a lazy frame
        check_columns(names, table.collect_schema().names(), place)
        return [Piece(batches=lambda: _lazy(table.select(names)), label=label)]
    if not hasattr(table, "__arrow_c_stream__"):
        raise ValueError(f"logs must be {_KINDS}, got {type(table).__name__}")
    if hasattr(table, "iloc"):  # pandas: by slices, to avoid a copy of everything
        check_columns(names, table.columns, place)
        read = partial(_pandas, table, names, numeric)
        return [Piece(batches=read, label=label, n_rows=len(table))]
    if hasattr(table, "column_names") or hasattr(table, "columns"):
        check_columns(names, getattr(table, "column_names", None) or table.columns, place)
        n_rows = len(table) if hasattr(table, "__len__") else 0
        return [Piece(batches=lambda: _stream(table.select(names)), label=label, n_rows=n_rows)]
    return [Piece(batches=lambda: _selected(table, names, place), label=label)]


def _stream(table: Any) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa  # noqa: PLC0415

    yield from pa.RecordBatchReader.from_stream(table)


def _selected(stream: Any, names: list[str], place: str) -> Iterator["pa.RecordBatch"]:
    """The columns of a stream that can be read once."""
    for batch in _stream(stream):
        check_columns(names, batch.schema.names, place)
        yield batch.select(names)


def _pandas(frame: Any, names: list[str], numeric: Collection[str]) -> Iterator["pa.RecordBatch"]:
    import pyarrow as pa  # noqa: PLC0415

    for start in range(0, len(frame), BATCH_ROWS):
        part = _in_text(frame.iloc[start : start + BATCH_ROWS][names], numeric)
        try:
            yield from pa.Table.from_pandas(part, preserve_index=False).to_batches()
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(f"columns must hold values of one type each: {error}") from error


def _in_text(frame: Any, numeric: Collection[str]) -> Any:
    """A pandas frame in which columns of numbers that hold some text are all text.

    Text files have no types and are parsed row by row; so are object columns.
    """
    for name in numeric:
        column = frame[name]
        if column.dtype == object and any(isinstance(value, str) for value in column):
            present = zip(column, column.notna(), strict=True)
            frame = frame.assign(**{name: [str(v) if there else None for v, there in present]})
    return frame


def _lazy(frame: Any) -> Iterator["pa.RecordBatch"]:
    if hasattr(frame, "collect_batches"):
        for part in frame.collect_batches(chunk_size=BATCH_ROWS):
            yield from _stream(part)
    else:  # an older Polars
        yield from _stream(frame.collect(engine="streaming"))


def _computed(
    part: Any, names: list[str], numeric: Collection[str]
) -> Callable[[], Iterator["pa.RecordBatch"]]:
    def batches() -> Iterator["pa.RecordBatch"]:
        for piece in pieces(part.compute(), names, numeric=numeric):
            yield from piece.batches()

    return batches


def find_files(sources: Sequence[str | Path]) -> list[str]:
    """The files that paths, folders and patterns name, in order, each once."""
    found = [name for source in sources for name in _find(str(source))]
    resolved = [name if "://" in name else str(Path(name).resolve()) for name in found]
    for i, name in enumerate(resolved):
        if name in resolved[:i]:
            raise ValueError(f"logs must name a file once, got {found[i]!r} twice")
    return found


def is_text(name: str) -> bool:
    """Whether a file holds text, by its name."""
    return _suffix(name) in _TEXT


def _open_file(name: str, columns: Sequence[str], uneven: UnevenRows) -> "ds.Dataset":
    """A file as an Arrow dataset; the columns of a text file are strings."""
    import pyarrow as pa  # noqa: PLC0415 (an optional extra)
    import pyarrow.dataset as ds  # noqa: PLC0415
    from pyarrow import csv  # noqa: PLC0415

    if not is_text(name):
        return ds.dataset(name, format="parquet")
    given: dict[str, Any] = {"invalid_row_handler": uneven.note}  # missing in the type stubs
    given["delimiter"] = "\t" if _suffix(name) == ".tsv" else ","
    form = ds.CsvFileFormat(
        # Quoted text may hold line breaks, even in columns that are not used.
        parse_options=csv.ParseOptions(newlines_in_values=True, **given),
        read_options=csv.ReadOptions(block_size=_BLOCK),
        convert_options=csv.ConvertOptions(
            column_types=dict.fromkeys(columns, pa.string()),
            strings_can_be_null=True,
            null_values=[""],  # NA may be Namibia; who reads numbers knows the words for none
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
            raise ValueError(f"no file matches {source!r}")
        for name in matching:
            yield from _in_folder(Path(name)) if Path(name).is_dir() else [name]
    else:
        raise ValueError(f"no such file, folder or pattern: {source!r}")


def _in_folder(folder: Path) -> list[str]:
    """The files below a folder, without hidden ones and Spark's and Hive's with an underscore."""
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
    """The suffix, without a suffix for compression."""
    path = Path(name.lower())
    return Path(path.stem).suffix if path.suffix in _COMPRESSED else path.suffix


def _check_format(name: str) -> None:
    """Raise if a file is neither Parquet nor CSV."""
    if "://" in name or _suffix(name) in (*_PARQUET, *_TEXT):
        return
    with Path(name).open("rb") as file:
        if file.read(4) == b"PAR1":
            return
    raise ValueError(
        f"logs must be Parquet or CSV files (.parquet, .csv, .csv.gz, .tsv), got {name!r}"
    )
