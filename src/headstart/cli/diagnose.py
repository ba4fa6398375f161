"""`headstart diagnose`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console


def diagnose(
    results: Annotated[
        Path | None,
        typer.Argument(
            help="A study's folder or results.nc, or a recording. Without it the paper's "
            "synthetic tasks are played."
        ),
    ] = None,
    output: Annotated[Path, typer.Option(help="The folder for the page and its figures.")] = Path(
        "out/diagnosis"
    ),
    replications: Annotated[
        int, typer.Option(min=2, help="Without RESULTS: independent repetitions.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Without RESULTS: everything random.")] = 0,
    regularization: Annotated[
        float | None,
        typer.Option(help="The λ of a study's grid.", show_default="that of least regret"),
    ] = None,
) -> None:
    """Say whether a warm start pays, which estimator suits, and why: a page with figures."""
    from headstart.diagnosis import page as diagnosis_page
    from headstart.diagnosis import recording
    from headstart.diagnosis.diagnosis import Diagnosis
    from headstart.diagnosis.replay import replay

    try:
        if results is None:
            recorded = recording.record_synthetic(replications=replications, seed=seed)
        else:
            recorded = recording.read(results)
            if not recording.is_recording(recorded):
                recorded = replay(recorded, regularization=regularization)
    except (ValueError, OSError, ImportError) as error:
        raise typer.BadParameter(str(error)) from error
    recording.save(recorded, output / "recording.nc")
    diagnosis = Diagnosis(recorded)
    page = diagnosis_page.write(diagnosis, output)
    console = Console()
    console.print(diagnosis_page.verdict(diagnosis).replace("**", ""))
    console.print(diagnosis_page.choice(diagnosis).replace("**", ""))
    for reason in diagnosis_page.reasons(diagnosis):
        console.print(f"- {reason}")
    console.print(f"Page: {page}")
