"""Transformed: a fitted scikit-learn transformer instead of a schema."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import Any, Protocol, runtime_checkable

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.features import rows, values
from headstart.features.columns import Column, listed
from headstart.features.rows import Rows
from headstart.features.schema import CONSTANT, EncodedItems, EncodedLog, Features


@runtime_checkable
class Transformer(Protocol):
    """The part of a fitted transformer in use: it turns a frame of attributes into rows of numbers.

    >>> from headstart.features import Transformer
    >>> isinstance(hs.Features(item=[hs.Number("price")]), Transformer)
    False
    """

    def transform(self, X: Any) -> Any:  # noqa: N803 - as scikit-learn calls it
        """The rows of a frame as numbers (n, d − 1), dense or sparse.

        Parameters
        ----------
        X : DataFrame of n rows
            The attributes.

        Returns
        -------
        array_like of shape (n, d − 1)
        """
        ...

    def get_feature_names_out(self) -> Any:
        """The names of the resulting columns."""
        ...


class _Attribute:
    """A column that the transformer takes; the transformer decides which values are allowed."""

    expected = "what the transformer takes"


class Transformed:
    """Features from a fitted scikit-learn transformer: its columns, then a constant 1.

    Two are equal if their transformer is the same object.

    Parameters
    ----------
    transformer : Transformer
        Takes the attributes of an item and of the context as the columns of one frame. So the items
        of a catalogue, which are transformed once, take no context, and tasks have no attributes; a
        schema, `Features`, supports both.

    Examples
    --------
    >>> import pandas as pd
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> encoder = OneHotEncoder(handle_unknown="ignore").fit(pd.DataFrame({"brand": ["a", "b"]}))
    >>> features = hs.features.Transformed(encoder)
    >>> features.columns
    ('brand_a', 'brand_b', 'constant')
    >>> features.encode({"brand": "b"})
    array([0., 1., 1.])
    """

    n_task = 0
    task_columns: tuple[str, ...] = ()
    is_settled = True
    is_fixed = True

    def __init__(self, transformer: Transformer) -> None:
        if not isinstance(transformer, Transformer):
            raise ValueError(
                "features must be hs.Features or a fitted scikit-learn transformer, "
                f"got {checks.short(transformer)}"
            )
        self.transformer = transformer
        self.item = (transformer,)
        try:
            found = [str(name) for name in transformer.get_feature_names_out()]
            names = [str(name) for name in getattr(transformer, "feature_names_in_", ())]
        except Exception as error:
            raise ValueError(
                f"features must be a fitted transformer, got {checks.short(transformer)}: {error}"
            ) from error
        if not names:
            raise ValueError(
                "features must be a transformer fitted to a DataFrame, so that its "
                f"columns have names, got {checks.short(transformer)}"
            )
        self.columns = (*found, CONSTANT)
        self._names = names
        self.attributes = dict.fromkeys(names, _Attribute())

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Transformed) and self.transformer is other.transformer

    def __hash__(self) -> int:
        return id(self.transformer)

    def __repr__(self) -> str:
        return f"Transformed({checks.short(self.transformer)})"

    @property
    def dimension(self) -> int:
        """d, the constant included."""
        return len(self.columns)

    @cached_property
    def groups(self) -> tuple[int, ...]:
        """The group of every column: each is its own."""
        return tuple(range(self.dimension))

    @property
    def group_names(self) -> tuple[str, ...]:
        """The names of the groups, which are the columns."""
        return self.columns

    def encode(
        self,
        item: Mapping[str, Any] | None,
        context: Mapping[str, Any] | None = None,
        about: Mapping[str, Any] | None = None,
    ) -> Floats:
        """The features x (d,) of an item in a context."""
        found: Floats = self.arms_of([item or {}], context, self.encode_task(about)).matrix[0]
        return found

    def arms_of(self, items: Rows, context: Mapping[str, Any] | None, task: Floats) -> EncodedItems:
        """The arms (K, d) of items in a context, with their ids."""
        more = values.flat(context, "context")
        rows.check_names(more, self._names, "context")
        encoded = self._transformed(items, more)
        return EncodedItems(matrix=self.arms(encoded.matrix, np.empty(0), task), ids=encoded.ids)

    def encode_items(self, items: Rows) -> EncodedItems:
        """Items as numbers, without the constant."""
        return self._transformed(items, {})

    def _transformed(self, items: Rows, more: Mapping[str, Any]) -> EncodedItems:
        import pandas as pd  # noqa: PLC0415 - slow, and only needed here

        own = [name for name in self._names if name not in more]
        table = rows.read(items, own, "items")
        nothing = [None] * table.n_rows
        columns = {name: listed(table.columns.get(name, nothing)) for name in own}
        columns |= {name: [value] * table.n_rows for name, value in more.items()}
        frame = pd.DataFrame(columns, columns=self._names)
        try:
            found = self.transformer.transform(frame)
        except Exception as error:
            reason = " ".join(str(error).split())
            raise ValueError(f"the transformer refuses the items: {reason}") from error
        matrix = checks.floats("the transformed items", _dense(found))
        shape = (table.n_rows, self.dimension - 1)
        checks.shape("the transformed items", matrix, shape, "(K, d − 1)")
        return EncodedItems(matrix=matrix, ids=table.ids)

    def encode_context(self, context: Mapping[str, Any] | None) -> Floats:
        """The context's columns for items that are transformed already: there must be none.

        Parameters
        ----------
        context : mapping of str to object, optional
            None, or empty.

        Returns
        -------
        ndarray of shape (0,)
        """
        if context:
            raise ValueError(
                "a context needs items that are transformed together with it, not a catalogue of "
                f"a transformer, got {checks.short(context)}"
            )
        return np.empty(0)

    def encode_task(self, about: Mapping[str, Any] | None) -> Floats:
        """What is known of a task: there must be nothing.

        Parameters
        ----------
        about : mapping of str to object, optional
            None, or empty.

        Returns
        -------
        ndarray of shape (0,)
        """
        if about:
            raise ValueError(
                f"about needs a schema with attributes of tasks, got {checks.short(about)}"
            )
        return np.empty(0)

    def arms(self, items: Floats, context: Floats, task: Floats) -> Floats:
        """The arms (K, d) of transformed items.

        Parameters
        ----------
        items : ndarray of shape (K, d − 1)
            The matrix of `encode_items`.
        context, task : ndarray of shape (0,)
            Not used.

        Returns
        -------
        ndarray of shape (K, d)
        """
        return np.concatenate([items, np.ones((len(items), 1))], axis=1)

    def read_log(self, columns: Mapping[str, Any], *, is_text: bool = False) -> EncodedLog:
        """The features (n, d) of a log's columns by name."""
        read = {}
        for name in self._names:
            column = Column(columns[name], is_text=is_text)
            numbers = column.numbers()
            read[name] = column.listed() if numbers is None else numbers
        features = self.arms(self._transformed(read, {}).matrix, np.empty(0), np.empty(0))
        return EncodedLog(features=features, tasks=np.zeros((len(features), 0)), faults=())

    def settled_by_log(self, columns: Mapping[str, Any], *, is_text: bool = False) -> Transformed:
        """The same object: the transformer was fitted before."""
        return self

    def settled(
        self, *, items: Rows = None, context: Rows = None, tasks: Rows = None
    ) -> Transformed:
        """The same object: the transformer was fitted before."""
        return self

    def settled_as(self, other: object) -> Transformed:
        """The same object: the transformer was fitted before."""
        return self


# How a bandit reads attributes.
Schema = Features | Transformed


def schema_of(features: Schema | Transformer) -> Schema:
    """A schema unchanged, or a fitted transformer as a schema.

    Parameters
    ----------
    features : Features, Transformed or scikit-learn transformer
        The schema or transformer.

    Returns
    -------
    Features or Transformed

    Examples
    --------
    >>> features = hs.Features(item=[hs.Flag("new")])
    >>> hs.features.schema_of(features) is features
    True
    """
    return features if isinstance(features, Features | Transformed) else Transformed(features)


def _dense(found: Any) -> Any:
    return found.toarray() if hasattr(found, "toarray") else found
