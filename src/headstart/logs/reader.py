"""Logs: per-task statistics of tables too large for memory, in one pass."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numba import njit

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.core.statistics import TaskStatistics
from headstart.kernels import add_observation

if TYPE_CHECKING:
    import pyarrow as pa


# Rows a batch: some megabytes a feature. The more rows of a task meet in a batch, the fewer times
# its sums travel through memory.
_BATCH = 1 << 18

# Told how many of how many rows are done; the second is 0 where nobody knows.
Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True)
class Columns:
    """Which columns say what: the features are several columns, or one that holds lists."""

    task: str = "task"
    features: str | Sequence[str] = "features"
    reward: str = "reward"
    weight: str | None = None

    def names(self) -> list[str]:
        """All of them."""
        features = [self.features] if isinstance(self.features, str) else list(self.features)
        more = [] if self.weight is None else [self.weight]
        return [self.task, *features, self.reward, *more]


@njit(cache=True, nogil=True)
def _gather(
    gram: Floats,
    moment: Floats,
    totals: Floats,
    where: Integers,
    codes: Integers,
    features: Floats,
    rewards: Floats,
    weights: Floats,
) -> None:
    """Add rows to the sums of their tasks: V's lower triangle, b, and (T, q) as two columns.

    Task by task, in the order of a counting sort: rows are small beside the sums they go to.
    """
    dimension = features.shape[1]
    ends = np.zeros(where.shape[0] + 1, dtype=np.int64)
    for i in range(codes.shape[0]):
        ends[codes[i] + 1] += 1
    for task in range(where.shape[0]):
        ends[task + 1] += ends[task]
    order = np.empty(codes.shape[0], dtype=np.int64)
    for i in range(codes.shape[0]):
        order[ends[codes[i]]] = i
        ends[codes[i]] += 1
    x = np.empty(dimension)
    for at in order:
        task = where[codes[at]]
        root = np.sqrt(weights[at])
        for a in range(dimension):
            x[a] = root * features[at, a]
        y = root * rewards[at]
        add_observation(gram[task], moment[task], x, y)
        totals[task, 0] += weights[at]
        totals[task, 1] += y * y


@dataclass
class LogStatistics:
    """The statistics of many tasks, in the order in which they first appear. They add."""

    dimension: int
    codes: dict[object, int] = field(default_factory=dict)
    rows: int = 0

    def __post_init__(self) -> None:
        self._gram = np.zeros((0, self.dimension, self.dimension))
        self._moment = np.zeros((0, self.dimension))
        self._totals = np.zeros((0, 2))

    def gather(
        self, names: Sequence[object], codes: Integers, x: Floats, y: Floats, w: Floats
    ) -> None:
        """Add rows; codes (n,) point into the names."""
        where = np.array(list(map(self._code, names)), dtype=np.int64)
        _gather(self._gram, self._moment, self._totals, where, codes, x, y, w)
        self.rows += len(codes)

    def _code(self, name: object) -> int:
        code = self.codes.get(name)
        if code is not None:
            return code
        code = self.codes[name] = len(self.codes)
        if code >= len(self._gram):
            more = max(64, len(self._gram) // 2)
            self._gram, self._moment, self._totals = (
                np.concatenate([old, np.zeros((more, *old.shape[1:]))])
                for old in (self._gram, self._moment, self._totals)
            )
        return code

    def __add__(self, other: "LogStatistics") -> "LogStatistics":
        joined = LogStatistics(self.dimension)
        for part in (self, other):
            where = np.array([joined._code(name) for name in part.codes], dtype=np.int64)
            n = len(where)
            for name in ("_gram", "_moment", "_totals"):
                getattr(joined, name)[where] += getattr(part, name)[:n]
            joined.rows += part.rows
        return joined

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[tuple[object, TaskStatistics]]:
        for name, code in self.codes.items():
            yield name, self[code]

    def __getitem__(self, code: int) -> TaskStatistics:
        lower = self._gram[code]
        return TaskStatistics(
            gram=np.tril(lower) + np.tril(lower, -1).T,
            moment=self._moment[code].copy(),
            count=np.asarray(self._totals[code, 0]),
            sum_of_squares=np.asarray(self._totals[code, 1]),
        )


def statistics(
    logs: Any, columns: Columns, dimension: int, progress: Progress | None = None
) -> LogStatistics:
    """Per-task statistics of a table: pandas, Polars, Arrow, a Parquet file or folder, or Dask.

    What has partitions (Dask) is read by partitions, wherever they lie, and the sums are joined.
    """
    if hasattr(logs, "to_delayed"):
        return _by_partitions(logs, columns, dimension)
    found = LogStatistics(dimension)
    for batch, total in _batches(logs, columns):
        found.gather(*_read(batch, columns, dimension))
        if progress is not None:
            progress(found.rows, total)
    return found


def grouped(
    logs: Any, columns: Columns, dimension: int, progress: Progress | None = None
) -> Iterator[TaskStatistics]:
    """The same, task by task, for logs in which each task's rows lie together.

    What is held then is one task, and a number for every task that has been.
    """
    done = 0
    last: object = None
    current = LogStatistics(dimension)
    seen: set[int] = set()
    for batch, total in _batches(logs, columns):
        names, codes, x, y, w = _read(batch, columns, dimension)
        ends = np.flatnonzero(np.diff(codes)) + 1
        for start, end in pairwise([0, *ends.tolist(), len(codes)]):
            name = names[int(codes[start])]
            if len(current) and name != last:
                yield current[0]
                current = LogStatistics(dimension)
            if not len(current):
                if hash(name) in seen:
                    raise ValueError(f"task {name!r} must have its rows together to be grouped")
                seen.add(hash(name))
            last = name
            part = slice(start, end)
            own = np.zeros(end - start, dtype=np.int64)
            current.gather([name], own, x[part], y[part], w[part])
        done += len(codes)
        if progress is not None:
            progress(done, total)
    if len(current):
        yield current[0]


def _by_partitions(logs: Any, columns: Columns, dimension: int) -> LogStatistics:
    import dask  # noqa: PLC0415 (an optional extra)

    partition = dask.delayed(statistics)
    parts = [partition(part, columns, dimension) for part in logs.to_delayed()]
    join = dask.delayed(LogStatistics.__add__)
    while len(parts) > 1:  # a tree, so that no single worker holds everything early
        pairs = [parts[i : i + 2] for i in range(0, len(parts), 2)]
        parts = [join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    (found,) = dask.compute(*parts)
    assert isinstance(found, LogStatistics)
    return found


def _batches(logs: Any, columns: Columns) -> Iterator[tuple["pa.RecordBatch", int]]:
    """Record batches of the columns we need, and the number of rows where it is known."""
    try:
        import pyarrow as pa  # noqa: PLC0415 (an optional extra)
        import pyarrow.dataset as ds  # noqa: PLC0415
    except ImportError as error:
        raise ImportError("reading logs needs pyarrow: pip install 'headstart[data]'") from error

    names = columns.names()
    if isinstance(logs, str | Path):
        dataset = ds.dataset(logs, format="parquet")
        _check_columns(names, dataset.schema.names)
        total = dataset.count_rows()
        # Readahead is memory: two batches keep disk and kernel busy.
        for batch in dataset.to_batches(columns=names, batch_size=_BATCH, batch_readahead=2):
            yield batch, total
        return
    if not hasattr(logs, "__arrow_c_stream__"):
        raise ValueError(
            "logs must be a pandas, Polars or Arrow table, a Parquet file, or Dask, "
            f"got {type(logs).__name__}"
        )
    arrow = hasattr(logs, "column_names")
    _check_columns(names, logs.column_names if arrow else list(logs.columns))
    total = len(logs)
    chosen = logs.select(names) if arrow else logs[names]
    for batch in pa.RecordBatchReader.from_stream(chosen):
        for start in range(0, batch.num_rows, _BATCH):
            yield batch.slice(start, _BATCH), total


def _check_columns(wanted: Sequence[str], present: Sequence[object]) -> None:
    for name in wanted:
        if name not in [str(column) for column in present]:
            raise ValueError(f"logs must have a column {name!r}, got {list(map(str, present))}")


def _read(
    batch: "pa.RecordBatch", columns: Columns, dimension: int
) -> tuple[Sequence[object], Integers, Floats, Floats, Floats]:
    """Task names, codes into them, features (n, d), rewards (n,) and weights (n,) of a batch."""
    task = batch.column(columns.task)
    if task.null_count:
        raise ValueError(f"column {columns.task!r} must name a task in every row, got a null")
    encoded = task.dictionary_encode()
    codes = np.asarray(encoded.indices, dtype=np.int64)
    rewards = _numbers(batch, columns.reward)
    weights = np.ones(len(codes)) if columns.weight is None else _numbers(batch, columns.weight)
    if (weights <= 0).any():
        raise ValueError(f"column {columns.weight!r} must be above 0, got {weights.min()}")
    if isinstance(columns.features, str):
        lists = batch.column(columns.features)
        values = lists.flatten().to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        if len(values) != dimension * len(codes):
            raise ValueError(
                f"column {columns.features!r} must hold {dimension} features in every row, "
                f"got {len(values)} in {len(codes)} rows"
            )
        features = checks.floats(columns.features, values).reshape(-1, dimension)
    else:
        if len(columns.features) != dimension:
            raise ValueError(f"features must be {dimension} columns, got {len(columns.features)}")
        features = np.stack([_numbers(batch, name) for name in columns.features], axis=1)
    return encoded.dictionary.to_pylist(), codes, np.ascontiguousarray(features), rewards, weights


def _numbers(batch: "pa.RecordBatch", name: str) -> Floats:
    array = batch.column(name).to_numpy(zero_copy_only=False)
    return checks.floats(f"column {name!r}", array)


def width(logs: Path, features: str | Sequence[str]) -> int:
    """How many features the rows of a Parquet file have."""
    if not isinstance(features, str):
        return len(features)
    import pyarrow.dataset as ds  # noqa: PLC0415 (an optional extra)

    dataset = ds.dataset(logs, format="parquet")
    _check_columns([features], dataset.schema.names)
    first = dataset.head(1, columns=[features]).column(features).to_pylist()
    if not first or not isinstance(first[0], list):
        raise ValueError(f"column {features!r} must hold a list in every row, got {first[:1]}")
    return len(first[0])
