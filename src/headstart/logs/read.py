"""Reading a log in one pass: its rows in checked batches, its tasks, and the report."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from headstart import checks
from headstart.features import Features
from headstart.logs import sources, values
from headstart.logs.columns import Columns, ItemColumn
from headstart.logs.report import WRONG_UNIT, Example, LogReport, Tally, TaskCount, examples_of
from headstart.logs.rows import Batch, Fault, Range, RowReader, Rows, Seen
from headstart.logs.sources import Piece
from headstart.logs.statistics import LoggedTask, LogStatistics
from headstart.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

OnBad = Literal["raise", "drop"]

# How many tasks are summed at once, in a log grouped by task.
_TASKS = 1024


class Reader:
    """One pass over a log.

    With on_bad="raise" it raises for the first bad row, else it leaves bad rows out and counts
    them. A row whose reward is outside `reward_range` is bad.
    """

    def __init__(
        self,
        logs: Any,
        columns: Columns,
        dimension: int,
        *,
        on_bad: OnBad = "raise",
        reward_range: Range | None = None,
        find_identical: bool = False,
        label: str | None = None,
    ) -> None:
        self.dimension = checks.count("dimension", dimension)
        self.on_bad = checks.one_of("on_bad", on_bad, ("raise", "drop"))
        self.reward_range = reward_range
        self.tally = Tally(dimension)
        self.pieces = sources.pieces(
            logs,
            columns.names(),
            label,
            numeric=columns.read_as_numbers(),
        )
        counts = [piece.n_rows for piece in self.pieces]
        self.total = sum(counts) if all(counts) else 0
        self._rows = RowReader(columns=columns, dimension=self.dimension)
        self._seen_ids = Seen()
        self._seen_rows = Seen() if find_identical else None

    @property
    def columns(self) -> Columns:
        """The columns; the first rows settle means and scales that a schema leaves open."""
        return self._rows.columns

    def batches(self) -> Iterator[Batch]:
        """The rows that count."""
        for piece in self.pieces:
            self.tally.pieces += 1
            first = 0
            for batch in _joined(piece.batches()):
                self._check_uneven(piece)
                self._settle(batch, piece)
                rows = self._rows.read(batch, piece, first)
                first += len(rows)
                self.tally.rows += len(rows)
                rows = self._without_repeated(self._without_bad(rows, piece), piece)
                if len(rows):
                    self.tally.note_range(*rows.ranges())
                    self._note_identical(rows, piece)
                    yield Batch.of(rows, piece)
            self._check_uneven(piece)
            self._note_uneven(piece)

    def _settle(self, batch: pa.RecordBatch, piece: Piece) -> None:
        """Take open means and scales of the schema from the first rows."""
        schema = self.columns.schema
        if schema is not None and not schema.is_settled and batch.num_rows:
            columns = {name: batch.column(name) for name in schema.attributes}
            settled = schema.settled_by_log(columns, is_text=piece.is_text)
            self._rows = replace(self._rows, columns=replace(self.columns, features=settled))

    def _check_uneven(self, piece: Piece) -> None:
        if piece.uneven.found and self.on_bad == "raise":
            error = piece.uneven.error(str(piece.label))
            raise ValueError(f'{error}; on_bad="drop" leaves such rows out')

    def _note_uneven(self, piece: Piece) -> None:
        found = sorted(piece.uneven.found.items())
        if found:
            self.tally.rows += len(found)
            what = f"has not {piece.uneven.expected} columns, as the first line has"
            examples = [Example(piece.label, row, n) for row, n in found]
            self.tally.note_bad(what, len(found), examples)

    def _without_bad(self, rows: Rows, piece: Piece) -> Rows:
        if not len(rows) or rows.seem_right(self.reward_range):
            return rows
        bad = np.zeros(len(rows), dtype=bool)
        found: list[tuple[int, Fault, object]] = []
        for fault in rows.faults(self.columns, self.reward_range):
            new = fault.mask & ~bad
            if new.any():
                bad |= new
                examples = examples_of(new, rows.numbers, piece.label, fault.values)
                found.append((examples[0].row, fault, examples[0].value))
                what = f"column {fault.column!r} {fault.what}"
                self.tally.note_bad(what, int(new.sum()), examples)
        if found and self.on_bad == "raise":
            row, fault, value = min(found, key=lambda one: one[0])
            raise ValueError(
                f"column {fault.column!r} {fault.must}, got {value!r}{piece.place(row)} "
                '(rows count from 0); on_bad="drop" leaves such rows out'
            )
        self.tally.missing += rows.missing()
        return rows.keep(~bad)

    def _without_repeated(self, rows: Rows, piece: Piece) -> Rows:
        if rows.id is None or not len(rows):
            return rows
        repeated = self._seen_ids.repeated([rows.id.to_numpy(zero_copy_only=False)])
        if not repeated.any():
            return rows
        examples = examples_of(repeated, rows.numbers, piece.label, rows.id)
        self.tally.duplicates.add(int(repeated.sum()), examples)
        return rows.keep(~repeated)

    def _note_identical(self, rows: Rows, piece: Piece) -> None:
        """Count rows that equal an earlier one in every column."""
        if self._seen_rows is None:
            return
        features = rows.features.T if isinstance(rows.features, np.ndarray) else rows.features
        more = [column for column in (rows.weight, rows.time) if column is not None]
        # Adding 0 makes −0 and 0 alike.
        numbers = [column + 0.0 for column in (*features, rows.reward, *rows.about.T, *more)]
        keys = [key.to_numpy(zero_copy_only=False) for key in (rows.task, rows.item) if key]
        identical = self._seen_rows.repeated([*keys, *numbers])
        examples = examples_of(identical, rows.numbers, piece.label)
        self.tally.identical.add(int(identical.sum()), examples)


def _joined(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The same rows in batches as large as allowed: each task's sums are loaded once per batch."""
    waiting: list[pa.RecordBatch] = []
    for whole in batches:
        for start in range(0, max(whole.num_rows, 1), sources.BATCH_ROWS):
            batch = whole.slice(start, sources.BATCH_ROWS)
            n = sum(each.num_rows for each in waiting) + batch.num_rows
            if waiting and (n > sources.BATCH_ROWS or batch.schema != waiting[0].schema):
                yield _one(waiting)
                waiting = []
            waiting.append(batch)
    if waiting:
        yield _one(waiting)


def _one(batches: list[pa.RecordBatch]) -> pa.RecordBatch:
    if len(batches) == 1:
        return batches[0]
    import pyarrow as pa  # noqa: PLC0415 - a service starts without it

    found = pa.Table.from_batches(batches).combine_chunks().to_batches()
    return found[0] if found else batches[0]


class LogReading:
    """One pass over a log: iterate over its tasks; then the report is complete.

    Tasks come in the order in which they first appear.

    Parameters
    ----------
    logs : path, table, or list of paths
        As `MetaBandit.fit` takes them.
    columns : Columns
        The names of the log's columns.
    dimension : int
        The number of features, d.
    on_bad : {"raise", "drop"}, default "raise"
        Whether bad rows are an error, or left out.
    reward_range : (float, float), optional
        Rows whose reward is outside are bad.
    grouped_by_task : bool, default False
        Yield each task as soon as its rows end. Memory then holds one task at a time and the name
        of every earlier one; a task whose rows are not consecutive is refused. Without this, memory
        holds the sums of all tasks, (d + 2)² numbers each, and tasks come at the end.
    find_identical : bool, default False
        Whether to look for rows that equal an earlier one.
    progress : callable, optional
        Called with the rows read so far, and with their total if it is known.

    Examples
    --------
    >>> import pandas as pd
    >>> from headstart.logs import Columns, LogReading
    >>> log = pd.DataFrame({"task": ["ann", "bob", "ann"], "x": [1.0, 2.0, 3.0], "reward": 1.0})
    >>> reading = LogReading(log, Columns(features=["x"]), dimension=1)
    >>> {task.name: float(task.statistics.count) for task in reading}
    {'ann': 2.0, 'bob': 1.0}
    >>> reading.report.rows
    3
    """

    def __init__(
        self,
        logs: Any,
        columns: Columns,
        dimension: int,
        *,
        on_bad: OnBad = "raise",
        reward_range: Range | None = None,
        grouped_by_task: bool = False,
        find_identical: bool = False,
        progress: Progress | None = None,
    ) -> None:
        self._columns, self.dimension = columns, dimension
        self._logs, self._on_bad, self._progress = logs, on_bad, progress
        self._identical, self._reward_range = find_identical, reward_range
        self._set_aside: Sequence[str | int] | None = None
        self.grouped_by_task = grouped_by_task
        # Sums of partitions of Dask are computed where these are, and added.
        in_order = grouped_by_task or find_identical or columns.id is not None
        self._in_partitions = hasattr(logs, "to_delayed") and not in_order
        if self._in_partitions:
            self._columns = _settled_by_first(logs, columns)
        self._reader = None if self._in_partitions else self._new_reader()
        self._tally: Tally = Tally(dimension) if self._reader is None else self._reader.tally
        self._total = np.zeros((dimension + 2, dimension + 2))
        self._n_tasks = 0

    @property
    def columns(self) -> Columns:
        """The columns; the first rows settle means and scales that a schema leaves open."""
        return self._columns if self._reader is None else self._reader.columns

    def _new_reader(self) -> Reader:
        return Reader(
            self._logs,
            self._columns,
            self.dimension,
            on_bad=self._on_bad,
            reward_range=self._reward_range,
            find_identical=self._identical,
        )

    def __iter__(self) -> Iterator[LoggedTask]:
        if not self.grouped_by_task:
            yield from self.statistics()
            return
        for task in self._one_by_one():
            self._n_tasks += 1
            yield task
        self._check_rows()

    def statistics(self) -> LogStatistics:
        """The statistics of all tasks at once."""
        if self._reader is None:
            rules = {"on_bad": self._on_bad, "reward_range": self._reward_range}
            found = _by_partition(self._logs, self.columns, self.dimension, rules)
            self._tally = found.tally
        else:
            found = LogStatistics(self.columns, self.dimension)
            for batch in self._batches(self._reader):
                found.add(batch)
            found.tally = self._tally
        self._total, self._n_tasks = found.total(), len(found)
        self._check_rows()
        return found

    @property
    def report(self) -> LogReport:
        """What was read so far."""
        columns = self.columns
        names = list(columns.feature_names() or columns.feature_columns())
        if len(names) != self.dimension:
            names = [f"{names[0]}[{a}]" for a in range(self.dimension)]
        found = self._tally.report(
            [*names, columns.reward], self._total, self._n_tasks, columns.id, self._identical
        )
        found = replace(found, encoded=columns.schema is not None)
        if self._set_aside is None:
            return found
        return replace(found, set_aside=TaskCount.of(WRONG_UNIT, self._set_aside))

    def note_set_aside(self, names: Sequence[str | int]) -> None:
        """Note in the report the tasks that do not count, because their rewards are far too large.

        Parameters
        ----------
        names : sequence of str or int
            The names of the tasks.
        """
        self._set_aside = names

    def _batches(self, reader: Reader) -> Iterator[Batch]:
        for batch in _one_ahead(reader.batches()):
            yield batch
            if self._progress is not None:
                self._progress(self._tally.rows, reader.total)

    def _one_by_one(self) -> Iterator[LoggedTask]:
        assert self._reader is not None
        seen: set[object] = set()
        current = LogStatistics(self.columns, self.dimension)
        for batch in self._batches(self._reader):
            self._total += batch.rows.T @ batch.rows
            _check_runs(batch, seen, next(iter(current.codes), None))
            for first in range(0, len(batch.names), _TASKS):
                current.add(batch.part(first, min(first + _TASKS, len(batch.names))))
                for name in list(current.codes)[:-1]:
                    yield current[name]
                current = current.last()
        yield from current

    def _check_rows(self) -> None:
        tally = self._tally
        used = tally.rows - tally.duplicates.count - sum(rows.count for rows in tally.bad.values())
        if used == 0:
            reasons = "; ".join(f"{rows.count} rows: {what}" for what, rows in tally.bad.items())
            raise ValueError(
                f"logs must have at least one row that counts, got {tally.rows} rows"
                + (f" ({reasons})" if reasons else "")
            )


def check_log(
    logs: Any,
    columns: Columns,
    dimension: int | None = None,
    *,
    reward_range: Range | None = None,
    grouped_by_task: bool = False,
    progress: Progress | None = None,
) -> LogReport:
    """Read a log without learning from it, and report what it holds.

    Parameters
    ----------
    logs : path, table, or list of paths
        As `MetaBandit.fit` takes them.
    columns : Columns
        The names of the log's columns.
    dimension : int, optional
        The number of features, d; by default, the log's.
    reward_range : (float, float), optional
        Rows whose reward is outside are bad.
    grouped_by_task : bool, default False
        Whether the rows of each task are contiguous.
    progress : callable, optional
        Called with the rows read so far, and with their total if it is known.

    Returns
    -------
    LogReport

    Examples
    --------
    >>> import pandas as pd
    >>> from headstart.logs import Columns, check_log
    >>> log = pd.DataFrame({"task": ["ann", "ann"], "x": [1.0, 1.0], "reward": [1.0, 1.0]})
    >>> check_log(log, Columns(features=["x"])).identical.count
    1
    """
    if dimension is None:
        dimension = n_features(logs, columns.features)
    reading = LogReading(
        logs,
        columns,
        dimension,
        on_bad="drop",
        reward_range=reward_range,
        grouped_by_task=grouped_by_task,
        find_identical=True,
        progress=progress,
    )
    for _ in reading:
        pass
    return reading.report


def n_features(logs: Any, features: str | Sequence[str] | Features | ItemColumn) -> int:
    """The number of features in a log: of columns, or the length of the first list.

    Parameters
    ----------
    logs : path, table, or list of paths
        As `MetaBandit.fit` takes them.
    features : str, sequence of str, Features or ItemColumn
        The columns of the features, as for `Columns`.

    Returns
    -------
    int

    Examples
    --------
    >>> import pandas as pd
    >>> from headstart.logs import n_features
    >>> n_features(pd.DataFrame({"x": [[1.0, 2.0, 3.0]]}), "x")
    3
    """
    if isinstance(features, Features):
        return features.dimension
    if isinstance(features, ItemColumn):
        return int(features.matrix.shape[1])
    if not isinstance(features, str):
        return len(features)
    for piece in sources.pieces(logs, [features]):
        for batch in piece.batches():
            if piece.is_text:
                return 1
            found = values.list_length(batch.column(features), features, piece.place())
            if found:
                return found
    raise ValueError(f"column {features!r} must hold a list of numbers in some row, got none")


def _one_ahead(batches: Iterator[Batch]) -> Iterator[Batch]:
    """The same batches, each made by a thread while the previous one is summed."""
    with ThreadPoolExecutor(1) as pool:
        coming = pool.submit(next, batches, None)
        while (batch := coming.result()) is not None:
            coming = pool.submit(next, batches, None)
            yield batch


def _check_runs(batch: Batch, seen: set[object], open_name: object) -> None:
    """Refuse a task whose rows are not consecutive, within the batch or across batches."""
    for i, (code, number) in enumerate(zip(batch.runs, batch.run_numbers, strict=True)):
        name = batch.names[code]
        if name in seen and (i > 0 or name != open_name):
            raise ValueError(
                f"logs must be grouped by task, but the rows of task {name!r} are not "
                f"consecutive{batch.piece.place(int(number))}; sort the log by task, "
                "or read it without grouped_by_task"
            )
        seen.add(name)


def _partition(
    table: Any, columns: Columns, dimension: int, rules: dict[str, Any], label: str
) -> LogStatistics:
    found = LogStatistics(columns, dimension)
    reader = Reader(table, columns, dimension, label=label, **rules)
    for batch in reader.batches():
        found.add(batch)
    found.tally = reader.tally
    return found


def _settled_by_first(logs: Any, columns: Columns) -> Columns:
    """The columns with a schema settled by the first partition of a Dask frame, for all."""
    if columns.schema is None or columns.schema.is_settled:
        return columns
    reader = Reader(logs.to_delayed()[0].compute(), columns, columns.schema.dimension)
    next(reader.batches(), None)
    return reader.columns


def _by_partition(
    logs: Any, columns: Columns, dimension: int, rules: dict[str, Any]
) -> LogStatistics:
    """Read a Dask frame by partitions, on the workers that hold them, and add the sums."""
    import dask  # noqa: PLC0415 (an optional extra)

    partition = dask.delayed(_partition)
    partial = [
        partition(part, columns, dimension, rules, f"partition {i}")
        for i, part in enumerate(logs.to_delayed())
    ]
    join = dask.delayed(LogStatistics.__add__)
    while len(partial) > 1:  # a tree, so that no single worker holds everything early
        pairs = [partial[i : i + 2] for i in range(0, len(partial), 2)]
        partial = [join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    (found,) = dask.compute(*partial)
    assert isinstance(found, LogStatistics)
    return found
