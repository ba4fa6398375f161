"""LogReport: what a log holds and what is wrong with it, counted batch by batch."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats, Integers

# Reasons to set a task aside.
WRONG_UNIT = "their rewards are a thousand times the others'"
# How many tasks and rows are shown.
_NAMED = 3


@dataclass(frozen=True)
class Example:
    """One row: its file (or table), its number there, counted from 0, and the value."""

    file: str | None
    row: int
    value: object

    def __str__(self) -> str:
        of = "" if self.file is None else f" of {self.file}"
        value = "" if self.value is None else f": {self.value!r}"
        return f"row {self.row:,}{of}{value}"


@dataclass(frozen=True, kw_only=True)
class RowCount:
    """How many rows meet a condition, and the first few of them."""

    what: str
    count: int
    examples: tuple[Example, ...]


@dataclass(frozen=True, kw_only=True)
class TaskCount:
    """How many tasks meet a condition, and the names of the first few."""

    what: str
    count: int
    examples: tuple[str | int, ...]

    @classmethod
    def of(cls, what: str, names: Sequence[str | int]) -> "TaskCount":
        """The count of these tasks."""
        return cls(what=what, count=len(names), examples=tuple(names[:_NAMED]))


@dataclass(frozen=True, kw_only=True)
class Scale:
    """The numbers of one feature, or the rewards, over the rows that count.

    Attributes
    ----------
    name : str
        The name of the column.
    least, largest : float
        The extreme values.
    mean, root_mean_square : float
        Weighted by the rows' weights.
    missing : int
        How many are missing, over all rows.

    Examples
    --------
    >>> import pandas as pd
    >>> from headstart.logs import Columns, check_log
    >>> log = pd.DataFrame({"task": ["ann", "bob"], "x": [1.0, 3.0], "reward": [1.0, 0.0]})
    >>> (x,) = check_log(log, Columns(features=["x"])).features
    >>> x.mean, x.largest, round(x.standard_deviation, 6)
    (2.0, 3.0, 1.0)
    """

    name: str
    least: float
    largest: float
    mean: float
    root_mean_square: float
    missing: int

    @property
    def standard_deviation(self) -> float:
        """The standard deviation, which loses digits if the mean is far from 0."""
        return float(np.sqrt(max(self.root_mean_square**2 - self.mean**2, 0.0)))


@dataclass(frozen=True, kw_only=True)
class LogReport:
    """What was read: rows, tasks, what was left out and why, and the scale of every feature.

    Attributes
    ----------
    rows, tasks : int
        How many rows and tasks were read.
    pieces : int
        How many files, tables or partitions.
    bad : tuple of RowCount
        The bad rows, by reason.
    duplicates : RowCount or None
        Rows left out because their id had occurred before; None without ids.
    identical : RowCount or None
        Rows that equal an earlier one in every column that is read. They count, since an arm may be
        shown twice. None if nobody looked for them.
    features : tuple of Scale
        The numbers of every feature.
    reward : Scale
        The rewards.
    set_aside : TaskCount or None
        Tasks without a row that counts, and why; None if nothing was learned from the log.
    encoded : bool
        Whether the features are columns of a schema.

    Examples
    --------
    >>> import pandas as pd
    >>> from headstart.logs import Columns, check_log
    >>> log = pd.DataFrame({"task": ["ann", "bob"], "x": [1.0, None], "reward": [1.0, 0.0]})
    >>> report = check_log(log, Columns(features=["x"]))
    >>> report.rows, report.n_bad, report.n_used
    (2, 1, 1)
    """

    rows: int
    tasks: int
    pieces: int
    bad: tuple[RowCount, ...]
    duplicates: RowCount | None
    identical: RowCount | None
    features: tuple[Scale, ...]
    reward: Scale
    set_aside: TaskCount | None = None
    encoded: bool = False

    @property
    def n_bad(self) -> int:
        """How many rows were left out because a value is missing or wrong."""
        return sum(each.count for each in self.bad)

    @property
    def n_used(self) -> int:
        """How many rows count, including rows of tasks that are set aside."""
        return self.rows - self.n_bad - (0 if self.duplicates is None else self.duplicates.count)

    def far_apart(self) -> tuple[str, ...]:
        """The features whose size is far from the others' (`checks.FAR`), or that are always 0.

        With a schema there are none: its numbers have a common scale, and levels may be rare.
        """
        if self.encoded:
            return ()
        sizes = np.array([scale.root_mean_square for scale in self.features])
        _, far = checks.far_apart(sizes)
        odd = far | ~(sizes > 0.0)
        return tuple(self.features[i].name for i in np.flatnonzero(odd))

    def summary(self) -> str:
        """What was read and left out, without the scales."""
        where = "" if self.pieces == 1 else f" in {self.pieces:,} files, tables or partitions"
        lines = [f"{self.rows:,} rows of {self.tasks:,} tasks{where}; {self.n_used:,} count"]
        lines += [f"{each.count:,} rows left out: {each.what}{_first(each)}" for each in self.bad]
        if self.duplicates is not None:
            lines.append(_repeated(self.duplicates))
        if self.identical is not None:
            lines.append(
                f"{self.identical.count:,} rows equal an earlier one, and count"
                f"{_first(self.identical)}"
            )
        if self.set_aside is not None and self.set_aside.count:
            lines.append(_aside(self.set_aside, self.tasks))
        far = self.far_apart()
        if far:
            shown = ", ".join(far[:8]) + (", …" if len(far) > 8 else "")
            lines.append(f"Features far from the size of the others: {shown}")
        return "\n".join(lines)

    def __str__(self) -> str:
        """The summary, and a table of the scales."""
        width = max(len(each.name) for each in (*self.features, self.reward))
        heading = f"{'':{width}}  {'min':>10} {'max':>10} {'mean':>10} {'rms':>10} {'missing':>9}"
        table = [
            f"{each.name:{width}}  {each.least:10.4g} {each.largest:10.4g} {each.mean:10.4g} "
            f"{each.root_mean_square:10.4g} {each.missing:9,}"
            for each in (*self.features, self.reward)
        ]
        return "\n".join([self.summary(), heading, *table])

    def plain(self) -> dict[str, object]:
        """As plain data for JSON."""
        return {**asdict(self), "n_bad": self.n_bad, "n_used": self.n_used}


def _repeated(found: RowCount) -> str:
    fate = " left out" if found.count else ""
    return f"{found.count:,} repeated rows ({found.what}){fate}{_first(found)}"


def _aside(found: TaskCount, tasks: int) -> str:
    names = ", ".join(map(repr, found.examples)) + (", …" if found.count > _NAMED else "")
    return f"{found.count:,} of the {tasks:,} tasks set aside: {found.what} ({names})"


def _first(found: RowCount) -> str:
    return f" ({'; '.join(map(str, found.examples))})" if found.examples else ""


@dataclass
class _Counted:
    count: int = 0
    examples: list[Example] = field(default_factory=list)

    def add(self, count: int, examples: list[Example]) -> None:
        self.count += count
        self.examples = (self.examples + examples)[:_NAMED]

    def report(self, what: str) -> RowCount:
        return RowCount(what=what, count=self.count, examples=tuple(self.examples))


class Tally:
    """Counts of rows, and the smallest, the largest and the missing numbers of columns (d + 1,).

    The last column is the reward.
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
        for part in (self, other):
            joined.rows += part.rows
            joined.pieces += part.pieces
            for what, rows in part.bad.items():
                joined.note_bad(what, rows.count, rows.examples)
            joined.duplicates.add(part.duplicates.count, part.duplicates.examples)
            joined.identical.add(part.identical.count, part.identical.examples)
            joined.note_range(part.least, part.largest)
            joined.missing += part.missing
        return joined

    def report(
        self, names: list[str], total: Floats, tasks: int, id_column: str | None, identical: bool
    ) -> LogReport:
        """The report, given Σzzᵀ over all tasks, z = √w·(x, y, 1)."""
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
        for i in np.flatnonzero(mask)[:_NAMED]
    ]


def _plain(values: object, i: int) -> object:
    if values is None:
        return None
    value = values[i]  # type: ignore[index]
    return value.as_py() if hasattr(value, "as_py") else value.tolist()
