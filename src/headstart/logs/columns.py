"""Columns: which columns of a log hold what."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypedDict

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.features import Features


@dataclass(frozen=True, eq=False)
class ItemColumn:
    """A column that names the item of every row, and the features of all items.

    Parameters
    ----------
    name : str
        The column.
    items : mapping of str to array_like of shape (d,)
        The features of the items by id. A row with another id is a bad row.

    Examples
    --------
    >>> import pandas as pd
    >>> from headstart.logs import ItemColumn
    >>> log = pd.DataFrame({"task": ["ann", "bob"], "item": ["tea", "rum"], "reward": [1.0, 0.0]})
    >>> bandit = hs.MetaBandit(dimension=2, seed=0)
    >>> bandit.fit(log, features=ItemColumn("item", {"tea": [1, 0], "rum": [0, 1]})).n_finished
    2
    """

    name: str
    items: Mapping[str, ArrayLike]
    ids: Sequence[str] = field(init=False)
    matrix: Floats = field(init=False)  # (K, d)
    by_text: Mapping[str, Hashable] = field(init=False)

    def __post_init__(self) -> None:
        if not self.items:
            raise ValueError("items must have features by id, got none")
        rows = [checks.floats(f"items[{each!r}]", x) for each, x in self.items.items()]
        for each, row in zip(self.items, rows, strict=True):
            checks.shape(f"items[{each!r}]", row, rows[0].shape[:1], "(d,)")
        object.__setattr__(self, "ids", list(map(str, self.items)))
        object.__setattr__(self, "by_text", dict(zip(self.ids, self.items, strict=True)))
        object.__setattr__(self, "matrix", np.array(rows))


class ColumnNames(TypedDict, total=False):
    """The fields of `Columns` as keyword arguments.

    >>> import pandas as pd
    >>> log = pd.DataFrame({"user": ["ann", "bob"], "x": [[1.0], [2.0]], "paid": [1.0, 0.0]})
    >>> columns = {"task": "user", "features": "x", "reward": "paid"}
    >>> hs.MetaBandit(dimension=1, seed=0).fit(log, **columns).n_finished
    2
    """

    task: str
    features: str | Sequence[str] | Features | ItemColumn
    reward: str
    weight: str | None
    id: str | None
    time: str | None
    about: Sequence[str]
    task_type: Literal["str", "int"] | None
    item: str | None


@dataclass(frozen=True, kw_only=True)
class Columns:
    """The names of a log's columns.

    Parameters
    ----------
    task : str, default "task"
        The column of the tasks' names.
    features : str, sequence of str, Features or ItemColumn, default "features"
        One column of lists, several columns of numbers, a schema, or a column of items' ids. With a
        schema, every attribute is read from the column of its name, and attributes of tasks are the
        about. In text files only empty text is a missing level or name.
    reward : str, default "reward"
        The column of rewards.
    weight : str, optional
        How many times a row counts.
    id : str, optional
        Identifies rows: of rows with the same id, only the first counts.
    time : str, optional
        When a row was made, in seconds or as a timestamp.
    about : sequence of str, optional
        What is known of the task itself, p columns that are constant within a task.
    task_type : {"str", "int"}, optional
        Converts the names of tasks to strings or integers; by default they stay as in the log.
    item : str, optional
        The item's id in catalogues, so that its own effect is learned. An `ItemColumn` names it.

    Examples
    --------
    >>> from headstart.logs import Columns
    >>> columns = Columns(task="user", features=["age", "price"], reward="click", id="event")
    >>> columns.names()
    ['user', 'age', 'price', 'click', 'event']
    """

    task: str = "task"
    features: str | Sequence[str] | Features | ItemColumn = "features"
    reward: str = "reward"
    weight: str | None = None
    id: str | None = None
    time: str | None = None
    about: Sequence[str] = ()
    task_type: Literal["str", "int"] | None = None
    item: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.features, str | Features | ItemColumn):
            object.__setattr__(self, "features", tuple(self.features))
        about = (self.about,) if isinstance(self.about, str) else tuple(self.about)
        object.__setattr__(self, "about", about)
        for name in self.names():
            if not isinstance(name, str) or not name:
                raise ValueError(f"columns must be named by strings, got {name!r}")
        if not self.feature_columns():
            raise ValueError("features must name at least one column, got none")
        if self.schema is not None and about:
            raise ValueError(f"with a schema, about must be attributes of tasks, got {list(about)}")
        for one in ((*self.feature_columns(), self.reward), about):
            twice = sorted({name for name in one if one.count(name) > 1})
            if twice:
                raise ValueError(f"columns must be different, got {twice[0]!r} twice")
        if self.task_type is not None:
            checks.one_of("task_type", self.task_type, ("str", "int"))

    @property
    def item_name(self) -> str | None:
        """The column of items' ids, if there is one."""
        return self.features.name if isinstance(self.features, ItemColumn) else self.item

    @property
    def item_type(self) -> Literal["str"] | None:
        """The type to which items' ids are converted."""
        return "str" if isinstance(self.features, ItemColumn) else None

    def item_id(self, name: object) -> Hashable:
        """The id of an item, as given to `ItemColumn`, by its name in the log."""
        found: Any = name
        return self.features.by_text[found] if isinstance(self.features, ItemColumn) else found

    @property
    def schema(self) -> Features | None:
        """The schema, if the features are a schema."""
        return self.features if isinstance(self.features, Features) else None

    def feature_columns(self) -> tuple[str, ...]:
        """The columns of the features: of lists, of ids, d of numbers, or a schema's attributes."""
        if isinstance(self.features, Features):
            return tuple(self.features.attributes)
        if isinstance(self.features, ItemColumn):
            return (self.features.name,)
        return (self.features,) if isinstance(self.features, str) else tuple(self.features)

    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, if they have names."""
        if isinstance(self.features, Features):
            return self.features.columns
        return None if isinstance(self.features, str | ItemColumn) else tuple(self.features)

    def about_names(self) -> tuple[str, ...]:
        """The names of the about columns."""
        return tuple(self.about) if self.schema is None else self.schema.about_columns

    @property
    def n_about(self) -> int:
        """p, the number of about columns."""
        return len(self.about_names())

    def numeric(self) -> tuple[str, ...]:
        """The columns of numbers, without the features."""
        weight = () if self.weight is None else (self.weight,)
        return (self.reward, *weight, *self.about)

    def read_as_numbers(self) -> tuple[str, ...]:
        """All columns except names of tasks and ids: their text is read as numbers or times."""
        time = () if self.time is None else (self.time,)
        are_text = isinstance(self.features, ItemColumn | Features)
        features = () if are_text else self.feature_columns()
        return (*features, *self.numeric(), *time)

    def names(self) -> list[str]:
        """All columns, each once."""
        more = [name for name in (self.id, self.time, self.item) if name is not None]
        return list(dict.fromkeys([self.task, *self.feature_columns(), *self.numeric(), *more]))


@dataclass(frozen=True, kw_only=True)
class DecisionColumns:
    """The names of the columns of a log of decisions, one row per round.

    Either `arm` names the chosen arm of a catalogue, which holds the arms of every round; or `arms`
    has the features of the round's arms, and `choice` the index of the chosen one.

    Parameters
    ----------
    task : str, default "task"
        The column of the tasks' names.
    reward : str, default "reward"
        The column of rewards.
    propensity : str, default "propensity"
        The probability with which the arm was chosen.
    arm : str, optional
        The id of the chosen arm.
    arms : str, default "arms"
        A list of K lists of d numbers (JSON in a text file).
    choice : str, default "choice"
        The index of the chosen arm.
    propensities : str, optional
        The probabilities of all K arms.
    time : str, optional
        The column that orders the rounds; by default they are in the order of the log.
    features : Features, optional
        A schema: arms are items with attributes, in the catalogue or as lists of objects, and the
        attributes of context and tasks are read from columns of their names.

    Examples
    --------
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
    features: Features | None = None

    def shared(self) -> tuple[str, ...]:
        """The columns of attributes that all arms of a round share."""
        if self.features is None:
            return ()
        return tuple(name for name, part in self.features.parts.items() if part != "item")

    def names(self) -> list[str]:
        """All columns to read, each once."""
        chosen = [self.arms, self.choice] if self.arm is None else [self.arm]
        more = [name for name in (self.propensities, self.time) if name is not None]
        more += self.shared()
        return list(dict.fromkeys([self.task, self.reward, self.propensity, *chosen, *more]))
