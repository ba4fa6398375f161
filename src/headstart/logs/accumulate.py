"""Per-task statistics of a log, accumulated in one pass: all tasks at once, or one by one."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.core.statistics import TaskStatistics
from headstart.kernels import add_observation
from headstart.kernels.compilation import compiled
from headstart.logs.reader import Batch, Columns, batches
from headstart.progress import Progress


@compiled
def _accumulate(
    gram: Floats,
    moment: Floats,
    totals: Floats,
    tasks: Integers,
    codes: Integers,
    features: Floats,
    rewards: Floats,
    weights: Floats,
) -> None:
    """Add rows to the sums of their tasks: V's lower triangle, b, and (T, q) as two columns.

    Row i belongs to task tasks[codes[i]]. Task by task, in the order of a counting sort: rows are
    small beside the sums they are added to.
    """
    dimension = features.shape[1]
    ends = np.zeros(tasks.shape[0] + 1, dtype=np.int64)
    for i in range(codes.shape[0]):
        ends[codes[i] + 1] += 1
    for code in range(tasks.shape[0]):
        ends[code + 1] += ends[code]
    order = np.empty(codes.shape[0], dtype=np.int64)
    for i in range(codes.shape[0]):
        order[ends[codes[i]]] = i
        ends[codes[i]] += 1
    x = np.empty(dimension)
    for row in order:
        task = tasks[codes[row]]
        root = np.sqrt(weights[row])
        for a in range(dimension):
            x[a] = root * features[row, a]
        y = root * rewards[row]
        add_observation(gram[task], moment[task], x, y)
        totals[task, 0] += weights[row]
        totals[task, 1] += y * y


@dataclass
class LogStatistics:
    """The statistics of many tasks, in the order in which they first appear. They add."""

    dimension: int
    codes: dict[object, int] = field(default_factory=dict)
    n_rows: int = 0

    def __post_init__(self) -> None:
        self._gram = np.zeros((0, self.dimension, self.dimension))
        self._moment = np.zeros((0, self.dimension))
        self._totals = np.zeros((0, 2))

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch."""
        tasks = np.array(list(map(self._code, batch.names)), dtype=np.int64)
        _accumulate(
            self._gram,
            self._moment,
            self._totals,
            tasks,
            batch.codes,
            batch.features,
            batch.rewards,
            batch.weights,
        )
        self.n_rows += len(batch)

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
        for each in (self, other):
            tasks = np.array([joined._code(name) for name in each.codes], dtype=np.int64)
            n = len(tasks)
            for name in ("_gram", "_moment", "_totals"):
                getattr(joined, name)[tasks] += getattr(each, name)[:n]
            joined.n_rows += each.n_rows
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

    A Dask frame is read by partitions, on the workers that hold them, and the sums are added.
    """
    if hasattr(logs, "to_delayed"):
        return _by_partition(logs, columns, dimension)
    found = LogStatistics(dimension)
    for batch, total in batches(logs, columns, dimension):
        found.add(batch)
        if progress is not None:
            progress(found.n_rows, total)
    return found


def grouped_by_task(
    logs: Any, columns: Columns, dimension: int, progress: Progress | None = None
) -> Iterator[TaskStatistics]:
    """The same task by task, for a log in which the rows of each task are consecutive.

    Held in memory are the sums of one task, and a hash of every task before it.
    """
    done = 0
    current, current_name = LogStatistics(dimension), None
    seen: set[int] = set()
    for batch, total in batches(logs, columns, dimension):
        for name, rows in _runs(batch):
            if len(current) and name != current_name:
                yield current[0]
                current = LogStatistics(dimension)
            if not len(current):
                if hash(name) in seen:
                    raise ValueError(
                        f"logs must be grouped by task, got rows of task {name!r} "
                        "that are not consecutive"
                    )
                seen.add(hash(name))
            current_name = name
            current.add(rows)
        done += len(batch)
        if progress is not None:
            progress(done, total)
    if len(current):
        yield current[0]


def _runs(batch: Batch) -> Iterator[tuple[object, Batch]]:
    """The consecutive rows of one task after another."""
    ends = np.flatnonzero(np.diff(batch.codes)) + 1
    for start, end in pairwise([0, *ends.tolist(), len(batch)]):
        name = batch.names[int(batch.codes[start])]
        yield (
            name,
            Batch(
                names=[name],
                codes=np.zeros(end - start, dtype=np.int64),
                features=batch.features[start:end],
                rewards=batch.rewards[start:end],
                weights=batch.weights[start:end],
            ),
        )


def _by_partition(logs: Any, columns: Columns, dimension: int) -> LogStatistics:
    import dask  # noqa: PLC0415 (an optional extra)

    partition = dask.delayed(statistics)
    partial = [partition(each, columns, dimension) for each in logs.to_delayed()]
    join = dask.delayed(LogStatistics.__add__)
    while len(partial) > 1:  # a tree, so that no single worker holds everything early
        pairs = [partial[i : i + 2] for i in range(0, len(partial), 2)]
        partial = [join(*pair) if len(pair) == 2 else pair[0] for pair in pairs]
    (found,) = dask.compute(*partial)
    assert isinstance(found, LogStatistics)
    return found
