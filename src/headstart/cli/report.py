"""`headstart report`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from headstart.cli.output import AsJson, Quiet, Trained, WrongInput, check_parents, print_json


def report(
    *,
    folder: Annotated[Path, typer.Argument(help="The folder of a finished study.")],
    out: Annotated[
        Path | None, typer.Option(help="Folder of the report.", show_default="FOLDER/report")
    ] = None,
    at: Annotated[
        list[float] | None,
        typer.Option(
            help="A λ of the study's grid to show next to each learner's best. Repeatable.",
            show_default="none",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option(
            help="The learner to compare others with.",
            show_default="the first that starts from zero",
        ),
    ] = None,
    trained: Trained = None,
    all_pairs: Annotated[
        bool, typer.Option("--all-pairs", help="Compare every learner with every other.")
    ] = False,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Write the report of a study as Markdown and HTML."""
    from headstart.plotting.study_report import write_study_report

    place = folder / "report" if out is None else out
    check_parents(place / "report.md")
    notes = Console(stderr=True, quiet=quiet or as_json)
    try:
        with notes.status("writing the report"):
            written = write_study_report(
                folder,
                place,
                values=at or (),
                reference=reference,
                trained=trained,
                all_pairs=all_pairs,
            )
    except (ValueError, OSError, ImportError) as error:
        raise WrongInput(str(error)) from error
    if as_json:
        tables = {name: list(table.records) for name, table in written.tables.items()}
        print_json({"documents": [str(path) for path in written.documents], "tables": tables})
    elif not quiet:
        for path in written.documents:
            typer.echo(f"Report: {path}")
        typer.echo(f"Tables (LaTeX and CSV): {place / 'tables'}")
        typer.echo(f"Figures (PNG, SVG and PDF): {place / 'figures'}")
