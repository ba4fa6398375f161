"""Tables of a study: totals of learners, and paired differences with Holm's correction."""

from collections.abc import Mapping, Sequence

import numpy as np

from headstart.intervals import Interval, interval
from headstart.plotting.document import Cell, Table
from headstart.plotting.reports.numbers import (
    interval_text,
    measured_text,
    p_value_text,
    regularization_text,
)
from headstart.plotting.reports.played import Played
from headstart.studies.comparisons import Comparison, at_best, compare
from headstart.studies.results import totals


def totals_table(played: Played, values: Sequence[float], name: str = "totals") -> Table:
    """Reward and regret of every learner, at given λ and at its best."""
    reward, regret = totals(played.results, "reward"), totals(played.results)
    best = at_best(regret)
    header = ["learner"]
    for value in values:
        at = f"λ = {regularization_text(value)}"
        header += [f"reward, {at}", f"regret, {at}"]
    header += ["best λ", "regret there"]
    rows, records = [], []
    for learner in regret["learner"].to_numpy():
        row = [str(learner)]
        for value in values:
            for variable, of in (("reward", reward), ("regret", regret)):
                there = of.sel(learner=learner).sel(regularization=value, method="nearest")
                found = interval(there.to_numpy())
                row.append(measured_text(found))
                records.append(_record(str(learner), value, variable, found))
        found = interval(best.sel(learner=learner).to_numpy())
        at_value = float(best["regularization"].sel(learner=learner))
        row += [regularization_text(at_value), measured_text(found)]
        records.append(_record(str(learner), at_value, "regret", found) | {"best": True})
        rows.append(row)
    return Table(header, rows, name=name, records=records)


def paired_table(played: Played, value: float | None, name: str) -> Table | None:
    """Every learner minus the reference, at one λ or each at its best; None without a reference."""
    if played.reference is None:
        return None
    found = compare(played.compared(value), played.reference)
    rows: list[list[str | Cell]] = [
        [
            f"{one.learner} − {one.reference}",
            interval_text(one.difference),
            p_value_text(one.p_value),
            p_value_text(one.corrected),
            _conclusion(one),
            str(one.difference.replications),
        ]
        for one in found
    ]
    header = ["difference of regrets", "mean, 95 % interval", "p", "p, corrected", "so", "n"]
    return Table(header, rows, frozenset({0, 4}), name=name, records=comparison_records(found))


def comparison_records(found: Sequence[Comparison]) -> list[Mapping[str, object]]:
    """Comparisons unrounded, for CSV and JSON."""
    return [
        {
            "learner": one.learner,
            "reference": one.reference,
            **_ends(one.difference),
            "p": one.p_value,
            "p_corrected": one.corrected,
        }
        for one in found
    ]


def _conclusion(one: Comparison) -> Cell:
    if not one.certain:
        return Cell("undecided")
    if one.difference.mean < 0:
        return Cell(f"{one.learner} has less regret", "positive")
    return Cell(f"{one.learner} has more regret", "negative")


def _record(learner: str, value: float, variable: str, found: Interval) -> dict[str, object]:
    shown = None if np.isnan(value) else value
    return {
        "learner": learner,
        "regularization": shown,
        "variable": variable,
        **_ends(found),
        "best": False,
    }


def _ends(found: Interval) -> dict[str, object]:
    alone = found.replications < 2
    return {
        "mean": found.mean,
        "standard_error": None if alone else found.error,
        "low": None if alone else found.low,
        "high": None if alone else found.high,
        "n": found.replications,
    }
