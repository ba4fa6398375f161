"""Fields: the columns of one batch as arrays, and what is wrong with their rows."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.logs import convert
from headstart.logs.columns import Columns
from headstart.logs.names import KeyColumn
from headstart.logs.sources import Piece

if TYPE_CHECKING:
    import pyarrow as pa

# Beyond this, squares and products run out of range.
LARGEST = 1e50

# The least and the largest reward that counts.
Range = tuple[float, float]


@compiled
def _ranges(features: Floats, least: Floats, largest: Floats) -> bool:
    """The smallest and the largest of every feature; False where one is NaN or out of range."""
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
    """An array that a compiled function takes: one type for all, whatever Arrow's flags are."""
    return np.require(array, requirements=["C", "W"])


@dataclass(frozen=True, kw_only=True, eq=False)
class Fields:
    """The columns of n rows: features (n, d) or d arrays (n,), rewards, weights, times (n,).

    Missing numbers are NaN. `refused` has the columns with values that are not what they must be,
    where any are: a reason, a mask (n,), and the column as it was read.
    """

    task: "pa.Array"
    features: Floats | Sequence[Floats]
    reward: Floats
    rows: Integers  # their numbers in the piece
    weight: Floats | None = None
    side: Sequence[Floats] = ()
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
            else [each[mask] for each in features],
            reward=self.reward[mask],
            rows=self.rows[mask],
            weight=None if self.weight is None else self.weight[mask],
            side=[each[mask] for each in self.side],
            time=None if self.time is None else self.time[mask],
            id=None if self.id is None else self.id.filter(chosen),
            refused=(),
        )

    def ranges(self) -> tuple[Floats, Floats]:
        """The smallest and the largest of every feature and of the rewards, (d + 1,) each.

        NaN where a number is missing.
        """
        with np.errstate(invalid="ignore"):
            if isinstance(self.features, np.ndarray):
                found = np.empty((2, self.features.shape[1] + 1))
                found[:, -1] = self.reward.min(), self.reward.max()
                if not _ranges(plain(self.features), found[0], found[1]):
                    found[:] = np.nan
                return found[0], found[1]
            values = [*self.features, self.reward]
            return np.array([v.min() for v in values]), np.array([v.max() for v in values])

    def seems_right(self, least: Floats, largest: Floats, rewards: Range | None) -> bool:
        """Whether no row can be bad: a quick look at the ranges, which NaN does not pass."""
        low, high = rewards or (-LARGEST, LARGEST)
        others = [*self.side, *(() if self.time is None else (self.time,))]
        return bool(
            not self.refused
            and not self.task.null_count
            and (self.id is None or not self.id.null_count)
            and (least >= -LARGEST).all()
            and (largest <= LARGEST).all()
            and low <= least[-1] <= largest[-1] <= high
            and all((np.abs(each) <= LARGEST).all() for each in others)
            and (self.weight is None or ((self.weight > 0).all() and self.weight.max() <= LARGEST))
        )

    def faults(
        self, columns: Columns, rewards: Range | None = None
    ) -> Iterator[tuple[str, str, Booleans, Any]]:
        """What is wrong: column, reason, mask (n,) and the values, in the order of the columns."""
        keys = [(columns.task, self.task)]
        if columns.id is not None and self.id is not None:
            keys.append((columns.id, self.id))
        for name, key in keys:
            yield name, "is missing", key.is_null().to_numpy(zero_copy_only=False), key
        refused = {each[0]: each[1:] for each in self.refused}
        for name, values in self._numbers(columns):
            flat = values if values.ndim == 1 else np.abs(values).max(1)
            none: Any = ("", np.zeros(len(self), dtype=bool), values)
            what, other, given = refused.get(name, none)
            yield name, what, other, given
            yield name, "is missing", np.isnan(flat) & ~other, values
            yield name, "is not finite", np.isinf(flat), values
            yield name, f"is beyond {LARGEST:.0e}", np.abs(flat) > LARGEST, values
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
            features = [np.isnan(each).sum() for each in self.features]
        return np.array([*features, np.isnan(self.reward).sum()], dtype=np.int64)

    def _numbers(self, columns: Columns) -> Iterator[tuple[str, Floats]]:
        names = columns.feature_columns()
        if isinstance(self.features, np.ndarray):
            yield names[0], self.features
        else:
            yield from zip(names, self.features, strict=True)
        yield columns.reward, self.reward
        if columns.weight is not None and self.weight is not None:
            yield columns.weight, self.weight
        yield from zip(columns.side, self.side, strict=True)
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
    """The columns of a batch whose first row has this number in its piece."""
    import pyarrow as pa  # noqa: PLC0415 (an optional extra)

    refused: list[tuple[str, str, Booleans, pa.Array]] = []
    place = piece.place()

    def numbers(name: str, read: Any = convert.numbers) -> Floats:
        found, wrong = read(batch.column(name), name, place)
        if wrong is not None:
            what = "is not a number" if read is convert.numbers else "is not a time"
            refused.append((name, what, wrong, batch.column(name)))
        return np.asarray(found, dtype=np.float64)

    names = columns.feature_columns()
    lists = isinstance(columns.features, str) and pa.types.is_nested(batch.column(names[0]).type)
    features: Floats | Sequence[Floats]
    if lists:
        features, wrong = convert.vectors(batch.column(names[0]), names[0], dimension, place)
        if wrong is not None:
            refused.append(
                (names[0], f"has not {dimension} features", wrong, batch.column(names[0]))
            )
    elif len(names) != dimension:
        raise ValueError(f"features must be {dimension} columns, got {len(names)}: {list(names)}")
    else:
        features = [numbers(name) for name in names]
    task, row_id = keys
    return Fields(
        task=task.read(batch.column(columns.task), piece),
        features=features,
        reward=numbers(columns.reward),
        rows=piece.uneven.numbers(np.arange(first, first + batch.num_rows)),
        weight=None if columns.weight is None else numbers(columns.weight),
        side=[numbers(name) for name in columns.side],
        time=None if columns.time is None else numbers(columns.time, convert.seconds),
        id=None if columns.id is None else row_id.read(batch.column(columns.id), piece),
        refused=refused,
    )
