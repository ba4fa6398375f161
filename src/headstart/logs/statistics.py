"""LogStatistics: the statistics of every task of a log, with its name, about and last time."""

from __future__ import annotations

from collections.abc import Collection, Hashable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import repeat

import numpy as np

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.core.statistics import TaskStatistics
from headstart.logs.columns import Columns
from headstart.logs.report import Tally
from headstart.logs.rows import Batch, add_rows

# The code of a pair of a task and an item is the task's, shifted by this, plus the item's.
_ITEM_BITS = 31
# At least so many sums by task and item wait until they are added up.
_PAIRS = 1 << 18


@dataclass(frozen=True, kw_only=True, eq=False)
class LoggedTask:
    """A task of a log, and what its rows say.

    Attributes
    ----------
    name : str or int
        The name of the task.
    statistics : TaskStatistics
        The sums over its rows; `statistics.about` (p,) has the about columns, if any.
    last_time : float or None
        The time of the last row in seconds, if there is a column of times.
    items : mapping of hashable to ndarray of shape (d + 2,)
        By item, the sums Σw, Σwy and Σwx, if there is a column of items.

    Examples
    --------
    >>> import pandas as pd
    >>> from headstart.logs import Columns, LogReading
    >>> log = pd.DataFrame({"task": ["ann", "ann"], "x": [1.0, 3.0], "reward": [1.0, 1.0]})
    >>> (ann,) = LogReading(log, Columns(features=["x"]), dimension=1)
    >>> ann.name, ann.statistics.gram
    ('ann', array([[10.]]))
    """

    name: str | int
    statistics: TaskStatistics
    last_time: float | None
    items: Mapping[Hashable, Floats]


@dataclass
class LogStatistics:
    """The statistics of many tasks, in order of appearance. Instances can be added.

    Parameters
    ----------
    columns : Columns
        The names of the log's columns.
    dimension : int
        The number of features, d.
    codes : dict, optional
        The index of every task by its name.

    Examples
    --------
    >>> import pandas as pd
    >>> from headstart.logs import Columns, LogReading
    >>> log = pd.DataFrame({"task": ["ann", "bob", "ann"], "x": [1.0, 2.0, 3.0], "reward": 1.0})
    >>> statistics = LogReading(log, Columns(features=["x"]), dimension=1).statistics()
    >>> len(statistics), statistics["ann"].statistics.moment
    (2, array([4.]))
    """

    columns: Columns
    dimension: int
    codes: dict[object, int] = field(default_factory=dict)
    tally: Tally = field(init=False)

    def __post_init__(self) -> None:
        size = self.dimension + 2
        self.tally = Tally(self.dimension)
        self._sums = np.zeros((0, size, size))
        self._side = np.zeros((0, self.columns.n_about))
        self._last_times = np.zeros(0)
        self._items: dict[Hashable, int] = {}
        # The sums by task and item, and their codes: sorted, but for those added since.
        self._pairs = np.zeros(0, dtype=np.int64), np.zeros((0, size))
        self._more: list[tuple[Integers, Floats]] = []

    def add(self, batch: Batch) -> None:
        """Add the rows of a batch.

        Parameters
        ----------
        batch : Batch
            Rows that were read and checked.
        """
        before = len(self.codes)
        tasks = self._codes_of(batch.names)
        add_rows(self._sums, tasks, batch.ends, batch.rows)
        starts = batch.ends[:-1]
        if batch.times is not None:
            latest = np.maximum.reduceat(batch.times, starts)
            self._last_times[tasks] = np.maximum(self._last_times[tasks], latest)
        if batch.items is not None:
            self._add_items(batch, tasks)
        if self.columns.n_about:
            new = tasks >= before
            self._side[tasks[new]] = batch.about[starts[new]]
            self._check_about(batch, tasks)

    def _check_about(self, batch: Batch, tasks: Integers) -> None:
        """Raise if numbers about a task change.

        Attributes may have gaps: as in live use, a task's first value counts.
        """
        codes = np.repeat(np.arange(len(tasks)), np.diff(batch.ends))
        differs = batch.about != self._side[tasks[codes]]
        if self.columns.schema is None and differs.any():
            rows = np.flatnonzero(differs.any(1))
            row = int(rows[batch.numbers[rows].argmin()])
            column, code = int(np.flatnonzero(differs[row])[0]), int(codes[row])
            raise ValueError(
                f"column {self.columns.about_names()[column]!r} must be constant within a task, "
                f"got {self._side[tasks[code], column]} and {batch.about[row, column]} "
                f"for task {batch.names[code]!r}{batch.piece.place(int(batch.numbers[row]))}"
            )

    def _add_items(self, batch: Batch, tasks: Integers) -> None:
        """Add w(x, y, 1) of the rows to the sums of their tasks and items."""
        assert batch.items is not None
        names = [self.columns.item_id(name) for name in batch.item_names]
        items = np.array([self._items.setdefault(name, len(self._items)) for name in names])
        codes = np.repeat(tasks << _ITEM_BITS, np.diff(batch.ends)) + items[batch.items]
        self._more.append(_summed(codes, batch.rows * batch.rows[:, -1:]))
        if sum(len(codes) for codes, _ in self._more) > max(len(self._pairs[0]), _PAIRS):
            self._sum_items()

    def _sum_items(self) -> None:
        parts = [self._pairs, *self._more]
        codes, sums = (np.concatenate(both) for both in zip(*parts, strict=True))
        self._pairs, self._more = _summed(codes, sums), []

    def _items_of(self, code: int) -> dict[Hashable, Floats]:
        """The sums by item of a task: Σw, Σwy and Σwx."""
        if self._more:
            self._sum_items()
        codes, sums = self._pairs
        first, last = np.searchsorted(codes, [code << _ITEM_BITS, (code + 1) << _ITEM_BITS])
        if first == last:
            return {}
        names = list(self._items)
        items = codes[first:last] & ((1 << _ITEM_BITS) - 1)
        d = self.dimension
        rows = np.column_stack([sums[first:last, [d + 1, d]], sums[first:last, :d]])
        return {names[i]: row for i, row in zip(items.tolist(), rows, strict=True)}

    def _codes_of(self, names: Collection[object]) -> Integers:
        """The codes of different tasks (n,); new tasks get new codes."""
        codes = self.codes
        tasks = np.fromiter(map(codes.get, names, repeat(-1)), np.int64, len(names))
        new = np.flatnonzero(tasks < 0)
        if len(new):
            tasks[new] = np.arange(len(codes), len(codes) + len(new))
            listed = list(names)
            codes.update((listed[i], int(tasks[i])) for i in new.tolist())
            self._reserve(len(codes))
        return tasks

    def _reserve(self, n_tasks: int) -> None:
        """Make room for at least this many tasks, in one step: every step copies everything."""
        old = len(self._sums)
        if n_tasks > old:
            length = max(n_tasks, old + old // 2, 64)
            sums, about = np.zeros((length, *self._sums.shape[1:])), self._side.shape[1]
            sums[:old] = self._sums
            self._sums = sums
            more = length - old
            self._side = np.concatenate([self._side, np.zeros((more, about))])
            self._last_times = np.concatenate([self._last_times, np.full(more, -np.inf)])

    def __add__(self, other: LogStatistics) -> LogStatistics:
        joined = LogStatistics(self.columns, self.dimension)
        joined.tally = self.tally + other.tally
        kinds = {type(name) for part in (self, other) for name in part.codes}
        if len(kinds) > 1:
            raise ValueError(
                f"column {self.columns.task!r} must be of one type, got strings and integers; "
                'task_type="str" or "int" makes them alike'
            )
        for part in (self, other):
            before, n = len(joined.codes), len(part.codes)
            tasks = joined._codes_of(part.codes)
            joined._add_pairs(part, tasks)
            joined._sums[tasks] += part._sums[:n]
            joined._last_times[tasks] = np.maximum(joined._last_times[tasks], part._last_times[:n])
            new = tasks >= before
            joined._side[tasks[new]] = part._side[:n][new]
            differs = (joined._side[tasks] != part._side[:n]).any(1)
            if differs.any() and self.columns.schema is None:
                name = list(part.codes)[int(np.flatnonzero(differs)[0])]
                raise ValueError(
                    f"about columns must be constant within a task, but {name!r} has several"
                )
        return joined

    def _add_pairs(self, other: LogStatistics, tasks: Integers) -> None:
        """Add sums by task and item of others, whose tasks have these codes here."""
        if not other._items:
            return
        other._sum_items()
        codes, sums = other._pairs
        items = np.array([self._items.setdefault(name, len(self._items)) for name in other._items])
        here = (tasks[codes >> _ITEM_BITS] << _ITEM_BITS) + items[codes & ((1 << _ITEM_BITS) - 1)]
        self._more.append((here, sums))

    def last(self) -> LogStatistics:
        """The statistics of the task that appeared last, alone."""
        alone = LogStatistics(self.columns, self.dimension)
        if self.codes:
            name, code = next(reversed(self.codes.items()))
            alone._codes_of([name])
            for item, row in self._items_of(code).items():
                alone._items[item] = len(alone._items)
                alone._more.append(
                    (np.array([alone._items[item]]), np.append(row[2:], row[1::-1])[None])
                )
            alone._sums[0], alone._side[0] = self._sums[code], self._side[code]
            alone._last_times[0] = self._last_times[code]
        return alone

    def total(self) -> Floats:
        """Σzzᵀ over all tasks, (d + 2, d + 2)."""
        return np.asarray(self._sums.sum(0))

    def __len__(self) -> int:
        return len(self.codes)

    def __iter__(self) -> Iterator[LoggedTask]:
        for name in self.codes:
            yield self[name]

    def __getitem__(self, name: object) -> LoggedTask:
        code = self.codes[name]
        sums, d = self._sums[code], self.dimension
        lower = np.tril(sums[:d, :d])
        return LoggedTask(
            name=name,  # type: ignore[arg-type]
            statistics=checks.trusted(
                TaskStatistics,
                gram=lower + np.tril(lower, -1).T,
                moment=sums[d, :d].copy(),
                count=np.asarray(sums[d + 1, d + 1]),
                sum_of_squares=np.asarray(sums[d, d]),
                about=self._side[code].copy() if self.columns.n_about else None,
            ),
            last_time=None if self.columns.time is None else float(self._last_times[code]),
            items=self._items_of(code),
        )


def _summed(codes: Integers, rows: Floats) -> tuple[Integers, Floats]:
    """The sums of rows with the same code, sorted by code."""
    order = np.argsort(codes, kind="stable")
    codes = codes[order]
    starts = np.flatnonzero(np.diff(codes, prepend=-1))
    return codes[starts], np.add.reduceat(rows[order], starts, axis=0)
