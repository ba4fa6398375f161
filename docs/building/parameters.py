"""Parameters of what a user calls: those of the signature, and those that the docstring lists."""

import inspect
import re
from collections.abc import Callable, Iterator
from enum import Enum
from types import FunctionType
from typing import Any, NamedTuple

from docs.building.public import has_own_docstring, names_of
from msgspec import Struct

import headstart

_STARS: dict[object, str] = {
    inspect.Parameter.VAR_POSITIONAL: "*",
    inspect.Parameter.VAR_KEYWORD: "**",
}
_LISTED = ("Parameters", "Other Parameters", "Attributes")


class PublicCallable(NamedTuple):
    """A public function or class, or a method of a public class."""

    full: str
    value: Callable[..., Any]

    @property
    def parameters(self) -> list[str]:
        """The names of what a call takes, stars included; none for what only the library makes."""
        kind = self.value
        if inspect.isclass(kind) and (
            _is_protocol(kind) or issubclass(kind, BaseException | Enum | dict | Struct)
        ):
            return []
        taken = inspect.signature(self.value).parameters.values()
        return [
            _STARS.get(p.kind, "") + p.name for p in taken if p.name != "self" and p.name[0] != "_"
        ]

    @property
    def returns(self) -> bool:
        """Whether a call of a function returns something."""
        if inspect.isclass(self.value):
            return False
        annotation = inspect.signature(self.value).return_annotation
        return annotation not in (None, "None", inspect.Signature.empty)


def callables() -> Iterator[PublicCallable]:
    """What a user calls: the functions and classes of `headstart`, and the methods of a bandit."""
    for name in names_of("headstart"):
        value: Any = getattr(headstart, name)
        if has_own_docstring(value):
            yield PublicCallable(f"headstart.{name}", value)
    for key, member in vars(headstart.MetaBandit).items():
        if isinstance(member, classmethod | staticmethod | FunctionType) and key[0] != "_":
            method = getattr(headstart.MetaBandit, key)
            yield PublicCallable(f"headstart.MetaBandit.{key}", method)


def sections(docstring: str) -> dict[str, list[str]]:
    """The names that each numpydoc section of a docstring lists, stars included."""
    lines = inspect.cleandoc(docstring).splitlines()
    found: dict[str, list[str]] = {}
    names: list[str] = []
    for line, following in zip(lines, [*lines[1:], ""], strict=True):
        if line and re.fullmatch("-{3,}", following):
            names = found.setdefault(line, [])
        elif line and not line.startswith((" ", "-")):
            names += line.split(" : ")[0].split(", ")
    return found


def problems() -> list[str]:
    """What docstrings lack: parameters, what is returned; and listed parameters that do not exist.

    What takes nothing says in its first line what it returns.
    """
    found = []
    for one in callables():
        taken, documented = one.parameters, _documented(one)
        found += [f"{one.full} does not list {name}" for name in taken if name not in documented]
        known = {*taken, *_attributes(one.value)} if inspect.isclass(one.value) else taken
        found += [f"{one.full} lists {name}" for name in documented if name not in known]
        listed = sections(inspect.getdoc(one.value) or "")
        if documented and one.returns and not {"Returns", "Yields"} & {*listed}:
            found.append(f"{one.full} does not say what it returns")
    return found


def written_out() -> list[str]:
    """The callables in whose signature `help` writes types out instead of naming them."""
    long = ("numpy._typing", "ndarray[tuple", "collections.abc")
    return [
        one.full
        for one in callables()
        if one.parameters and any(part in str(inspect.signature(one.value)) for part in long)
    ]


def _documented(one: PublicCallable) -> list[str]:
    listed = sections(inspect.getdoc(one.value) or "")
    return [name for section in _LISTED for name in listed.get(section, ())]


def _attributes(kind: type) -> set[str]:
    """The attributes of a class and of its instances."""
    own = re.findall(r"self\.(\w+)", inspect.getsource(kind))
    return {*dir(kind), *inspect.get_annotations(kind), *own}


def _is_protocol(kind: object) -> bool:
    return getattr(kind, "_is_protocol", False) is True
