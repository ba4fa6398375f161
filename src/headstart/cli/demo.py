"""`headstart demo`."""

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table


def demo(
    replications: Annotated[int, typer.Option(min=2, help="Independent repetitions.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    output: Annotated[
        Path, typer.Option(help="The file of the figure: .png, .svg or .pdf.")
    ] = Path("out/demo.png"),
) -> None:
    """Play the paper's synthetic comparison: a table and a figure, in seconds."""
    from headstart.paper.demo import learner_totals, play_demo, plot_demo

    if output.suffix not in {".png", ".svg", ".pdf"}:
        raise typer.BadParameter(f"the figure must end in .png, .svg or .pdf, got {output}")
    console = Console()
    with Progress(
        TextColumn("{task.description}"), BarColumn(), TimeRemainingColumn(), console=console
    ) as bar:

        def progress(name: str) -> Callable[[int, int], None]:
            line = bar.add_task(f"{name} reward")
            return lambda done, total: bar.update(line, completed=done, total=total)

        results = play_demo(replications=replications, seed=seed, progress=progress)
    for name, result in results.items():
        table = Table(title=f"{name} reward: one test task of 50 rounds, after 10 training tasks")
        table.add_column("learner")
        table.add_column("reward", justify="right")
        table.add_column("regret", justify="right")
        for of in learner_totals(result):
            cells = [each.with_error(".2f") for each in (of.reward, of.regret)]
            table.add_row(of.learner, *cells)
        console.print(table)
    plot_demo(results, output)
    console.print(f"± is one standard error over {replications} replications (seed {seed}).")
    console.print(f"Figure: {output}")
