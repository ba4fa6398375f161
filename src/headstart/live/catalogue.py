"""Catalogue: a fixed set of items that many decisions choose from."""

from __future__ import annotations

import copy
import threading
from collections.abc import Hashable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.features import Features
from headstart.live.inputs import (
    Arms,
    ArmTable,
    Attributes,
    FeatureNames,
    Items,
    different_ids,
    has_attributes,
    read_arms,
    vector_of,
)


class CatalogueItems(NamedTuple):
    """The items of a catalogue at one time. Nothing in it ever changes."""

    features: Floats  # (K, d)
    ids: tuple[Hashable, ...]
    places: Mapping[Hashable, int]  # by id


class Catalogue:
    """A set of items that many decisions choose from: K rows of d features, by id.

    Items are checked and encoded once, and recognised by id: each has an effect of its own, beyond
    what its features explain. Items can be added, removed and changed at any time, also while other
    threads decide: a decision is among the items of one moment.

    Parameters
    ----------
    arms : array_like of shape (K, d), mapping of ids to features, or DataFrame
        The items. Items without ids get their indices.
    dimension : int, optional
        The number of features, d; by default as many as the items have.
    feature_names : sequence of str, optional
        The columns to take from DataFrames; by default, all columns of the first one.
    features : Features, optional
        A schema: items are dicts of attributes or rows of a DataFrame, and encoded once. Columns
        that depend on the context or the task are computed in each decision. Numbers without mean
        and scale get them from the items, unless the bandit that decides among them already has
        others: then the items are encoded again, once.

    Examples
    --------
    >>> import headstart as hs
    >>> menu = Catalogue({"tea": [1.0, 0.0], "milk": [0.5, 0.5]})
    >>> menu.add({"rum": [0.0, 1.0]})
    ['rum']
    >>> menu.remove("milk")
    >>> menu
    Catalogue(2 items, d=2: 'tea', 'rum')
    >>> features = hs.Features(item=[hs.Number("price"), hs.Category("kind")])
    >>> Catalogue({"tea": {"price": 3, "kind": "hot"}, "rum": {"price": 20}}, features=features)
    Catalogue(2 items with attributes: 'tea', 'rum')
    """

    def __init__(
        self,
        arms: Arms | Items,
        *,
        dimension: int | None = None,
        feature_names: Sequence[str] | None = None,
        features: Features | None = None,
    ) -> None:
        self.schema: Features | None = None  # that encodes the items
        self._raw: _Raw | None = None
        if features is None:
            table, columns = _read_numbers(arms, dimension, feature_names)
        else:
            if dimension is not None or feature_names is not None:
                raise ValueError("give features, or dimension and feature_names, not both")
            self.schema = features.settled(items=arms)
            table = _encoded(arms, self.schema)
            columns = self.schema.columns if self.schema.is_fixed else None
            if self.schema != features:
                self._raw = _Raw(features)
        self.dimension: int = table.features.shape[1]
        self._names = FeatureNames(self.dimension, columns)
        self._lock = threading.Lock()  # of what changes the items
        self._next = 0  # the id of the next item without one
        self.items = CatalogueItems(np.empty((0, self.dimension)), (), {})
        ids = self._append(table)
        if self._raw is not None:
            self._raw.add(ids, arms)

    def __len__(self) -> int:
        return len(self.items.ids)

    def __contains__(self, item: object) -> bool:
        return isinstance(item, Hashable) and item in self.items.places

    def __repr__(self) -> str:
        keys = self.ids
        shown = ", ".join(map(repr, keys[:3])) + (", …" if len(keys) > 3 else "")
        if self.schema is None:
            return f"Catalogue({len(keys):,} items, d={self.dimension}: {shown})"
        return f"Catalogue({len(keys):,} items with attributes: {shown})"

    @property
    def ids(self) -> tuple[Hashable, ...]:
        """The ids of the items, in the order of a decision's scores."""
        return self.items.ids

    @property
    def feature_names(self) -> tuple[str, ...] | None:
        """The names of the features, if they were given or a DataFrame had them."""
        return self._names.known

    def add(self, arms: Arms | Items) -> list[Hashable]:
        """Add new items.

        Parameters
        ----------
        arms : array_like of shape (K, d), mapping of ids to features, or DataFrame
            The items, or with a schema their attributes.

        Returns
        -------
        list of hashable
            Their ids: a mapping's keys, a DataFrame's index, or indices.
        """
        with self._lock:
            if self.schema is None:
                numbers: Any = arms
                return self._append(read_arms(numbers, self.dimension, self._names.known))
            table = _encoded(arms, self.schema)
            ids = self._append(table)
            if self._raw is not None:
                self._raw.add(ids, arms)
            return ids

    def _append(self, table: ArmTable) -> list[Hashable]:
        features, ids, places = self.items
        n = len(table.features)
        new = list(range(self._next, self._next + n) if table.ids is None else table.ids)
        for key in new:
            if key in places:
                raise ValueError(f"arms must be new items, but {key!r} is already in the catalogue")
        added = {key: i for i, key in enumerate(new, len(ids))}
        self.items = CatalogueItems(
            np.concatenate([features, table.features]), (*ids, *new), {**places, **added}
        )
        self._next += n
        self._names.note(table.columns)
        return new

    def remove(self, item: Hashable) -> None:
        """Take an item out of the catalogue.

        Parameters
        ----------
        item : hashable
            The item's id.
        """
        with self._lock:
            place = self._find(item)
            features, ids, _ = self.items
            left = (*ids[:place], *ids[place + 1 :])
            index = {key: i for i, key in enumerate(left)}
            self.items = CatalogueItems(np.delete(features, place, axis=0), left, index)
            if self._raw is not None:
                self._raw.remove(item)

    def change(self, item: Hashable, features: ArrayLike | Attributes) -> None:
        """Change the features of an item.

        Parameters
        ----------
        item : hashable
            The item's id.
        features : array_like of shape (d,) or mapping of str to object
            The new features, or with a schema the new attributes.
        """
        with self._lock:
            place = self._find(item)
            if self.schema is None:
                numbers: Any = features
                x = vector_of("features", numbers, self.dimension)
            else:
                (x,) = _encoded([features], self.schema).features
                if self._raw is not None:
                    self._raw.add([item], [features])
            changed = self.items.features.copy()
            changed[place] = x
            self.items = self.items._replace(features=changed)

    def _find(self, item: Hashable) -> int:
        if item not in self:
            raise ValueError(f"no such item in the catalogue: {item!r}")
        return self.items.places[item]

    def fit_to(self, schema: Features) -> Features:
        """Encode the items by a bandit's schema, and settle its open means and scales.

        Items that had settled their own are encoded again if the bandit's differ.

        Parameters
        ----------
        schema : Features
            The bandit's schema.

        Returns
        -------
        Features
            The settled schema.
        """
        with self._lock:
            own = self.schema
            if own is None:
                raise ValueError("the catalogue must have items with attributes, got numbers")
            settled, raw = schema.settled_as(own), self._raw
            if settled.item == own.item and settled.columns == own.columns:
                self.schema, self._raw = settled, None
                return settled
            if raw is None or raw.schema.settled_as(schema) != schema.settled_as(raw.schema):
                raise ValueError(
                    "the catalogue must have the features of the bandit: "
                    f"give it features=bandit.features, got {checks.short(own)}"
                )
            self.items = self.items._replace(features=raw.encoded(schema, self.items))
            self.schema, self._raw = schema, None
            return schema


class _Raw:
    """The items of a catalogue as they were given, for a schema that may still change."""

    def __init__(self, schema: Features) -> None:
        self.schema = schema  # as it was given
        # The places of some items by id, without those removed or given again; and what was given.
        self._parts: list[tuple[dict[Hashable, int], Any]] = []

    def add(self, ids: Sequence[Hashable], items: Any) -> None:
        """Note new items, or others for the same ids."""
        for item in ids:
            self.remove(item)
        self._parts.append(({item: i for i, item in enumerate(ids)}, copy.deepcopy(items)))

    def remove(self, item: Hashable) -> None:
        """Forget an item."""
        for places, _ in self._parts:
            places.pop(item, None)
        self._parts = [part for part in self._parts if part[0]]

    def encoded(self, schema: Features, items: CatalogueItems) -> Floats:
        """All items encoded by a schema, (K, d)."""
        features = np.empty_like(items.features)
        for places, given in self._parts:
            to, among = [items.places[item] for item in places], list(places.values())
            features[to] = _encoded(given, schema).features[among]
        return features


def _encoded(items: Any, schema: Features) -> ArmTable:
    """Items with attributes: their features (K, d) if fixed, else the items' own part."""
    if not has_attributes(items):
        raise ValueError(
            f"items must be dicts of attributes or a DataFrame of them, got {checks.short(items)}"
        )
    encoded = schema.encode_items(items)
    matrix = encoded.matrix
    if len(matrix) == 0:
        raise ValueError("items must be 1 or more, got none")
    if schema.is_fixed:
        matrix = schema.arms(matrix, schema.encode_context(None), schema.encode_about(None))
    ids = None if encoded.ids is None else different_ids(list(encoded.ids), "items")
    return ArmTable(features=matrix, ids=ids)


def _read_numbers(
    arms: Any, dimension: int | None, feature_names: Sequence[str] | None
) -> tuple[ArmTable, tuple[str, ...] | None]:
    """Arms that are numbers, and the columns to take from DataFrames, if given."""
    if dimension is not None:
        dimension = checks.count("dimension", dimension)
    elif feature_names is not None and not isinstance(feature_names, str):
        dimension = len(feature_names)
    columns = None
    if feature_names is not None:
        columns = FeatureNames(dimension or 1, feature_names).known
    return read_arms(arms, dimension, columns), columns
