"""`headstart diagnose`."""

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console

from headstart.cli.output import AsJson, Quiet, WrongInput

if TYPE_CHECKING:
    from headstart.diagnosis import Diagnosis


def diagnose(
    results: Annotated[
        Path | None,
        typer.Argument(
            help="A study's folder or results.nc, or a recording. Without it, plays the paper's "
            "synthetic tasks."
        ),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(
            "--out",
            help="Folder of the page and its figures.",
            show_default="FOLDER/diagnosis, without RESULTS out/diagnosis",
        ),
    ] = None,
    replications: Annotated[
        int, typer.Option(min=2, help="Without RESULTS: independent repetitions.")
    ] = 50,
    seed: Annotated[int, typer.Option(min=0, help="Without RESULTS: the seed.")] = 0,
    regularization: Annotated[
        float | None,
        typer.Option(
            help="A λ of the study's grid, the same for all learners.",
            show_default="each learner's best λ, as in `headstart run`",
        ),
    ] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Report whether a warm start reduces regret, and why."""
    from headstart.cli.output import progress_bar
    from headstart.diagnosis import Diagnosis, answers, page
    from headstart.diagnosis.recorder import record_synthetic
    from headstart.diagnosis.replay import recording_of
    from headstart.studies.folder import check_folder, write_dataset

    notes = Console(stderr=True, quiet=quiet, markup=False)
    try:
        output = out or _folder(results)
        check_folder(output)
        with progress_bar(notes, "tasks") as progress:
            if results is None:
                recorded = record_synthetic(replications=replications, seed=seed, progress=progress)
            else:
                recorded = recording_of(results, regularization=regularization, progress=progress)
        write_dataset(recorded, output / "recording.nc")
        diagnosis = Diagnosis(recorded)
        written = page.write(diagnosis, output)
    except (ValueError, OSError, ImportError) as error:
        raise WrongInput(str(error)) from error
    except KeyboardInterrupt:
        notes.print("Stopped. Nothing was written.")
        raise typer.Exit(130) from None
    if as_json:
        typer.echo(json.dumps({"page": str(written), **answers.plain(diagnosis)}, indent=2))
    elif not quiet:
        _print(diagnosis, written)


def _print(diagnosis: "Diagnosis", written: Path) -> None:
    from headstart.diagnosis import answers

    console = Console(markup=False)
    for answer in answers.answers(diagnosis):
        console.print(answer.headline, answer.detail)
    for reason in answers.reasons(diagnosis):
        console.print(f"- {reason.sentence}")
    console.print(f"Page: {written}", soft_wrap=True)


def _folder(results: Path | None) -> Path:
    """Next to the results, like other commands' output."""
    if results is None:
        return Path("out") / "diagnosis"
    return (results if results.is_dir() else results.parent) / "diagnosis"
