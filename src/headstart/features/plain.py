"""Attributes as plain data for JSON and TOML, and back."""

import json
from collections.abc import Mapping
from dataclasses import MISSING, fields

from headstart import checks
from headstart.features.attributes import KINDS, Attribute

_TYPE = "type"


def describe(attribute: Attribute) -> dict[str, object]:
    """An attribute as a table, without settings that have their default."""
    found: dict[str, object] = {_TYPE: attribute.kind}
    for field in fields(attribute):
        value = getattr(attribute, field.name)
        if field.default is MISSING or value != field.default:
            found[field.name] = list(value) if isinstance(value, tuple) else value
    return found


def code(attribute: Attribute) -> str:
    """An attribute as Python code."""
    settings = describe(attribute)
    del settings[_TYPE]
    given = [literal(settings.pop(name)) for name in ("name", "size") if name in settings]
    given += [f"{name}={literal(value)}" for name, value in settings.items()]
    return f"hs.{type(attribute).__name__}({', '.join(given)})"


def literal(value: object) -> str:
    """Text, numbers, and lists of them as Python code."""
    if isinstance(value, list | tuple):
        inner = ", ".join(map(literal, value))
        return f"[{inner}]" if isinstance(value, list) else f"({inner})"
    return json.dumps(value, ensure_ascii=False) if isinstance(value, str) else repr(value)


def read(table: object, where: str) -> Attribute:
    """The attribute that a table describes."""
    if not isinstance(table, Mapping):
        raise ValueError(f"{where} must be a table with a type and a name, got {table!r}")
    kind = table.get(_TYPE)
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"{where}.type must be one of {', '.join(KINDS)}, got {kind!r}")
    made = KINDS[kind]
    known = {field.name: field for field in fields(made)}
    given = {name: value for name, value in table.items() if name != _TYPE}
    for name, value in given.items():
        if name not in known:
            raise ValueError(
                f"{where}.{name} = {checks.short(value)} is not a setting of a {kind}; "
                f"it takes {', '.join(known)}"
            )
    for name, field in known.items():
        if field.default is MISSING and name not in given:
            raise ValueError(f"{where} must have a {name}, got {checks.short(dict(table))}")
    try:
        return made(**given)
    except (TypeError, ValueError) as error:
        raise ValueError(f"{where}: {error}") from error
