"""Encoder: attributes of items, contexts and tasks as the numbers of arms."""

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any, NamedTuple, cast

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.features import EncodedItems, Features
from headstart.interfaces import n_about
from headstart.live._decision_sets import (
    ArmsOfTasks,
    DecisionSet,
    MaskOfTasks,
    decision_set,
    masks_of,
)
from headstart.live._memory import Memory
from headstart.live.catalogue import Catalogue
from headstart.live.defaults import attributes_alone
from headstart.live.inputs import (
    Arms,
    Attributes,
    FeatureNames,
    Items,
    Mask,
    Name,
    different_ids,
    has_attributes,
    name_of,
    vector_of,
)

# One for all tasks, or one for each of them.
AttributesOfTasks = Attributes | Sequence[Attributes | None]

# So many values settle the mean and scale of a number of the context or of tasks. A number of items
# is settled by the first items to choose from that differ.
_ENOUGH = 30

_log = logging.getLogger("headstart.live")

# The values of numbers without mean and scale, by name.
Unsettled = dict[str, list[float]]


class Told(NamedTuple):
    """The attributes of a decision as numbers; the encoder keeps nothing of them yet."""

    arms: DecisionSet
    about: Floats | None  # (p,), what is known of the task, if that is new
    schema: Features  # settled by the attributes
    unsettled: Unsettled


class ToldOfMany(NamedTuple):
    """The attributes of n tasks' decisions as numbers."""

    arms: Sequence[DecisionSet]
    abouts: Mapping[Name, Floats]
    schema: Features
    unsettled: Unsettled


class Observed(NamedTuple):
    """The attributes of an observation as numbers."""

    features: Floats  # (d,)
    about: Floats | None
    schema: Features
    unsettled: Unsettled


class Encoder:
    """The schema of a bandit, applied to the attributes in its calls.

    Numbers without mean and scale get them from the first data: an item's number from the items of
    a decision or a catalogue, if these differ; any other from its first values. Until then it
    counts as missing. `keep` makes that permanent, after a call that did not fail.
    """

    def __init__(self, schema: Features, memory: Memory) -> None:
        self.schema = schema
        self._tasks = memory.tasks
        self._nothing = schema.encode_about(None)
        size = n_about(memory.population.estimator)
        if size not in (0, schema.n_about):
            raise ValueError(
                f"prior must have n_about = {schema.n_about}, the columns of the tasks' "
                f"attributes, or 0, got {size}"
            )
        self._tasks.n_about = schema.n_about
        if size:
            self._tasks.unknown_about = self._nothing
        elif alone := attributes_alone(schema):
            _log.warning(
                "what is known of tasks is not used by %r where it is in no cross: %s. Cross it, "
                "or give the prior n_about=%d",
                memory.population.estimator,
                ", ".join(alone),
                schema.n_about,
            )

    def keep(self, told: Told | ToldOfMany | Observed) -> None:
        """Continue with the schema that a call has settled."""
        self.schema, self._tasks.unsettled = told.schema, told.unsettled

    def decision(
        self,
        task: Name,
        arms: Arms | Items | Catalogue,
        context: Attributes | None,
        about: Any,
        mask: Mask | None,
    ) -> Told:
        """Encode the attributes of a decision, of the items that the mask leaves."""
        schema, unsettled, name = self.schema, self._tasks.unsettled, name_of(task)
        if not schema.is_settled:
            new_about = None if name in self._tasks.abouts else about
            schema, unsettled = _settled(schema, unsettled, arms, context, new_about)
        new, z = self._about(schema, name, about)
        return Told(self._arms(schema, arms, context, z, mask), new, schema, unsettled)

    def decisions(
        self,
        tasks: Sequence[Name],
        arms: ArmsOfTasks | Items | Sequence[Items],
        context: AttributesOfTasks | None,
        about: Any,
        mask: MaskOfTasks | None,
    ) -> ToldOfMany:
        """Encode the attributes of n tasks' decisions; what several share is encoded once."""
        names, n = list(map(name_of, tasks)), len(tasks)
        contexts, abouts = _each("context", context, n), _each("about", about, n)
        each, masks = self._each_arms(arms, n), masks_of(mask, n)
        schema, unsettled = self.schema, self._tasks.unsettled
        for name, some, one, other in zip(names, each, contexts, abouts, strict=True):
            if schema.is_settled:
                break
            new_about = None if name in self._tasks.abouts else other
            schema, unsettled = _settled(schema, unsettled, some, one, new_about)
        sets: list[DecisionSet] = []
        news: dict[Name, Floats] = {}
        known: dict[tuple[int, int, int, bytes], DecisionSet] = {}
        for i, (some, one, left) in enumerate(zip(each, contexts, masks, strict=True)):
            new, z = self._about(schema, names[i], abouts[i])
            if new is not None:
                news[names[i]] = new
            key = id(some), id(one), id(left), z.tobytes()
            if key not in known:
                known[key] = self._arms(schema, some, one, z, left, f"arms[{i}]")
            sets.append(known[key])
        return ToldOfMany(sets, news, schema, unsettled)

    def observation(
        self, name: Name, item: Any, context: Attributes | None, about: Any
    ) -> Observed:
        """Encode the attributes of an item that was chosen elsewhere."""
        schema, unsettled = self.schema, self._tasks.unsettled
        attributes = isinstance(item, Mapping)
        if not schema.is_settled:
            new_about = None if name in self._tasks.abouts else about
            items = [item] if attributes else ()
            schema, unsettled = _settled(schema, unsettled, items, context, new_about)
        new, z = self._about(schema, name, about)
        if attributes:
            (x,) = _arms_of(schema, [item], context, z).matrix
        else:
            _refuse_context(context)
            x = vector_of("features", item, schema.dimension)
        return Observed(x, new, schema, unsettled)

    def _about(self, schema: Features, name: Name, about: Any) -> tuple[Floats | None, Floats]:
        """What is known of a task, if that is new; and what counts, (p,)."""
        known = self._tasks.abouts.get(name)
        if about is None:
            return None, self._nothing if known is None else known
        told = schema.encode_about(about, schema.open)
        if known is not None:
            return None, known
        return (told if len(about) and len(told) else None), told

    def _arms(
        self,
        schema: Features,
        arms: Arms | Items | Catalogue,
        context: Attributes | None,
        z: Floats,
        mask: Mask | None,
        what: str = "arms",
    ) -> DecisionSet:
        if isinstance(arms, Catalogue) and arms.schema is not None:
            items = _of_catalogue(arms, schema, self._tasks.feature_names).masked(mask)
            c = schema.encode_context(context, schema.open)
            return (
                items
                if schema.is_fixed
                else replace(items, features=schema.arms(items.features, c, z))
            )
        if isinstance(arms, Catalogue) or not has_attributes(arms):
            _refuse_context(context)
            numbers = cast("Arms | Catalogue", arms)
            return decision_set(numbers, self._tasks.feature_names, what).masked(mask)
        encoded = _arms_of(schema, arms, context, z)
        ids = encoded.ids
        if ids is not None and not isinstance(arms, Mapping):
            ids = different_ids(list(ids), "items")
        if len(encoded.matrix) == 0:
            raise ValueError("items must be 1 or more, got none")
        return DecisionSet(features=encoded.matrix, ids=ids).masked(mask)

    def _each_arms(self, arms: Any, n: int) -> list[Any]:
        """The arms of n tasks: one decision set for all, or a list of n."""
        if not isinstance(arms, list | tuple) or (has_attributes(arms) and not _are_sets(arms)):
            if isinstance(arms, np.ndarray) and arms.ndim == 3:
                return list(arms)
            return [arms] * n
        if len(arms) != n:
            raise ValueError(f"arms must be one decision set or n = {n} of them, got {len(arms)}")
        return list(arms)


def _arms_of(schema: Features, items: Any, context: Attributes | None, z: Floats) -> EncodedItems:
    """The arms (K, d) of items in a context, for a task, with their ids."""
    encoded = schema.encode_items(items, schema.open)
    arms = schema.arms(encoded.matrix, schema.encode_context(context, schema.open), z)
    return EncodedItems(matrix=arms, ids=encoded.ids)


def _settled(
    schema: Features, unsettled: Unsettled, arms: Any, context: Any, about: Any
) -> tuple[Features, Unsettled]:
    """The schema with the numbers settled for which there are enough values, and the others'."""
    if isinstance(arms, Catalogue):
        if arms.schema is not None:
            schema = arms.fit_to(schema)
        arms = None
    found = schema.open_numbers(
        items=arms if has_attributes(arms) else None,
        context=None if context is None else [context],
        about=None if about is None else [about],
    )
    enough, rest = {}, dict(unsettled)
    for name, numbers in found.items():
        together = np.concatenate([unsettled.get(name, []), numbers])
        differ = schema.parts[name] == "item" and len(np.unique(numbers)) > 1
        if differ or len(together) >= _ENOUGH:
            enough[name] = together
        rest[name] = together.tolist()
    schema = schema.settled_by(enough)
    return schema, {name: numbers for name, numbers in rest.items() if name in schema.open}


def _of_catalogue(catalogue: Catalogue, schema: Features, names: FeatureNames) -> DecisionSet:
    """The items of a catalogue, by their own columns unless those are all."""
    if catalogue.schema is not schema:
        catalogue.fit_to(schema)
    if schema.is_fixed:
        return decision_set(catalogue, names)
    features, ids, index = catalogue.items
    if not ids:
        raise ValueError("the catalogue must have at least one item, got none")
    return DecisionSet.of_items(features, ids, index)


def _are_sets(arms: Sequence[Mapping[Any, Any]]) -> bool:
    """Whether a list holds items by id, one mapping for every task, rather than items."""
    return all(isinstance(value, Mapping) for value in arms[0].values())


def _each(what: str, given: Any, n: int) -> list[Any]:
    """The attributes of n tasks."""
    if given is None or isinstance(given, Mapping):
        return [given] * n
    if not isinstance(given, list | tuple):
        raise ValueError(
            f"{what} must be a dict of attributes, or a list of n = {n} of them, "
            f"got {checks.short(given)}"
        )
    if len(given) != n:
        raise ValueError(f"{what} must be one dict or n = {n} of them, got {len(given)}")
    return list(given)


def only_numbers(arms: Any, context: object, about: Any) -> tuple[Any, Any]:
    """Arms, and what is known of tasks, if both are numbers; attributes are refused."""
    if context is not None:
        raise ValueError(f"context needs a bandit with features, got {checks.short(context)}")
    one = about[0] if isinstance(about, list) and about else about
    if isinstance(one, Mapping):
        raise ValueError(
            "about must be numbers, since attributes need a bandit with features, "
            f"got {checks.short(one)}"
        )
    if type(arms) is dict and isinstance(next(iter(arms.values()), None), Mapping):
        raise ValueError(
            f"items with attributes need a bandit with features, got {checks.short(arms)}"
        )
    return arms, about


def each_number(tasks: Sequence[Name], about: Any) -> dict[Name, Floats]:
    """What is known of n tasks, (n, p), by task."""
    rows = checks.floats("about", about)
    if rows.ndim != 2 or len(rows) != len(tasks):
        raise ValueError(f"about must have shape (n, p) with n = {len(tasks)}, got {rows.shape}")
    return dict(zip(map(name_of, tasks), rows, strict=True))


def _refuse_context(context: object) -> None:
    if context is not None:
        raise ValueError(
            f"a context needs items with attributes, got numbers and {checks.short(context)}"
        )
