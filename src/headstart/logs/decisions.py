"""Logs of decisions: the arms of every round, the choice, its propensity and its reward."""

from __future__ import annotations

import json
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Booleans, Floats, Integers
from headstart.features import Features
from headstart.logs import sources, values
from headstart.logs.columns import DecisionColumns
from headstart.logs.sources import Piece
from headstart.logs.values import KeyColumn
from headstart.progress import Progress

if TYPE_CHECKING:
    import pyarrow as pa

# How many features of all arms of all rounds fit at once, where a log lists them: 2 GiB.
MOST_NUMBERS = 1 << 28
# Logs often store propensities with few digits.
_ROUNDING = 1e-4


@dataclass(frozen=True, kw_only=True, eq=False)
class EncodedArms:
    """The arms of n rounds: items in their contexts, encoded when a round is read."""

    features: Features
    items: Sequence[Floats]  # (K, d_item): one for all rounds, or one for each
    contexts: Floats  # (n, c)
    abouts: Floats  # (n, p)

    @property
    def shape(self) -> tuple[int, int, int]:
        """(n, K, d)."""
        return len(self.contexts), len(self.items[0]), self.features.dimension

    def __len__(self) -> int:
        return len(self.contexts)

    def __getitem__(self, i: int) -> Floats:
        """The arms of a round, (K, d)."""
        items = self.items[i if len(self.items) > 1 else 0]
        return self.features.arms(items, self.contexts[i], self.abouts[i])


@dataclass(frozen=True, eq=False, init=False)
class LoggedDecisions:
    """n logged decisions, in the order in which they were made.

    Parameters
    ----------
    tasks : sequence of str or int
        The names of the tasks, one per round.
    arms : array_like of shape (n, K, d) or (K, d)
        The arms of every round, equally many in each; or those of a catalogue, for all rounds.
    choices : array_like of int of shape (n,)
        The indices of the chosen arms.
    rewards : array_like of shape (n,)
        Their rewards.
    propensities : array_like of shape (n,)
        The probability with which each choice was made, above 0.
    propensities_of_all : array_like of shape (n, K), optional
        The probabilities of all arms, which make the overlap exact.
    allowed : array_like of bool of shape (n, K), optional
        Which arms could be chosen. All by default.
    times : array_like of shape (n,), optional
        When the decisions were made, in seconds.
    features : Features, optional
        The settled schema that made the arms from attributes.
    abouts : sequence of mappings or None, optional
        What was known of the tasks, one per round.
    ids : sequence of hashable, optional
        The ids of the K arms, if they are the same items in every round. Then a bandit learns what
        each item earns beyond its features.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> log = hs.LoggedDecisions(
    ...     tasks=["ann"] * 4,
    ...     arms=rng.normal(size=(4, 3, 2)),
    ...     choices=[0, 2, 1, 0],
    ...     rewards=[1.0, 0.0, 0.0, 1.0],
    ...     propensities=np.full(4, 1 / 3),
    ... )
    >>> log.arms.shape
    (4, 3, 2)
    """

    tasks: Sequence[str | int]
    arms: Floats | EncodedArms
    choices: Integers
    rewards: Floats
    propensities: Floats
    propensities_of_all: Floats | None
    allowed: Booleans | None = None
    times: Floats | None = None
    features: Features | None = None
    abouts: Sequence[Mapping[str, Any] | None] | None = None
    ids: Sequence[Hashable] | None = None

    def __init__(
        self,
        *,
        tasks: Sequence[str | int],
        arms: ArrayLike | EncodedArms,
        choices: ArrayLike,
        rewards: ArrayLike,
        propensities: ArrayLike,
        propensities_of_all: ArrayLike | None = None,
        allowed: ArrayLike | None = None,
        times: ArrayLike | None = None,
        features: Features | None = None,
        abouts: Sequence[Mapping[str, Any] | None] | None = None,
        ids: Sequence[Hashable] | None = None,
    ) -> None:
        numbers = _checked_arms(arms, len(tasks))
        n, n_arms, _ = numbers.shape
        indices = np.asarray(choices)
        if indices.shape != (n,) or not np.issubdtype(indices.dtype, np.integer):
            raise ValueError(f"choices must be integers of shape (n,) = ({n},)")
        if indices.min() < 0 or indices.max() >= n_arms:
            raise ValueError(f"choices must be indices of the {n_arms} arms, got {indices.max()}")
        paid = checks.floats("rewards", rewards)
        chosen = checks.floats("propensities", propensities)
        checks.shape("rewards", paid, (n,), "(n,)")
        checks.shape("propensities", chosen, (n,), "(n,)")
        if not ((chosen > 0) & (chosen <= 1)).all():
            raise ValueError("propensities must be above 0 and at most 1")
        if len(tasks) != n:
            raise ValueError(f"tasks must be {n} names, got {len(tasks)}")
        of_all = propensities_of_all
        if of_all is not None:
            of_all = _checked_propensities(of_all, chosen, indices, n_arms)
        mask = None if allowed is None else np.asarray(allowed)
        if mask is not None and (mask.shape != (n, n_arms) or mask.dtype != np.bool_):
            raise ValueError(f"allowed must be booleans of shape (n, K) = ({n}, {n_arms})")
        if mask is not None and not mask[np.arange(n), indices].all():
            raise ValueError("allowed must be true for every choice")
        if ids is not None and len(ids) != n_arms:
            raise ValueError(f"ids must be one for each of {n_arms} arms, got {len(ids)}")
        made = None if times is None else checks.floats("times", times)
        if made is not None:
            checks.shape("times", made, (n,), "(n,)")
        for name, value in (
            ("tasks", list(tasks)),
            ("allowed", mask),
            ("times", made),
            ("arms", numbers),
            ("choices", indices.astype(np.int64)),
            ("rewards", paid),
            ("propensities", chosen),
            ("propensities_of_all", of_all),
            ("features", features),
            ("abouts", abouts),
            ("ids", ids),
        ):
            object.__setattr__(self, name, value)

    @classmethod
    def from_items(
        cls,
        features: Features,
        *,
        tasks: Sequence[str | int],
        items: Any,
        choices: Sequence[Any],
        contexts: Sequence[Mapping[str, Any] | None] | None = None,
        abouts: Sequence[Mapping[str, Any] | None] | None = None,
        **columns: Any,
    ) -> LoggedDecisions:
        """Logged decisions among items with attributes.

        Numbers without mean and scale get them from these data.

        Parameters
        ----------
        features : Features
            The schema.
        tasks : sequence of str or int
            The names of the tasks, one per round.
        items : dicts by id or in a list, or DataFrame
            The items of every round.
        choices : sequence
            The ids of the chosen items, or their indices if they have none.
        contexts, abouts : sequence of mappings or None, optional
            The attributes of each round's context, and of its task; a task's first ones count.
        **columns
            The other parameters of `LoggedDecisions`.

        Returns
        -------
        LoggedDecisions

        Examples
        --------
        >>> features = hs.Features(item=[hs.Number("price")], context=[hs.Category("device")])
        >>> log = hs.LoggedDecisions.from_items(
        ...     features,
        ...     tasks=["ann", "bob"],
        ...     items={"tea": {"price": 3}, "rum": {"price": 20}},
        ...     contexts=[{"device": "phone"}, None],
        ...     choices=["rum", "tea"],
        ...     rewards=[1.0, 0.0],
        ...     propensities=[0.5, 0.5],
        ... )
        >>> log.arms.shape, log.choices
        ((2, 2, 34), array([1, 0]))
        """
        n = len(tasks)
        each_context = _each_round("contexts", contexts, n)
        each_about = _each_round("abouts", abouts, n)
        schema = features.settled(
            items=items,
            context=[row or {} for row in each_context],
            about=[row or {} for row in each_about],
        )
        encoded = schema.encode_items(items)
        index = {key: i for i, key in enumerate(encoded.ids or range(len(encoded.matrix)))}
        for choice in choices:
            if choice not in index:
                raise ValueError(f"choices must be among the items, got {checks.short(choice)}")
        known: dict[str | int, Mapping[str, Any]] = {}
        for task, about in zip(tasks, each_about, strict=True):
            if about:
                known.setdefault(task, about)
        each_about = [known.get(task) for task in tasks]
        arms = EncodedArms(
            features=schema,
            items=[encoded.matrix],
            contexts=np.array([schema.encode_context(row) for row in each_context]),
            abouts=np.array([schema.encode_about(row) for row in each_about]),
        )
        indices = np.array([index[choice] for choice in choices], dtype=np.int64)
        columns |= {"features": schema, "abouts": each_about, "ids": encoded.ids}
        return cls(tasks=tasks, arms=arms, choices=indices, **columns)


def _each_round(
    name: str, rows: Sequence[Mapping[str, Any] | None] | None, n: int
) -> list[Mapping[str, Any] | None]:
    if rows is not None and len(rows) != n:
        raise ValueError(f"{name} must be one for each of {n} rounds, got {len(rows)}")
    return [None] * n if rows is None else list(rows)


def read_decisions(
    logs: Any,
    columns: DecisionColumns,
    dimension: int,
    *,
    catalogue: Mapping[str, Any] | None = None,
    progress: Progress | None = None,
) -> LoggedDecisions:
    """Read a log of decisions; raises for the first bad row.

    Parameters
    ----------
    logs : path, table, or list of paths
        As `MetaBandit.fit` takes them.
    columns : DecisionColumns
        The names of the log's columns.
    dimension : int
        The number of features, d.
    catalogue : mapping of str to features, optional
        The features (d,) of every arm by id, for logs that name the chosen arm; with a schema, the
        attributes.
    progress : callable, optional
        Called with the rows read so far, and with their total if it is known.

    Returns
    -------
    LoggedDecisions

    Examples
    --------
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
            f"column {columns.arm!r} names arms of a catalogue, but the catalogue is empty"
        )
    schema = columns.features
    if schema is not None and (not schema.is_settled or schema.dimension != dimension):
        raise ValueError(
            f"features must have a mean and scale for every number, and d = {dimension} columns, "
            f"got d = {schema.dimension}"
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
        self, columns: DecisionColumns, dimension: int, catalogue: Mapping[str, Any]
    ) -> None:
        self.columns, self.dimension = columns, dimension
        self.n_rows = 0
        self._task, self._arm = KeyColumn(columns.task), KeyColumn(columns.arm or "", "str")
        schema = columns.features
        if schema is None:
            self._features = np.array(list(catalogue.values())).reshape(-1, dimension)
        elif catalogue:
            self._features = schema.encode_items(catalogue).matrix
        self._index = {name: i for i, name in enumerate(catalogue)}
        self._n_arms = len(catalogue) if columns.arm is not None else 0  # 0: not known yet
        self._ids = list(catalogue) if columns.arm is not None else None
        self._tasks: list[str | int] = []
        self._items: list[Floats] = []  # of each round, where the log lists them
        self._abouts: list[dict[str, object]] = []
        self._parts: dict[str, list[Any]] = {}

    def add(self, batch: pa.RecordBatch, piece: Piece, first: int) -> None:
        """Add rows; the first one has this number in its piece."""
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
        if columns.features is not None:
            self._encode(at, columns.features)
        elif columns.arm is None:
            self._note("arms", self._arms(at))
        if columns.arm is None:
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
            self._note("times", at.numbers(columns.time, values.seconds))
        self.n_rows += batch.num_rows
        self._check_size()

    def rows(self) -> LoggedDecisions:
        """All rows, in the order of their times."""
        n = self.n_rows
        if n == 0:
            raise ValueError("logs must have at least one row, got none")
        all_of = {name: np.concatenate(parts) for name, parts in self._parts.items()}
        order = np.arange(n)
        if "times" in all_of:
            order = np.argsort(all_of["times"], kind="stable")
        tasks = [self._tasks[i] for i in order.tolist()]
        schema, abouts = self.columns.features, None
        arms: Floats | EncodedArms
        if schema is not None:
            known: dict[str | int, int] = {}  # the first row of each task
            rows = zip(tasks, order.tolist(), strict=True)
            first = [known.setdefault(task, i) for task, i in rows]
            items = [self._items[i] for i in order.tolist()] if self._items else [self._features]
            contexts, about = all_of["contexts"][order], all_of["abouts"][first]
            arms = EncodedArms(features=schema, items=items, contexts=contexts, abouts=about)
            abouts = [self._abouts[i] for i in first] if schema.about else None
        else:
            arms = all_of["arms"][order] if "arms" in all_of else self._features
        everything = all_of.get("everything")
        return LoggedDecisions(
            tasks=tasks,
            arms=arms,
            choices=all_of["choices"][order],
            rewards=all_of["rewards"][order],
            propensities=all_of["propensities"][order],
            propensities_of_all=None if everything is None else everything[order],
            times=all_of["times"][order] if "times" in all_of else None,
            features=schema,
            abouts=abouts,
            ids=self._ids,
        )

    def _note(self, name: str, column: Any) -> None:
        self._parts.setdefault(name, []).append(column)

    def _arms(self, at: _Place) -> Floats:
        """The features (n, K, d) of a column of lists of lists."""
        name = self.columns.arms
        array = at.nested(name)
        counts = values.lengths(array, name, at.piece.place())
        self._n_arms = self._n_arms or int(counts[0])
        at.refuse(
            counts != self._n_arms,
            name,
            f"must hold as many arms in every row as in the first, {self._n_arms}",
        )
        if self._n_arms == 0:
            raise ValueError(f"column {name!r} must hold at least one arm in every row")
        inner = array.flatten()
        found, wrong = values.vectors(inner, name, self.dimension, at.piece.place())
        if wrong is not None:
            per_row = wrong.reshape(-1, self._n_arms).sum(1)
            at.refuse(per_row > 0, name, f"must hold {self.dimension} numbers per arm")
        found = found.reshape(-1, self._n_arms, self.dimension)
        at.refuse(~np.isfinite(found.sum((1, 2))), name, "must hold finite numbers")
        return found

    def _encode(self, at: _Place, schema: Features) -> None:
        """Note the items, contexts and tasks of rounds."""
        n = at.batch.num_rows
        columns = {name: at.batch.column(name) for name in self.columns.shared()}
        found = schema.encode_columns(columns, n, is_text=at.piece.is_text)
        for fault in found.faults:
            expected = schema.attributes[fault.name].expected
            at.refuse(fault.mask, fault.name, f"must be {expected}")
        self._note("contexts", found.context)
        self._note("abouts", found.about)
        self._abouts += self._about(at, schema)
        if self.columns.arm is None:
            self._items += self._listed(at, schema)

    def _about(self, at: _Place, schema: Features) -> list[dict[str, object]]:
        """The attributes of each row's task."""
        read = {}
        for name, called in schema.names_in_logs("about").items():
            column = at.batch.column(called).to_pylist()
            if at.piece.is_text:
                attribute = schema.attributes[called]
                column = [attribute.parsed(text) if text else None for text in column]
            read[name] = column
        names = list(read)
        return [dict(zip(names, row, strict=True)) for row in zip(*read.values(), strict=True)]

    def _listed(self, at: _Place, schema: Features) -> list[Floats]:
        """The items (K, …) of every row, given as lists of objects."""
        name = self.columns.arms
        found = []
        for i, row in enumerate(at.nested(name).to_pylist()):
            try:
                found.append(schema.encode_items(row).matrix)
            except ValueError as error:
                place = at.piece.place(at.first + i)
                raise ValueError(f"column {name!r}{place} (rows count from 0): {error}") from error
        self._n_arms = self._n_arms or len(found[0])
        uneven = np.array([len(items) != self._n_arms or not len(items) for items in found])
        same = f"must hold as many arms in every row as in the first, {self._n_arms}"
        at.refuse(uneven, name, same)
        return found

    def _of_catalogue(self, at: _Place) -> Integers:
        name = str(self.columns.arm)
        arms = self._arm.read(at.batch.column(name), at.piece).to_pylist()
        found = np.array([self._index.get(arm, -1) for arm in arms], dtype=np.int64)
        at.refuse(found < 0, name, "must be an arm of the catalogue")
        return found

    def _check_size(self) -> None:
        listed = "arms" in self._parts
        if listed and self.n_rows * self._n_arms * self.dimension > MOST_NUMBERS:
            raise ValueError(
                f"the arms of all rounds must be at most {MOST_NUMBERS:,} numbers, got more: "
                "evaluate a part of the log, with whole tasks"
            )


@dataclass(frozen=True)
class _Place:
    """A batch, and where it is in the log."""

    batch: pa.RecordBatch
    piece: Piece
    first: int

    def numbers(self, name: str, read: Any = values.numbers) -> Floats:
        """A column of finite numbers."""
        found, wrong = read(self.batch.column(name), name, self.piece.place())
        if wrong is not None:
            what = "a number" if read is values.numbers else "seconds or a time in ISO 8601"
            self.refuse(wrong, name, f"must be {what}")
        found = np.asarray(found, dtype=np.float64)
        self.refuse(~np.isfinite(found), name, "must be finite")
        return found

    def lists(self, name: str, length: int) -> tuple[Floats, Booleans | None]:
        """A column of lists of numbers."""
        return values.vectors(self.nested(name), name, length, self.piece.place())

    def nested(self, name: str) -> pa.Array:
        """A column of lists, as JSON in a text file."""
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
        """Raise for the first row in a mask, if there is any."""
        if wrong.any():
            self._raise(int(np.flatnonzero(wrong)[0]), name, must)

    def _raise(self, i: int, name: str, must: str) -> NoReturn:
        value = self.batch.column(name)[i].as_py()
        text = repr(value)
        text = text if len(text) <= 80 else text[:80] + "…"
        place = self.piece.place(self.first + i)
        raise ValueError(f"column {name!r} {must}, got {text}{place} (rows count from 0)")


def _checked_arms(arms: Any, n: int) -> Floats | EncodedArms:
    """Arms (n, K, d), checked; those of a catalogue are stored once."""
    if isinstance(arms, EncodedArms):
        return arms
    if isinstance(arms, np.ndarray) and arms.ndim == 3 and len(arms) and arms.strides[0] == 0:
        arms = arms[0]  # the same in every round
    if not isinstance(arms, np.ndarray) or arms.dtype == object:
        counts = [len(each) for each in arms if hasattr(each, "__len__")]
        for i, count in enumerate(counts):
            if count != counts[0]:
                raise ValueError(
                    "arms must have the same number of arms in every round, got "
                    f"{counts[0]} and {count} in rounds 0 and {i}"
                )
    numbers = checks.floats("arms", arms)
    if numbers.ndim not in (2, 3) or 0 in numbers.shape:
        raise ValueError(f"arms must have shape (n, K, d) or (K, d), got {numbers.shape}")
    return np.broadcast_to(numbers, (n, *numbers.shape)) if numbers.ndim == 2 else numbers


def _checked_propensities(
    given: ArrayLike, chosen: Floats, choices: Integers, n_arms: int
) -> Floats:
    """Probabilities (n, K) that sum to 1 and agree with those of the choices."""
    found = checks.floats("propensities_of_all", given)
    checks.shape("propensities_of_all", found, (len(chosen), n_arms), "(n, K)")
    if (found < 0).any() or (np.abs(found.sum(1) - 1) > _ROUNDING).any():
        raise ValueError("propensities_of_all must be at least 0 and sum to 1 in every round")
    differs = np.abs(found[np.arange(len(choices)), choices] - chosen) > _ROUNDING
    if differs.any():
        i = int(np.flatnonzero(differs)[0])
        raise ValueError(
            f"propensities_of_all must agree with propensities, got {found[i, choices[i]]} and "
            f"{chosen[i]} for the choice of round {i}"
        )
    return found
