"""The rows of one batch of a log: read, checked, and in the order of their tasks.

A row is z = √w·(x, y, 1): Σzzᵀ over the rows of a task holds its V, b, T and q.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from headstart.arrays import Booleans, Floats, Integers
from headstart.features import Features
from headstart.kernels.compilation import compiled
from headstart.logs import values
from headstart.logs.columns import Columns, ItemColumn
from headstart.logs.sources import Piece
from headstart.logs.values import KeyColumn

if TYPE_CHECKING:
    import pyarrow as pa

# Beyond this, squares and products run out of range.
LARGEST = 1e50

# The smallest and the largest reward that counts.
Range = tuple[float, float]

# How many rows are sorted at once, so that they stay in cache.
_BLOCK = 4096

_MISSING = "is missing", "must have a value in every row"
_NO_NUMBER = "is not a number", "must be a number in every row"
_NO_TIME = "is not a time", "must be seconds or a time in ISO 8601 in every row"
_INFINITE = "is not finite", "must be finite in every row"
_BEYOND = f"is beyond {LARGEST:.0e}", f"must be at most {LARGEST:.0e} in size"
_NOT_POSITIVE = "is not above 0", "must be above 0"


@dataclass(frozen=True, kw_only=True, eq=False)
class Fault:
    """Rows (n,) with a bad value in a column: what is wrong, and what the value must be."""

    column: str
    what: str
    must: str
    mask: Booleans
    values: Any


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """n rows: features (n, d) or d arrays (n,), rewards, weights, times (n,); a NaN is missing."""

    task: pa.Array
    features: Floats | Sequence[Floats]
    reward: Floats
    numbers: Integers  # (n,), of the rows in their piece
    weight: Floats | None
    about: Floats  # (n, p)
    time: Floats | None
    id: pa.Array | None
    item: pa.Array | None
    refused: Sequence[Fault] = ()  # values that are not of the column's kind

    def __len__(self) -> int:
        return len(self.numbers)

    def keep(self, mask: Booleans) -> Rows:
        """The rows of a mask (n,)."""
        import pyarrow as pa  # noqa: PLC0415 - a service starts without it

        chosen, features = pa.array(mask), self.features
        return replace(
            self,
            task=self.task.filter(chosen),
            features=features[mask]
            if isinstance(features, np.ndarray)
            else [column[mask] for column in features],
            reward=self.reward[mask],
            numbers=self.numbers[mask],
            weight=None if self.weight is None else self.weight[mask],
            about=self.about[mask],
            time=None if self.time is None else self.time[mask],
            id=None if self.id is None else self.id.filter(chosen),
            item=None if self.item is None else self.item.filter(chosen),
            refused=(),
        )

    def ranges(self) -> tuple[Floats, Floats]:
        """The smallest and largest value of every feature and of the rewards, (d + 1,) each.

        NaN if a number is missing.
        """
        with np.errstate(invalid="ignore"):
            if isinstance(self.features, np.ndarray):
                least, largest = self.features.min(0), self.features.max(0)
            else:
                least = np.array([column.min() for column in self.features])
                largest = np.array([column.max() for column in self.features])
            return np.append(least, self.reward.min()), np.append(largest, self.reward.max())

    def seem_right(self, rewards: Range | None) -> bool:
        """Whether no row can be bad: a quick check of the ranges, which NaN does not pass."""
        least, largest = self.ranges()
        low, high = rewards or (-LARGEST, LARGEST)
        others = [self.about, *(() if self.time is None else (self.time,))]
        keys = [key for key in (self.task, self.id, self.item) if key is not None]
        return bool(
            not self.refused
            and not any(key.null_count for key in keys)
            and (least >= -LARGEST).all()
            and (largest <= LARGEST).all()
            and low <= least[-1] <= largest[-1] <= high
            and all((np.abs(column) <= LARGEST).all() for column in others)
            and (self.weight is None or ((self.weight > 0).all() and self.weight.max() <= LARGEST))
        )

    def faults(self, columns: Columns, rewards: Range | None) -> Iterator[Fault]:
        """The faults, in the order of the columns."""
        for name, key in ((columns.task, self.task), (columns.id, self.id)):
            if name is not None and key is not None:
                yield _fault(name, _MISSING, _is_null(key), key)
        other = {fault.column: fault.mask for fault in self.refused}
        yield from self.refused
        for name, column in self._columns(columns):
            size = np.abs(column if column.ndim == 1 else np.abs(column).max(1))
            missing = np.isnan(size) & ~other.get(name, np.False_)
            yield _fault(name, _MISSING, missing, column)
            yield _fault(name, _INFINITE, np.isinf(size), column)
            yield _fault(name, _BEYOND, size > LARGEST, column)
        if self.item is not None and columns.item_name not in other:
            yield _fault(columns.item_name or "", _MISSING, _is_null(self.item), self.item)
        if self.weight is not None:
            yield _fault(columns.weight or "", _NOT_POSITIVE, self.weight <= 0, self.weight)
        if rewards is not None:
            outside = (self.reward < rewards[0]) | (self.reward > rewards[1])
            of = f"reward_range ({rewards[0]:g}, {rewards[1]:g})"
            what = f"is outside of {of}", f"must be within {of}"
            yield _fault(columns.reward, what, outside, self.reward)

    def missing(self) -> Integers:
        """How many numbers of every feature and of the rewards are missing, (d + 1,)."""
        if isinstance(self.features, np.ndarray):
            features = list(np.isnan(self.features).sum(0))
        else:
            features = [np.isnan(column).sum() for column in self.features]
        return np.array([*features, np.isnan(self.reward).sum()], dtype=np.int64)

    def _columns(self, columns: Columns) -> Iterator[tuple[str, Floats]]:
        names = columns.feature_columns()
        if not isinstance(self.features, np.ndarray):
            yield from zip(names, self.features, strict=True)
        elif columns.schema is None:  # the numbers of attributes are finite
            yield names[0], self.features
        yield columns.reward, self.reward
        if columns.weight is not None and self.weight is not None:
            yield columns.weight, self.weight
        if columns.schema is None:
            yield from zip(columns.about_names(), self.about.T, strict=True)
        if columns.time is not None and self.time is not None:
            yield columns.time, self.time


def _fault(name: str, reason: tuple[str, str], mask: Booleans, found: Any) -> Fault:
    return Fault(column=name, what=reason[0], must=reason[1], mask=mask, values=found)


def _is_null(key: pa.Array) -> Booleans:
    return np.asarray(key.is_null().to_numpy(zero_copy_only=False))


@dataclass(frozen=True, kw_only=True)
class RowReader:
    """Reads the columns of batches; names of tasks have one type in all of them."""

    columns: Columns
    dimension: int
    keys: dict[str, KeyColumn] = field(default_factory=dict)

    def read(self, batch: pa.RecordBatch, piece: Piece, first: int) -> Rows:
        """The rows of a batch; its first row has this number in its piece."""
        columns, place = self.columns, piece.place()
        refused: list[Fault] = []

        def numbers(name: str, reason: tuple[str, str] = _NO_NUMBER) -> Floats:
            read = values.numbers if reason is _NO_NUMBER else values.seconds
            found, wrong = read(batch.column(name), name, place)
            if wrong is not None:
                refused.append(_fault(name, reason, wrong, batch.column(name)))
            return np.asarray(found, dtype=np.float64)

        def key(name: str | None, wanted: Any = None) -> pa.Array | None:
            if name is None:
                return None
            column = self.keys.setdefault(name, KeyColumn(name, wanted))
            return column.read(batch.column(name), piece)

        features: Floats | Sequence[Floats]
        about = np.zeros((batch.num_rows, 0))
        names = columns.feature_columns()
        if columns.schema is not None:
            features, about = _encoded(batch, columns.schema, refused, is_text=piece.is_text)
        elif isinstance(columns.features, ItemColumn):
            features = _of_items(batch, columns.features, self.dimension, refused)
        elif _is_list(batch, columns.features):
            found, wrong = values.vectors(batch.column(names[0]), names[0], self.dimension, place)
            if wrong is not None:
                what = f"has not {self.dimension} features"
                refused.append(_fault(names[0], (what, what), wrong, batch.column(names[0])))
            features = found
        elif len(names) != self.dimension:
            raise ValueError(
                f"features must be {self.dimension} columns, got {len(names)}: {list(names)}"
            )
        else:
            features = [numbers(name) for name in names]
        if columns.about:
            about = np.stack([numbers(name) for name in columns.about], axis=1)
        task = key(columns.task, columns.task_type)
        assert task is not None
        return Rows(
            task=task,
            features=features,
            reward=numbers(columns.reward),
            numbers=piece.uneven.numbers(np.arange(first, first + batch.num_rows)),
            weight=None if columns.weight is None else numbers(columns.weight),
            about=about,
            time=None if columns.time is None else numbers(columns.time, _NO_TIME),
            id=key(columns.id),
            item=key(columns.item_name, columns.item_type),
            refused=refused,
        )


def _is_list(batch: pa.RecordBatch, features: object) -> bool:
    import pyarrow as pa  # noqa: PLC0415

    return isinstance(features, str) and pa.types.is_nested(batch.column(features).type)


def _encoded(
    batch: pa.RecordBatch, schema: Features, refused: list[Fault], *, is_text: bool
) -> tuple[Floats, Floats]:
    """Features and what is known of tasks, from columns of attributes."""
    columns = {name: batch.column(name) for name in schema.attributes}
    found = schema.encode_columns(columns, batch.num_rows, is_text=is_text)
    for fault in found.faults:
        expected = schema.attributes[fault.name].expected
        reason = f"is not {expected}", f"must be {expected}"
        refused.append(_fault(fault.name, reason, fault.mask, columns[fault.name]))
    return schema.arms(found.items, found.context, found.about), found.about


def _of_items(
    batch: pa.RecordBatch, items: ItemColumn, dimension: int, refused: list[Fault]
) -> Floats:
    """The features of the items that a column names."""
    import pyarrow as pa  # noqa: PLC0415
    import pyarrow.compute as pc  # noqa: PLC0415

    if items.matrix.shape[1] != dimension:
        raise ValueError(f"items must have {dimension} features, got {items.matrix.shape[1]}")
    column = batch.column(items.name)
    places = pc.index_in(column.cast(pa.string()), value_set=pa.array(items.ids, pa.string()))
    unknown = _is_null(places)
    features: Floats = items.matrix[pc.fill_null(places, 0).to_numpy(zero_copy_only=False)]
    if unknown.any():
        reason = "is not one of the items", "must be one of the items"
        refused.append(_fault(items.name, reason, unknown, column))
        features[unknown] = np.nan
    return features


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Rows in the order of their tasks: ends[j] to ends[j + 1] are of the task names[j]."""

    names: Sequence[object]
    ends: Integers  # (n_tasks + 1,)
    rows: Floats  # (n, d + 2), z
    about: Floats  # (n, p)
    times: Floats | None  # (n,)
    item_names: Sequence[object]
    items: Integers | None  # (n,), their places in item_names
    numbers: Integers  # (n,), of the rows in their piece
    runs: Integers  # the tasks of the rows as they were, without repetitions
    run_numbers: Integers  # the numbers of the first rows of the runs
    piece: Piece

    def __len__(self) -> int:
        return len(self.rows)

    @classmethod
    def of(cls, rows: Rows, piece: Piece) -> Batch:
        """The batch of checked rows."""
        names, codes = values.encode(rows.task)
        # NumPy sorts small integers by radix.
        small = codes.astype(np.uint16) if len(names) <= 1 << 16 else codes
        order = np.argsort(small, kind="stable")
        item_names, items = ([], None) if rows.item is None else values.encode(rows.item)
        starts = np.flatnonzero(np.diff(codes, prepend=-1))
        return cls(
            names=names,
            ends=np.append(0, np.cumsum(np.bincount(codes, minlength=len(names)))),
            rows=_in_order(rows, order),
            about=rows.about[order],
            times=None if rows.time is None else rows.time[order],
            item_names=item_names,
            items=None if items is None else items[order],
            numbers=rows.numbers[order],
            runs=codes[starts],
            run_numbers=rows.numbers[starts],
            piece=piece,
        )

    def part(self, first: int, last: int) -> Batch:
        """The rows of some tasks."""
        some = slice(int(self.ends[first]), int(self.ends[last]))
        return replace(
            self,
            names=self.names[first:last],
            ends=self.ends[first : last + 1] - self.ends[first],
            rows=self.rows[some],
            about=self.about[some],
            times=None if self.times is None else self.times[some],
            items=None if self.items is None else self.items[some],
            numbers=self.numbers[some],
        )


def _in_order(rows: Rows, order: Integers) -> Floats:
    """Z = √w·(x, y, 1), (n, d + 2), in this order."""
    n, features = len(rows), rows.features
    dimension = features.shape[1] if isinstance(features, np.ndarray) else len(features)
    found = np.empty((n, dimension + 2))
    for start in range(0, n, _BLOCK):
        some = order[start : start + _BLOCK]
        block = found[start : start + _BLOCK]
        if isinstance(features, np.ndarray):
            block[:, :dimension] = features[some]
        else:
            for a, column in enumerate(features):
                block[:, a] = column[some]
        block[:, dimension] = rows.reward[some]
        block[:, dimension + 1] = 1.0
        if rows.weight is not None:
            block *= np.sqrt(rows.weight[some])[:, None]
    return found


@compiled
def add_rows(sums: Floats, tasks: Integers, ends: Integers, rows: Floats) -> None:
    """Add Σzzᵀ of rows to the sums (n_tasks, e, e): ends[c] ≤ i < ends[c + 1] are of tasks[c].

    Only lower triangles are added; nothing reads the rest.
    """
    size = rows.shape[1]
    product = np.empty((size, size))
    for c in range(tasks.shape[0]):
        part = rows[ends[c] : ends[c + 1]]
        np.dot(part.T, part, product)
        for a in range(size):
            for b in range(a + 1):
                sums[tasks[c], a, b] += product[a, b]


class Seen:
    """The rows so far, by hashes of 64 bits: among 10⁸ rows, two are alike by chance at 3·10⁻⁴."""

    def __init__(self) -> None:
        # Sorted, each more than twice as long as the next.
        self._parts: list[NDArray[Any]] = []

    def repeated(self, columns: Sequence[Any]) -> Booleans:
        """Which rows (n,) of these columns have occurred before; notes all of them."""
        import pandas as pd  # noqa: PLC0415 - as above

        frame = pd.DataFrame(dict(enumerate(columns)))
        hashes = pd.util.hash_pandas_object(frame, index=False).to_numpy()
        new, first = np.unique(hashes, return_index=True)
        repeated = np.ones(len(hashes), dtype=np.bool_)
        repeated[first] = False
        for part in self._parts:
            places = np.minimum(np.searchsorted(part, new), len(part) - 1)
            repeated[first[part[places] == new]] = True
        self._parts.append(new)
        while len(self._parts) > 1 and 2 * len(self._parts[-1]) > len(self._parts[-2]):
            both = np.concatenate([self._parts.pop(), self._parts.pop()])
            both.sort(kind="stable")  # merges sorted parts
            self._parts.append(both)
        return repeated
