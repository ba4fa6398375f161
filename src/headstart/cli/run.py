"""`headstart run`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich import box
from rich.console import Console
from rich.table import Table

from headstart.cli.output import AsJson, Quiet, Trained, WrongInput, progress_bar

if TYPE_CHECKING:
    from xarray import Dataset

    from headstart.studies.study import Study
    from headstart.studies.summary import Summary

Workers = Annotated[
    int | None, typer.Option(min=1, help="Processes to use.", show_default="one per core")
]
Scheduler = Annotated[
    str | None, typer.Option(help="Address of a Dask scheduler to use instead of processes.")
]


def run(
    study: Annotated[Path, typer.Argument(help="A study in TOML.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the results.", show_default="out/NAME")
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    reference: Annotated[
        str | None,
        typer.Option(
            help="The learner to compare others with.",
            show_default="the one that starts from zero",
        ),
    ] = None,
    trained: Trained = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run, resume or extend a study from a TOML file."""
    from headstart.studies.summary import Summary
    from headstart.studies.toml import every_from_file

    notes = Console(stderr=True, quiet=quiet, markup=False)
    try:
        studies = every_from_file(study)
        places = [(out or Path("out")) / one.name for one in studies]
        if len(studies) == 1 and out is not None:
            places = [out]
        for wanted in studies:
            _check_shown(wanted, reference, trained)
        played = [
            _run(wanted, folder, workers, scheduler, trained, notes)
            for wanted, folder in zip(studies, places, strict=True)
        ]
    except (ValueError, OSError, ImportError) as error:
        raise WrongInput(str(error)) from error
    except KeyboardInterrupt:
        notes.print("Stopped. Finished shards are on disk; the same command resumes from them.")
        raise typer.Exit(130) from None
    shown = []
    for wanted, folder, results in zip(studies, places, played, strict=True):
        summary = Summary(wanted, results, reference, trained)
        files = {"results": str(folder / "results.nc"), "figure": str(folder / "regret.png")}
        shown.append({"study": wanted.name, **files, **summary.plain()})
        if not as_json and not quiet:
            console = Console(markup=False)
            console.print(_table(wanted, summary))
            if wanted is studies[-1]:
                console.print(_legend(wanted, summary), highlight=False)
            for name, path in files.items():
                console.print(f"{name.capitalize()}: {path}", soft_wrap=True)
    if as_json:
        typer.echo(json.dumps(shown[0] if len(shown) == 1 else shown, indent=2))


def _run(
    study: "Study",
    folder: Path,
    workers: int | None,
    scheduler: str | None,
    trained: int | None,
    notes: Console,
) -> "Dataset":
    """Run a study and draw its figure."""
    from headstart.plotting.study_figures import plot_overview
    from headstart.studies import runner

    with progress_bar(notes) as progress:
        results = runner.run(
            study,
            folder,
            workers=workers,
            scheduler=scheduler,
            progress=progress,
            notify=lambda sentence: notes.print(sentence, soft_wrap=True),
        )
    plot_overview(results, folder / "regret.png", trained=trained)
    return results


def _check_shown(study: "Study", reference: str | None, trained: int | None) -> None:
    """Refuse an unknown learner or number before anything is played."""
    from headstart import checks
    from headstart.studies.comparisons import playing

    if reference is not None:
        checks.one_of("reference", reference, playing(study))
    study.check_trained(trained)


def _table(study: "Study", summary: "Summary") -> Table:
    """Every learner at its best λ, and its difference from the reference."""
    from headstart.plotting.numbers import (
        interval_texts,
        measured_texts,
        p_value_text,
        regularization_text,
    )

    if summary.trained is None:
        what = f"regret over {study.tasks} tasks of {study.horizon} rounds"
    else:
        what = (
            f"regret per test task of {study.horizon} rounds, after N = {summary.trained} "
            "training tasks"
        )
    # Words wrap but numbers do not, so that nothing is cut off on a narrow terminal.
    table = Table(title=f"{study.name}: {what}", box=box.SIMPLE_HEAD, pad_edge=False)
    table.add_column("learner", overflow="fold", min_width=8)
    if len(study.regularization) > 1:
        table.add_column("best λ", justify="right", no_wrap=True)
    table.add_column("regret", justify="right", no_wrap=True)
    if summary.comparisons:
        table.add_column(f"minus {summary.reference}'s", justify="right", no_wrap=False)
        table.add_column("p", justify="right", no_wrap=True)
    compared = {one.learner: one for one in summary.comparisons}
    differences = interval_texts([one.difference for one in summary.comparisons])
    texts = dict(zip(compared, differences, strict=True))
    names = summary.with_opt
    regrets = measured_texts([summary.regret(name) for name in names])
    for name, regret in zip(names, regrets, strict=True):
        cells = [name]
        if len(study.regularization) > 1:
            cells.append(regularization_text(summary.regularization(name)))
        cells.append(regret)
        comparison = compared.get(name)
        if comparison is not None:
            cells += [texts[name], p_value_text(comparison.corrected)]
        table.add_row(*cells)
    return table


def _legend(study: "Study", summary: "Summary") -> str:
    """What the numbers are."""
    from headstart.plotting.numbers import sizes_text

    n = summary.regret(summary.learners[0]).replications
    counted = "cohorts (users are shared)" if summary.counted == "cohorts" else "replications"
    said = [f"± is one standard error over {n} {counted}." if n > 1 else "One replication."]
    if len(study.regularization) > 1 and study.swept and study.replications > 1:
        said.append(
            "Every fourth replication chose each learner's best λ; the numbers are of the others."
        )
    if summary.comparisons:
        said.append(
            f"Differences from {summary.reference} are paired by replication (below 0: less "
            "regret), with 95 % intervals; p is of the paired t test, with Holm's correction."
        )
    if summary.trained is not None and len(study.training_tasks) > 1:
        others = [size for size in study.training_tasks if size != summary.trained]
        said.append(f"For N = {sizes_text(others)}: --trained.")
    return " ".join(said)
