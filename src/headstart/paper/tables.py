"""The report's tables: sentences, claims, and every claim under every interpretation."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict

from headstart.paper.interpretations import ReportSection
from headstart.paper.rules import OutcomeKind
from headstart.paper.verdicts import SentenceVerdict, Verdict
from headstart.paper.wording import difference_text, sentence_text, verdict_cell, verdict_text
from headstart.plotting.document import Cell, Table

_OUTCOMES: dict[OutcomeKind, Cell] = {
    "holds": Cell("yes", "positive"),
    "fails": Cell("no", "negative"),
    "undecided": Cell("?"),
    "uninformative": Cell("="),
}


def sentence_table(
    sentences: Sequence[SentenceVerdict], sections: Mapping[str, ReportSection]
) -> Table:
    """One row per sentence of the paper, with the claims that it makes."""
    rows: list[list[str | Cell]] = []
    for verdict in sentences:
        about = ", ".join(
            f"{name} {_numbers(sections[name], some)}" for name, some in verdict.verdicts.items()
        )
        text = sentence_text(verdict, sections)
        sentence = verdict.sentence
        rows.append(
            [f"“{sentence.quote}”", sentence.where, about, verdict_cell(verdict.kind, text)]
        )
    return Table(
        ["sentence", "where", "claims", "verdict"], rows, frozenset({0, 1, 2, 3}), name="sentences"
    )


def summary_table(verdicts: Sequence[tuple[ReportSection, Sequence[Verdict]]]) -> Table:
    """One row per claim of several sections."""
    rows: list[list[str | Cell]] = []
    for section, some in verdicts:
        for number, verdict in enumerate(some, 1):
            cell = verdict_cell(verdict.kind, verdict_text(section, verdict))
            n = str(verdict.main.difference.replications)
            name = f"{section.name}\N{NO-BREAK SPACE}{number}"
            rows.append([name, verdict.claim.text, cell, n])
    return Table(["", "claim", "verdict", "n"], rows, frozenset({0, 1, 2}))


def verdict_table(section: ReportSection, verdicts: Sequence[Verdict]) -> Table:
    """Each claim, the verdict and the difference that it rests on, with its sign and n."""
    letters = section.letters()
    rows: list[list[str | Cell]] = []
    for number, verdict in enumerate(verdicts, 1):
        claim = verdict.claim
        detail = difference_text(verdict.main)
        if verdict.kind == "reproduced otherwise":
            first = verdict.holds_under[0]
            detail += f"; {letters[first]}: {difference_text(verdict.outcomes[first])}"
        source = f"implied, {claim.implied}" if claim.sentence is None else "said"
        rows.append(
            [
                str(number),
                claim.text,
                source,
                verdict_cell(verdict.kind, verdict_text(section, verdict)),
                claim.rule.difference,
                detail,
                str(verdict.main.difference.replications),
            ]
        )
    header = ["", "claim", "said or implied", "verdict", "difference", "mean, 95 % interval", "n"]
    return Table(header, rows, frozenset(range(6)), name=f"{section.name}-claims")


def outcome_table(section: ReportSection, verdicts: Sequence[Verdict]) -> Table:
    """Every interpretation, with its letter and what it stands for, and what holds under it."""
    letters = section.letters()
    rows: list[list[str | Cell]] = []
    for one in section.interpretations:
        found = [verdict.outcomes.get(one.key) for verdict in verdicts]
        cells = [_OUTCOMES[outcome.kind] if outcome else Cell("–") for outcome in found]
        judged = [outcome.kind for outcome in found if outcome]
        rows.append(
            [f"{letters[one.key]}: {one.label}", *cells, f"{judged.count('holds')}/{len(judged)}"]
        )
    header = [
        "interpretation",
        *(f"{number}. {verdict.claim.short}" for number, verdict in enumerate(verdicts, 1)),
        "hold",
    ]
    return Table(header, rows, name=f"{section.name}-interpretations")


def verdict_records(
    verdicts: Sequence[tuple[ReportSection, Sequence[Verdict]]],
) -> list[dict[str, object]]:
    """Every claim with its verdict, unrounded, for JSON."""
    return [
        {
            "section": section.name,
            "claim": verdict.claim.text,
            "sentence": None if verdict.claim.sentence is None else verdict.claim.sentence.quote,
            "verdict": verdict.kind,
            "outcome": verdict.main.kind,
            "difference": verdict.claim.rule.difference,
            **asdict(verdict.main.difference),
        }
        for section, some in verdicts
        for verdict in some
    ]


def _numbers(section: ReportSection, verdicts: Sequence[Verdict]) -> str:
    claims = list(section.claims)
    return ", ".join(str(1 + claims.index(verdict.claim)) for verdict in verdicts)
