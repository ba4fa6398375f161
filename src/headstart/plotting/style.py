"""Style: one for all figures, and the same colour for the same learner in each of them."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from headstart.atomic import atomic_write

# Okabe and Ito's palette, distinct with every kind of colour vision; dashes are for print.
_LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "OPT": {"color": "#000000", "linestyle": (0, (1, 1.2))},
    "Oracle": {"color": "#009E73", "linestyle": (0, (5, 1.5))},
    "AVG-OFUL": {"color": "#0072B2", "linestyle": "-"},
    "RR-OFUL": {"color": "#D55E00", "linestyle": (0, (4, 1, 1, 1))},
    "ITL": {"color": "#CC79A7", "linestyle": "-"},
}
_OTHERS = ("#E69F00", "#56B4E9", "#8C6D31", "#7F7F7F")

_SETTINGS: dict[Any, Any] = {
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
    # Letters as outlines: a figure is the same where the font is missing.
    "svg.fonttype": "path",
}


def style(name: str, position: int) -> Mapping[str, Any]:
    """A learner's colour and dashes: its own, or those of its position among the learners."""
    return _LEARNERS.get(name) or {"color": _OTHERS[position % len(_OTHERS)], "linestyle": "-"}


@contextmanager
def figure(
    *paths: Path, columns: int = 1, width: float = 3.4, height: float = 2.6, share: bool = False
) -> Iterator[Sequence[Axes]]:
    """Axes to plot on, each legible at a paper's column width; saved at the end to every path.

    Vertical axes begin at 0 unless they are logarithmic; with `share`, the panels have one.
    """
    with mpl.rc_context(_SETTINGS):
        made = Figure(figsize=(width * columns, height), layout="constrained")
        panels = list(made.subplots(1, columns, squeeze=False, sharey=share)[0])
        yield panels
        for axes in panels:  # once all are plotted, so that a shared axis fits them all
            # Values below 0 stay visible, and an inverted axis stays inverted.
            low, high = axes.get_ylim()
            if axes.get_yscale() == "linear" and low < high and axes.dataLim.ymin >= 0:
                axes.set_ylim(bottom=0)
        for path in paths:
            with atomic_write(path) as part:
                made.savefig(part, format=path.suffix.lstrip(".") or "png")
