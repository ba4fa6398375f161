"""Curves of learners: means over replications with 95 % bands, against rounds, λ or N."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter

from headstart.arrays import Floats
from headstart.intervals import quantile
from headstart.plotting.style import styles, wrapped

# If the highest curve is this many times the median of the others, the vertical axis is
# logarithmic: on a linear axis they would share the lowest eighth of the panel.
_RATIO = 8.0

# The length of a panel's horizontal axis, the width of a digit and the gap between labels, in
# points.
_AXIS, _DIGIT, _GAP = 180.0, 5.1, 4.0


def plot_cumulative(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Plot the running sum of values (learner, replication, task, round).

    Tasks follow each other; if there are several, small ticks mark their ends.

    Parameters
    ----------
    axes : Axes
        The panel.
    values : xarray.DataArray
        Over (learner, replication, task, round).
    label : str
        The label of the vertical axis.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> agents = [hs.learners.itl(regularization=1.0), hs.learners.ours()]
    >>> results = hs.simulate(
    ...     hs.environments.Synthetic(), agents, n_tasks=3, horizon=10, replications=5
    ... )
    >>> with plotting.figure(Path("regret.png"), legend=True) as (axes,):
    ...     plotting.plot_cumulative(axes, results.regret, label="cumulative regret")
    """
    flat = _running(values)
    _plot_lines(axes, flat, "step")
    _round_axis(axes, values.sizes["task"], values.sizes["round"])
    axes.set_ylabel(wrapped(label))
    scale_to_values(axes, flat.isel(step=-1))


def plot_cumulative_difference(
    axes: Axes, values: xr.DataArray, reference: str, *, label: str
) -> None:
    """Plot running sums minus the reference's, within replications, with bands of the differences.

    Below 0 a learner has less than the reference.

    Parameters
    ----------
    axes : Axes
        The panel.
    values : xarray.DataArray
        Over (learner, replication, task, round).
    reference : str
        The learner that is subtracted.
    label : str
        The label of the vertical axis.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> agents = [hs.learners.itl(regularization=1.0), hs.learners.ours()]
    >>> results = hs.simulate(
    ...     hs.environments.Synthetic(), agents, n_tasks=3, horizon=10, replications=5
    ... )
    >>> with plotting.figure(Path("difference.png"), legend=True) as (axes,):
    ...     plotting.plot_cumulative_difference(axes, results.regret, "ITL", label="minus ITL's")
    """
    _plot_differences(axes, _running(values), reference, "step")
    _round_axis(axes, values.sizes["task"], values.sizes["round"])
    axes.set_ylabel(wrapped(label))


def plot_per_task(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Plot the sums over rounds of values (learner, replication, task, round), task by task.

    Parameters
    ----------
    axes : Axes
        The panel.
    values : xarray.DataArray
        Over (learner, replication, task, round).
    label : str
        The label of the vertical axis.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> agents = [hs.learners.itl(regularization=1.0), hs.learners.ours()]
    >>> results = hs.simulate(
    ...     hs.environments.Synthetic(), agents, n_tasks=3, horizon=10, replications=5
    ... )
    >>> with plotting.figure(Path("tasks.png"), legend=True) as (axes,):
    ...     plotting.plot_per_task(axes, results.regret, label="regret per task")
    """
    _plot_lines(axes, values.sum("round"), "task")
    axes.set_xlim(1, max(2, values.sizes["task"]))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("task")
    axes.set_ylabel(wrapped(label))


def plot_per_task_difference(
    axes: Axes, values: xr.DataArray, reference: str, *, label: str
) -> None:
    """Plot sums over rounds minus the reference's, task by task.

    Parameters
    ----------
    axes : Axes
        The panel.
    values : xarray.DataArray
        Over (learner, replication, task, round).
    reference : str
        The learner that is subtracted.
    label : str
        The label of the vertical axis.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> agents = [hs.learners.itl(regularization=1.0), hs.learners.ours()]
    >>> results = hs.simulate(
    ...     hs.environments.Synthetic(), agents, n_tasks=3, horizon=10, replications=5
    ... )
    >>> with plotting.figure(Path("tasks.png"), legend=True) as (axes,):
    ...     plotting.plot_per_task_difference(axes, results.regret, "ITL", label="minus ITL's")
    """
    _plot_differences(axes, values.sum("round"), reference, "task")
    axes.set_xlim(1, max(2, values.sizes["task"]))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("task")
    axes.set_ylabel(wrapped(label))


def plot_against_regularization(
    axes: Axes, values: xr.DataArray, *, label: str, log: bool = False
) -> None:
    """Plot values (learner, regularization, replication) against λ on a logarithmic axis.

    Parameters
    ----------
    axes : Axes
        The panel.
    values : xarray.DataArray
        Over (learner, regularization, replication).
    label : str
        The label of the vertical axis.
    log : bool, default False
        Whether the vertical axis is logarithmic as well.

    Examples
    --------
    >>> from pathlib import Path
    >>> import xarray as xr
    >>> from headstart import plotting
    >>> totals = xr.DataArray(
    ...     np.random.default_rng(0).uniform(3.0, 5.0, (2, 3, 10)),
    ...     dims=("learner", "regularization", "replication"),
    ...     coords={"learner": ["ITL", "RR-OFUL"], "regularization": [0.1, 1.0, 10.0]},
    ... )
    >>> with plotting.figure(Path("sweep.png"), legend=True) as (axes,):
    ...     plotting.plot_against_regularization(axes, totals, label="total regret")
    """
    _plot_lines(axes, values, "regularization")
    _regularization_axis(axes, values)
    axes.set_ylabel(wrapped(label))
    if log:
        axes.set_yscale("log")
    else:
        scale_to_values(axes, values)


def plot_difference_against_regularization(
    axes: Axes, values: xr.DataArray, reference: str, *, label: str
) -> None:
    """Plot values (learner, regularization, replication) minus the reference's at the same λ.

    Parameters
    ----------
    axes : Axes
        The panel.
    values : xarray.DataArray
        Over (learner, regularization, replication).
    reference : str
        The learner that is subtracted.
    label : str
        The label of the vertical axis.

    Examples
    --------
    >>> from pathlib import Path
    >>> import xarray as xr
    >>> from headstart import plotting
    >>> totals = xr.DataArray(
    ...     np.random.default_rng(0).uniform(3.0, 5.0, (2, 3, 10)),
    ...     dims=("learner", "regularization", "replication"),
    ...     coords={"learner": ["ITL", "RR-OFUL"], "regularization": [0.1, 1.0, 10.0]},
    ... )
    >>> with plotting.figure(Path("sweep.png"), legend=True) as (axes,):
    ...     plotting.plot_difference_against_regularization(axes, totals, "ITL", label="minus")
    """
    _plot_differences(axes, values, reference, "regularization")
    _regularization_axis(axes, values)
    axes.set_ylabel(wrapped(label))


def plot_against_tasks(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Plot values (learner, trained, replication) against the number of completed tasks.

    Parameters
    ----------
    axes : Axes
        The panel.
    values : xarray.DataArray
        Over (learner, trained, replication).
    label : str
        The label of the vertical axis.

    Examples
    --------
    >>> from pathlib import Path
    >>> import xarray as xr
    >>> from headstart import plotting
    >>> totals = xr.DataArray(
    ...     np.random.default_rng(0).uniform(3.0, 5.0, (2, 3, 10)),
    ...     dims=("learner", "trained", "replication"),
    ...     coords={"learner": ["ITL", "RR-OFUL"], "trained": [1, 10, 100]},
    ... )
    >>> with plotting.figure(Path("trained.png"), legend=True) as (axes,):
    ...     plotting.plot_against_tasks(axes, totals, label="total regret")
    """
    _plot_lines(axes, values, "trained")
    _trained_axis(axes, values["trained"].to_numpy().tolist())
    axes.set_ylabel(wrapped(label))
    scale_to_values(axes, values)


def plot_difference_against_tasks(
    axes: Axes, values: xr.DataArray, reference: str, *, label: str
) -> None:
    """Plot values (learner, trained, replication) minus the reference's against N.

    Parameters
    ----------
    axes : Axes
        The panel.
    values : xarray.DataArray
        Over (learner, trained, replication).
    reference : str
        The learner that is subtracted.
    label : str
        The label of the vertical axis.

    Examples
    --------
    >>> from pathlib import Path
    >>> import xarray as xr
    >>> from headstart import plotting
    >>> totals = xr.DataArray(
    ...     np.random.default_rng(0).uniform(3.0, 5.0, (2, 3, 10)),
    ...     dims=("learner", "trained", "replication"),
    ...     coords={"learner": ["ITL", "RR-OFUL"], "trained": [1, 10, 100]},
    ... )
    >>> with plotting.figure(Path("trained.png"), legend=True) as (axes,):
    ...     plotting.plot_difference_against_tasks(axes, totals, "ITL", label="minus ITL's")
    """
    _plot_differences(axes, values, reference, "trained")
    _trained_axis(axes, values["trained"].to_numpy().tolist())
    axes.set_ylabel(wrapped(label))


def scale_to_values(axes: Axes, values: xr.DataArray) -> None:
    """Make the vertical axis logarithmic if one learner takes nearly all of it."""
    means = values.mean("replication")
    tops = np.sort(means.max([name for name in means.dims if name != "learner"]).to_numpy())
    lowest = float(means.min())
    if lowest > 0 and len(tops) > 1 and tops[-1] > _RATIO * np.median(tops[:-1]):
        axes.set_yscale("log")


def half_width(values: xr.DataArray) -> xr.DataArray:
    """Half the width of the 95 % intervals of means over `replication`."""
    n = values.sizes["replication"]
    return values.std("replication", ddof=1) * float(quantile(n) / np.sqrt(n))


def _running(values: xr.DataArray) -> xr.DataArray:
    """The running sum over tasks and rounds, (learner, replication, step)."""
    flat = values.stack(step=("task", "round")).drop_vars(["step", "task", "round"])
    return flat.assign_coords(step=np.arange(1, flat.sizes["step"] + 1)).cumsum("step")


def _plot_lines(axes: Axes, values: xr.DataArray, along: str) -> None:
    """A line with a band for every learner: values (learner, along, replication)."""
    x = values[along].to_numpy()
    names = [str(name) for name in values["learner"].to_numpy()]
    drawn = styles(names, len(x))
    for name in names:
        _plot_line(axes, x, values.sel(learner=name), name, drawn[name])


def _plot_differences(axes: Axes, values: xr.DataArray, reference: str, along: str) -> None:
    """Every learner minus the reference, which is the line at 0."""
    x = values[along].to_numpy()
    names = [str(name) for name in values["learner"].to_numpy()]
    drawn = styles(names, len(x))
    for name in names:
        if name == reference:
            zero = {**drawn[reference], "marker": "", "linewidth": 1.0}
            axes.plot(x, np.zeros(len(x)), label=reference, **zero)
        else:
            difference = values.sel(learner=name) - values.sel(learner=reference)
            _plot_line(axes, x, difference, name, drawn[name])


def _plot_line(
    axes: Axes, x: Floats, values: xr.DataArray, name: str, own: Mapping[str, Any]
) -> None:
    middle, reach = values.mean("replication").to_numpy(), half_width(values).to_numpy()
    axes.plot(x, middle, label=name, **own)
    if values.sizes["replication"] > 1:
        axes.fill_between(
            x, middle - reach, middle + reach, color=own["color"], alpha=0.18, linewidth=0
        )


def _round_axis(axes: Axes, n_tasks: int, horizon: int) -> None:
    """Rounds 1 to n_tasks × horizon; with several tasks, ticks at the ends of tasks."""
    total = n_tasks * horizon
    axes.set_xlim(1 if total > 1 else 0, max(total, 2))
    if n_tasks == 1:
        axes.set_xlabel("round")
        # As many labels as fit: ten of four digits would not.
        axes.xaxis.set_major_locator(MaxNLocator("auto", steps=[1, 2, 5, 10], integer=True))
        return
    axes.set_xlabel(f"round ({n_tasks} tasks of {horizon}; small ticks: ends of tasks)")
    axes.xaxis.set_minor_locator(FixedLocator([horizon * j for j in range(1, n_tasks + 1)]))
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.tick_params(axis="x", which="minor", length=3, color="#777777")


def _trained_axis(axes: Axes, sizes: Sequence[int]) -> None:
    """Numbers of tasks: linear if evenly spaced, else logarithmic; with labels that fit."""
    axes.set_xlabel("completed tasks N")
    even = len(set(np.diff(sorted(sizes)))) <= 1
    if not even and min(sizes) > 0:
        axes.set_xscale("log")
    elif not even:
        axes.set_xscale("symlog", linthresh=1.0)
        axes.set_xlim(-0.1, max(sizes) * 1.15)
    axes.minorticks_off()
    kept = _that_fit(axes, sizes)
    if even and len(kept) < len(sizes):
        axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    else:
        axes.set_xticks(kept, [str(size) for size in kept])


def _regularization_axis(axes: Axes, values: xr.DataArray) -> None:
    """λ on a logarithmic axis, labelled by the values of the grid if all of them fit."""
    axes.set_xscale("log")
    axes.minorticks_off()
    axes.set_xlabel("regularization λ")
    grid = [float(value) for value in values["regularization"]]
    if len(_that_fit(axes, grid)) == len(grid):
        axes.set_xticks(grid, [f"{value:g}" for value in grid])


def _that_fit(axes: Axes, values: Sequence[float]) -> list[float]:
    """The first and the last of the numbers on the horizontal axis, and those that fit between."""
    numbers = sorted(values)
    places = axes.get_xaxis().get_transform().transform(np.array(numbers, dtype=np.float64))
    span = float(places[-1] - places[0]) or 1.0
    at = _AXIS * (places - places[0]) / span
    reach = np.array([_DIGIT * len(f"{number:g}") / 2 + _GAP / 2 for number in numbers])
    kept = [0]
    for i in range(1, len(numbers) - 1):
        left, right = at[i] - at[kept[-1]], at[-1] - at[i]
        if left >= reach[i] + reach[kept[-1]] and right >= reach[i] + reach[-1]:
            kept.append(i)
    return [numbers[i] for i in sorted({*kept, len(numbers) - 1})]
