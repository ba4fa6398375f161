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
    seed: Annotated[int, typer.Option(min=0, help="Without RESULTS: the seed.")] = 0,
    regularization: Annotated[
        float | None,
        typer.Option(help="The λ of a study's grid.", show_default="that of least regret"),
    ] = None,
) -> None:
    """Write a page: whether a warm start reduces regret, which estimator is best, and why."""
    from headstart.diagnosis import Diagnosis, answers, page, recording, sentences
    from headstart.diagnosis.recorder import record_synthetic
    from headstart.diagnosis.replay import replay
    from headstart.studies.netcdf import write_dataset

    try:
        if results is None:
            recorded = record_synthetic(replications=replications, seed=seed)
        else:
            recorded = recording.read(results)
            if not recording.is_recording(recorded):
                recorded = replay(recorded, regularization=regularization)
    except (ValueError, OSError, ImportError) as error:
        raise typer.BadParameter(str(error)) from error
    write_dataset(recorded, output / "recording.nc")
    diagnosis = Diagnosis(recorded)
    written = page.write(diagnosis, output)
    console = Console()
    warm_start, choice = answers.warm_start(diagnosis), answers.choice(diagnosis)
    console.print(sentences.headline(warm_start), sentences.detail(warm_start))
    if choice is not None:
        console.print(sentences.headline(choice), sentences.detail(choice))
    for reason in answers.reasons(diagnosis):
        console.print(f"- {sentences.reason(reason)}")
    console.print(f"Page: {written}")
