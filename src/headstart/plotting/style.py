"""Style: one for all figures, with the same colour for the same learner in each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from textwrap import wrap
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

from headstart.atomic import atomic_write

# Formats that figures are written in.
SUFFIXES = (".png", ".svg", ".pdf")

# Okabe and Ito's palette, distinct with every kind of colour vision. Dashes and markers tell
# curves apart in greyscale.
BLUE, VERMILION, GREEN, PURPLE = "#0072B2", "#D55E00", "#009E73", "#CC79A7"
ORANGE, SKY, BLACK = "#E69F00", "#56B4E9", "#000000"
PALETTE = (BLUE, VERMILION, GREEN, PURPLE, ORANGE, SKY, BLACK)
GREY = "#7F7F7F"
# One colour for headstart's own learner and for what starts warm, one for what starts cold: in all
# figures, and in `dashboard.css` and `headstart.css`.
WARM, COLD = BLUE, VERMILION

_LEARNERS: Mapping[str, Mapping[str, Any]] = {
    "OPT": {"color": BLACK, "linestyle": (0, (1, 1.2)), "marker": ""},
    "Oracle": {"color": GREEN, "linestyle": (0, (5, 1.5)), "marker": "^"},
    "AVG-OFUL": {"color": ORANGE, "linestyle": "-", "marker": "o"},
    "RR-OFUL": {"color": PURPLE, "linestyle": (0, (4, 1, 1, 1)), "marker": "s"},
    "ITL": {"color": COLD, "linestyle": (0, (2, 1)), "marker": "v"},
    "headstart": {"color": WARM, "linestyle": "-", "marker": "D"},
}
_ALIASES = {
    "Hierarchical": "headstart",
    "AVG": "AVG-OFUL",
    "RR": "RR-OFUL",
}

# For all other learners, by position: eight colours, then the same colours with other dashes.
COLOURS = (
    SKY, "#8C6D31", "#5E3C99", GREY, "#B2182B", "#1B7837", "#C49A00", "#2D4F8B",
)  # fmt: skip
_DASHES: tuple[Any, ...] = ("-", (0, (3, 1)), (0, (1, 1)), (0, (6, 1, 1, 1, 1, 1)))
_MARKERS = ("P", "X", "d", "<", ">", "p", "h", "*")

# How many letters of a label fit into the height of a panel above a legend.
_LABEL = 28

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
    "legend.fontsize": 7,
    "lines.linewidth": 1.4,
    "lines.markersize": 3.2,
    "figure.dpi": 200,
    # Letters as outlines, so that a figure looks the same if the font is missing.
    "svg.fonttype": "path",
    # The same picture gives the same bytes.
    "svg.hashsalt": "headstart",
    # TrueType, since journals refuse Type 3 fonts.
    "pdf.fonttype": 42,
}


def style(name: str, among: Sequence[str]) -> Mapping[str, Any]:
    """A learner's colour and dashes, for a line without markers.

    `among` are all learners of the study, plotted here or not. A name without its own style gets
    one by its position among such names, so that it is the same in all figures of a study.
    """
    return {key: value for key, value in _style(name, among).items() if key != "marker"}


def styles(
    names: Sequence[str], points: int, among: Sequence[str] | None = None
) -> dict[str, Mapping[str, Any]]:
    """Different colours, dashes and markers for learners that are plotted together, by name.

    Lines have `points` points, and about five of them get a marker, each learner's at other places.
    `among` is as in `style`; by default, the plotted learners.
    """
    every = names if among is None else among
    step = max(1, points // 5)
    return {
        name: {
            **_style(name, every),
            "markevery": (i * step // max(len(names), 1), step) if points > 20 else 1,
        }
        for i, name in enumerate(names)
    }


def _style(name: str, among: Sequence[str]) -> Mapping[str, Any]:
    known = _LEARNERS.get(_ALIASES.get(name, name))
    if known is not None:
        return known
    others = [one for one in among if _ALIASES.get(one, one) not in _LEARNERS]
    turn, at = divmod(others.index(name), len(COLOURS))
    dashes = _DASHES[(turn + at) % len(_DASHES)]
    return {"color": COLOURS[at], "linestyle": dashes, "marker": _MARKERS[at]}


def wrapped(label: str) -> str:
    """The label of a vertical axis, in lines that fit the height of a panel; units apart."""
    what, bracket, unit = label.partition(" (")
    parts = [what, f"({unit}"] if bracket and len(label) > _LABEL else [label]
    return "\n".join(line for part in parts for line in _balanced(part))


def _balanced(text: str) -> list[str]:
    """As few lines as fit, of about the same length."""
    lines = wrap(text, _LABEL, break_long_words=False)
    for width in range(len(text) // max(len(lines), 1), _LABEL):
        narrower = wrap(text, width, break_long_words=False)
        if len(narrower) == len(lines):
            return narrower
    return lines


@contextmanager
def settings() -> Iterator[None]:
    """Matplotlib's settings for all figures.

    >>> import matplotlib
    >>> from headstart import plotting
    >>> with plotting.settings():
    ...     print(matplotlib.rcParams["font.size"])
    8.0
    """
    with mpl.rc_context(_SETTINGS):
        yield


@contextmanager
def figure(
    *paths: str | Path,
    columns: int = 1,
    width: float = 3.4,
    height: float = 2.6,
    share: bool = False,
    legend: bool = False,
) -> Iterator[Sequence[Axes]]:
    """Axes to plot on, each legible at a paper's column width; saved at the end to every path.

    Vertical axes begin at 0 unless they are logarithmic.

    Parameters
    ----------
    *paths : str or Path
        The files to write.
    columns : int, default 1
        The number of panels.
    width : float, default 3.4
        The width of a panel, in inches.
    height : float, default 2.6
        The height of the figure, in inches.
    share : bool, default False
        Whether the panels have one vertical axis.
    legend : bool, default False
        Whether all labels of the panels stand in rows below them.

    Returns
    -------
    context manager of sequence of Axes
        The panels.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> with plotting.figure(Path("regret.png"), columns=2) as (left, right):
    ...     _ = left.plot([1, 2, 3])
    ...     _ = right.plot([3, 2, 1])
    >>> Path("regret.png").exists()
    True
    """
    with settings():
        made = Figure(figsize=(width * columns, height), layout="constrained")
        panels = list(made.subplots(1, columns, squeeze=False, sharey=share)[0])
        yield panels
        for axes in panels:  # once all are plotted, so that a shared axis fits them all
            # Values below 0 stay visible, and an inverted axis stays inverted.
            low, high = axes.get_ylim()
            if axes.get_yscale() == "linear" and low < high and axes.dataLim.ymin >= 0:
                axes.set_ylim(bottom=0)
            if axes.get_yscale() == "log":
                _label_powers(axes)
        if legend:
            shared_legend(made, panels)
        for i, path in enumerate(paths):
            if i == 1:  # the first has laid it out
                made.set_layout_engine("none")
            save(made, path)


def _label_powers(axes: Axes) -> None:
    """Plain numbers on a logarithmic vertical axis, with 2 and 5 if it has few powers of ten."""
    low, high = axes.get_ylim()
    subs = (1.0, 2.0, 5.0) if high / low < 300 else (1.0,)
    axes.yaxis.set_major_locator(LogLocator(subs=subs))
    axes.yaxis.set_major_formatter(FuncFormatter(_plain_power))
    axes.yaxis.set_minor_formatter(NullFormatter())


def _plain_power(value: float, _: int | None) -> str:
    if 1e-3 <= value < 1e5:
        return f"{value:g}"
    power = round(np.log10(value))
    return f"$10^{{{power}}}$" if np.isclose(value, 10.0**power) else ""


def shared_legend(made: Figure, panels: Sequence[Axes]) -> Legend:
    """One legend below the panels, with every label once."""
    handles: dict[str, Any] = {}
    for axes in panels:
        for line, label in zip(*axes.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, line)
    most = min(len(handles), 6 if len(panels) > 1 else 3)
    columns = _legend_columns(list(handles), most, made.get_figwidth())
    return made.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=columns
    )


def _legend_columns(labels: Sequence[str], most: int, width: float) -> int:
    """How many columns of labels fit into a width in inches, at least 1 and at most this many."""
    for columns in range(most, 1, -1):
        parts = np.array_split(np.array([len(label) for label in labels]), columns)
        # A line, the space around it, and letters of 7 points.
        if sum(0.5 + 0.05 * float(part.max()) for part in parts) <= width:
            return columns
    return 1


def save(made: Figure, path: str | Path) -> None:
    """Write a figure atomically, without the date, so that the same picture is the same bytes.

    Parameters
    ----------
    made : Figure
        The figure.
    path : str or Path
        The file, .png, .svg or .pdf.

    Examples
    --------
    >>> from pathlib import Path
    >>> from matplotlib.figure import Figure
    >>> from headstart import plotting
    >>> plotting.save(Figure(), Path("empty.svg"))
    >>> Path("empty.svg").exists()
    True
    """
    path = Path(path)
    kind = path.suffix.lstrip(".") or "png"
    dated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}.get(kind, {})
    with atomic_write(path) as part:
        made.savefig(part, format=kind, metadata=dated)
