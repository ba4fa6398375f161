"""`headstart trial`: say whether a warm start would pay on a log."""

from pathlib import Path
from typing import Annotated

import typer

from headstart.cli.output import AsJson, Quiet, WrongInput


def trial(
    log: Annotated[list[str], typer.Argument(help="Parquet or CSV files, folders or patterns.")],
    *,
    task: Annotated[str, typer.Option(help="The column that names the task.")] = "task",
    reward: Annotated[str, typer.Option(help="The column of rewards.")] = "reward",
    item: Annotated[str | None, typer.Option(help="The column that names what was chosen.")] = None,
    propensity: Annotated[
        str | None, typer.Option(help="The column of the choices' probabilities.")
    ] = None,
    time: Annotated[
        str | None, typer.Option(help="The column of times: seconds, or text in ISO 8601.")
    ] = None,
    context: Annotated[
        list[str] | None,
        typer.Option(help="An attribute of the situation and not of what is chosen. Repeatable."),
    ] = None,
    features: Annotated[
        Path | None, typer.Option(help="A schema in JSON; inferred from the log by default.")
    ] = None,
    leave_out: Annotated[
        list[str] | None,
        typer.Option(help="A column that is known after the reward only. Repeatable."),
    ] = None,
    seed: Annotated[int, typer.Option(min=0, help="Which tasks are drawn, and meet.")] = 0,
    out: Annotated[Path | None, typer.Option(help="An HTML file for the page.")] = None,
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Say whether a warm start would pay, from a log of past decisions."""
    import headstart
    from headstart.cli.features import read_schema
    from headstart.cli.output import check_parents, print_json

    try:
        if out is not None:
            if out.suffix != ".html" or out.is_dir():
                raise ValueError(f"--out must be a file that ends in .html, got {out}")
            check_parents(out)
        found = headstart.trial(
            log[0] if len(log) == 1 else log,
            task=task,
            reward=reward,
            item=item,
            propensity=propensity,
            time=time,
            context=context or (),
            features=None if features is None else read_schema(features),
            leave_out=leave_out or (),
            seed=seed,
        )
        if out is not None:
            found.save(out)
    except (ValueError, OSError, ImportError) as error:
        raise WrongInput(str(error)) from error
    if as_json:
        print_json(found.record())
    elif not quiet:
        typer.echo(str(found))
        if out is not None:
            typer.echo(f"\nPage: {out}")
