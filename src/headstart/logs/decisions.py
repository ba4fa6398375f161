"""Logs of decisions: the arms of every round, the choice, its propensity and its reward."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.logs import convert, sources
from headstart.logs.names import KeyColumn
from headstart.logs.sources import Piece
from headstart.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

# Features of all arms of all rounds that are held at once: 2 GiB.
MOST_NUMBERS = 1 << 28


@dataclass(frozen=True, kw_only=True)
class DecisionColumns:
    """The names of the columns of a log of decisions, one row per round.

    Either `arm` names the chosen arm, one of a catalogue that holds all arms of every round; or
    `arms` has the features of the round's arms, a list of K lists of d numbers (JSON in a text
    file), and `choice` the index of the chosen one. `propensity` is the probability with which it
    was chosen, and `propensities`, if there is such a column, those of all K arms. Rounds are in
    the order of `time`, if there is such a column, else in that of the log.

    >>> from headstart.logs import DecisionColumns
    >>> DecisionColumns(arm="item", time="at").names()
    ['task', 'reward', 'propensity', 'item', 'at']
    """

    task: str = "task"
    reward: str = "reward"
    propensity: str = "propensity"
    arm: str | None = None
    arms: str = "arms"
    choice: str = "choice"
    propensities: str | None = None
    time: str | None = None

    def names(self) -> list[str]:
        """All columns that are read, each once."""
        chosen = [self.arms, self.choice] if self.arm is None else [self.arm]
        more = [name for name in (self.propensities, self.time) if name is not None]
        return list(dict.fromkeys([self.task, self.reward, self.propensity, *chosen, *more]))


@dataclass(frozen=True, kw_only=True, eq=False)
class DecisionRows:
    """The rounds of a log; the fields are those of `headstart.LoggedDecisions`.

    >>> import pandas as pd
    >>> from headstart.logs import DecisionColumns, read_decisions
    >>> log = pd.DataFrame({"task": ["ann", "bob"], "arm": ["tea", "rum"], "reward": [1.0, 0.0]})
    >>> rows = read_decisions(
    ...     log.assign(propensity=0.5),
    ...     DecisionColumns(arm="arm"),
    ...     dimension=2,
    ...     catalogue={"tea": np.array([1.0, 0.0]), "rum": np.array([0.0, 1.0])},
    ... )
    >>> rows.tasks, rows.propensities
    (['ann', 'bob'], array([0.5, 0.5]))
    """

    tasks: Sequence[str | int]
    arms: Floats  # (n, K, d)
    choices: Integers  # (n,)
    rewards: Floats  # (n,)
    propensities: Floats  # (n,)
    propensities_of_all: Floats | None  # (n, K)


def read_decisions(
    logs: Any,
    columns: DecisionColumns,
    dimension: int,
    *,
    catalogue: Mapping[str, Floats] | None = None,
    progress: Progress | None = None,
) -> DecisionRows:
    """Read a log of decisions; the first bad row is an error that names it.

    catalogue: the features (d,) of every arm by its id, for logs that name the chosen arm.

    >>> import pandas as pd
    >>> from headstart.logs import DecisionColumns, read_decisions
    >>> log = pd.DataFrame({"task": ["ann", "bob"], "arm": ["tea", "rum"], "reward": [1.0, 0.0]})
    >>> rows = read_decisions(
    ...     log.assign(propensity=0.5),
    ...     DecisionColumns(arm="arm"),
    ...     dimension=2,
    ...     catalogue={"tea": np.array([1.0, 0.0]), "rum": np.array([0.0, 1.0])},
    ... )
    >>> rows.choices, rows.arms.shape
    (array([0, 1]), (2, 2, 2))
    """
    if columns.arm is not None and not catalogue:
        raise ValueError(
            f"column {columns.arm!r} names arms of a catalogue, and the catalogue is empty"
        )
    pieces = sources.pieces(logs, columns.names())
    total = sum(piece.n_rows for piece in pieces) if all(p.n_rows for p in pieces) else 0
    reader = _Reader(columns, dimension, catalogue or {})
    for piece in pieces:
        first = 0
        for batch in piece.batches():
            if piece.uneven.found:
                break
            if batch.num_rows:
                reader.add(batch, piece, first)
            first += batch.num_rows
            if progress is not None:
                progress(reader.n_rows, total)
        if piece.uneven.found:
            raise piece.uneven.error(str(piece.label))
    return reader.rows()


class _Reader:
    """The columns so far, batch by batch."""

    def __init__(
        self, columns: DecisionColumns, dimension: int, catalogue: Mapping[str, Floats]
    ) -> None:
        self.columns, self.dimension = columns, dimension
        self.n_rows = 0
        self._task, self._arm = KeyColumn(columns.task), KeyColumn(columns.arm or "", "str")
        self._features = np.array(list(catalogue.values())).reshape(-1, dimension)
        self._index = {name: i for i, name in enumerate(catalogue)}
        self._n_arms = len(catalogue) if columns.arm is not None else 0  # 0: not known yet
        self._tasks: list[str | int] = []
        self._parts: dict[str, list[Any]] = {}

    def add(self, batch: "pa.RecordBatch", piece: Piece, first: int) -> None:
        """Add rows, the first of which has this number in its piece."""
        columns = self.columns
        at = _Place(batch, piece, first)
        task = self._task.read(batch.column(columns.task), piece)
        at.refuse(task.is_null().to_numpy(zero_copy_only=False), columns.task, "must have a value")
        self._tasks += task.to_pylist()
        self._note("rewards", at.numbers(columns.reward))
        propensity = at.numbers(columns.propensity)
        wrong = ~((propensity > 0) & (propensity <= 1))
        at.refuse(wrong, columns.propensity, "must be above 0 and at most 1")
        self._note("propensities", propensity)
        if columns.arm is None:
            self._note("arms", self._arms(at))
            choice = at.numbers(columns.choice)
            wrong = (choice != np.round(choice)) | (choice < 0) | (choice >= self._n_arms)
            at.refuse(wrong, columns.choice, f"must be the index of one of {self._n_arms} arms")
            self._note("choices", choice.astype(np.int64))
        else:
            self._note("choices", self._of_catalogue(at))
        if columns.propensities is not None:
            found, wrong_length = at.lists(columns.propensities, self._n_arms)
            if wrong_length is not None:
                at.refuse(wrong_length, columns.propensities, f"must hold {self._n_arms} numbers")
            at.refuse(np.isnan(found.sum(1)), columns.propensities, "must have a value")
            self._note("everything", found)
        if columns.time is not None:
            self._note("times", at.numbers(columns.time, convert.seconds))
        self.n_rows += batch.num_rows
        self._check_size()

    def rows(self) -> DecisionRows:
        """All rows, in the order of their times."""
        n = self.n_rows
        if n == 0:
            raise ValueError("logs must have at least one row, got none")
        all_of = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        order = np.arange(n)
        if "times" in all_of:
            order = np.argsort(all_of["times"], kind="stable")
        if self.columns.arm is None:
            arms = all_of["arms"][order]
        else:
            arms = np.broadcast_to(self._features, (n, *self._features.shape))
        everything = all_of.get("everything")
        return DecisionRows(
            tasks=[self._tasks[i] for i in order.tolist()],
            arms=arms,
            choices=all_of["choices"][order],
            rewards=all_of["rewards"][order],
            propensities=all_of["propensities"][order],
            propensities_of_all=None if everything is None else everything[order],
        )

    def _note(self, name: str, values: Any) -> None:
        self._parts.setdefault(name, []).append(values)

    def _arms(self, at: "_Place") -> Floats:
        """The features (n, K, d) of a column of lists of lists."""
        name = self.columns.arms
        array = at.nested(name)
        counts = convert.lengths(array, name, at.piece.place())
        self._n_arms = self._n_arms or int(counts[0])
        at.refuse(
            counts != self._n_arms,
            name,
            f"must hold as many arms in every row as in the first, {self._n_arms}",
        )
        if self._n_arms == 0:
            raise ValueError(f"column {name!r} must hold at least one arm in every row")
        inner = array.flatten()
        found, wrong = convert.vectors(inner, name, self.dimension, at.piece.place())
        if wrong is not None:
            per_row = wrong.reshape(-1, self._n_arms).sum(1)
            at.refuse(per_row > 0, name, f"must hold {self.dimension} numbers per arm")
        found = found.reshape(-1, self._n_arms, self.dimension)
        at.refuse(~np.isfinite(found.sum((1, 2))), name, "must hold finite numbers")
        return found

    def _of_catalogue(self, at: "_Place") -> Integers:
        name = str(self.columns.arm)
        arms = self._arm.read(at.batch.column(name), at.piece).to_pylist()
        found = np.array([self._index.get(arm, -1) for arm in arms], dtype=np.int64)
        at.refuse(found < 0, name, "must be an arm of the catalogue")
        return found

    def _check_size(self) -> None:
        if self.n_rows * self._n_arms * self.dimension > MOST_NUMBERS:
            raise ValueError(
                f"the arms of all rounds must be at most {MOST_NUMBERS:,} numbers, got more: "
                "evaluate a part of the log, whole tasks of it"
            )


@dataclass(frozen=True)
class _Place:
    """A batch, and where it is in the log."""

    batch: "pa.RecordBatch"
    piece: Piece
    first: int

    def numbers(self, name: str, read: Any = convert.numbers) -> Floats:
        """A column of finite numbers."""
        found, wrong = read(self.batch.column(name), name, self.piece.place())
        if wrong is not None:
            what = "a number" if read is convert.numbers else "seconds or a time in ISO 8601"
            self.refuse(wrong, name, f"must be {what}")
        found = np.asarray(found, dtype=np.float64)
        self.refuse(~np.isfinite(found), name, "must be finite")
        return found

    def lists(self, name: str, length: int) -> tuple[Floats, Booleans | None]:
        """A column of lists of numbers."""
        return convert.vectors(self.nested(name), name, length, self.piece.place())

    def nested(self, name: str) -> "pa.Array":
        """A column of lists; those of a text file are JSON."""
        import pyarrow as pa  # noqa: PLC0415 (an optional extra)

        column = self.batch.column(name)
        missing = column.is_null().to_numpy(zero_copy_only=False)
        self.refuse(missing, name, "must have a value")
        if not self.piece.is_text:
            return column
        try:
            return pa.array([json.loads(text) for text in column.to_pylist()])
        except (ValueError, pa.ArrowInvalid, pa.ArrowTypeError) as error:
            raise ValueError(
                f"column {name!r} must hold JSON lists of numbers{self.piece.place()}: {error}"
            ) from None

    def refuse(self, wrong: Booleans, name: str, must: str) -> None:
        """Raise an error of the first row in a mask, if there is any."""
        if wrong.any():
            self._raise(int(np.flatnonzero(wrong)[0]), name, must)

    def _raise(self, i: int, name: str, must: str) -> NoReturn:
        value = self.batch.column(name)[i].as_py()
        text = repr(value)
        text = text if len(text) <= 80 else text[:80] + "…"
        place = self.piece.place(self.first + i)
        raise ValueError(f"column {name!r} {must}, got {text}{place} (rows count from 0)")
