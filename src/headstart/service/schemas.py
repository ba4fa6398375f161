"""Schemas: the attributes of a bandit's items, contexts and tasks, from its configuration."""

from functools import lru_cache

import msgspec

from headstart import checks
from headstart.features import Features, Number
from headstart.service.messages import (
    BanditConfiguration,
    ServiceError,
    check_text,
    invalid,
)


def schema_of(configuration: BanditConfiguration) -> Features | None:
    """The schema of a configuration, None if features are numbers; raises if it is wrong."""
    if configuration.features is None:
        return None
    return _read(msgspec.json.encode(configuration.features))


@lru_cache(maxsize=64)
def _read(content: bytes) -> Features:
    return Features.from_plain(msgspec.json.decode(content))


def check(schema: Features) -> None:
    """Raise if a name breaks lines, or if a number has no mean and scale."""
    for name, attribute in schema.attributes.items():
        check_text("the name of an attribute", name)
        for level in getattr(attribute, "levels", None) or ():
            check_text(f"levels of {name!r}", level)
        if isinstance(attribute, Number) and not attribute.is_settled:
            raise invalid(
                f"features must have mean and scale for the number {name!r}: "
                "`headstart features infer` and hs.Features.settled compute them"
            )


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
