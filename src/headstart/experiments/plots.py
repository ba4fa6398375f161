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

from headstart.experiments.files import written_whole

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
    "svg.fonttype": "none",
}


@contextmanager
def figure(
    path: Path, *, columns: int = 1, width: float = 3.4, height: float = 2.6
) -> Iterator[Sequence[Axes]]:
    """Axes to draw on, each legible at a paper's column width; the figure is saved at the end."""
    with mpl.rc_context(_LOOK):
        made = Figure(figsize=(width * columns, height), layout="constrained")
        yield list(made.subplots(1, columns, squeeze=False)[0])
        with written_whole(path) as part:
            made.savefig(part, format=path.suffix.lstrip(".") or "png")


def style(name: str, place: int) -> Mapping[str, Any]:
    """A learner's own look, or one for its place among the learners."""
    return STYLES.get(name) or {"color": _OTHERS[place % len(_OTHERS)], "linestyle": "-"}


def cumulative(axes: Axes, values: xr.DataArray, *, label: str) -> None:
    """Draw the running sum over rounds of values (learner, replication, round), with 95 % bands."""
    total = values.cumsum("round")
    mean = total.mean("replication")
    error = 1.96 * total.std("replication", ddof=1) / np.sqrt(total.sizes["replication"])
    rounds = values["round"].to_numpy()
    others = iter(_OTHERS)
    for name in values["learner"].to_numpy():
        middle = mean.sel(learner=name).to_numpy()
        band = error.sel(learner=name).to_numpy()
        style = STYLES.get(str(name)) or {"color": next(others, "#7F7F7F"), "linestyle": "-"}
        axes.plot(rounds, middle, label=str(name), **style)
        axes.fill_between(
            rounds, middle - band, middle + band, color=style["color"], alpha=0.15, linewidth=0
        )
    axes.set_xlabel("round")
    axes.set_ylabel(label)
    axes.set_xlim(1, rounds[-1])
    axes.set_ylim(bottom=0)
