"""`headstart reproduce`."""

import os
import time
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from headstart.cli.output import AsJson, Quiet, WrongInput, check_parents, print_json
from headstart.cli.run import Scheduler, Workers

if TYPE_CHECKING:
    from headstart.paper.report import Verdicts


class Experiment(StrEnum):
    """A section of the report, or all of them."""

    SYNTHETIC = "synthetic"
    LASTFM = "lastfm"
    MOVIELENS = "movielens"
    ALL = "all"


def reproduce(
    *,
    experiment: Annotated[Experiment, typer.Argument(help="Which of the paper's experiments.")],
    out: Annotated[Path, typer.Option(help="Folder of the report.")] = Path("out/report"),
    data: Annotated[
        Path | None, typer.Option(help="Folder with the data.", show_default="$HEADSTART_DATA")
    ] = None,
    replications: Annotated[
        int | None,
        typer.Option(min=2, help="Replications of every study.", show_default="the study's own"),
    ] = None,
    seed: Annotated[
        int | None,
        typer.Option(min=0, help="Seed of all random numbers.", show_default="the report's own"),
    ] = None,
    workers: Workers = None,
    scheduler: Scheduler = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Repeat the paper's experiments, with a verdict per claim."""
    from headstart.cli.output import progress_bar
    from headstart.paper.readings import SECTIONS
    from headstart.paper.report import reproduce as run_and_report
    from headstart.paper.tables import verdict_records

    if data is not None:
        os.environ["HEADSTART_DATA"] = str(data.absolute())
    check_parents(out / "report.md")
    console = Console(stderr=True, quiet=quiet)
    started = time.perf_counter()
    names = list(SECTIONS) if experiment is Experiment.ALL else [experiment.value]
    sections = [
        SECTIONS[name]().with_settings(replications=replications, seed=seed) for name in names
    ]
    try:
        with progress_bar(console) as progress:
            verdicts = run_and_report(
                sections, out, workers=workers, scheduler=scheduler, progress=progress
            )
    except (ValueError, OSError, ImportError) as error:
        raise WrongInput(str(error)) from error
    except KeyboardInterrupt:
        console.print("Stopped. Finished shards are on disk; the same command resumes from them.")
        raise typer.Exit(130) from None
    page = out / "report.html"
    if as_json:
        print_json({"verdicts": verdict_records(verdicts), "report": str(page)})
    elif not quiet:
        Console().print(_table(verdicts))
        seconds = time.perf_counter() - started
        typer.echo(f"{page} and report.md, in {seconds:.0f} s.")


def _table(verdicts: "Verdicts") -> Table:
    from headstart.paper.tables import difference_text, verdict_text

    table = Table(title="Section 6, claim by claim (negative: the first has less regret)")
    for header in ("", "claim", "difference of regrets", "verdict"):
        table.add_column(header)
    for section, of_section in verdicts:
        for verdict in of_section:
            difference = f"{verdict.claim.rule.difference}: {difference_text(verdict.main)}"
            text = verdict_text(section, verdict)
            table.add_row(section.name, verdict.claim.text, difference, text)
    return table
