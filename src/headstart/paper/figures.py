"""The report's figures: each chapter's curves, its sweep over λ, and regret against N."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from headstart.paper import interpretations as chapters
from headstart.paper.interpretations import Chapter, Reading
from headstart.paper.learners import ITL, ORACLE
from headstart.paper.studies import FIGURES
from headstart.plotting import style as plots
from headstart.plotting.document import Picture
from headstart.studies.results import totals

Results = Mapping[str, xr.Dataset]
_Panel = tuple[str, Callable[[Axes], None]]


def draw(chapter: Chapter, results: Results, folder: Path) -> list[Picture]:
    """Draw a chapter's figures into the folder, as PNG and SVG."""
    made = _synthetic if chapter.name == "synthetic" else _ratings
    return made(chapter, results, folder)


def _synthetic(chapter: Chapter, results: Results, folder: Path) -> list[Picture]:
    main = chapter.readings[0]
    theory = _reading(chapter, f"{chapters.LINEAR}, estimator λ = 0.01")
    pictures = [
        _save(
            Picture(
                "synthetic-figures",
                "Figures 1 and 2 as the paper has them: cumulative reward of one test task after "
                f"N = 10 tasks, main reading, {_sample(main)}.",
            ),
            folder,
            [_curve(results, main, value, "reward") for value in FIGURES],
        ),
        _save(
            Picture(
                "synthetic-theory",
                "The same under the theory's linear reward, with estimators that have a λ of their "
                f"own (0.01): cumulative regret, {_sample(theory)}.",
            ),
            folder,
            [_curve(results, theory, value, "regret") for value in FIGURES],
        ),
        _save(
            Picture(
                "synthetic-sweep",
                "Regret of one test task against λ: the main reading, and the linear reward with "
                "the estimators' λ at 0.01.",
            ),
            folder,
            [
                _sweep(results, main, "main reading"),
                _sweep(results, theory, "linear, estimator λ = 0.01"),
            ],
            share=False,
        ),
    ]
    curves = [
        _save(
            Picture(
                curve.study.name,
                f"Regret of one test task against the number of completed tasks, {curve.label}, "
                "main reading otherwise. The Oracle and ITL do not learn across tasks.",
            ),
            folder,
            [_tasks(results, main, curve, value) for value in FIGURES],
        )
        for curve in chapter.curves
    ]
    return pictures + curves


def _ratings(chapter: Chapter, results: Results, folder: Path) -> list[Picture]:
    main, linear = chapter.readings[0], _reading(chapter, chapters.LINEAR)
    return [
        _save(
            Picture(
                f"{chapter.name}-figure",
                "Cumulative regret over 20 tasks of 5 rounds, thin lines where tasks end: main "
                f"reading at λ = 1, and each learner at its best λ; {_sample(main)}.",
            ),
            folder,
            [
                _curve(results, main, 1.0, "regret"),
                _curve(results, main, None, "regret"),
            ],
        ),
        _save(
            Picture(
                f"{chapter.name}-sweep",
                "Regret of all 20 tasks against λ: the main reading, and the linear reward.",
            ),
            folder,
            [_sweep(results, main, "main reading"), _sweep(results, linear, "linear reward")],
            share=False,
        ),
    ]


def _save(
    picture: Picture, folder: Path, panels: Sequence[_Panel], *, share: bool = True
) -> Picture:
    paths = [folder / f"{picture.name}{ending}" for ending in (".png", ".svg")]
    with plots.figure(*paths, columns=len(panels), share=share) as axes:
        for axis, (title, paint) in zip(axes, panels, strict=True):
            paint(axis)
            axis.set_title(title)
        if share:
            for axis in axes[1:]:
                axis.set_ylabel("")
        axes[0].legend(loc="best")
    return picture


def _curve(results: Results, reading: Reading, value: float | None, variable: str) -> _Panel:
    values = results[reading.study.name][variable]
    if "trained" in values.dims:
        values = values.sel(trained=10)
    if value is None:
        best = totals(results[reading.study.name]).mean("replication").argmin("regularization")
        values = values.isel(regularization=best).drop_vars("regularization")
    else:
        values = values.sel(regularization=value, method="nearest")
    # OPT has no regret to show.
    shown = [name for name in values["learner"].to_numpy() if (variable, name) != ("regret", "OPT")]
    title = "each at its best λ" if value is None else f"λ = {value:g}"
    return title, lambda axes: plots.cumulative(
        axes, values.sel(learner=shown), label=f"cumulative {variable}"
    )


def _sweep(results: Results, reading: Reading, title: str) -> _Panel:
    values = totals(results[reading.study.name])
    if "trained" in values.dims:
        values = values.sel(trained=10)
    values = values.drop_sel(learner="OPT")
    return title, lambda axes: plots.against_regularization(axes, values, label="regret")


def _tasks(results: Results, main: Reading, curve: Reading, value: float) -> _Panel:
    """Those that learn from the curve's study; those that do not from the main one, made flat.

    Both have the same seed, hence the same test tasks.
    """
    learned = totals(results[curve.study.name]).sel(regularization=value, drop=True)
    still = totals(results[main.study.name]).sel(trained=10, drop=True)
    still = still.sel(regularization=value, drop=True, learner=[ORACLE, ITL])
    flat = still.expand_dims(trained=np.asarray(learned["trained"]))
    order = [ORACLE, *learned["learner"].to_numpy(), ITL]
    every = xr.concat([flat, learned], "learner", coords="minimal", compat="equals", join="outer")
    return f"λ = {value:g}", lambda axes: plots.against_tasks(
        axes, every.sel(learner=order), label="regret"
    )


def _reading(chapter: Chapter, label: str) -> Reading:
    return next(reading for reading in chapter.readings if reading.label == label)


def _sample(reading: Reading) -> str:
    return f"{reading.study.replications} replications, bands of 95 %"
