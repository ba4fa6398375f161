"""A policy or a prior as JSON, and back: the class by name, its settings by value."""

from collections.abc import Mapping
from dataclasses import fields, is_dataclass
from importlib import import_module
from types import ModuleType

import numpy as np

from headstart import checks

_ARRAY = "array"
_CLASS = "class"

# What classes and settings were called in files of formats 1 and 2.
_RENAMED = {
    "Credible": "BayesUCB",
    "FromVariance": "Corollary2",
    "OneModel": "SingleModel",
    "Split": "NormBound",
}


def described(part: object, room: ModuleType) -> object:
    """Plain JSON for a dataclass of the room, or of one's own (by its module and name)."""
    if is_dataclass(part) and not isinstance(part, type):
        kind = type(part)
        own = getattr(room, kind.__name__, None) is not kind
        name = f"{kind.__module__}:{kind.__qualname__}" if own else kind.__name__
        settings = {f.name: described(getattr(part, f.name), room) for f in fields(part) if f.init}
        return {_CLASS: name, **settings}
    if isinstance(part, np.generic):
        return part.item()
    if isinstance(part, np.ndarray):
        return {_ARRAY: part.tolist()}
    if isinstance(part, list | tuple):
        return [described(value, room) for value in part]
    if part is None or isinstance(part, bool | int | float | str):
        return part
    raise ValueError(
        "a bandit can be saved if its policy and prior are dataclasses of plain values, "
        f"got {part!r}"
    )


def rebuilt(table: object, room: ModuleType) -> object:
    """What `described` described."""
    if isinstance(table, list):
        return [rebuilt(value, room) for value in table]
    if not isinstance(table, Mapping):
        return table
    if _ARRAY in table:
        return np.asarray(table[_ARRAY], dtype=np.float64)
    name = _RENAMED.get(str(table[_CLASS]), str(table[_CLASS]))
    if ":" in name:
        raise ValueError(
            f"the file names {name}, which is not part of headstart: hand one to load, "
            "as policy= or prior="
        )
    checks.one_of("the class in the file", name, room.__all__)
    settings = {key: rebuilt(value, room) for key, value in table.items() if key != _CLASS}
    if name == "BayesUCB" and settings.get("z", 1.0) is None:
        settings["z"] = "growing"
    if "radius_of" in settings:
        settings["fixed_bias"] = settings.pop("radius_of") == "mixture"
    return getattr(import_module(room.__name__), name)(**settings)
