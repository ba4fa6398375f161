"""`headstart demo`."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from headstart.cli.output import AsJson, Quiet, check_figure, print_json, said_compilation

if TYPE_CHECKING:
    from headstart.paper.demo import LearnerTotals

_EXPLANATION = (
    "OPT always plays the best arm. ITL learns each task alone. AVG-OFUL and RR-OFUL are the "
    "paper's, and start from an estimate of the mean task; the Oracle is told the true mean. "
    "headstart is this library's own learner. It can beat the Oracle, which explores for the worst "
    "case, as OFUL does, with a fixed λ = 1: headstart explores less, and learns λ from the tasks."
)
_NEXT = (
    "Next: `headstart serve --demo` starts the decision service with simulated shoppers; "
    "`headstart reproduce synthetic` runs the paper's experiment in full; "
    "docs/tutorials/first-comparison.md compares methods of your own."
)


def demo(
    *,
    replications: Annotated[int, typer.Option(min=2, help="Independent repetitions.")] = 100,
    seed: Annotated[int, typer.Option(min=0, help="Seed of all random numbers.")] = 0,
    out: Annotated[Path, typer.Option(help="The file of the figure: .png, .svg or .pdf.")] = Path(
        "out/demo.png"
    ),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Run the paper's synthetic benchmark with headstart added."""
    from headstart.paper.demo import learner_totals, play_demo, plot_demo

    check_figure(out)
    notes = Console(stderr=True, quiet=quiet)
    with (
        said_compilation(notes),
        Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TimeRemainingColumn(),
            console=notes,
            disable=quiet,
        ) as bar,
    ):

        def progress(name: str) -> Callable[[int, int], None]:
            line = bar.add_task(f"{name} reward")
            return lambda done, total: bar.update(line, completed=done, total=total)

        results = play_demo(replications=replications, seed=seed, progress=progress)
    plot_demo(results, out)
    totals = {name: list(learner_totals(result)) for name, result in results.items()}
    if as_json:
        found = {name: [asdict(of) for of in some] for name, some in totals.items()}
        print_json({**found, "figure": str(out)})
    elif not quiet:
        console = Console()
        for name, some in totals.items():
            console.print(_table(name, some))
        console.print(f"± is one standard error over {replications} replications (seed {seed}).")
        console.print(_EXPLANATION)
        console.print(f"Figure: {out}")
        console.print(_NEXT)


def _table(name: str, totals: "list[LearnerTotals]") -> Table:
    table = Table(title=f"{name} reward: one test task of 50 rounds, after 10 training tasks")
    table.add_column("learner")
    table.add_column("reward", justify="right")
    table.add_column("regret", justify="right")
    for of in totals:
        table.add_row(of.learner, *(each.with_error(".2f") for each in (of.reward, of.regret)))
    return table
