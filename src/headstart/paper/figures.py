"""The report's figures: each section's curves, its sweep over λ, and regret against N."""

from collections.abc import Callable, Sequence
from pathlib import Path

import xarray as xr
from matplotlib.axes import Axes

from headstart.paper.interpretations import Interpretation, ReportSection, Results
from headstart.paper.learners import ITL, OPT, ORACLE
from headstart.paper.studies import FIGURES
from headstart.plotting import curves
from headstart.plotting.document import Picture
from headstart.plotting.style import figure
from headstart.studies.results import at_training, totals

# A title, and what plots the panel.
_Panel = tuple[str, Callable[[Axes], None]]


def plot_section(section: ReportSection, results: Results, folder: Path) -> list[Picture]:
    """Plot a section's figures into the folder, as PNG and SVG."""
    tested = section.main.study.protocol == "train-then-test"
    plot = _plot_tests if tested else _plot_sequence
    return plot(section, results, folder)


def _plot_tests(section: ReportSection, results: Results, folder: Path) -> list[Picture]:
    main, theory = section.main, section.interpretation("linear-estimator-0.01")
    pictures = [
        _save(
            Picture(
                f"{section.name}-figures",
                "Figures 1 and 2 as the paper has them: cumulative reward of one test task after "
                f"N = 10 tasks, main interpretation, {_sample(main)}.",
            ),
            folder,
            [_curve(results, main, value, "reward") for value in FIGURES],
        ),
        _save(
            Picture(
                f"{section.name}-theory",
                "The same under the theory's linear reward, with estimators that have a λ of their "
                f"own (0.01): cumulative regret, {_sample(theory)}.",
            ),
            folder,
            [_curve(results, theory, value, "regret") for value in FIGURES],
        ),
        _save(
            Picture(
                f"{section.name}-sweep",
                "Regret of one test task against λ: the main interpretation, and the linear reward "
                "with the estimators' λ at 0.01.",
            ),
            folder,
            [
                _sweep(results, main, "main interpretation"),
                _sweep(results, theory, "linear, estimator λ = 0.01"),
            ],
            share=False,
        ),
    ]
    against_tasks = [
        _save(
            Picture(
                curve.study.name,
                f"Regret of one test task against the number of completed tasks, {curve.label}, "
                "main interpretation otherwise. The Oracle and ITL do not learn across tasks.",
            ),
            folder,
            [_tasks(results, main, curve, value) for value in FIGURES],
        )
        for curve in section.curves
    ]
    return pictures + against_tasks


def _plot_sequence(section: ReportSection, results: Results, folder: Path) -> list[Picture]:
    main, linear = section.main, section.interpretation("linear")
    return [
        _save(
            Picture(
                f"{section.name}-figure",
                "Cumulative regret over 20 tasks of 5 rounds, thin lines where tasks end: main "
                f"interpretation at λ = 1, and each learner at its best λ; {_sample(main)}.",
            ),
            folder,
            [_curve(results, main, 1.0, "regret"), _curve(results, main, None, "regret")],
        ),
        _save(
            Picture(
                f"{section.name}-sweep",
                "Regret of all 20 tasks against λ: the main interpretation, and the linear reward.",
            ),
            folder,
            [
                _sweep(results, main, "main interpretation"),
                _sweep(results, linear, "linear reward"),
            ],
            share=False,
        ),
    ]


def _save(
    picture: Picture, folder: Path, panels: Sequence[_Panel], *, share: bool = True
) -> Picture:
    paths = [folder / f"{picture.name}{ending}" for ending in (".png", ".svg")]
    with figure(*paths, columns=len(panels), share=share) as axes:
        for axis, (title, plot) in zip(axes, panels, strict=True):
            plot(axis)
            axis.set_title(title)
        if share:
            for axis in axes[1:]:
                axis.set_ylabel("")
        axes[0].legend(loc="best")
    return picture


def _curve(results: Results, one: Interpretation, value: float | None, variable: str) -> _Panel:
    """A cumulative variable at one λ, or at each learner's best."""
    dataset = results[one.study.name]
    values = at_training(dataset)[variable]
    if value is None:
        best = totals(dataset).mean("replication").argmin("regularization")
        values = values.isel(regularization=best).drop_vars("regularization")
    else:
        values = values.sel(regularization=value, method="nearest")
    if variable == "regret":
        values = values.drop_sel(learner=OPT)  # always 0
    title = "each at its best λ" if value is None else f"λ = {value:g}"
    return title, lambda axes: curves.plot_cumulative(axes, values, label=f"cumulative {variable}")


def _sweep(results: Results, one: Interpretation, title: str) -> _Panel:
    values = totals(results[one.study.name]).drop_sel(learner=OPT)
    return title, lambda axes: curves.plot_against_regularization(axes, values, label="regret")


def _tasks(results: Results, main: Interpretation, curve: Interpretation, value: float) -> _Panel:
    """Learners that learn from the curve's study; the others from the main one, as flat lines.

    Both have the same seed, hence the same test tasks.
    """
    sizes = curve.study.training_tasks
    dataset = results[curve.study.name]
    learned = xr.concat([totals(dataset, trained=n) for n in sizes], "trained")
    flat = totals(results[main.study.name]).sel(learner=[ORACLE, ITL])
    every = xr.concat(
        [
            each.sel(regularization=value, drop=True)
            for each in (flat.expand_dims(trained=len(sizes)), learned)
        ],
        "learner",
        join="exact",
    ).assign_coords(trained=list(sizes))
    order = [ORACLE, *learned["learner"].to_numpy(), ITL]
    return f"λ = {value:g}", lambda axes: curves.plot_against_tasks(
        axes, every.sel(learner=order), label="regret"
    )


def _sample(one: Interpretation) -> str:
    return f"{one.study.replications} replications, bands of 95 %"
