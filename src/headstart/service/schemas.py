"""Schemas: the attributes of a bandit's items, contexts and tasks, from its configuration."""

from functools import lru_cache
from typing import Any

import msgspec

from headstart import checks
from headstart.features import Features, Number
from headstart.service.messages import (
    BanditConfiguration,
    ServiceError,
    check_text,
    conflict,
    invalid,
)

# Of the context and of tasks; the first items that are put settle the numbers of items.
_SETTLED = ("context", "about")


def schema_of(configuration: BanditConfiguration) -> Features | None:
    """The schema of a configuration, None if features are numbers; raises if it is wrong."""
    if configuration.features is None:
        return None
    return _read(msgspec.json.encode(configuration.features))


@lru_cache(maxsize=64)
def _read(content: bytes) -> Features:
    return Features.from_plain(msgspec.json.decode(content))


def check(schema: Features) -> None:
    """Raise if a name breaks lines, or if no items can settle a number."""
    for name, attribute in schema.attributes.items():
        check_text("the name of an attribute", name)
        for level in getattr(attribute, "levels", None) or ():
            check_text(f"levels of {name!r}", level)
    for part in _SETTLED:
        unsettled = _unsettled(getattr(schema, part))
        if unsettled is not None:
            raise invalid(
                f"features.{part} must have mean and scale for the number {unsettled!r}: "
                "`headstart features infer` and hs.Features.settled compute them"
            )


def check_settled(schema: Features) -> None:
    """Raise while the numbers of items are not settled."""
    name = _unsettled(schema.item)
    if name is not None:
        raise conflict(
            f"the number {name!r} has no mean and scale yet: PUT the items first, or give them in "
            "features"
        )


def _unsettled(attributes: Any) -> str | None:
    numbers = (each for each in attributes if isinstance(each, Number))
    return next((each.name for each in numbers if not each.is_settled), None)


def no_schema(what: str, given: object) -> ServiceError:
    """The error for attributes that are given to a bandit whose features are numbers."""
    return invalid(f"{what} must be given to a bandit with features, got {checks.short(given)}")


def check_arm(arm: str, schema: Features | None) -> None:
    """Refuse a log that names items where their features are not those of the catalogue alone."""
    if schema is not None and not schema.is_fixed:
        raise invalid(
            f"columns.arm = {arm!r} must be left out if features change with the context or the "
            "task: have the features or attributes themselves in the log"
        )
