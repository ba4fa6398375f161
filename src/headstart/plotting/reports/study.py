"""The report of any study: Markdown, HTML and PDF, with figures, tables and the manifest."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from headstart import checks
from headstart.plotting.document import Block, Heading, Items, Paragraph, Table
from headstart.plotting.files import write_document, write_tables
from headstart.plotting.reports.figures import chosen_text, study_figures
from headstart.plotting.reports.numbers import regularization_text
from headstart.plotting.reports.played import Played, choose_values
from headstart.plotting.reports.tables import paired_table, totals_table
from headstart.studies.folder import StudyFolder
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
    played = Played(study, results, against)
    if against is not None:
        checks.one_of("against", against, played.learners)
    shown = choose_values(played.study, values)
    manifest = json.loads(place.manifest.read_text(encoding="utf-8"))
    blocks = list(study_blocks(played, shown, out / "figures"))
    blocks += _manifest(manifest)
    documents = [out / f"report{suffix}" for suffix in (".md", ".html", ".pdf")]
    write_document(blocks, *documents, figures="figures")
    write_tables(blocks, out / "tables")
    tables = {
        block.name: block for block in blocks if isinstance(block, Table) and block.name is not None
    }
    return WrittenReport(documents, tables)


def study_blocks(played: Played, values: Sequence[float], figures: Path) -> Iterator[Block]:
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


def _differences(played: Played, values: Sequence[float]) -> Iterator[Block]:
    for value in (None, *values):
        name = "paired-best" if value is None else f"paired-{value:g}"
        table = paired_table(played, value, name)
        if table is not None:
            at = chosen_text(played, value)
            yield Paragraph(f"{at[0].upper()}{at[1:]}:")
            yield table


def setting_text(study: Study) -> str:
    """What was played, in a sentence."""
    players = ", ".join(learner.name for learner in study.learners)
    sizes = ", ".join(map(str, study.training_tasks))
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


def cohort_text(played: Played) -> str:
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
        return ", ".join(f"{name} {_plain(each)}" for name, each in value.items())
    return "none" if value in (None, "") else str(value)
