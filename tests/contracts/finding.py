"""Finds the implementations of a protocol among the public classes of a package."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from types import ModuleType
from typing import Any

import pytest
from tests.needs import demanded

from headstart.environments import DataMissing


def members(protocol: type) -> set[str]:
    """The names that a protocol asks for."""
    return {name for name in vars(protocol) if not name.startswith("_")}


def implementing(package: ModuleType, protocol: type) -> list[type]:
    """The classes in the package's `__all__` that have all the protocol's members."""
    public = [getattr(package, name) for name in package.__all__]
    wanted = members(protocol)
    return [
        kind
        for kind in public
        if inspect.isclass(kind) and not getattr(kind, "_is_protocol", False) and _has(kind, wanted)
    ]


def _has(kind: type, wanted: set[str]) -> bool:
    # A field without a default is an annotation and no attribute of the class.
    return all(hasattr(kind, name) or name in inspect.get_annotations(kind) for name in wanted)


def or_skip(make: Callable[[], Any]) -> Any:
    """What is made, or a parameter that is skipped for want of data."""
    try:
        return make()
    except DataMissing as error:
        if demanded("data"):
            raise
        return pytest.param(None, marks=pytest.mark.skip(reason=str(error)))


def instances(
    package: ModuleType, protocol: type, settings: Mapping[str, Sequence[Mapping[str, Any]]]
) -> dict[str, Any]:
    """One object of every class with its defaults, and one for each of the further settings.

    The settings are keyed by the names of classes. A class whose constructor asks for something
    must have one there: otherwise nothing of it would be tested.
    """
    found = {}
    for kind in implementing(package, protocol):
        needs = [
            parameter.name
            for parameter in inspect.signature(kind).parameters.values()
            if parameter.default is parameter.empty
        ]
        chosen = list(settings.get(kind.__name__, []))
        if not needs:
            chosen.insert(0, {})
        if not chosen:
            raise AssertionError(f"{kind.__name__} needs {needs}: add settings to its contract")
        for i, arguments in enumerate(chosen):
            found[f"{kind.__name__}-{i}"] = or_skip(lambda: kind(**arguments))  # noqa: B023
    return found
