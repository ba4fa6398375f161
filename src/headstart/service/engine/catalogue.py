"""Catalogue: the items of a bandit, as decision sets; and how they change."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cached_property
from hashlib import blake2b
from typing import Any

import msgspec
import numpy as np
from sqlalchemy import Connection, delete, insert

from headstart import checks
from headstart.arrays import Booleans, Floats, packed
from headstart.features import Features
from headstart.live import inputs
from headstart.live.stored import DecisionSet, FeatureNames, decision_set
from headstart.service import schemas
from headstart.service.messages import (
    MOST_ARMS,
    DecisionRequest,
    Item,
    ItemChange,
    check_name,
    invalid,
    not_found,
)
from headstart.service.store.bandits import BanditRow, items_of, n_items
from headstart.service.store.schema import items as table

# The largest feature of an item: with a larger one, no decision could be made.
_LARGEST_FEATURE = 1e9


class Catalogue:
    """The items of a bandit, and those of every tag.

    features: of the items, (K, d). If they change with the context or the task, by a schema, these
    are only the items' own columns; a decision computes the others.
    """

    def __init__(
        self,
        ids: Sequence[str],
        features: Floats,
        tags: Sequence[Sequence[str]],
        schema: Features | None = None,
    ) -> None:
        self.ids = tuple(ids)
        self.features = features
        self.schema = schema
        self.index = {item: i for i, item in enumerate(self.ids)}
        by_tag: dict[str, list[int]] = {}
        for i, names in enumerate(tags):
            for name in names:
                by_tag.setdefault(name, []).append(i)
        self._by_tag = {name: self._some(places) for name, places in by_tag.items()}
        self._all = self._some(range(len(self.ids)))
        # For each of these sets, the places of its items among all; the arrays do not change.
        self._places = {
            id(self._by_tag[name].features): np.array(places) for name, places in by_tag.items()
        }
        self._places[id(self._all.features)] = np.arange(len(self.ids))

    @cached_property
    def digest(self) -> int:
        """A number of 63 bits that changes with the items and their features."""
        content = blake2b(self.features.tobytes(), digest_size=8)
        content.update(msgspec.json.encode(self.ids))
        return int.from_bytes(content.digest()) >> 1

    @classmethod
    def read(cls, connection: Connection, bandit: BanditRow) -> "Catalogue":
        """The stored catalogue."""
        items = items_of(connection, bandit.id)
        schema = bandit.schema
        if schema is None:
            features = np.array([item.features for item in items])
            features = features.reshape(len(items), bandit.dimension)
        else:
            features = _encoded({item.id: item.attributes or {} for item in items}, schema)
        return cls([item.id for item in items], features, [item.tags for item in items], schema)

    def _some(self, places: Sequence[int]) -> DecisionSet:
        found = _set(self.features[list(places)], [self.ids[i] for i in places])
        return replace(found, are_items=True)

    def shown(self, request: DecisionRequest, names: FeatureNames) -> DecisionSet:
        """The arms of a request, checked."""
        arms = request.arms
        if arms is None and request.tag is None and not request.exclude and self.ids:
            return self._all
        if isinstance(arms, dict):
            if request.tag is not None:
                raise invalid(
                    f"give either tag or arms with features, not both, got tag {request.tag!r}"
                )
            return _without(self._given(arms, names), request.exclude)
        found = self._all
        if request.tag is not None:
            if request.tag not in self._by_tag:
                raise invalid(f"tag must be one of the catalogue's, got {request.tag!r}")
            found = self._by_tag[request.tag]
        if arms is not None:
            found = self._listed(arms, found, request.tag)
        if len(found.features) == 0:
            raise invalid("arms must be given because the catalogue is empty")
        return _without(found, request.exclude)

    def offered(self, shown: DecisionSet) -> bytes | None:
        """Which items can be chosen, a bit for each; None for all, or if arms are given."""
        if shown is self._all or not shown.are_items:
            return None
        places = self._places.get(id(shown.features))
        if places is None:
            places = np.array([self.index[str(item)] for item in shown.ids or ()])
        mask: Booleans = np.zeros(len(self.ids), dtype=np.bool_)
        mask[places] = True
        return np.packbits(mask).tobytes()

    def place(self, shown: DecisionSet, arm: str) -> int | None:
        """The place of an arm among those shown; None if it cannot be chosen."""
        if shown.features is self._all.features:
            found = self.index.get(arm)
        else:
            found = next((i for i, each in enumerate(shown.ids or ()) if each == arm), None)
        return found

    def _listed(self, arms: Sequence[str], found: DecisionSet, tag: str | None) -> DecisionSet:
        unknown = next((arm for arm in arms if arm not in self.index), None)
        if unknown is not None:
            raise invalid(f"arms must be ids of the catalogue, got {unknown!r}")
        if len(set(arms)) < len(arms):
            raise invalid("arms must be different ids, got one of them more than once")
        if tag is not None:
            tagged = set(found.ids or ())
            arms = [arm for arm in arms if arm in tagged]
        if not arms:
            raise invalid("arms must have at least one id, got none")
        return self._some([self.index[arm] for arm in arms])

    def _given(self, arms: dict[str, Any], names: FeatureNames) -> DecisionSet:
        schema = self.schema
        for arm, given in arms.items():
            check_name("the id of an arm", arm)
            if isinstance(given, dict) != (schema is not None):
                if schema is None:
                    raise schemas.no_schema(f"attributes of {arm!r}", given)
                raise invalid(f"the arm {arm!r} must have attributes, got {checks.short(given)}")
        if schema is None:
            try:
                return decision_set(arms, names)
            except ValueError as error:
                raise invalid(str(error)) from None
        if not arms:
            raise invalid("arms must have at least one item, got none")
        return _set(_encoded(arms, schema), list(arms))


def _encoded(items: dict[str, dict[str, Any]], schema: Features) -> Floats:
    """Items with attributes: their features (K, d) if those are fixed, else their own columns."""
    if not items:
        return np.empty((0, schema.dimension if schema.is_fixed else schema.n_item))
    try:
        matrix = schema.encode_items(items).matrix
    except ValueError as error:
        raise invalid(str(error)) from None
    if schema.is_fixed:
        matrix = schema.arms(matrix, schema.encode_context(None), schema.encode_about(None))
    return matrix


def _set(features: Floats, ids: Sequence[str]) -> DecisionSet:
    return DecisionSet(features=features, ids=ids)


def _without(shown: DecisionSet, exclude: Sequence[str]) -> DecisionSet:
    if not exclude:
        return shown
    excluded = set(exclude)
    left = [i for i, each in enumerate(shown.ids or ()) if each not in excluded]
    if not left:
        raise invalid("exclude must leave at least one arm, got none")
    return shown.selected(np.array(left))


def put_items(connection: Connection, bandit: BanditRow, items: Sequence[Item]) -> int:
    """Replace the catalogue. Returns how many items it has now."""
    if not items:
        raise invalid("items must have at least one item, got none: DELETE removes all")
    connection.execute(delete(table).where(table.c.bandit == bandit.id))
    return _insert(connection, bandit, items)


def patch_items(
    connection: Connection, bandit: BanditRow, items: Sequence[Item | ItemChange]
) -> int:
    """Add new items and change existing ones. Returns how many there are now."""
    wanted = [item.id for item in items]
    before = {item.id: item for item in items_of(connection, bandit.id, ids=wanted)}
    what = "features" if bandit.schema is None else "attributes"
    whole = []
    for item in items:
        old = before.get(item.id)
        features, attributes, tags = item.features, item.attributes, item.tags
        if features is None and attributes is None:
            if old is None:
                raise invalid(f"{what} must be given for a new item, got none for {item.id!r}")
            features = None if bandit.schema is not None else old.features.tolist()
            attributes = old.attributes
        if tags is None:
            tags = [] if old is None else old.tags
        whole.append(Item(id=item.id, features=features, attributes=attributes, tags=tags))
    own = (table.c.bandit == bandit.id) & table.c.item.in_(wanted)
    connection.execute(delete(table).where(own))
    return _insert(connection, bandit, whole)


def delete_items(connection: Connection, bandit: BanditRow, ids: Sequence[str] | None) -> int:
    """Delete items by id, or all with None. Returns how many are left."""
    statement = delete(table).where(table.c.bandit == bandit.id)
    if ids is not None:
        present = {item.id for item in items_of(connection, bandit.id, ids=ids)}
        unknown = next((item for item in ids if item not in present), None)
        if unknown is not None:
            raise not_found(f"the catalogue has no item {unknown!r}")
        statement = statement.where(table.c.item.in_(list(ids)))
    connection.execute(statement)
    return n_items(connection, bandit.id)


def _insert(connection: Connection, bandit: BanditRow, items: Sequence[Item]) -> int:
    seen: set[str] = set()
    for item in items:
        check_name("the id of an item", item.id)
        if item.id in seen:
            raise invalid(f"items must have different ids, got {item.id!r} more than once")
        seen.add(item.id)
    schema = bandit.schema
    rows = (
        [_row_of_numbers(bandit, item) for item in items]
        if schema is None
        else _rows_of_attributes(bandit, schema, items)
    )
    if rows:
        connection.execute(insert(table), rows)
    n = n_items(connection, bandit.id)
    if n > MOST_ARMS:
        raise invalid(f"the catalogue must have at most {MOST_ARMS:,} items, got {n:,}")
    return n


def _row_of_numbers(bandit: BanditRow, item: Item) -> dict[str, Any]:
    if item.attributes is not None:
        raise schemas.no_schema(f"attributes of {item.id!r}", item.attributes)
    if item.features is None:
        raise invalid(f"features of {item.id!r} must be given, got none")
    try:
        features = inputs.vector_of(f"features of {item.id!r}", item.features, bandit.dimension)
    except ValueError as error:
        raise invalid(str(error)) from None
    _check_size(item.id, features)
    return _row(bandit, item, features)


def _rows_of_attributes(
    bandit: BanditRow, schema: Features, items: Sequence[Item]
) -> list[dict[str, Any]]:
    """Rows of items with attributes."""
    given: dict[str, Any] = {}
    for item in items:
        if item.features is not None or item.attributes is None:
            got = "none" if item.features is None else "features"
            raise invalid(f"attributes of {item.id!r} must be given, got {got}")
        given[item.id] = item.attributes
    for item, features in zip(items, _encoded(given, schema), strict=True):
        _check_size(item.id, features)
    return [_row(bandit, item, np.empty(0)) for item in items]


def _check_size(item: str, features: Floats) -> None:
    largest = np.abs(features).max(initial=0.0)
    if largest > _LARGEST_FEATURE:
        raise invalid(
            f"features of {item!r} must be at most {_LARGEST_FEATURE:g} in size, got {largest:g}"
        )


def _row(bandit: BanditRow, item: Item, features: Floats) -> dict[str, Any]:
    attributes = item.attributes
    return {
        "bandit": bandit.id,
        "item": item.id,
        "features": packed(features),
        "tags": msgspec.json.encode(item.tags).decode(),
        "attributes": None if attributes is None else msgspec.json.encode(attributes).decode(),
    }
