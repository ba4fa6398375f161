"""Curves of learners: means over replications with 95 % bands, against rounds, λ or N."""

import numpy as np
import xarray as xr
from matplotlib.axes import Axes

from headstart.intervals import quantile
from headstart.plotting.style import style


def plot_cumulative(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Plot the running sum of values (learner, replication, task, round).

    Tasks follow each other, and thin lines mark where each but the last ends.
    """
    horizon = values.sizes["round"]
    ends = [task * horizon + 0.5 for task in range(1, values.sizes["task"])]
    flat = values.stack(step=("task", "round")).drop_vars(["step", "task", "round"])
    flat = flat.assign_coords(step=np.arange(1, flat.sizes["step"] + 1))
    for end in ends:
        axes.axvline(end, color="#E3C567", linewidth=0.5, zorder=0)
    if ends:
        axes.grid(visible=False, axis="x")
    _plot_lines(axes, flat.cumsum("step"), "step")
    axes.set_xlabel("round")
    axes.set_ylabel(label)
    axes.set_xlim(1, flat.sizes["step"])


def plot_against_regularization(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Plot values (learner, regularization, replication) against λ on a logarithmic axis."""
    axes.set_xscale("log")
    _plot_lines(axes, values, "regularization", marker="o")
    axes.minorticks_off()
    axes.set_xlabel("regularization λ")
    axes.set_ylabel(label)


def plot_against_tasks(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Plot values (learner, trained, replication) against the number of completed tasks."""
    sizes = values["trained"].to_numpy()
    axes.set_xscale("symlog", linthresh=1.0)
    _plot_lines(axes, values, "trained", marker="o")
    axes.set_xticks(sizes, [str(size) for size in sizes])
    axes.minorticks_off()
    axes.set_xlim(-0.1, sizes.max() * 1.15)
    axes.set_xlabel("completed tasks N")
    axes.set_ylabel(label)


def half_width(values: xr.DataArray) -> xr.DataArray:
    """Half the width of the 95 % intervals of means over `replication`."""
    n = values.sizes["replication"]
    return values.std("replication", ddof=1) * float(quantile(n) / np.sqrt(n))


def _plot_lines(axes: Axes, values: xr.DataArray, along: str, marker: str | None = None) -> None:
    """A line with a band for every learner: values (learner, along, replication)."""
    mean, width = values.mean("replication"), half_width(values)
    x = values[along].to_numpy()
    for i, name in enumerate(values["learner"].to_numpy()):
        middle, reach = (each.sel(learner=name).to_numpy() for each in (mean, width))
        own = style(str(name), i)
        axes.plot(x, middle, label=str(name), marker=marker, markersize=2.4, **own)
        axes.fill_between(
            x, middle - reach, middle + reach, color=own["color"], alpha=0.18, linewidth=0
        )
