"""`headstart run`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.table import Table

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
) -> None:
    """Run a study, or resume one: writes labelled arrays and prints a table."""
    from headstart.cli.progress import progress_bar
    from headstart.intervals import interval
    from headstart.studies import runner
    from headstart.studies.results import totals
    from headstart.studies.toml import from_file

    console = Console()
    try:
        wanted = from_file(study)
        folder = out or Path("out") / wanted.name
        with progress_bar(console) as progress:
            results = runner.run(
                wanted, folder, workers=workers, scheduler=scheduler, progress=progress
            )
    except (ValueError, OSError, ImportError) as error:
        raise typer.BadParameter(str(error)) from error
    except KeyboardInterrupt:
        console.print("Stopped. Finished shards are on disk; the same command resumes from them.")
        raise typer.Exit(130) from None
    table = Table(title=f"{wanted.name}: regret, {wanted.replications} replications")
    table.add_column("learner")
    regrets = totals(results)
    for value in wanted.regularization:
        table.add_column(f"λ = {value:.3g}", justify="right")
    for learner in wanted.learners:
        cells = []
        for value in wanted.regularization:
            values = regrets.sel(learner=learner.name, regularization=value).to_numpy()
            cells.append(interval(values).with_error(".3g", ".2g"))
        table.add_row(learner.name, *cells)
    console.print(table)
    console.print(f"Results: {folder / 'results.nc'}", soft_wrap=True)
