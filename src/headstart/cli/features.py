"""`headstart features`: propose a schema from a log, and show what a schema becomes."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from headstart.cli.output import WrongInput

if TYPE_CHECKING:
    from headstart import Features

app = typer.Typer(no_args_is_help=True, help="Schemas: which attributes become which features.")

Schema = Annotated[Path, typer.Argument(help="A schema in JSON.")]


@app.command()
def infer(
    log: Annotated[Path, typer.Argument(help="A CSV or Parquet file.")],
    reward: Annotated[str, typer.Option(help="The column of rewards.")] = "reward",
    task: Annotated[str, typer.Option(help="The column that names the task.")] = "task",
    item: Annotated[
        str | None, typer.Option(help="The column that names the item; guessed if not given.")
    ] = None,
    leave_out: Annotated[
        list[str] | None, typer.Option(help="A column to leave out. Repeatable.")
    ] = None,
) -> None:
    """Propose a schema as JSON, with reasons on standard error."""
    from headstart import Features

    try:
        found = Features.infer(
            log, reward=reward, task=task, item=item, leave_out=tuple(leave_out or ())
        )
    except (ValueError, OSError, ImportError) as error:
        raise WrongInput(str(error)) from error
    typer.echo(str(found), err=True)
    typer.echo(found.to_json())


@app.command()
def show(schema: Schema) -> None:
    """Print the columns of a schema, group by group."""
    try:
        features = read_schema(schema)
    except ValueError as error:
        raise WrongInput(str(error)) from error
    typer.echo("\n".join(_shown(features)))


def read_schema(file: Path) -> "Features":
    """The schema in a JSON file."""
    from headstart import Features

    try:
        text = file.read_bytes()
    except OSError as error:
        raise ValueError(f"cannot read the schema {str(file)!r}: {error}") from error
    return Features.from_json(text)


def _shown(features: "Features") -> list[str]:
    width = max(map(len, features.group_names))
    lines = [f"{'':{width}}  {'of':8} {'columns':>7}  names"]
    for i, name in enumerate(features.group_names):
        names = [
            c for c, group in zip(features.columns, features.groups, strict=True) if group == i
        ]
        lines.append(f"{name:{width}}  {_side(features, i):8} {len(names):7,}  {_listed(names)}")
    lines.append(f"{'':{width}}  {'':8} {features.dimension:7,}  columns in all: d")
    if features.n_about:
        names = list(features.about_columns)
        lines.append(
            f"{features.n_about:,} columns of tasks, from which priors follow: {_listed(names)}"
        )
    if not features.is_settled:
        lines.append("Numbers without mean and scale get them from the first data.")
    return lines


def _side(features: "Features", group: int) -> str:
    attributes = (*features.item, *features.context)
    if group < len(attributes):
        return features.parts[attributes[group].name]
    return "cross" if group < len(features.group_names) - 1 else ""


def _listed(names: list[str]) -> str:
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "")
