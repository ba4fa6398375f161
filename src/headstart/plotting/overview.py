"""The figure of one study: regret by round, and over λ or completed tasks if it has several."""

import tomllib
from pathlib import Path

import numpy as np
import xarray as xr

from headstart.plotting import curves
from headstart.plotting.reports.units import unit_of
from headstart.plotting.style import figure
from headstart.studies.comparisons import at_best
from headstart.studies.results import at_training, totals


def plot_overview(results: xr.Dataset, path: Path, *, trained: int | None = None) -> None:
    """Cumulative regret of every learner at its best λ, after `trained` tasks or the last number.

    Beside it, the total against λ where the study has several, and against N likewise.

    >>> from pathlib import Path
    >>> from headstart import plotting, studies
    >>> from headstart.specs import Spec
    >>> oful = Spec(kind="OFUL")
    >>> study = studies.Study(
    ...     name="small",
    ...     environment=Spec(kind="Synthetic", settings={"reward": "linear"}),
    ...     learners=(
    ...         studies.LearnerSpec(name="ITL", policy=oful, prior=Spec(kind="Fixed")),
    ...         studies.LearnerSpec(name="RR", policy=oful, prior=Spec(kind="Pooled")),
    ...     ),
    ...     horizon=20,
    ...     tasks=5,
    ...     replications=10,
    ... )
    >>> results = studies.run(study, Path("out/small"), workers=1)
    >>> plotting.plot_overview(results, Path("regret.png"))
    """
    results = _with_regret(results)
    best = at_best(totals(results, trained=trained))["regularization"]
    grid = results["regularization"].to_numpy()
    first = best.fillna(float(grid[0]))
    regret = at_training(results, trained)["regret"].sel(regularization=first)
    swept, sizes = len(grid) > 1, results["trained"].to_numpy()
    columns = 1 + swept + (len(sizes) > 1)
    after = f", N = {sizes[-1] if trained is None else trained}" if len(sizes) > 1 else ""
    unit = unit_of(tomllib.loads(str(results.attrs["study"]))["environment"])
    with figure(path, columns=columns, height=2.8, legend=True) as panels:
        axes = list(panels)
        curves.plot_cumulative(axes[0], regret, label=f"cumulative regret ({unit})")
        axes[0].set_title(("each learner at its best λ" if swept else "by round") + after)
        if swept:
            curves.plot_against_regularization(
                axes[1], totals(results, trained=trained), label=f"total regret ({unit})"
            )
            axes[1].set_title(f"over λ{after}")
        if len(sizes) > 1:
            every = [
                at_best(totals(results, trained=int(n))).drop_vars("regularization") for n in sizes
            ]
            by_size = xr.concat(every, "trained").assign_coords(trained=np.asarray(sizes))
            curves.plot_against_tasks(axes[-1], by_size, label=f"total regret ({unit})")
            axes[-1].set_title("over completed tasks" + (", at the best λ" if swept else ""))


def _with_regret(results: xr.Dataset) -> xr.Dataset:
    """The learners that have any regret: OPT would be a line at 0."""
    others = [name for name in results["regret"].dims if name != "learner"]
    some = (results["regret"] != 0).any(others)
    return results.isel(learner=some.to_numpy()) if bool(some.any()) else results
