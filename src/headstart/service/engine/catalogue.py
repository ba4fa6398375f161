"""Catalogue: the arms of a bandit that are stored, as decision sets."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from sqlalchemy import Connection

from headstart.arrays import Booleans, Floats
from headstart.live.stored import DecisionSet, FeatureNames, decision_set
from headstart.service.messages import DecisionRequest, invalid
from headstart.service.store.queries.bandits import items_of


class StoredCatalogue:
    """The items of a bandit, and those of every tag."""

    def __init__(self, ids: Sequence[str], features: Floats, tags: Sequence[Sequence[str]]) -> None:
        self.ids = tuple(ids)
        self.features = features
        self.index = {item: i for i, item in enumerate(self.ids)}
        by_tag: dict[str, list[int]] = {}
        for i, names in enumerate(tags):
            for name in names:
                by_tag.setdefault(name, []).append(i)
        self._by_tag = {name: self._some(places) for name, places in by_tag.items()}
        self._all = self._some(range(len(self.ids)))

    @classmethod
    def read(cls, connection: Connection, bandit: int, dimension: int) -> "StoredCatalogue":
        """The catalogue that is stored."""
        items = items_of(connection, bandit)
        features = np.array([item.features for item in items]).reshape(len(items), dimension)
        return cls([item.id for item in items], features, [item.tags for item in items])

    def _some(self, places: Sequence[int]) -> DecisionSet:
        return _set(self.features[list(places)], [self.ids[i] for i in places])

    def shown(self, request: DecisionRequest, names: FeatureNames) -> DecisionSet:
        """The arms of a request, checked."""
        arms = request.arms
        if arms is None and request.tag is None and not request.exclude and self.ids:
            return self._all
        if isinstance(arms, dict):
            if request.tag is not None:
                raise invalid(
                    f"tag must not be given with arms that have features, got {request.tag!r}"
                )
            return _without(_given(arms, names), request.exclude)
        found = self._all
        if request.tag is not None:
            if request.tag not in self._by_tag:
                raise invalid(f"tag must be one of the catalogue's, got {request.tag!r}")
            found = self._by_tag[request.tag]
        if arms is not None:
            found = self._listed(arms, found, request.tag)
        if len(found.features) == 0:
            raise invalid("arms must be given, for the catalogue is empty")
        return _without(found, request.exclude)

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


def _set(features: Floats, ids: Sequence[str]) -> DecisionSet:
    every: Booleans = np.ones(len(ids), dtype=np.bool_)
    return DecisionSet(features=features, ids=ids, allowed=every, columns=None, catalogue=None)


def _given(arms: dict[str, list[float]], names: FeatureNames) -> DecisionSet:
    try:
        return decision_set(arms, names)
    except ValueError as error:
        raise invalid(str(error)) from None


def _without(shown: DecisionSet, exclude: Sequence[str]) -> DecisionSet:
    if not exclude:
        return shown
    excluded = set(exclude)
    allowed: Booleans = np.array([each not in excluded for each in shown.ids or ()], dtype=np.bool_)
    if not allowed.any():
        raise invalid("exclude must leave at least one arm, got none")
    return replace(shown, allowed=allowed)
