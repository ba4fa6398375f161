"""The report's words: verdicts, differences and measurements as text."""

import numpy as np

from headstart.intervals import Interval
from headstart.paper.interpretations import ReportSection
from headstart.paper.rules import Outcome
from headstart.paper.verdicts import Verdict, VerdictKind
from headstart.plotting.document import Cell, CellKind

# What it means that a claim does not hold.
_CONTRARY = {"fails": "the contrary holds", "undecided": "undecided"}

_CELLS: dict[VerdictKind, CellKind] = {
    "reproduced": "positive",
    "reproduced otherwise": "partial",
    "not reproduced": "negative",
}


def verdict_text(section: ReportSection, verdict: Verdict) -> str:
    """The verdict in words, with the first interpretation that it rests on."""
    if verdict.kind == "reproduced":
        return "reproduced"
    if verdict.kind == "not reproduced":
        return f"not reproduced: {_CONTRARY[verdict.main.kind]}"
    first, *more = verdict.holds_under
    also = f" and {len(more)} more" if more else ""
    label = section.interpretation(first).label
    return f"reproduced under another interpretation: {label}{also}"


def verdict_cell(verdict: Verdict, text: str) -> Cell:
    """A cell that shows a verdict, styled by its kind."""
    return Cell(text, _CELLS[verdict.kind])


def difference_text(outcome: Outcome) -> str:
    """A difference with its interval, and the margin where there is one."""
    d = outcome.difference
    places = _places((d.high - d.low) / 2)
    mean, low, high = (_number(value, places) for value in (d.mean, d.low, d.high))
    margin = "" if outcome.margin is None else f", margin ±{outcome.margin:.3g}"
    return f"{mean} [{low}, {high}]{margin}"


def measured_text(found: Interval) -> str:
    """A mean and its standard error, to two digits of the error."""
    places = _places(found.error)
    return f"{_number(found.mean, places)} ± {_number(found.error, places)}"


def regularization_text(value: float) -> str:
    """A λ to three digits."""
    return f"{value:.3g}" if value < 1000 else f"{value:.0f}"


def _places(error: float) -> int:
    """The decimals that show two digits of an error."""
    if error == 0 or not np.isfinite(error):
        return 0
    return min(6, max(0, 1 - int(np.floor(np.log10(error)))))


def _number(value: float, places: int) -> str:
    return f"{value:,.{places}f}".replace("-", "−")
