"""Docstrings, signatures and comments of fields as the pages show them."""

import ast
import inspect
import re
import textwrap
from functools import cache
from importlib import import_module
from itertools import product
from typing import Literal, get_args

from docs.building.public import public_names

Mode = Literal["fully-qualified-except-typing", "smart", "fully-qualified"]


def as_markup(lines: list[str]) -> list[str]:
    """A docstring as reStructuredText: prose escaped, indented blocks literal.

    An indented block, which holds an equation or code, follows a blank line and a paragraph and is
    no doctest, list item or body of a directive.
    """
    out: list[str] = []
    inside = example = False
    for i, line in enumerate(lines):
        indented = line.startswith("    ")
        starts = indented and not inside and i > 0 and not lines[i - 1].strip()
        if starts and not _continues(out) and not line.lstrip().startswith(">>>"):
            out += ["::", ""]
            inside = True
        if line.strip() and not indented:
            inside = False
        example = (example and bool(line.strip())) or line.lstrip().startswith(">>>")
        out.append(line if inside or example else escaped(line))
    return out


def escaped(line: str) -> str:
    """Prose in which | is a norm, a letter may follow a name in backquotes, and pages are links."""
    line = re.sub(r"docs/([\w/-]+)\.md", r":doc:`/\1`", line)
    return re.sub(r"(`[^`]+`)(?=\w)", r"\1\\ ", line.replace("|", "\\|"))


def _continues(before: list[str]) -> bool:
    """Whether an indented block belongs to what is before it."""
    last = next((line for line in reversed(before) if line.strip()), "")
    return last.lstrip().startswith(("..", "- ", "* ", ":")) or last.endswith("::")


def shortened(signature: str) -> str:
    """A signature with array types by their names in `headstart.arrays`, and short defaults."""
    for text, name in _aliases().items():
        signature = signature.replace(text, name)
    signature = without_modules(signature)
    for text, name in _aliases().items():  # inside of a union, whose parts have no modules now
        signature = signature.replace(without_modules(text), name)
    return re.sub(r"<factory>|<object object at 0x[0-9a-f]+>", "...", signature)


def without_modules(text: str) -> str:
    """A signature with names in place of dotted paths."""
    return re.sub(r"(?<![\w.'\"])~?(?:[A-Za-z_]+\.)+(\w+)", r"\1", text)


@cache
def _aliases() -> dict[str, str]:
    """What a signature says for an alias, the longest first."""
    from sphinx.util.typing import stringify_annotation  # noqa: PLC0415

    arrays = import_module("headstart.arrays")
    found = {name: getattr(arrays, name) for name in ("Floats", "Integers", "Booleans")}
    found["ArrayLike"] = import_module("numpy.typing").ArrayLike
    found["Memory"] = import_module("headstart.interfaces").Memory
    found["Agents"] = import_module("headstart.simulation").Agents
    texts: dict[str, str] = {}
    modes = get_args(Mode)
    for mode, (name, kind) in product(modes, found.items()):
        texts[stringify_annotation(kind, mode)] = name
        texts[stringify_annotation(kind, mode, short_literals=True)] = name
    return dict(sorted(texts.items(), key=lambda item: -len(item[0])))


@cache
def link_targets() -> dict[str, str]:
    """What `name`, `Class.member` and `module.name` in a docstring refer to."""
    targets: dict[str, str] = {}
    for name in public_names():
        short = name.module.removeprefix("headstart").lstrip(".")
        for spelling in {name.name, f"{short}.{name.name}", f"{name.module}.{name.name}"}:
            targets.setdefault(spelling, name.full)
        if isinstance(name.value, type):
            for member in vars(name.value):
                if not member.startswith("_"):
                    targets.setdefault(f"{name.name}.{member}", f"{name.full}.{member}")
    return targets


def field_comments(cls: type) -> dict[str, str]:
    """The comments next to or above the fields of a class, by field."""
    try:
        source = textwrap.dedent(inspect.getsource(cls))
    except (OSError, TypeError):
        return {}
    lines = source.splitlines()
    body = ast.parse(source).body[0]
    found = {}
    for node in body.body if isinstance(body, ast.ClassDef) else ():
        if not isinstance(node, ast.AnnAssign) or not isinstance(node.target, ast.Name):
            continue
        end = (node.end_lineno or node.lineno) - 1
        beside = lines[end].encode()[node.end_col_offset :].decode().strip()
        comment = beside if beside.startswith("#") else _above(lines, node.lineno - 1)
        if comment and not node.target.id.startswith("_") and not _for_tools(comment):
            found[node.target.id] = comment.lstrip("# ").strip()
    return found


def _above(lines: list[str], number: int) -> str:
    """The comment lines directly above a line."""
    first = number
    while first > 0 and lines[first - 1].strip().startswith("#"):
        first -= 1
    return " ".join(line.strip().lstrip("# ") for line in lines[first:number])


def _for_tools(comment: str) -> bool:
    return comment.lstrip("# ").startswith(("noqa", "type:", "fmt:"))


def fields_as_list(comments: dict[str, str]) -> list[str]:
    """Comments as a definition list."""
    out = []
    for name, text in comments.items():
        sentence = text[0].upper() + text[1:] + ("" if text.endswith(".") else ".")
        out += [f"``{name}``", f"    {sentence}", ""]
    return ["", "Fields:", "", *out] if out else []
