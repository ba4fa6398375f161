"""Figures: one look for all of them, and the same colour for the same learner everywhere."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headstart.atomic import atomic_write
from headstart.intervals import quantile

# Okabe and Ito's palette, told apart with every kind of colour vision; dashes serve print.
STYLES: Mapping[str, Mapping[str, Any]] = {
    "OPT": {"color": "#000000", "linestyle": (0, (1, 1.2))},
    "Oracle": {"color": "#009E73", "linestyle": (0, (5, 1.5))},
    "AVG-OFUL": {"color": "#0072B2", "linestyle": "-"},
    "RR-OFUL": {"color": "#D55E00", "linestyle": (0, (4, 1, 1, 1))},
    "ITL": {"color": "#CC79A7", "linestyle": "-"},
}
_OTHERS = ("#E69F00", "#56B4E9", "#8C6D31", "#7F7F7F")

_LOOK: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "grid.color": "#E6E6E6",
    "grid.linewidth": 0.6,
    "axes.axisbelow": True,
    "legend.frameon": False,
    "lines.linewidth": 1.4,
    "figure.dpi": 200,
    # Letters as outlines: a figure looks the same where the font is missing.
    "svg.fonttype": "path",
}


@contextmanager
def figure(
    *paths: Path, columns: int = 1, width: float = 3.4, height: float = 2.6, share: bool = False
) -> Iterator[Sequence[Axes]]:
    """Axes to draw on, each legible at a paper's column width; saved at the end to every path.

    Vertical axes begin at 0 unless they are logarithmic; with `share`, the panels have one.
    """
    with mpl.rc_context(_LOOK):
        made = Figure(figsize=(width * columns, height), layout="constrained")
        panels = list(made.subplots(1, columns, squeeze=False, sharey=share)[0])
        yield panels
        for axes in panels:  # once all have been drawn on, so that a shared axis fits them all
            # Never cut off what lies below 0, nor turn an axis that runs downwards.
            low, high = axes.get_ylim()
            if axes.get_yscale() == "linear" and low < high and axes.dataLim.ymin >= 0:
                axes.set_ylim(bottom=0)
        for path in paths:
            with atomic_write(path) as part:
                made.savefig(part, format=path.suffix.lstrip(".") or "png")


def style(name: str, place: int) -> Mapping[str, Any]:
    """A learner's own look, or one for its place among the learners."""
    return STYLES.get(name) or {"color": _OTHERS[place % len(_OTHERS)], "linestyle": "-"}


def cumulative(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Draw the running sum of values (learner, replication, round), with 95 % bands.

    With a dimension `task` the tasks are laid end to end, and thin lines mark where each ends.
    """
    ends: list[float] = []
    if "task" in values.dims:
        horizon = values.sizes["round"]
        ends = [task * horizon + 0.5 for task in range(1, values.sizes["task"])]
        values = values.stack(step=("task", "round")).drop_vars(["step", "task", "round"])
        values = values.rename(step="round")
        values = values.assign_coords(round=np.arange(1, values.sizes["round"] + 1))
    for end in ends:
        axes.axvline(end, color="#E3C567", linewidth=0.5, zorder=0)
    if ends:
        axes.grid(visible=False, axis="x")
    _lines(axes, values.cumsum("round"), "round")
    axes.set_xlabel("round")
    axes.set_ylabel(label)
    axes.set_xlim(1, values["round"].to_numpy()[-1])


def against_regularization(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Draw values (learner, regularization, replication) against λ on a logarithmic axis."""
    axes.set_xscale("log")
    _lines(axes, values, "regularization", marker="o")
    axes.minorticks_off()
    axes.set_xlabel("regularization λ")
    axes.set_ylabel(label)


def against_tasks(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Draw values (learner, trained, replication) against the number of completed tasks."""
    sizes = values["trained"].to_numpy()
    axes.set_xscale("symlog", linthresh=1.0)
    _lines(axes, values, "trained", marker="o")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlim(-0.1, sizes.max() * 1.15)
    axes.set_xlabel("completed tasks N")
    axes.set_ylabel(label)


def _lines(axes: Axes, values: xr.DataArray, along: str, marker: str | None = None) -> None:
    """A line with a 95 % band for every learner: values (learner, along, replication)."""
    n = values.sizes["replication"]
    mean = values.mean("replication")
    reach = quantile(n) * values.std("replication", ddof=1) / np.sqrt(n)
    places = values[along].to_numpy()
    others = iter(_OTHERS)
    for name in values["learner"].to_numpy():
        middle = mean.sel(learner=name).to_numpy()
        band = reach.sel(learner=name).to_numpy()
        style = STYLES.get(str(name)) or {"color": next(others, "#7F7F7F"), "linestyle": "-"}
        axes.plot(places, middle, label=str(name), marker=marker, markersize=2.4, **style)
        axes.fill_between(
            places, middle - band, middle + band, color=style["color"], alpha=0.18, linewidth=0
        )
