"""The rows of one batch: checked, without repeated ids, and in the form to be summed.

A row is z = √w·(x, y, 1): Σzzᵀ over the rows of a task holds its V, b, T and q.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
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

# How many rows are transposed at once, so that they stay in cache.
_BLOCK = 4096
# Columns a power of two apart would share the same few places of the cache.
_APART = 8

_EMPTY = 0  # the mark of a free place; a hash of 0 is moved to 1
_PRIME = 0x100000001B3


@compiled
def _ranges(features: Floats, least: Floats, largest: Floats) -> bool:
    """The smallest and largest value of every feature; False if one is NaN or out of range."""
    for a in range(features.shape[1]):
        least[a] = features[0, a]
        largest[a] = features[0, a]
    fine = True
    for i in range(features.shape[0]):
        for a in range(features.shape[1]):
            value = features[i, a]
            fine &= (value >= -LARGEST) & (value <= LARGEST)
            least[a] = value if value < least[a] else least[a]
            largest[a] = value if value > largest[a] else largest[a]
    return fine


def plain(array: Floats) -> Floats:
    """An array of the one type that compiled functions take, whatever Arrow's flags are."""
    return np.require(array, requirements=["C", "W"])


@dataclass(frozen=True, kw_only=True, eq=False)
class Fields:
    """The columns of n rows: features (n, d) or d arrays (n,), rewards, weights, times (n,).

    Missing numbers are NaN. `refused` has the columns with bad values, if any: a reason, a mask
    (n,), and the column as read.
    """

    task: "pa.Array"
    features: Floats | Sequence[Floats]
    reward: Floats
    rows: Integers  # their numbers in the piece
    weight: Floats | None = None
    about: Sequence[Floats] = ()
    time: Floats | None = None
    id: "pa.Array | None" = None
    refused: Sequence[tuple[str, str, Booleans, "pa.Array"]] = ()

    def __len__(self) -> int:
        return len(self.rows)

    def keep(self, mask: Booleans) -> "Fields":
        """The rows of a mask (n,)."""
        import pyarrow as pa  # noqa: PLC0415 (an optional extra)

        chosen = pa.array(mask)
        features = self.features
        return replace(
            self,
            task=self.task.filter(chosen),
            features=features[mask]
            if isinstance(features, np.ndarray)
            else [column[mask] for column in features],
            reward=self.reward[mask],
            rows=self.rows[mask],
            weight=None if self.weight is None else self.weight[mask],
            about=[column[mask] for column in self.about],
            time=None if self.time is None else self.time[mask],
            id=None if self.id is None else self.id.filter(chosen),
            refused=(),
        )

    def ranges(self) -> tuple[Floats, Floats]:
        """The smallest and largest value of every feature and of the rewards, (d + 1,) each.

        NaN if a number is missing.
        """
        with np.errstate(invalid="ignore"):
            if isinstance(self.features, np.ndarray):
                ends = np.empty((2, self.features.shape[1] + 1))
                ends[:, -1] = self.reward.min(), self.reward.max()
                if not _ranges(plain(self.features), ends[0], ends[1]):
                    ends[:] = np.nan
                return ends[0], ends[1]
            numbers = [*self.features, self.reward]
            return np.array([v.min() for v in numbers]), np.array([v.max() for v in numbers])

    def seems_right(self, least: Floats, largest: Floats, rewards: Range | None) -> bool:
        """Whether no row can be bad: a quick check of the ranges, which NaN does not pass."""
        low, high = rewards or (-LARGEST, LARGEST)
        others = [*self.about, *(() if self.time is None else (self.time,))]
        return bool(
            not self.refused
            and not self.task.null_count
            and (self.id is None or not self.id.null_count)
            and (least >= -LARGEST).all()
            and (largest <= LARGEST).all()
            and low <= least[-1] <= largest[-1] <= high
            and all((np.abs(column) <= LARGEST).all() for column in others)
            and (self.weight is None or ((self.weight > 0).all() and self.weight.max() <= LARGEST))
        )

    def faults(
        self, columns: Columns, rewards: Range | None = None
    ) -> Iterator[tuple[str, str, Booleans, Any]]:
        """The faults: column, reason, mask (n,) and values, in the order of the columns."""
        keys = [(columns.task, self.task)]
        if columns.id is not None and self.id is not None:
            keys.append((columns.id, self.id))
        for name, key in keys:
            yield name, "is missing", key.is_null().to_numpy(zero_copy_only=False), key
        refused = {name: rest for name, *rest in self.refused}
        if columns.schema is not None:
            attributes = columns.feature_columns()
            yield from (fault for fault in self.refused if fault[0] in attributes)
        for name, column in self._numbers(columns):
            flat = column if column.ndim == 1 else np.abs(column).max(1)
            none: Any = ("", np.zeros(len(self), dtype=bool), column)
            what, other, as_read = refused.get(name, none)
            yield name, what, other, as_read
            yield name, "is missing", np.isnan(flat) & ~other, column
            yield name, "is not finite", np.isinf(flat), column
            yield name, f"is beyond {LARGEST:.0e}", np.abs(flat) > LARGEST, column
        if self.weight is not None:
            yield columns.weight or "", "is not above 0", self.weight <= 0, self.weight
        if rewards is not None:
            outside = (self.reward < rewards[0]) | (self.reward > rewards[1])
            what = f"is outside of reward_range ({rewards[0]:g}, {rewards[1]:g})"
            yield columns.reward, what, outside, self.reward

    def missing(self) -> Integers:
        """How many numbers of every feature and of the rewards are missing, (d + 1,)."""
        if isinstance(self.features, np.ndarray):
            features = list(np.isnan(self.features).sum(0))
        else:
            features = [np.isnan(column).sum() for column in self.features]
        return np.array([*features, np.isnan(self.reward).sum()], dtype=np.int64)

    def _numbers(self, columns: Columns) -> Iterator[tuple[str, Floats]]:
        names = columns.feature_columns()
        if isinstance(self.features, np.ndarray):
            if columns.schema is None:  # the numbers of these are finite
                yield names[0], self.features
        else:
            yield from zip(names, self.features, strict=True)
        yield columns.reward, self.reward
        if columns.weight is not None and self.weight is not None:
            yield columns.weight, self.weight
        yield from zip(columns.about_names(), self.about, strict=True)
        if columns.time is not None and self.time is not None:
            yield columns.time, self.time


def read_fields(
    batch: "pa.RecordBatch",
    columns: Columns,
    dimension: int,
    piece: Piece,
    first: int,
    keys: tuple[KeyColumn, KeyColumn],
) -> Fields:
    """Read the columns of a batch; its first row has this number in its piece."""
    reading = _Reading(batch, piece)
    features: Floats | Sequence[Floats]
    if columns.schema is not None:
        features, about = reading.encoded(columns.schema)
    else:
        features = reading.features(columns, dimension)
        about = [reading.numbers(name) for name in columns.about]
    task, row_id = keys
    return Fields(
        task=task.read(batch.column(columns.task), piece),
        features=features,
        reward=reading.numbers(columns.reward),
        rows=piece.uneven.numbers(np.arange(first, first + batch.num_rows)),
        weight=None if columns.weight is None else reading.numbers(columns.weight),
        about=about,
        time=None if columns.time is None else reading.numbers(columns.time, values.seconds),
        id=None if columns.id is None else row_id.read(batch.column(columns.id), piece),
        refused=reading.refused,
    )


class _Reading:
    """A batch whose columns are read one after another, and the columns refused."""

    def __init__(self, batch: "pa.RecordBatch", piece: Piece) -> None:
        self._batch, self._piece = batch, piece
        self.refused: list[tuple[str, str, Booleans, pa.Array]] = []

    def numbers(self, name: str, read: Any = values.numbers) -> Floats:
        """A column of numbers or times."""
        found, wrong = read(self._batch.column(name), name, self._piece.place())
        what = "is not a number" if read is values.numbers else "is not a time"
        self._refuse(name, what, wrong)
        return np.asarray(found, dtype=np.float64)

    def features(self, columns: Columns, dimension: int) -> Floats | Sequence[Floats]:
        """Features in one column of lists, or in d columns."""
        import pyarrow as pa  # noqa: PLC0415 (an optional extra)

        if isinstance(columns.features, ItemColumn):
            return self._of_items(columns.features, dimension)
        names = columns.feature_columns()
        first = self._batch.column(names[0])
        if isinstance(columns.features, str) and pa.types.is_nested(first.type):
            found, wrong = values.vectors(first, names[0], dimension, self._piece.place())
            self._refuse(names[0], f"has not {dimension} features", wrong)
            return found
        if len(names) != dimension:
            raise ValueError(
                f"features must be {dimension} columns, got {len(names)}: {list(names)}"
            )
        return [self.numbers(name) for name in names]

    def _of_items(self, items: ItemColumn, dimension: int) -> Floats:
        """The features of the items that a column names."""
        import pyarrow as pa  # noqa: PLC0415 (an optional extra)
        import pyarrow.compute as pc  # noqa: PLC0415

        if items.matrix.shape[1] != dimension:
            found = items.matrix.shape[1]
            raise ValueError(f"items must have {dimension} features, got {found}")
        ids = self._batch.column(items.name).cast(pa.string())
        places = pc.index_in(ids, value_set=pa.array(items.ids, pa.string()))
        unknown = places.is_null().to_numpy(zero_copy_only=False)
        self._refuse(items.name, "is not one of the items", unknown if unknown.any() else None)
        features: Floats = items.matrix[pc.fill_null(places, 0).to_numpy(zero_copy_only=False)]
        features[unknown] = np.nan
        return features

    def encoded(self, schema: Features) -> tuple[Floats, Sequence[Floats]]:
        """Features and what is known of tasks, from columns of attributes."""
        columns = {name: self._batch.column(name) for name in schema.attributes}
        found = schema.read_log(columns, is_text=self._piece.is_text)
        for fault in found.faults:
            self._refuse(fault.name, f"is not {schema.attributes[fault.name].expected}", fault.mask)
        return found.features, list(found.tasks.T)

    def _refuse(self, name: str, what: str, wrong: Booleans | None) -> None:
        if wrong is not None:
            self.refused.append((name, what, wrong, self._batch.column(name)))


@compiled
def _place(codes: Integers, ends: Integers, places: Integers) -> None:
    """The places of rows when sorted by code, and where the rows of each code end.

    A stable counting sort: the rows of code c go to ends[c] ≤ place < ends[c + 1].
    """
    for i in range(codes.shape[0]):
        ends[codes[i] + 1] += 1
    for code in range(ends.shape[0] - 1):
        ends[code + 1] += ends[code]
    for i in range(codes.shape[0]):
        places[i] = ends[codes[i]]
        ends[codes[i]] += 1
    # Every end has moved to the next one.
    for code in range(ends.shape[0] - 1, 0, -1):
        ends[code] = ends[code - 1]
    ends[0] = 0


@compiled
def _scatter_columns(columns: Floats, places: Integers, rows: Floats) -> None:
    """Write columns (e, n) as rows (n, e), each to its place."""
    for i in range(places.shape[0]):
        for a in range(rows.shape[1]):
            rows[places[i], a] = columns[a, i]


@compiled
def _scatter_rows(features: Floats, rewards: Floats, places: Integers, rows: Floats) -> None:
    """Write rows (x, y, 1), each to its place."""
    dimension = features.shape[1]
    for i in range(places.shape[0]):
        for a in range(dimension):
            rows[places[i], a] = features[i, a]
        rows[places[i], dimension] = rewards[i]
        rows[places[i], dimension + 1] = 1.0


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


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Rows of tasks: row i belongs to task names[codes[i]]. Every task has rows.

    `rows` has z = √w·(x, y, 1), (n, d + 2), sorted by code: ends[c] to ends[c + 1] belong to
    names[c], and row i is at places[i]. It is a view of a buffer, valid until the batch after the
    next.
    """

    names: Sequence[object]
    codes: Integers  # (n,)
    rows: Floats
    ends: Integers
    places: Integers  # (n,)
    about: Floats  # (n, p)
    times: Floats | None  # (n,)
    numbers: Integers  # (n,), of the rows in their piece
    piece: Piece

    def __len__(self) -> int:
        return len(self.codes)


class RowBuffer:
    """Memory for one batch of rows after another: fresh memory would cost as much as filling it.

    It grows with the largest batch.
    """

    def __init__(self, dimension: int) -> None:
        self._size = dimension + 2
        self._rows = np.empty((0, self._size))
        self._block = np.ones((self._size, _BLOCK + _APART))

    def fill(
        self, parts: Sequence[Fields], codes: Integers, n_codes: int
    ) -> tuple[Floats, Integers, Integers]:
        """Rows √w·(x, y, 1), (n, d + 2), in the order of their codes.

        Also returns where the rows of each code end, (n_codes + 1,), and the place of every row,
        (n,). The rows are valid until the next call.
        """
        n = len(codes)
        if len(self._rows) < n:
            self._rows = np.empty((n, self._size))
        rows = self._rows[:n]
        ends = np.zeros(n_codes + 1, dtype=np.int64)
        places = np.empty(n, dtype=np.int64)
        _place(codes, ends, places)
        first = 0
        for fields in parts:
            self._scatter(fields, places[first : first + len(fields)], rows)
            first += len(fields)
        if parts[0].weight is not None:
            roots = np.empty(n)
            roots[places] = np.sqrt(np.concatenate([fields.weight for fields in parts]))
            rows *= roots[:, None]
        return rows, ends, places

    def _scatter(self, fields: Fields, places: Integers, rows: Floats) -> None:
        if isinstance(fields.features, np.ndarray):
            _scatter_rows(plain(fields.features), plain(fields.reward), places, rows)
            return
        columns = [*fields.features, fields.reward]
        for start in range(0, len(fields), _BLOCK):
            end = min(start + _BLOCK, len(fields))
            for a, column in enumerate(columns):
                self._block[a, : end - start] = column[start:end]
            _scatter_columns(self._block, places[start:end], rows)


@compiled(inline="always")
def _mixed(value: np.int64) -> np.int64:
    """A permutation of 64-bit numbers in which every bit moves (the finaliser of SplitMix64)."""
    z = np.uint64(value)
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.int64(z ^ (z >> np.uint64(31)))


@compiled
def _hash_numbers(values: Integers, hashes: Integers) -> None:
    """Hashes of rows (n, k) of 64-bit numbers; with k = 1, different rows have different hashes."""
    for i in range(values.shape[0]):
        found = np.int64(0)
        for a in range(values.shape[1]):
            found = _mixed(found * np.int64(_PRIME) + values[i, a])
        hashes[i] = found


@compiled
def _hash_texts(offsets: Integers, data: NDArray[np.uint8], hashes: Integers) -> None:
    """Hashes of texts: text i is the bytes of data from offsets[i] to offsets[i + 1]."""
    for i in range(hashes.shape[0]):
        found = np.int64(offsets[i + 1] - offsets[i])
        for at in range(offsets[i], offsets[i + 1]):
            found = (found ^ np.int64(data[at])) * np.int64(_PRIME)
        hashes[i] = _mixed(found)


@compiled
def _insert(places: Integers, hashes: Integers, repeated: Booleans) -> int:
    """Put hashes into a table of open addresses; mark those already there. Returns how many."""
    mask = places.shape[0] - 1
    n = 0
    for i in range(hashes.shape[0]):
        value = hashes[i]
        if value == _EMPTY:
            value = np.int64(1)
        at = value & mask
        while places[at] != _EMPTY and places[at] != value:
            at = (at + 1) & mask
        repeated[i] = places[at] == value
        if not repeated[i]:
            places[at] = value
            n += 1
    return n


class SeenRows:
    """The rows so far, by hash. Among 10⁸ rows, two collide with probability 3·10⁻⁴."""

    def __init__(self) -> None:
        self._places = np.zeros(1 << 10, dtype=np.int64)
        self._n = 0

    def repeated_ids(self, ids: "pa.Array") -> Booleans:
        """Which ids (n,), strings or integers, have occurred before; notes all of them."""
        import pyarrow as pa  # noqa: PLC0415 (an optional extra)

        hashes = np.empty(len(ids), dtype=np.int64)
        if pa.types.is_integer(ids.type):
            _hash_numbers(np.asarray(ids, dtype=np.int64)[:, None], hashes)
        else:
            _, offsets, data = ids.buffers()
            at = np.frombuffer(offsets, dtype=np.int64)[ids.offset : ids.offset + len(ids) + 1]
            held = np.zeros(0, np.uint8) if data is None else np.frombuffer(data, dtype=np.uint8)
            _hash_texts(at, held, hashes)
        return self._note(hashes)

    def repeated_rows(self, values: Integers) -> Booleans:
        """Which rows (n, k) of 64-bit numbers have occurred before; notes all of them."""
        hashes = np.empty(len(values), dtype=np.int64)
        _hash_numbers(values, hashes)
        return self._note(hashes)

    def _note(self, hashes: Integers) -> Booleans:
        repeated = np.zeros(len(hashes), dtype=bool)
        needed = 2 * (self._n + len(hashes))
        if needed > len(self._places):
            old = self._places[self._places != _EMPTY]
            self._places = np.zeros(1 << int(needed).bit_length(), dtype=np.int64)
            _insert(self._places, old, np.zeros(len(old), dtype=bool))
        self._n += int(_insert(self._places, hashes, repeated))
        return repeated
