"""The public names of headstart, and whether each has an example."""

import inspect
import re
from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from types import FunctionType, ModuleType

# In the order of the reference: what most readers use comes first. A name that two of them offer
# is documented under the first.
MODULES = (
    "headstart",
    "headstart.features",
    "headstart.policies",
    "headstart.priors",
    "headstart.environments",
    "headstart.learners",
    "headstart.simulation",
    "headstart.testing",
    "headstart.live",
    "headstart.logs",
    "headstart_client",
    "headstart.studies",
    "headstart.plotting",
    "headstart.diagnosis",
    "headstart.trials",
    "headstart.theory",
    "headstart.datasets",
    "headstart.interfaces",
)


@dataclass(frozen=True, kw_only=True)
class PublicName:
    """A name that a module offers, and the module under which it is documented."""

    name: str
    module: str
    home: str

    @property
    def full(self) -> str:
        """The name with its home, by which pages and links know it."""
        return f"{self.home}.{self.name}"

    @property
    def value(self) -> object:
        """What the name stands for."""
        return getattr(import_module(self.module), self.name)


def names_of(module: str) -> list[str]:
    """The public names of a module: its `__all__`, without submodules."""
    loaded = import_module(module)
    return [n for n in loaded.__all__ if not isinstance(getattr(loaded, n), ModuleType)]


def public_names() -> list[PublicName]:
    """The public names of all modules, in order; a name of two modules comes twice."""
    homes: dict[int, tuple[str, str]] = {}
    found = []
    for module in MODULES:
        for name in names_of(module):
            value = getattr(import_module(module), name)
            home, _ = homes.setdefault(id(value), (module, name))
            found.append(PublicName(name=name, module=module, home=home))
    return found


def documented_names() -> list[PublicName]:
    """The public names, each once: those that have a page."""
    return [name for name in public_names() if name.module == name.home]


def has_own_docstring(value: object) -> bool:
    """Whether a value can carry a docstring; constants and aliases of types cannot."""
    return inspect.isclass(value) or inspect.isroutine(value)


def docstrings(name: PublicName) -> Iterator[str]:
    """Where an example of a name may be: in its docstring, its methods' or its module's.

    "See `X` for an example." leads to another public name's docstring, which must use this one.
    """
    value = name.value
    if has_own_docstring(value):
        yield inspect.getdoc(value) or ""
        for member in vars(value).values() if inspect.isclass(value) else ():
            if isinstance(member, property | classmethod | staticmethod | FunctionType):
                yield member.__doc__ or ""
        elsewhere = re.search(r"See `(\w+)` for an example", inspect.getdoc(value) or "")
        if elsewhere is not None:
            texts = [inspect.getdoc(n.value) for n in public_names() if n.name == elsewhere[1]]
            yield from (text for text in texts if text is not None and f"{name.name}(" in text)
    lines = (import_module(name.module).__doc__ or "").splitlines()
    if has_own_docstring(value):
        lines = [line for line in lines if line.startswith(">>>")]
    text = "\n".join(lines)
    yield text if re.search(rf"\b{name.name}\b", text) else ""


def without_example() -> list[str]:
    """The names of `headstart` that have no example."""
    return [
        name.full
        for name in documented_names()
        if name.module == "headstart" and not any(">>>" in text for text in docstrings(name))
    ]


def without_docstring() -> list[str]:
    """The public names that have no docstring of their own, where one is possible."""
    return [
        name.full
        for name in documented_names()
        if has_own_docstring(name.value) and not inspect.getdoc(name.value)
    ]
