"""Curves of learners: means over replications with 95 % bands, against rounds, tasks, λ or N."""

from collections.abc import Mapping, Sequence
from typing import Any, Literal, get_args

import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.ticker import FixedLocator, MaxNLocator, NullFormatter
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.intervals import quantile, standard_errors
from headstart.plotting.style import styles, wrapped

# What curves are plotted against.
Along = Literal["round", "task", "regularization", "trained"]

# If the highest curve is this many times the median of the others, the vertical axis is
# logarithmic: on a linear axis they would share the lowest eighth of the panel.
_RATIO = 8.0

# The length of a panel's horizontal axis, the width of a digit and the gap between labels, in
# points.
_AXIS, _DIGIT, _GAP = 180.0, 5.1, 4.0


def plot(
    axes: Axes,
    values: xr.DataArray,
    along: Along,
    *,
    label: str,
    reference: str | None = None,
    log: bool = False,
) -> None:
    """Plot a mean with a 95 % band for every learner.

    Parameters
    ----------
    axes : Axes
        The panel.
    values : xarray.DataArray
        Over (learner, replication) and what they are plotted against; for "round" and "task", over
        (learner, replication, task, round).
    along : {"round", "task", "regularization", "trained"}
        Plot running sums against rounds, sums of each task against tasks, or values against λ or
        the number N of completed tasks.
    label : str
        The label of the vertical axis.
    reference : str, optional
        The learner that is subtracted within replications; below 0, a learner has less.
    log : bool, default False
        Whether the vertical axis is logarithmic, even if no learner takes most of its height.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> agents = [hs.learners.itl(regularization=1.0), hs.learners.headstart()]
    >>> results = hs.simulate(
    ...     hs.environments.Synthetic(), agents, n_tasks=3, horizon=10, replications=5
    ... )
    >>> with plotting.figure(Path("regret.png"), columns=2, legend=True) as (left, right):
    ...     plotting.plot(left, results.regret, "round", label="cumulative regret")
    ...     plotting.plot(
    ...         right, results.regret, "task", label="regret minus ITL's", reference="ITL"
    ...     )
    """
    checks.one_of("along", along, get_args(Along))
    shown = _against(values, along)
    x = shown[along].to_numpy()
    names = [str(name) for name in values["learner"].to_numpy()]
    zero = None if reference is None else shown.sel(learner=reference)
    for name, own in styles(names, len(x)).items():
        mine = shown.sel(learner=name)
        if name == reference:
            axes.plot(x, np.zeros(len(x)), label=name, **{**own, "marker": "", "linewidth": 1.0})
        else:
            of = mine if zero is None else mine - zero
            band(axes, x, of.transpose("replication", along).to_numpy(), name, own)
    _label_axis(axes, along, values, x.tolist())
    axes.set_ylabel(wrapped(label))
    # The regrets of single tasks share an axis with 0.
    if log or (zero is None and along != "task" and _one_is_far(shown, along)):
        axes.set_yscale("log")


def band(
    axes: Axes,
    x: ArrayLike,
    values: Floats,
    label: str,
    look: Mapping[str, Any],
    *,
    least: float | None = None,
) -> None:
    """Plot the mean of values (R, n) with its 95 % band; on a logarithmic axis, at `least`."""
    middle = values.mean(0)
    low = middle - half_width(values)
    if least is not None:
        middle = np.maximum(middle, least)
        # On a logarithmic axis a band that reaches 0 has no lower end.
        low = np.maximum(low, np.maximum(least, middle / 10))
    axes.plot(x, middle, label=label, **look)
    if len(values) > 1:
        high = values.mean(0) + half_width(values)
        axes.fill_between(x, low, high, color=look["color"], alpha=0.18, linewidth=0)


def half_width(values: Floats) -> Floats:
    """Half the width of the 95 % intervals of means over the first axis, for values (R, n)."""
    return quantile(len(values)) * standard_errors(values)


def _against(values: xr.DataArray, along: Along) -> xr.DataArray:
    """Values over (learner, replication, along)."""
    if along == "task":
        return values.sum("round")
    if along != "round":
        return values
    flat = values.stack(step=("task", "round")).drop_vars(["step", "task", "round"])
    running = flat.cumsum("step").rename(step="round")
    return running.assign_coords(round=np.arange(1, running.sizes["round"] + 1))


def _one_is_far(values: xr.DataArray, along: Along) -> bool:
    """Whether one learner would take nearly all of the vertical axis."""
    means = values.mean("replication")
    ends = means.isel({along: -1}) if along == "round" else means.max(along)
    tops = np.sort(ends.to_numpy())
    lowest = float((ends if along == "round" else means).min())
    return bool(lowest > 0 and len(tops) > 1 and tops[-1] > _RATIO * np.median(tops[:-1]))


def _label_axis(axes: Axes, along: Along, values: xr.DataArray, x: Sequence[float]) -> None:
    match along:
        case "round":
            _round_axis(axes, values.sizes["task"], values.sizes["round"])
        case "task":
            axes.set_xlim(1, max(2, len(x)))
            axes.xaxis.set_major_locator(MaxNLocator(integer=True))
            axes.set_xlabel("task")
        case "trained":
            _trained_axis(axes, x)
        case "regularization":
            axes.set_xscale("log")
            axes.minorticks_off()
            axes.set_xlabel("regularization λ")
            if len(_that_fit(axes, x)) == len(x):
                axes.set_xticks(x, [f"{value:g}" for value in x])


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


def _trained_axis(axes: Axes, sizes: Sequence[float]) -> None:
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
        axes.set_xticks(kept, [f"{size:g}" for size in kept])


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
