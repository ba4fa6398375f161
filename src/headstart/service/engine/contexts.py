"""Telling: the context and attributes of tasks in requests, as numbers, if there is a schema."""

from collections.abc import Iterable
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from headstart.arrays import Floats, floats
from headstart.features import Features
from headstart.live.stored import DecisionSet
from headstart.service import schemas
from headstart.service.engine.bandits import Bandit
from headstart.service.messages import (
    DecisionRequest,
    ObservationRequest,
    invalid,
)
from headstart.service.store.tasks import TaskEntry


class Told(NamedTuple):
    """What one request says, as numbers."""

    context: Floats | None  # None for a bandit whose features are numbers
    about: Floats | None  # (p,), None if it says nothing about the task


NOTHING = Told(None, None)


def told(bandit: Bandit, request: DecisionRequest | ObservationRequest) -> Told:
    """What a request says about the context and its task, checked."""
    schema, context, about = bandit.schema, request.context, request.about
    if schema is None:
        if context is not None:
            raise schemas.no_schema("context", context)
        if isinstance(about, dict):
            raise schemas.no_schema("about", about)
        return NOTHING if about is None else Told(None, np.array(about))
    if isinstance(about, list):
        raise invalid("about must be attributes, for a bandit with features, got numbers")
    try:
        c = schema.encode_context(context)
        return Told(c, schema.encode_about(about) if about and schema.n_about else None)
    except ValueError as error:
        raise invalid(str(error)) from None


def known_of(bandit: Bandit, task: TaskEntry, told: Told) -> Floats:
    """What counts as known of a task, (p,): the first values."""
    assert bandit.schema is not None
    if task.about is not None:
        return floats(task.about)
    return bandit.schema.encode_about(None) if told.about is None else told.about


class Shown:
    """The arms of requests in their contexts and for their tasks; equal ones are shared."""

    def __init__(self, bandit: Bandit, schema: Features) -> None:
        self._bandit = bandit
        self._schema = schema
        crossed = (schema.parts[name] for pair in schema.cross for name in pair)
        self._with_tasks = "about" in crossed
        self._nothing = schema.encode_about(None)
        # By arms, context and task; the arms are kept alive, so that their ids stay valid.
        self._known: dict[tuple[int, bytes, bytes], tuple[DecisionSet, Floats]] = {}

    def arms(self, items: DecisionSet, task: TaskEntry, told: Told) -> DecisionSet:
        """The arms of a request, from the items' own columns."""
        assert told.context is not None
        z = known_of(self._bandit, task, told) if self._with_tasks else self._nothing
        key = id(items.features), told.context.tobytes(), z.tobytes()
        found = self._known.get(key)
        if found is None:
            found = items, self._schema.arms(items.features, told.context, z)
            self._known[key] = found
        return replace(items, features=found[1])


def features_of(bandit: Bandit, request: ObservationRequest, task: TaskEntry, told: Told) -> Floats:
    """The features of an observed item, in the catalogue or given by attributes."""
    schema, catalogue = bandit.schema, bandit.catalogue
    assert schema is not None
    assert told.context is not None
    if request.features is not None:
        raise ValueError("a bandit with features needs item, got numbers")
    if request.item is not None:
        own = schema.encode_items({request.arm or "item": request.item}).matrix
    else:
        place = catalogue.index.get(request.arm or "")
        if place is None:
            got = "neither" if request.arm is None else repr(request.arm)
            raise ValueError(f"item or an arm of the catalogue must be given, got {got}")
        if schema.is_fixed:
            return np.array(catalogue.features[place])
        own = catalogue.features[place : place + 1]
    return schema.arms(own, told.context, known_of(bandit, task, told)).ravel()


def new_of(pairs: Iterable[tuple[TaskEntry, Told]]) -> dict[int, tuple[TaskEntry, Floats]]:
    """What requests say about tasks that were unknown, by the tasks' numbers."""
    new: dict[int, tuple[TaskEntry, Floats]] = {}
    for task, told in pairs:
        if told.about is not None and task.about is None:
            new.setdefault(task.id, (task, told.about))
    return new
