"""Pages whose code runs: ```python blocks, each followed by the ```text it prints, if any."""

import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path

DOCS = Path(__file__).parents[2] / "docs"

_FENCE = re.compile(r"^```(python|text)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?")


@dataclass(frozen=True)
class Cell:
    """Code, and what the page says it prints."""

    code: str
    shown: str


def cells(page: str) -> list[Cell]:
    """The cells of a page, in order."""
    found: list[Cell] = []
    for language, text in _FENCE.findall(page):
        if language == "python":
            found.append(Cell(text, ""))
        elif found:
            found[-1] = Cell(found[-1].code, text)
    return found


def run(page: str) -> list[tuple[Cell, str]]:
    """Run a page's cells in one namespace; returns each with what it printed."""
    names: dict[str, object] = {"__name__": "page"}
    outcomes = []
    for cell in cells(page):
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed):
            exec(compile(cell.code, "a page of docs", "exec"), names)
        outcomes.append((cell, printed.getvalue()))
    return outcomes


def agree(shown: str, printed: str, *, relative: float, absolute: float) -> bool:
    """The same words, and numbers that another machine's rounding could have made."""
    if _NUMBER.sub("#", shown) != _NUMBER.sub("#", printed):
        return False
    pairs = zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=True)
    return all(abs(float(a) - float(b)) <= absolute + relative * abs(float(a)) for a, b in pairs)
