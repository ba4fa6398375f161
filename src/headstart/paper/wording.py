"""The report's words: verdicts and differences as text."""

from collections.abc import Mapping, Sequence

from headstart.paper.interpretations import ReportSection
from headstart.paper.rules import Outcome, OutcomeKind
from headstart.paper.verdicts import SentenceKind, SentenceVerdict, Verdict
from headstart.plotting.document import Cell, CellKind
from headstart.plotting.numbers import interval_text

# What it means that a claim does not hold.
_CONTRARY: dict[OutcomeKind, str] = {
    "fails": "the contrary holds",
    "undecided": "undecided",
    "uninformative": "all learners are about equal",
}

_CELLS: dict[SentenceKind, CellKind] = {
    "reproduced": "positive",
    "reproduced otherwise": "partial",
    "in part": "partial",
    "not reproduced": "negative",
}


def verdict_text(section: ReportSection, verdict: Verdict) -> str:
    """The verdict in words, with the interpretations that it rests on."""
    if verdict.kind == "reproduced":
        return "reproduced"
    if verdict.kind == "reproduced otherwise":
        return f"reproduced under another interpretation: {named(section, verdict.holds_under)}"
    text = f"not reproduced: {_CONTRARY[verdict.main.kind]}"
    if verdict.main.kind != "fails" and verdict.fails_under:
        text += f"; the contrary holds under {named(section, verdict.fails_under)}"
    return text


def sentence_text(verdict: SentenceVerdict, sections: Mapping[str, ReportSection]) -> str:
    """The verdict on a sentence in words."""
    n, k = len(verdict.claims), verdict.n_reproduced
    if verdict.kind == "reproduced":
        return "reproduced"
    if verdict.kind == "in part":
        return f"reproduced in part: {k} of {n} claims"
    if verdict.kind == "not reproduced":
        alone = all(one.kind == "reproduced otherwise" for one in verdict.claims)
        return "not reproduced" + (": its claims never hold together" if alone and n > 1 else "")
    where = [
        f"{name}, {named(sections[name], keys)}"
        for name, keys in verdict.joint.items()
        if keys[0] != sections[name].main.key
    ]
    return f"reproduced under another interpretation: {'; '.join(where)}"


def named(section: ReportSection, keys: Sequence[str]) -> str:
    """The first of these interpretations, its letter and what it stands for, and how many more."""
    first, *more = keys
    also = f" and {len(more)} more" if more else ""
    return f"{section.letters()[first]} ({section.interpretation(first).label}){also}"


def verdict_cell(kind: SentenceKind, text: str) -> Cell:
    """A cell that shows a verdict, styled by its kind."""
    return Cell(text, _CELLS[kind])


def difference_text(outcome: Outcome) -> str:
    """A difference with its interval, and the margin where there is one."""
    margin = "" if outcome.margin is None else f", margin ±{outcome.margin:.3g}"
    return f"{interval_text(outcome.difference)}{margin}"
