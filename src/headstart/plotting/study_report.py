"""The report of any study: Markdown, HTML and PDF, with figures, tables and the manifest."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from headstart import checks
from headstart.intervals import Interval, interval
from headstart.plotting.document import Block, Cell, Heading, Items, Paragraph, Table
from headstart.plotting.files import write_document, write_tables
from headstart.plotting.numbers import (
    interval_text,
    measured_text,
    p_value_text,
    regularization_text,
    sizes_text,
)
from headstart.plotting.study_figures import chosen_text, study_figures
from headstart.plotting.study_results import StudyResults, choose_values
from headstart.studies.comparisons import Comparison, at_best, compare
from headstart.studies.folder import StudyFolder
from headstart.studies.results import totals
from headstart.studies.study import Study
from headstart.studies.toml import from_toml

_NOTES = [
    "Regret is pseudo-regret: the best arm's mean reward minus the played arm's, summed. A "
    "difference is the first learner's regret minus the second's: below 0, the first has less.",
    "All learners play the same tasks, arms and noise, so differences are taken within a "
    "replication. Intervals are Student's t, 95 %, over replications; ± is one standard error.",
    "Corrected p-values are Holm's, for all differences of one table together. “So” is at the "
    "level of 5 % after the correction.",
    "A learner's best λ is the one of least mean regret in these same replications, which is a "
    "little optimistic for every learner with a λ, the more values the more. After training tasks "
    "it is that of the largest number N of them, also where regret is shown against N.",
]


@dataclass(frozen=True)
class WrittenReport:
    """The documents of a report, and its tables by name."""

    documents: Sequence[Path]
    tables: Mapping[str, Table]


def write_study_report(
    folder: Path, out: Path, *, values: Sequence[float] = (), against: str | None = None
) -> WrittenReport:
    """Write the report of a finished study's folder to `out`.

    `values` are the λ of the grid to show beside each learner's best; `against` is the learner
    that differences are taken from.

    >>> from pathlib import Path
    >>> from headstart import plotting, studies
    >>> from headstart.specs import Spec
    >>> oful = Spec(kind="OFUL")
    >>> study = studies.Study(
    ...     name="small",
    ...     environment=Spec(kind="Synthetic", settings={"reward": "linear"}),
    ...     learners=(
    ...         studies.LearnerSpec(name="ITL", policy=oful, prior=Spec(kind="Fixed")),
    ...         studies.LearnerSpec(name="RR", policy=oful, prior=Spec(kind="Pooled")),
    ...     ),
    ...     horizon=20,
    ...     tasks=5,
    ...     replications=10,
    ... )
    >>> _ = studies.run(study, Path("out/small"), workers=1)
    >>> written = plotting.write_study_report(Path("out/small"), Path("out/report"))
    >>> [path.name for path in written.documents]
    ['report.md', 'report.html', 'report.pdf']
    """
    place = StudyFolder(folder)
    if not place.results.is_file():
        raise ValueError(
            f"{folder} must be the folder of a finished study: it has no {place.results.name}"
        )
    results = place.load()
    study = from_toml(str(results.attrs["study"]), str(results.attrs.get("folder", "")))
    played = StudyResults(study, results, against)
    if against is not None:
        checks.one_of("against", against, played.learners)
    regularizations = choose_values(played.study, values)
    manifest = json.loads(place.manifest.read_text(encoding="utf-8"))
    blocks = list(study_blocks(played, regularizations, out / "figures"))
    blocks += _manifest(manifest)
    documents = [out / f"report{suffix}" for suffix in (".md", ".html", ".pdf")]
    write_document(blocks, *documents, figures="figures")
    write_tables(blocks, out / "tables")
    tables = {
        block.name: block for block in blocks if isinstance(block, Table) and block.name is not None
    }
    return WrittenReport(documents, tables)


def study_blocks(played: StudyResults, values: Sequence[float], figures: Path) -> Iterator[Block]:
    """The report, block by block; its figures are written to a folder."""
    study = played.study
    yield Heading(study.name, 1)
    if study.about:
        yield Paragraph(study.about)
    yield Paragraph(setting_text(study))
    if played.replications < study.replications:
        yield Paragraph(cohort_text(played))
    yield Heading(f"Totals{played.after}")
    yield totals_table(played, values)
    if played.reference is not None:
        yield Heading(f"Differences from {played.reference}{played.after}")
        yield from _differences(played, values)
    yield Heading("Figures")
    yield from study_figures(played, values, figures)
    yield Heading("How to read this")
    yield Items(_NOTES)


def _differences(played: StudyResults, values: Sequence[float]) -> Iterator[Block]:
    for value in (None, *values):
        name = "paired-best" if value is None else f"paired-{value:g}"
        table = paired_table(played, value, name)
        if table is not None:
            at = chosen_text(played, value, played.after).removeprefix(", ")
            yield Paragraph(f"With {at}:" if at else "Each learner against the reference:")
            yield table


def totals_table(played: StudyResults, values: Sequence[float], name: str = "totals") -> Table:
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
                mean = interval(there.to_numpy())
                row.append(measured_text(mean))
                records.append(_record(str(learner), value, variable, mean))
        mean = interval(best.sel(learner=learner).to_numpy())
        at_value = float(best["regularization"].sel(learner=learner))
        row += [regularization_text(at_value), measured_text(mean)]
        records.append(_record(str(learner), at_value, "regret", mean) | {"best": True})
        rows.append(row)
    return Table(header, rows, name=name, records=records)


def paired_table(played: StudyResults, value: float | None, name: str) -> Table | None:
    """Every learner minus the reference, at one λ or each at its best; None without a reference."""
    if played.reference is None:
        return None
    comparisons = compare(played.compared(value), played.reference)
    rows: list[list[str | Cell]] = [
        [
            f"{one.learner} − {one.reference}",
            interval_text(one.difference),
            p_value_text(one.p_value),
            p_value_text(one.corrected),
            _conclusion(one),
            str(one.difference.replications),
        ]
        for one in comparisons
    ]
    header = ["difference of regrets", "mean, 95 % interval", "p", "p, corrected", "so", "n"]
    return Table(
        header, rows, frozenset({0, 4}), name=name, records=comparison_records(comparisons)
    )


def comparison_records(comparisons: Sequence[Comparison]) -> list[Mapping[str, object]]:
    """Comparisons unrounded, for CSV and JSON."""
    return [
        {
            "learner": one.learner,
            "reference": one.reference,
            **_ends(one.difference),
            "p": one.p_value,
            "p_corrected": one.corrected,
        }
        for one in comparisons
    ]


def _conclusion(one: Comparison) -> Cell:
    if not one.certain:
        return Cell("undecided")
    if one.difference.mean < 0:
        return Cell(f"{one.learner} has less regret", "positive")
    return Cell(f"{one.learner} has more regret", "negative")


def _record(learner: str, value: float, variable: str, mean: Interval) -> dict[str, object]:
    regularization = None if np.isnan(value) else value
    return {
        "learner": learner,
        "regularization": regularization,
        "variable": variable,
        **_ends(mean),
        "best": False,
    }


def _ends(mean: Interval) -> dict[str, object]:
    alone = mean.replications < 2
    return {
        "mean": mean.mean,
        "standard_error": None if alone else mean.error,
        "low": None if alone else mean.low,
        "high": None if alone else mean.high,
        "n": mean.replications,
    }


def setting_text(study: Study) -> str:
    """What was played, in a sentence."""
    players = ", ".join(learner.name for learner in study.learners)
    sizes = sizes_text(study.training_tasks)
    protocol = (
        f"{study.tasks} tasks in a row"
        if study.protocol == "sequence"
        else f"{study.test_tasks} test tasks, each from the memory of {sizes} training tasks,"
    )
    grid = [regularization_text(value) for value in study.regularization]
    span = grid[0] if len(grid) == 1 else f"from {grid[0]} to {grid[-1]} ({len(grid)} values)"
    return (
        f"{study.environment.kind}; {players}; {protocol} of {study.horizon} rounds; "
        f"{study.replications} replications, seed {study.seed}; λ {span}."
    )


def cohort_text(played: StudyResults) -> str:
    """Why there are fewer values than replications."""
    return (
        f"The {played.study.replications} replications are {played.replications} cohorts: those of "
        "one cohort play mostly the same users, so they are averaged, and intervals are over "
        "cohorts (n)."
    )


def _manifest(manifest: Mapping[str, object]) -> Iterator[Block]:
    """What made the results, as a table."""
    yield Heading("Manifest")
    rows = [
        [name, _plain(value)] for name, value in manifest.items() if name not in {"study", "files"}
    ]
    yield Table(["", ""], rows, frozenset({0, 1}))


def _plain(value: object) -> str:
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain(part)}" for name, part in value.items())
    return "none" if value in (None, "") else str(value)
