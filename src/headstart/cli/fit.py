"""`headstart fit`: learn a prior from a log, and save the bandit that starts from it."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn


def fit(
    logs: Annotated[Path, typer.Argument(help="A Parquet file, or a folder of them.")],
    out: Annotated[Path, typer.Option(help="The file of the saved bandit.")] = Path("bandit.npz"),
    task: Annotated[str, typer.Option(help="The column that names the task.")] = "task",
    features: Annotated[
        str, typer.Option(help="A column of lists, or several columns: x1,x2,x3.")
    ] = "features",
    reward: Annotated[str, typer.Option(help="The column of rewards.")] = "reward",
    weight: Annotated[str | None, typer.Option(help="The column of weights.")] = None,
    grouped_by_task: Annotated[
        bool, typer.Option(help="The rows of each task are consecutive: constant memory.")
    ] = False,
) -> None:
    """Learn a warm start from logged rewards, and save the bandit."""
    from headstart import MetaBandit
    from headstart.logs import n_features

    console = Console()
    columns = features.split(",") if "," in features else features
    try:
        dimension = n_features(logs, columns)
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
                grouped_by_task=grouped_by_task,
                progress=lambda done, total: bar.update(line, completed=done, total=total),
            )
    except (ValueError, OSError) as error:
        raise typer.BadParameter(str(error)) from error
    bandit.save(out)
    prior = bandit.next_prior()
    console.print(f"{bandit.n_finished:,} tasks with {dimension} features. Saved: {out}")
    console.print(f"A new task starts with noise scale {float(prior.noise_scale):.3g}.")
