"""Tally: what a report will say, counted batch by batch. Tallies add."""

from dataclasses import dataclass, field

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.logs.report import Example, LogReport, RowCount, Scale

_EXAMPLES = 3


@dataclass
class _Counted:
    count: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, count: int, examples: list[Example]) -> None:
        self.count += count
        self.examples = (self.examples + examples)[:_EXAMPLES]

    def report(self, what: str) -> RowCount:
        return RowCount(what=what, count=self.count, examples=tuple(self.examples))


class Tally:
    """Counts of rows, and the smallest, the largest and the missing numbers of columns (d + 1,).

    The last of the columns is the reward.
    """

    def __init__(self, dimension: int) -> None:
        self.rows = 0
        self.pieces = 0
        self.bad: dict[str, _Counted] = {}
        self.duplicates = _Counted()
        self.identical = _Counted()
        self.least = np.full(dimension + 1, np.inf)
        self.largest = np.full(dimension + 1, -np.inf)
        self.missing = np.zeros(dimension + 1, dtype=np.int64)

    def note_bad(self, what: str, count: int, examples: list[Example]) -> None:
        """Note rows that are left out for one reason."""
        self.bad.setdefault(what, _Counted()).add(count, examples)

    def note_range(self, least: Floats, largest: Floats) -> None:
        """Note the smallest and the largest numbers (d + 1,) of rows that count."""
        np.minimum(self.least, least, out=self.least)
        np.maximum(self.largest, largest, out=self.largest)

    def __add__(self, other: "Tally") -> "Tally":
        joined = Tally(len(self.least) - 1)
        for each in (self, other):
            joined.rows += each.rows
            joined.pieces += each.pieces
            for what, found in each.bad.items():
                joined.note_bad(what, found.count, found.examples)
            joined.duplicates.add(each.duplicates.count, each.duplicates.examples)
            joined.identical.add(each.identical.count, each.identical.examples)
            joined.note_range(each.least, each.largest)
            joined.missing += each.missing
        return joined

    def report(
        self, names: list[str], total: Floats, tasks: int, id_column: str | None, identical: bool
    ) -> LogReport:
        """The report, with the sum over all tasks of zzᵀ, z = √w·(x, y, 1)."""
        count = total[-1, -1]
        means = total[-1, :-1] / count if count else np.full(len(self.least), np.nan)
        squares = np.diag(total)[:-1] / count if count else np.full(len(self.least), np.nan)
        scales = [
            Scale(
                name=name,
                least=float(self.least[a]),
                largest=float(self.largest[a]),
                mean=float(means[a]),
                root_mean_square=float(np.sqrt(squares[a])),
                missing=int(self.missing[a]),
            )
            for a, name in enumerate(names)
        ]
        return LogReport(
            rows=self.rows,
            tasks=tasks,
            pieces=self.pieces,
            bad=tuple(found.report(what) for what, found in self.bad.items()),
            duplicates=None
            if id_column is None
            else self.duplicates.report(f"{id_column!r} seen before"),
            identical=self.identical.report("equal to an earlier row") if identical else None,
            features=tuple(scales[:-1]),
            reward=scales[-1],
        )


def examples_of(
    mask: Booleans, numbers: Integers, label: str | None, values: object = None
) -> list[Example]:
    """The first few rows of a mask, with their numbers and values."""
    return [
        Example(label, int(numbers[i]), _plain(values, int(i)))
        for i in np.flatnonzero(mask)[:_EXAMPLES]
    ]


def _plain(values: object, i: int) -> object:
    if values is None:
        return None
    value = values[i]  # type: ignore[index]
    return value.as_py() if hasattr(value, "as_py") else value.tolist()
