"""`headstart fit`."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


def fit(
    logs: Annotated[Path, typer.Argument(help="A Parquet file, or a folder of them.")],
    out: Annotated[Path, typer.Option(help="Where the bandit goes.")] = Path("bandit.npz"),
    task: Annotated[str, typer.Option(help="The column that names the task.")] = "task",
    features: Annotated[
        str, typer.Option(help="A column of lists, or several columns: x1,x2,x3.")
    ] = "features",
    reward: Annotated[str, typer.Option(help="The column of rewards.")] = "reward",
    weight: Annotated[str | None, typer.Option(help="The column of weights.")] = None,
    together: Annotated[
        bool, typer.Option(help="The rows of each task lie together: constant memory.")
    ] = False,
) -> None:
    """Learn a warm start from logged rewards, and save the bandit that has it."""
    from headstart import MetaBandit
    from headstart.logs.reader import width

    console = Console()
    columns = features.split(",") if "," in features else features
    try:
        dimension = width(logs, columns)
        bandit = MetaBandit(dimension=dimension)
        with Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.completed:,} rows"),
            TimeRemainingColumn(),
            console=console,
        ) as bar:
            line = bar.add_task("reading")
            bandit.fit(
                logs,
                task=task,
                features=columns,
                reward=reward,
                weight=weight,
                together=together,
                progress=lambda done, total: bar.update(line, completed=done, total=total),
            )
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    bandit.save(out)
    prior = bandit.prior
    console.print(f"{bandit.finished:,} tasks with {dimension} features. Saved: {out}")
    console.print(f"A new task starts with noise scale {float(prior.noise_scale):.3g}.")
