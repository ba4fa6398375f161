"""Pages of the reference: one per module and one per public name, as reStructuredText."""

import inspect
import re
from importlib import import_module
from pathlib import Path

from docs.building.docstrings import escaped
from docs.building.files import write_changed
from docs.building.public import (
    MODULES,
    PublicName,
    documented_names,
    has_own_docstring,
    public_names,
)


def write_api_pages(folder: Path) -> None:
    """Write all pages into a folder, and remove those of names that are gone."""
    pages = {f"{module}.rst": module_page(module) for module in MODULES}
    pages |= {f"{name.full}.rst": name_page(name) for name in documented_names()}
    write_changed(folder, pages)


def module_page(module: str) -> str:
    """The page of a module: what it is, and a table of its names."""
    names = [name for name in public_names() if name.module == module]
    own = [name for name in names if name.home == module]
    rows = "".join(_row(name) for name in names)
    entries = "\n".join(f"   {name.name} <{name.full}>" for name in own)
    return (
        f"{_title(module)}\n"
        f".. automodule:: {module}\n   :no-members:\n\n"
        f".. list-table::\n   :widths: 30 70\n\n{rows}\n"
        f".. toctree::\n   :hidden:\n\n{entries}\n"
    )


def _row(name: PublicName) -> str:
    link = f":py:obj:`{name.name} <{name.full}>`"
    return f"   * - {link}\n     - {first_sentence(name)}\n"


def first_sentence(name: PublicName) -> str:
    """What a name is, in a line; of a constant or an alias, that it is one."""
    return _sentence(name.value) if has_own_docstring(name.value) else "See above."


def _sentence(value: object) -> str:
    paragraph = (inspect.getdoc(value) or "").split("\n\n")[0]
    line = " ".join(paragraph.split())
    found = re.match(r".+?(?<!\bEq)(?<!\bal)[.](?=\s+[A-Z0-9`]|$)", line)
    return escaped(found[0] if found else line)


# From this many on, a class has a table of its methods before their descriptions.
_MANY_METHODS = 4


def _methods(name: PublicName, value: type) -> str:
    """A table of the methods, in the order of the source."""
    found = [
        (own, getattr(value, own))
        for own, defined in vars(value).items()
        if not own.startswith("_") and inspect.isroutine(getattr(value, own)) and defined
    ]
    if len(found) < _MANY_METHODS:
        return ""
    rows = "".join(
        f"   * - :py:obj:`{own} <{name.full}.{own}>`\n     - {_sentence(method)}\n"
        for own, method in found
    )
    return f".. list-table:: Methods\n   :widths: 30 70\n\n{rows}\n"


def name_page(name: PublicName) -> str:
    """The page of a name: a table of methods, signature, docstring, members and example."""
    value, methods = name.value, ""
    if inspect.isclass(value):
        methods = _methods(name, value)
        directive, options = "autoclass", ["members:", "member-order: bysource"]
        if issubclass(value, BaseException | dict) or getattr(value, "_is_protocol", False):
            options.append("no-index-entry:")
    elif inspect.isroutine(value):
        directive, options = "autofunction", []
    else:
        directive, options = "autodata", ["no-value:"]
    lines = "".join(f"   :{option}\n" for option in options)
    return (
        f"{_title(name.full.removeprefix('headstart.'))}\n"
        f".. currentmodule:: {name.home}\n\n"
        f"{methods}"
        f".. {directive}:: {name.full}\n{lines}\n"
        f"{_alias_text(name)}"
        f".. minigallery:: {name.full}\n"
    )


def _alias_text(name: PublicName) -> str:
    """Where else the name is offered, and for a constant the examples of its module."""
    value = name.value
    if inspect.isclass(value) or inspect.isroutine(value):
        return ""
    module = import_module(name.home)
    return f"Examples are on the page of :py:mod:`{module.__name__}`.\n\n"


def _title(text: str) -> str:
    return f"{text}\n{'=' * len(text)}\n"
