"""The report of any study: Markdown and HTML, with figures, tables and the manifest."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
import xarray as xr

from headstart import checks
from headstart.frames import frame
from headstart.intervals import Interval, interval
from headstart.plotting.document import (
    SUFFIXES,
    Block,
    Heading,
    Items,
    Paragraph,
    Strong,
    Table,
    body,
    markdown,
    write_document,
    write_tables,
)
from headstart.plotting.numbers import (
    interval_texts,
    measured_texts,
    p_value_text,
    regularization_text,
    sizes_text,
)
from headstart.plotting.study_figures import chosen_text, study_figures
from headstart.studies.comparisons import Comparison, compare
from headstart.studies.folder import StudyFolder
from headstart.studies.results import totals
from headstart.studies.study import Study
from headstart.studies.summary import Summary
from headstart.studies.toml import of_results

_NOTES = [
    "Regret is pseudo-regret: the best arm's mean reward minus the played arm's, summed. A "
    "difference is the first learner's regret minus the second's: below 0, the first has less.",
    "All learners play the same tasks, arms and noise, so differences are taken within a "
    "replication. Intervals are Student's t, 95 %, over replications; ± is one standard error.",
    "Corrected p-values are Holm's, for all differences of one table together. Whether regret is "
    "less or more is decided at the 5 % level, after the correction.",
    "A learner's best λ has the least mean regret in every fourth replication; the others measure "
    "it, so that the choice among many λ favours no learner. With training tasks, it is the best "
    "λ at the number N named above, also when regret is shown against N.",
]


@dataclass(frozen=True)
class WrittenReport:
    """The documents of a report, and its tables by name."""

    documents: Sequence[Path]
    tables: Mapping[str, Table]

    def to_frame(self, table: str = "totals") -> pd.DataFrame:
        """The unrounded numbers of one of the tables."""
        return frame(self.tables[checks.one_of("table", table, self.tables)].records)

    def _repr_html_(self) -> str:
        named: list[Block] = []
        for table in self.tables.values():
            named += [Paragraph(table.caption), table]
        return body(markdown(named, "."))


def write_study_report(
    folder: str | Path,
    out: str | Path,
    *,
    values: Sequence[float] = (),
    reference: str | None = None,
    trained: int | None = None,
    all_pairs: bool = False,
) -> WrittenReport:
    """Write the report of a finished study's folder to `out`.

    Parameters
    ----------
    folder : str or Path
        The folder of a finished study.
    out : str or Path
        The folder of the report.
    values : sequence of float, optional
        Values of λ to show next to each learner's best.
    reference : str, optional
        The learner that differences are taken from.
    trained : int, optional
        The number of training tasks; the last of the study by default.
    all_pairs : bool, default False
        Whether every pair of learners is compared.

    Returns
    -------
    WrittenReport
        The files that were written.

    Raises
    ------
    ValueError
        If the study is not finished, or has no such learner or number of tasks.

    Examples
    --------
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
    ['report.md', 'report.html']
    """
    place, out = StudyFolder(Path(folder)), Path(out)
    if not place.results.is_file():
        raise ValueError(
            f"{folder} is not the folder of a finished study: it has no {place.results.name}"
        )
    results = place.load()
    study = of_results(results)
    played = Summary(study, results, reference, trained)
    regularizations = _of_grid(study, values)
    manifest = json.loads(place.manifest.read_text(encoding="utf-8"))
    blocks = list(study_blocks(played, regularizations, out / "figures", all_pairs=all_pairs))
    blocks += _manifest(manifest)
    documents = [out / f"report{suffix}" for suffix in SUFFIXES]
    write_document(blocks, *documents, figures="figures")
    write_tables(blocks, out / "tables", of=study.name)
    tables = {
        block.name: block for block in blocks if isinstance(block, Table) and block.name is not None
    }
    return WrittenReport(documents, tables)


def study_blocks(
    played: Summary, values: Sequence[float], figures: Path, *, all_pairs: bool = False
) -> Iterator[Block]:
    """The report, block by block; writes its figures to a folder."""
    study = played.study
    yield Heading(study.name, 1)
    if study.about:
        yield Paragraph(study.about)
    yield Paragraph(setting_text(study))
    if played.replications < study.replications:
        yield Paragraph(cohort_text(played))
    yield Heading(f"Totals{played.after}")
    yield totals_table(played, values)
    if played.results.sizes["trained"] > 1:
        yield Heading("Regret of a test task after N tasks")
        yield training_table(played, None, "trained-best")
    if played.reference is not None:
        against = "between all learners" if all_pairs else f"from {played.reference}"
        yield Heading(f"Differences {against}{played.after}")
        yield from _differences(played, values, all_pairs=all_pairs)
    yield Heading("Figures")
    yield from study_figures(played, values, figures)
    yield Heading("How to read this")
    yield Items(_NOTES)


def _differences(played: Summary, values: Sequence[float], *, all_pairs: bool) -> Iterator[Block]:
    for value in (None, *values):
        name = "paired-best" if value is None else f"paired-{value:g}"
        table = paired_table(played, value, name, all_pairs=all_pairs)
        if table is not None:
            yield Paragraph(table.caption)
            yield table


def totals_table(played: Summary, values: Sequence[float], name: str = "totals") -> Table:
    """Reward and regret of every learner, at given λ and at its best; least regret is bold."""
    reward, regret = (totals(played.results, kind, played.trained) for kind in ("reward", "regret"))
    learners = played.with_opt
    header: list[str] = ["learner"]
    columns: list[Sequence[str]] = [learners]
    records: list[dict[str, object]] = []
    for value in values:
        at = f"λ = {regularization_text(value)}"
        for kind, of in (("reward", reward), ("regret", regret)):
            column = _means(of.sel(regularization=value, method="nearest"), learners)
            header.append(f"{kind}, {at}")
            columns.append(_measured(column, played.learners, least=kind == "regret"))
            records += [_record(name, value, kind, mean) for name, mean in column.items()]
    at_value = {name: played.regularization(name) for name in learners}
    column = {name: played.regret(name) for name in learners}
    if len(played.study.regularization) > 1:
        header.append("best λ")
        columns.append([regularization_text(at_value[learner]) for learner in learners])
    header.append("regret there" if len(played.study.regularization) > 1 else "regret")
    columns.append(_measured(column, played.learners))
    records += [
        _record(name, at_value[name], "regret", mean) | {"best": True}
        for name, mean in column.items()
    ]
    at = "" if values else chosen_text(played, None)
    caption = f"{played.study.name}: regret{played.after}{at}. {_ERRORS}"
    rows = list(zip(*columns, strict=True))
    return Table(header, rows, name=name, records=records, caption=caption)


def training_table(played: Summary, value: float | None, name: str) -> Table:
    """Regret of a test task, learner × N; the text shows at most six N."""
    regrets = played.by_training(value)
    sizes = [int(n) for n in regrets["trained"].to_numpy()]
    shown = {
        sizes[i]
        for i in np.linspace(0, len(sizes) - 1, min(len(sizes), _SIZES)).round().astype(int)
    }
    columns: list[Sequence[str]] = [played.learners]
    records: list[dict[str, object]] = []
    for n in sizes:
        column = _means(regrets.sel(trained=n), played.learners)
        records += [
            {"learner": learner, "trained": n, **mean.record()} for learner, mean in column.items()
        ]
        if n in shown:
            columns.append(_measured(column, played.learners))
    at = chosen_text(played, value, played.after)
    return Table(
        ["learner", *(f"N = {n}" for n in sizes if n in shown)],
        list(zip(*columns, strict=True)),
        name=name,
        records=records,
        caption=f"{played.study.name}: regret of a test task after N training tasks{at}. {_ERRORS}",
    )


def paired_table(
    played: Summary, value: float | None, name: str, *, all_pairs: bool = False
) -> Table | None:
    """Every learner minus the reference, at one λ or each at its best; None without a reference.

    With `all_pairs`, every learner minus every later one, as one family.
    """
    if played.reference is None:
        return None
    against = None if all_pairs else played.reference
    comparisons = compare(played.compared(value), against, all_pairs=all_pairs)
    differences = interval_texts([one.difference for one in comparisons])
    rows: list[list[str]] = [
        [
            f"{one.learner} − {one.reference}",
            difference,
            p_value_text(one.p_value),
            p_value_text(one.corrected),
            _conclusion(one),
        ]
        for one, difference in zip(comparisons, differences, strict=True)
    ]
    n, at = comparisons[0].difference.replications, chosen_text(played, value)
    family = f"{len(rows)} comparison{'' if len(rows) == 1 else 's'}"
    return Table(
        ["difference of regrets", "mean, 95 % interval", "p", "p, corrected", "regret is"],
        rows,
        frozenset({0, 4}),
        name=name,
        records=[one.record() for one in comparisons],
        caption=f"{played.study.name}: paired differences of regret{played.after}{at}, over {n} "
        f"{played.counted}; p of the paired t test, and with Holm's correction for {family}.",
    )


# How many numbers of training tasks a table shows side by side.
_SIZES = 6

_ERRORS = "± is one standard error; the least regret is bold."


def _means(values: xr.DataArray, learners: Sequence[str]) -> dict[str, Interval]:
    return {name: interval(values.sel(learner=name).to_numpy()) for name in learners}


def _measured(
    column: Mapping[str, Interval], learning: Sequence[str], *, least: bool = True
) -> list[str]:
    """A column of means; with `least`, the smallest one of a learner is bold."""
    texts = measured_texts(list(column.values()))
    lowest = min((column[name].mean for name in learning), default=None) if least else None
    return [
        Strong(text) if name in learning and mean.mean == lowest else text
        for text, (name, mean) in zip(texts, column.items(), strict=True)
    ]


def _conclusion(one: Comparison) -> str:
    if not one.certain:
        return "undecided"
    return "less" if one.difference.mean < 0 else "more"


def _record(learner: str, value: float | None, variable: str, mean: Interval) -> dict[str, object]:
    return {
        "learner": learner,
        "regularization": value,
        "variable": variable,
        **mean.record(),
        "best": False,
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


def cohort_text(played: Summary) -> str:
    """Why there are fewer values than replications."""
    return (
        f"The {played.study.replications} replications form {played.replications} cohorts. Those "
        "of one cohort play mostly the same users, so they are averaged, and intervals are over "
        "cohorts (n)."
    )


def _of_grid(study: Study, given: Sequence[float]) -> list[float]:
    """Values of λ in a study's grid; raises for others."""
    for value in given:
        if not any(abs(value - known) <= 1e-6 * known for known in study.regularization):
            grid = ", ".join(f"{known:.3g}" for known in study.regularization)
            raise ValueError(f"λ must be one of the study's, {grid}, got {value:g}")
    return [min(study.regularization, key=lambda known: abs(known - value)) for value in given]


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
