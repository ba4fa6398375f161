"""The report's tables: totals, verdicts, and every claim under every interpretation."""

from collections.abc import Sequence

import numpy as np

from headstart.intervals import interval
from headstart.paper.interpretations import ReportSection, Results
from headstart.paper.rules import OutcomeKind
from headstart.paper.studies import FIGURES
from headstart.paper.verdicts import Verdict
from headstart.paper.wording import (
    difference_text,
    measured_text,
    regularization_text,
    verdict_cell,
    verdict_text,
)
from headstart.plotting.document import Cell, Table
from headstart.studies.results import totals

_OUTCOMES: dict[OutcomeKind, Cell] = {
    "holds": Cell("yes", "positive"),
    "fails": Cell("no", "negative"),
    "undecided": Cell("?"),
}


def summary_table(verdicts: Sequence[tuple[ReportSection, Sequence[Verdict]]]) -> Table:
    """One row per claim of the report."""
    rows: list[list[str | Cell]] = []
    for section, some in verdicts:
        for number, verdict in enumerate(some, 1):
            cell = verdict_cell(verdict, verdict_text(section, verdict))
            n = str(verdict.main.difference.replications)
            name = f"{section.name}\N{NO-BREAK SPACE}{number}"
            rows.append([name, verdict.claim.text, cell, n])
    return Table(["", "claim", "verdict", "n"], rows, frozenset({0, 1, 2}))


def totals_table(section: ReportSection, results: Results) -> Table:
    """Reward and regret of every learner under the main interpretation."""
    dataset = results[section.main.study.name]
    reward, regret = totals(dataset, "reward"), totals(dataset, "regret")
    shown = [value for value in FIGURES if value in dataset["regularization"]]
    header = ["learner"]
    for value in shown:
        header += [f"reward, λ = {value:g}", f"regret, λ = {value:g}"]
    header += ["best λ", "regret there"]
    rows = []
    for name in dataset["learner"].to_numpy():
        row = [str(name)]
        for value in shown:
            row += [
                measured_text(interval(of.sel(learner=name, regularization=value).to_numpy()))
                for of in (reward, regret)
            ]
        means = regret.sel(learner=name).mean("replication")
        best = float(means["regularization"][int(np.argmin(means.to_numpy()))])
        any_value = bool(np.ptp(means.to_numpy()) == 0)
        there = regret.sel(learner=name, regularization=best)
        row += [
            "any" if any_value else regularization_text(best),
            measured_text(interval(there.to_numpy())),
        ]
        rows.append(row)
    return Table(header, rows)


def verdict_table(section: ReportSection, verdicts: Sequence[Verdict]) -> Table:
    """Each claim, where the paper has it, the verdict and the differences that it rests on."""
    letters = section.letters()
    rows: list[list[str | Cell]] = []
    for number, verdict in enumerate(verdicts, 1):
        text, detail = verdict_text(section, verdict), f"A: {difference_text(verdict.main)}"
        if verdict.kind == "reproduced otherwise":
            first = verdict.holds_under[0]
            text = "reproduced under " + ", ".join(letters[key] for key in verdict.holds_under)
            detail += f"; {letters[first]}: {difference_text(verdict.outcomes[first])}"
        n = str(verdict.main.difference.replications)
        claim = verdict.claim
        cell = verdict_cell(verdict, text)
        rows.append([str(number), claim.text, claim.source, cell, detail, n])
    header = ["", "claim", "where", "verdict", "difference of regrets, 95 % interval", "n"]
    return Table(header, rows, frozenset({0, 1, 2, 3, 4}))


def outcome_table(section: ReportSection, verdicts: Sequence[Verdict]) -> Table:
    """Every claim under every interpretation, and how many hold under each."""
    letters = section.letters()
    rows: list[list[str | Cell]] = []
    for number, verdict in enumerate(verdicts, 1):
        outcomes = [verdict.outcomes.get(key) for key in letters]
        cells = [_OUTCOMES[outcome.kind] if outcome else Cell("–") for outcome in outcomes]
        rows.append([f"{number}. {verdict.claim.text}", *cells])
    held: list[str | Cell] = ["claims that hold"]
    for key in letters:
        kinds = [verdict.outcomes[key].kind for verdict in verdicts if key in verdict.outcomes]
        held.append(f"{kinds.count('holds')}/{len(kinds)}")
    return Table(["claim", *letters.values()], [*rows, held])
