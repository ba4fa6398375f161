"""Batches of log rows, checked, from pandas, Polars, Arrow or Parquet."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from headstart import checks
from headstart.arrays import Floats, Integers

if TYPE_CHECKING:
    import pyarrow as pa


# Rows per batch: some megabytes per feature. The more rows of a task are in one batch, the fewer
# times its sums are loaded.
BATCH_ROWS = 1 << 18


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The names of a log's columns; the features are several columns, or one of lists."""

    task: str = "task"
    features: str | Sequence[str] = "features"
    reward: str = "reward"
    weight: str | None = None

    def names(self) -> list[str]:
        """All of them."""
        features = [self.features] if isinstance(self.features, str) else list(self.features)
        more = [] if self.weight is None else [self.weight]
        return [self.task, *features, self.reward, *more]


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Log rows: features (n, d), rewards (n,), weights (n,); row i is of task names[codes[i]]."""

    names: Sequence[object]
    codes: Integers
    features: Floats
    rewards: Floats
    weights: Floats

    def __len__(self) -> int:
        """The number of rows."""
        return len(self.codes)


def batches(logs: Any, columns: Columns, dimension: int) -> Iterator[tuple[Batch, int]]:
    """The rows of a log in checked batches, each with the number of rows in all."""
    for batch, total in record_batches(logs, columns):
        yield _checked(batch, columns, dimension), total


def record_batches(logs: Any, columns: Columns) -> Iterator[tuple["pa.RecordBatch", int]]:
    """Record batches of the columns that are used, unchecked, with the number of rows in all."""
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
        # Readahead takes memory: two batches are enough to use disk and kernel at once.
        for batch in dataset.to_batches(columns=names, batch_size=BATCH_ROWS, batch_readahead=2):
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
        for start in range(0, batch.num_rows, BATCH_ROWS):
            yield batch.slice(start, BATCH_ROWS), total


def _check_columns(expected: Sequence[str], present: Sequence[object]) -> None:
    for name in expected:
        if name not in [str(column) for column in present]:
            raise ValueError(f"logs must have a column {name!r}, got {list(map(str, present))}")


def _checked(batch: "pa.RecordBatch", columns: Columns, dimension: int) -> Batch:
    task = batch.column(columns.task)
    if task.null_count:
        raise ValueError(f"column {columns.task!r} must name a task in every row, got a null")
    encoded = task.dictionary_encode()
    codes = np.asarray(encoded.indices, dtype=np.int64)
    rewards = _numbers(batch, columns.reward)
    weights = np.ones(len(codes)) if columns.weight is None else _numbers(batch, columns.weight)
    if (weights <= 0).any():
        raise ValueError(f"column {columns.weight!r} must be above 0, got {weights.min()}")
    return Batch(
        names=encoded.dictionary.to_pylist(),
        codes=codes,
        features=_features(batch, columns.features, dimension),
        rewards=rewards,
        weights=weights,
    )


def _features(batch: "pa.RecordBatch", columns: str | Sequence[str], dimension: int) -> Floats:
    """The features (n, d) of one column of lists, or of d columns."""
    if isinstance(columns, str):
        lists = batch.column(columns)
        values = lists.flatten().to_numpy(zero_copy_only=False).astype(np.float64, copy=False)
        if len(values) != dimension * batch.num_rows:
            raise ValueError(
                f"column {columns!r} must hold {dimension} features in every row, "
                f"got {len(values)} in {batch.num_rows} rows"
            )
        return np.ascontiguousarray(checks.floats(columns, values).reshape(-1, dimension))
    if len(columns) != dimension:
        raise ValueError(f"features must be {dimension} columns, got {len(columns)}")
    return np.ascontiguousarray(np.stack([_numbers(batch, name) for name in columns], axis=1))


def _numbers(batch: "pa.RecordBatch", name: str) -> Floats:
    array = batch.column(name).to_numpy(zero_copy_only=False)
    return checks.floats(f"column {name!r}", array)


def n_features(logs: Path, features: str | Sequence[str]) -> int:
    """The number of features in the rows of a Parquet file."""
    if not isinstance(features, str):
        return len(features)
    import pyarrow.dataset as ds  # noqa: PLC0415 (an optional extra)

    dataset = ds.dataset(logs, format="parquet")
    _check_columns([features], dataset.schema.names)
    first = dataset.head(1, columns=[features]).column(features).to_pylist()
    if not first or not isinstance(first[0], list):
        raise ValueError(f"column {features!r} must hold a list in every row, got {first[:1]}")
    return len(first[0])
