"""Reader: the rows of a log in checked batches, and a tally of what was left out."""

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats, Integers
from headstart.logs import convert, names, sources
from headstart.logs.columns import Columns
from headstart.logs.duplicates import SeenRows
from headstart.logs.fields import Fields, Range, read_fields
from headstart.logs.report import Example
from headstart.logs.rows import RowBuffer
from headstart.logs.sources import Piece
from headstart.logs.tally import Tally, examples_of

OnBad = Literal["raise", "drop"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch:
    """Rows of tasks: row i is of task names[codes[i]], all of which have rows.

    `rows` has z = √w·(x, y, 1), (n, d + 2), in the order of the codes: ends[c] to ends[c + 1] are
    those of names[c], and row i is at places[i]. It is a view of a buffer, valid until the batch
    after the next.
    """

    names: Sequence[object]
    codes: Integers  # (n,)
    rows: Floats
    ends: Integers
    places: Integers  # (n,)
    side: Floats  # (n, p)
    times: Floats | None  # (n,)
    numbers: Integers  # (n,), of the rows in their piece
    piece: Piece

    def __len__(self) -> int:
        return len(self.codes)


class Reader:
    """One pass over a log.

    With on_bad="raise" the first bad row is an error, else bad rows are left out and counted. A row
    whose reward is outside of `reward_range` is bad.
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
        self.columns = columns
        self.dimension = checks.count("dimension", dimension)
        self.on_bad = checks.one_of("on_bad", on_bad, ("raise", "drop"))
        self.reward_range = reward_range
        self.tally = Tally(dimension)
        self.pieces = sources.pieces(
            logs, columns.names(), label, numeric=columns.read_as_numbers()
        )
        counts = [piece.n_rows for piece in self.pieces]
        self.total = sum(counts) if all(counts) else 0
        self._seen_ids = SeenRows()
        self._seen_rows = SeenRows() if find_identical else None
        # Two, so that one batch can be made while the one before is summed.
        self._buffers = itertools.cycle([RowBuffer(dimension), RowBuffer(dimension)])
        self._keys = (
            names.KeyColumn(columns.task, columns.task_type),
            names.KeyColumn(columns.id or ""),
        )

    def batches(self) -> Iterator[Batch]:
        """The rows that count."""
        for piece in self.pieces:
            self.tally.pieces += 1
            waiting: list[Fields] = []
            for fields in self._fields(piece):
                if sum(map(len, waiting)) + len(fields) > sources.BATCH_ROWS:
                    yield self._batch(waiting, piece)
                    waiting = []
                waiting.append(fields)
            if waiting:
                yield self._batch(waiting, piece)

    def _fields(self, piece: Piece) -> Iterator[Fields]:
        """The rows of a piece that count, as they come; at most as many at once as in a batch."""
        first = 0
        for whole in piece.batches():
            self._check_uneven(piece)
            for start in range(0, whole.num_rows, sources.BATCH_ROWS):
                batch = whole.slice(start, sources.BATCH_ROWS)
                fields = read_fields(batch, self.columns, self.dimension, piece, first, self._keys)
                first += len(fields)
                self.tally.rows += len(fields)
                fields = self._without_repeated(self._without_bad(fields, piece), piece)
                if len(fields):
                    yield fields
        self._check_uneven(piece)
        self._note_uneven(piece)

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

    def _without_bad(self, fields: Fields, piece: Piece) -> Fields:
        least, largest = fields.ranges()
        if fields.seems_right(least, largest, self.reward_range):
            if self.columns.id is None:
                self.tally.note_range(least, largest)
            return fields
        bad = np.zeros(len(fields), dtype=bool)
        found: list[tuple[int, str]] = []
        for name, what, mask, values in fields.faults(self.columns, self.reward_range):
            new = mask & ~bad
            if not new.any():
                continue
            bad |= new
            examples = examples_of(new, fields.rows, piece.label, values)
            found.append((examples[0].row, _error(name, what, examples[0].value)))
            self.tally.note_bad(f"column {name!r} {what}", int(new.sum()), examples)
        if found and self.on_bad == "raise":
            row, error = min(found)
            raise ValueError(
                f'{error}{piece.place(row)} (rows count from 0); on_bad="drop" leaves such rows out'
            )
        self.tally.missing += fields.missing()
        fields = fields.keep(~bad)
        if self.columns.id is None and len(fields):
            self.tally.note_range(*fields.ranges())
        return fields

    def _without_repeated(self, fields: Fields, piece: Piece) -> Fields:
        if fields.id is None or not len(fields):
            return fields
        repeated = self._seen_ids.repeated_ids(fields.id)
        if repeated.any():
            examples = examples_of(repeated, fields.rows, piece.label, fields.id)
            self.tally.duplicates.add(int(repeated.sum()), examples)
            fields = fields.keep(~repeated)
        if len(fields):
            self.tally.note_range(*fields.ranges())
        return fields

    def _batch(self, parts: list[Fields], piece: Piece) -> Batch:
        """Rows that came in several parts, together."""
        task_names, codes = names.encode([each.task for each in parts])
        rows, ends, places = next(self._buffers).fill(parts, codes, len(task_names))
        side = [np.stack(each.side, axis=1) for each in parts if each.side]
        times = [each.time for each in parts if each.time is not None]
        batch = Batch(
            names=task_names,
            codes=codes,
            rows=rows,
            ends=ends,
            places=places,
            side=np.concatenate(side) if side else np.zeros((len(codes), 0)),
            times=np.concatenate(times) if times else None,
            numbers=np.concatenate([each.rows for each in parts]),
            piece=piece,
        )
        if self._seen_rows is not None:
            identical = self._identical(batch)
            examples = examples_of(identical, batch.numbers, piece.label)
            self.tally.identical.add(int(identical.sum()), examples)
        return batch

    def _identical(self, batch: Batch) -> Booleans:
        """Which rows equal an earlier one in every column."""
        tasks = np.array([hash(name) for name in batch.names], dtype=np.int64)[batch.codes]
        times = np.zeros((len(batch), 0)) if batch.times is None else batch.times[:, None]
        # Adding 0 makes −0 and 0 alike.
        values = np.column_stack([batch.rows[batch.places], batch.side, times]) + 0.0
        assert self._seen_rows is not None
        return self._seen_rows.repeated_rows(np.column_stack([tasks, values.view(np.int64)]))


def _error(name: str, what: str, value: object) -> str:
    must = {
        "is missing": "must have a value in every row",
        "is not a number": "must be a number in every row",
        "is not a time": "must be seconds or a time in ISO 8601 in every row",
        "is not finite": "must be finite in every row",
        "is not above 0": "must be above 0",
    }.get(what, what.replace("is outside of", "must be within"))
    return f"column {name!r} {must}, got {value!r}"


def n_features(logs: Any, features: str | Sequence[str]) -> int:
    """The number of features in the rows of a log: of the columns, or of the first list.

    >>> import pandas as pd
    >>> from headstart.logs import n_features
    >>> n_features(pd.DataFrame({"x": [[1.0, 2.0, 3.0]]}), "x")
    3
    """
    if not isinstance(features, str):
        return len(features)
    for piece in sources.pieces(logs, [features]):
        for batch in piece.batches():
            if piece.is_text:
                return 1
            found = convert.list_length(batch.column(features), features, piece.place())
            if found:
                return found
    raise ValueError(f"column {features!r} must hold a list of numbers in some row, got none")
