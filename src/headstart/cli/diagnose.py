"""`headstart diagnose`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def diagnose(
    results: Annotated[
        Path | None,
        typer.Argument(
            help="A recording, NetCDF. Without it the paper's synthetic tasks are played."
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder for the page and its figures.")] = Path(
        "out/diagnosis"
    ),
    replications: Annotated[
        int, typer.Option(min=2, help="Without RESULTS: independent repetitions.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Without RESULTS: everything random.")] = 0,
) -> None:
    """Say whether a warm start pays, which estimator suits, and why: a page with figures."""
    from headstart.experiments import diagnosis_page, recording
    from headstart.experiments.diagnosis import Diagnosis

    if results is None:
        recorded = recording.record_synthetic(replications=replications, seed=seed)
        recording.save(recorded, output / "recording.nc")
    else:
        try:
            recorded = recording.load(results)
        except ValueError as error:
            raise typer.BadParameter(str(error)) from error
    diagnosis = Diagnosis(recorded)
    page = diagnosis_page.write(diagnosis, output)
    console = Console()
    console.print(diagnosis_page.verdict(diagnosis).replace("**", ""))
    console.print(diagnosis_page.choice(diagnosis).replace("**", ""))
    for reason in diagnosis_page.reasons(diagnosis):
        console.print(f"- {reason}")
    console.print(f"Page: {page}")
