"""Log: what a trial keeps of a log of decisions, whole tasks from their first reward on."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from headstart.arrays import Booleans, Floats, Integers
from headstart.logs import sources

# How many rewards of a task count, its first ones, and how many rows are kept in all.
MOST_REWARDS, MOST_ROWS = 50, 100_000
# While the rows of tasks are counted, no more than this many are remembered.
_MOST_COUNTED = 1 << 24


class CannotTell(Exception):  # noqa: N818 - an answer and no error
    """Why a log allows no verdict, as the end of a sentence: "because …"."""


@dataclass(frozen=True, kw_only=True)
class Names:
    """The columns of a log that are no attributes; None if it has no such column."""

    task: str
    reward: str
    item: str | None = None
    propensity: str | None = None
    time: str | None = None

    def known(self) -> list[str]:
        """The columns that there are."""
        given = (self.task, self.reward, self.item, self.propensity, self.time)
        return [name for name in given if name is not None]


@dataclass(frozen=True, kw_only=True)
class Log:
    """Rows of whole tasks, task by task, each in the order of its rewards.

    `n_rows` and `n_tasks` are of the whole log; its rows without a reward are left out.
    """

    frame: pd.DataFrame  # all columns
    tasks: Integers  # 0, 1, …, in the order in which tasks begin
    rewards: Floats
    times: Floats | None
    n_rows: int
    n_tasks: int
    left_out: int

    @property
    def kept(self) -> int:
        """The number of tasks kept."""
        return int(self.tasks[-1]) + 1 if len(self.tasks) else 0

    def keep(self, mask: Booleans) -> Log:
        """The log with some of its rows."""
        times = None if self.times is None else self.times[mask]
        return Log(
            frame=self.frame[mask].reset_index(drop=True),
            tasks=np.unique(self.tasks[mask], return_inverse=True)[1],
            rewards=self.rewards[mask],
            times=times,
            n_rows=self.n_rows,
            n_tasks=self.n_tasks,
            left_out=self.left_out,
        )


def read(source: Any, names: Names, *, seed: int = 0, most_rows: int = MOST_ROWS) -> Log:
    """The first rewards of tasks, whole tasks drawn by the seed if there are more than most_rows.

    The log is read twice: once the columns of tasks and times, then all columns of the chosen rows.
    """
    columns = _columns(source)
    sources.check_columns(names.known(), columns, "")
    counted = _Counted(seed)
    for batch, first in _batches(source, [*dict.fromkeys((names.task, names.time or names.task))]):
        times = _seconds(batch, names.time)
        counted.add(batch.column(names.task), times, first)
    rows, tasks, times = counted.chosen(most_rows)
    parts = []
    in_order = np.sort(rows)
    for batch, first in _batches(source, columns):
        low, high = np.searchsorted(in_order, (first, first + batch.num_rows))
        if high > low:
            parts.append(batch.to_pandas().iloc[in_order[low:high] - first])
    frame = pd.concat(parts, ignore_index=True) if parts else pd.DataFrame(columns=columns)
    frame = frame.iloc[np.searchsorted(in_order, rows)].reset_index(drop=True)
    frame = frame.apply(_as_numbers)
    rewards = _numbers(frame[names.reward])
    log = Log(
        frame=frame,
        tasks=tasks,
        rewards=rewards,
        times=times,
        n_rows=counted.n_rows,
        n_tasks=counted.n_tasks,
        left_out=0,
    )
    known = np.isfinite(rewards)
    if known.all():
        return log
    return Log(**{**vars(log.keep(known)), "left_out": int((~known).sum())})


class _Counted:
    """The tasks of all rows as hashes, of a part of the tasks if there are very many rows."""

    def __init__(self, seed: int) -> None:
        self._key = f"{seed:016d}"[-16:]
        self._below = np.uint64(2**64 - 1)
        self._parts: list[tuple[Any, Integers, Floats | None]] = []
        self._kept = 0
        self.n_rows = 0

    def add(self, names: Any, times: Floats | None, first: int) -> None:
        """Count the rows of a batch, from the row number `first` on."""
        encoded = names if hasattr(names, "indices") else names.dictionary_encode()
        levels = np.array([str(name) for name in encoded.dictionary.to_pylist()], dtype=object)
        hashes = pd.util.hash_array(levels, hash_key=self._key, categorize=False)
        codes = encoded.indices.fill_null(-1).to_numpy(zero_copy_only=False).astype(np.int64)
        self.n_rows += len(codes)
        known = codes >= 0
        if times is not None:
            known &= np.isfinite(times)
        own = np.append(hashes, np.uint64(0))[codes]
        known &= own <= self._below
        rows = np.flatnonzero(known)
        self._parts.append((own[rows], rows + first, None if times is None else times[rows]))
        self._kept += len(rows)
        while self._kept > _MOST_COUNTED:
            self._below //= np.uint64(2)
            self._parts = [self._fewer(part) for part in self._parts]
            self._kept = sum(len(part[0]) for part in self._parts)

    def _fewer(self, part: tuple[Any, Integers, Floats | None]) -> Any:
        own, rows, times = part
        kept = own <= self._below
        return own[kept], rows[kept], None if times is None else times[kept]

    def chosen(self, most_rows: int) -> tuple[Integers, Integers, Floats | None]:
        """Rows, task by task in the order of their rewards, their tasks, and their times."""
        if not self._kept:
            raise CannotTell("it has no rows with a task")
        hashes, rows = (np.concatenate([part[i] for part in self._parts]) for i in (0, 1))
        timed = self._parts[0][2] is not None
        times = np.concatenate([part[2] for part in self._parts]) if timed else None
        order = np.lexsort((rows, hashes) if times is None else (rows, times, hashes))
        hashes, rows = hashes[order], rows[order]
        times = None if times is None else times[order]
        starts = np.flatnonzero(np.append(True, hashes[1:] != hashes[:-1]))
        counts = np.diff(np.append(starts, len(rows)))
        share = (int(self._below) + 1) / 2**64
        self.n_tasks = round(len(starts) / share)
        # Tasks come by hash, which is as good as at random.
        n = int(np.searchsorted(np.cumsum(np.minimum(counts, MOST_REWARDS)), most_rows, "right"))
        n = max(n, 1)
        place = np.arange(len(rows)) - np.repeat(starts, counts)
        kept = place < MOST_REWARDS
        kept[starts[n] if n < len(starts) else len(rows) :] = False
        tasks = np.repeat(np.arange(len(starts)), counts)[kept]
        begins = (rows if times is None else times)[starts[:n]]
        rank = np.empty(n, dtype=np.int64)
        rank[np.lexsort((rows[starts[:n]], begins))] = np.arange(n)
        tasks = rank[tasks]
        again = np.argsort(tasks, kind="stable")
        times = None if times is None else times[kept][again]
        return rows[kept][again], tasks[again], times


def _columns(source: Any) -> list[str]:
    """The columns of a log."""
    first = source[0] if isinstance(source, list | tuple) and len(source) else source
    if isinstance(first, str | Path):
        import pyarrow.dataset as ds  # noqa: PLC0415

        name = sources.find_files([first])[0]
        if not sources.is_text(name):
            return [str(column) for column in ds.dataset(name, format="parquet").schema.names]
        separator = "\t" if ".tsv" in name.lower() else ","
        return [str(column) for column in pd.read_csv(name, sep=separator, nrows=0).columns]
    if hasattr(first, "collect_schema"):
        return list(first.collect_schema().names())
    found = getattr(first, "column_names", None) or getattr(first, "columns", None)
    if found is None or isinstance(first, dict):
        raise ValueError(f"the log must be a file or a frame, got {type(first).__name__}")
    return [str(column) for column in found]


def _batches(source: Any, columns: Sequence[str]) -> Iterator[tuple[Any, int]]:
    """Batches of rows, each with the number of its first row."""
    first = 0
    for piece in sources.pieces(source, list(columns)):
        for batch in piece.batches():
            yield batch, first
            first += batch.num_rows


def _seconds(batch: Any, name: str | None) -> Floats | None:
    """The times of a batch in seconds; NaN where there is none."""
    if name is None:
        return None
    column = _as_numbers(batch.column(name).to_pandas())
    if pd.api.types.is_numeric_dtype(column):
        return column.to_numpy(dtype=np.float64, na_value=np.nan)
    try:
        when = pd.to_datetime(column, utc=True, format="ISO8601").dt.tz_localize(None)
    except (ValueError, TypeError) as error:
        raise ValueError(f"column {name!r} must hold times: {error}") from error
    whole = when.astype("datetime64[us]").to_numpy()
    return np.where(np.isnat(whole), np.nan, whole.astype(np.int64) / 1e6)


def _as_numbers(column: pd.Series) -> pd.Series:
    """A column of text as numbers, if all of it are numbers."""
    if not (column.dtype == object or isinstance(column.dtype, pd.StringDtype)):
        return column
    try:
        return pd.to_numeric(column)
    except (ValueError, TypeError):
        return column


def _numbers(column: pd.Series) -> Floats:
    """Rewards; NaN where there is none, or none that is a number."""
    if column.dtype == object or isinstance(column.dtype, pd.StringDtype):
        column = column.map(
            lambda value: {"true": 1.0, "false": 0.0}.get(str(value).lower(), value)
        )
    found = pd.to_numeric(column, errors="coerce").to_numpy(dtype=np.float64, na_value=np.nan)
    return np.where(np.isfinite(found), found, np.nan)
