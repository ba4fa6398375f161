"""`headstart bound`."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer
from rich.console import Console
from rich.table import Table

from headstart.cli.output import AsJson, Quiet, WrongInput, check_figure, print_json

if TYPE_CHECKING:
    from headstart.plotting.bounds import BoundStudy, BoundTable


def bound(
    *,
    dimension: Annotated[int, typer.Option(min=1, help="Number of features, d.")] = 20,
    horizon: Annotated[int, typer.Option(min=1, help="Rounds of a task, T.")] = 50,
    variance: Annotated[float, typer.Option(help="E‖w − w̄‖², Var_w̄.")] = 0.05,
    second_moment: Annotated[float, typer.Option(help="E‖w‖², Var_0.")] = 1.0,
    regularization: Annotated[float, typer.Option(help="λ.")] = 1.0,
    noise_scale: Annotated[float, typer.Option(help="R.")] = 1.0,
    feature_bound: Annotated[float, typer.Option(help="L, the largest norm of an arm.")] = 1.0,
    parameter_bound: Annotated[
        float | None, typer.Option(help="S, the largest norm of a parameter; √Var_0 unless given.")
    ] = None,
    n_tasks: Annotated[int, typer.Option(min=1, help="The largest N to plot.")] = 100,
    out: Annotated[Path, typer.Option(help="The file of the figure: .png, .svg or .pdf.")] = Path(
        "out/bound.png"
    ),
    as_json: AsJson = False,
    quiet: Quiet = False,
) -> None:
    """Compute and plot the paper's bounds on regret."""
    from headstart.plotting import bounds

    check_figure(out)
    try:
        study = bounds.BoundStudy(
            dimension=dimension,
            horizon=horizon,
            variance=variance,
            second_moment=second_moment,
            regularization=regularization,
            noise_scale=noise_scale,
            feature_bound=feature_bound,
            parameter_bound=parameter_bound,
        )
    except ValueError as error:
        raise WrongInput(str(error)) from error
    computed = study.table()
    bounds.plot(study, n_tasks, out)
    if as_json:
        print_json(
            {
                "bounds": [stated.plain() for stated in computed.bounds],
                "trivial": study.trivial_bound,
                "not_covered": list(computed.violated),
                "figure": str(out),
            }
        )
    elif not quiet:
        _print(study, computed)
        typer.echo(f"Figure: {out}")


def _print(study: "BoundStudy", computed: "BoundTable") -> None:
    console = Console()
    table = Table(
        title=f"Regret of a task of {study.horizon} rounds in {study.dimension} dimensions: at most"
    )
    table.add_column("bound")
    for name in ("λ", "bias", "noise", "failure", "total"):
        table.add_column(name, justify="right")
    for stated in computed.bounds:
        terms = (stated.bound.bias, stated.bound.noise, stated.bound.failure, stated.bound.total)
        table.add_row(
            f"{stated.learner}, {stated.statement}",
            f"{stated.regularization:.3g}",
            *(f"{float(term):.1f}" for term in terms),
        )
    console.print(table)
    console.print(
        f"Without any theorem: {study.trivial_bound:.1f}, since |xᵀw| ≤ S·L. A bound above this "
        "says nothing.",
        highlight=False,
    )
    for sentence in computed.violated:
        console.print(f"Not covered: {sentence}.")
