"""Pages whose code runs: ```python blocks, each followed by the ```text it prints, if any."""

import contextlib
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[2] / "docs"

# Pages at the top, and folders of pages; a page is named by its folder and its file.
TOP = ("index.md", "install.md")
FOLDERS = ("tutorials", "how-to", "explanation", "reference", "developers")

_FENCE = re.compile(r"^```(\S*)[^\n]*\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Cell:
    """Code, and what the page says it prints."""

    code: str
    shown: str


def pages() -> list[str]:
    """The pages of all folders, by name."""
    found = [path for folder in FOLDERS for path in (DOCS / folder).rglob("*.md")]
    return [*TOP, *sorted(path.relative_to(DOCS).as_posix() for path in found)]


def service_pages() -> list[str]:
    """The pages of the service in the order in which they are read, by the menu of the first."""
    (menu,) = fences(text_of("service.md"), "{toctree}")
    return [
        "service.md",
        *(f"{page}.md" for page in re.findall(r"^service/\S+$", menu, flags=re.MULTILINE)),
    ]


def text_of(page: str) -> str:
    """What a page says."""
    return (DOCS / page).read_text(encoding="utf-8")


def fences(text: str, language: str) -> list[str]:
    """The contents of all fences of a language."""
    return [content for found, content in _FENCE.findall(text) if found == language]


def cells(text: str) -> list[Cell]:
    """The cells of a page, in order: a ```text is shown by the ```python that it follows."""
    found: list[Cell] = []
    before = ""
    for language, content in _FENCE.findall(text):
        if language == "python":
            found.append(Cell(content, ""))
        elif language == "text" and before == "python":
            found[-1] = Cell(found[-1].code, content)
        before = language
    return found


def run(text: str, names: dict[str, Any] | None = None) -> list[tuple[Cell, str]]:
    """Run a page's cells in one namespace, such as `names`; returns each with what it printed."""
    names = {} if names is None else names
    names["__name__"] = "page"
    outcomes = []
    for cell in cells(text):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.code, "a page of docs", "exec"), names)
        outcomes.append((cell, printed.getvalue()))
    return outcomes


def agree(shown: str, printed: str, *, relative: float, absolute: float) -> bool:
    """The same words, and numbers that another machine's rounding could have made.

    Words are compared without the spaces between them, since a number may get a digit more.
    """
    if _words(shown) != _words(printed):
        return False
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=True)
    return all(abs(float(a) - float(b)) <= absolute + relative * abs(float(a)) for a, b in pairs)


def _words(text: str) -> Sequence[str]:
    return _NUMBER.sub(" # ", text).split()
