"""The league in one picture: every row's regret relative to the best rival's."""

from collections.abc import Sequence
from itertools import groupby
from pathlib import Path

from benchmarks.league import learners as who
from benchmarks.league.results import RIVALS, Result
from matplotlib.axes import Axes
from PIL import Image

from headstart.plotting import style as plots

_OTHERS = (
    (who.ITL, "each task alone (ITL)", "v", plots.PURPLE),
    (who.TOLD, "told everything", "^", plots.GREEN),
)
_LIMITS = (0.05, 12.0)


def draw(results: Sequence[Result], picture: Path) -> None:
    """Draw every row after the most tasks, a line each."""
    results = [result for result in results if result.size == max(result.row.sizes)]
    with plots.figure(picture, width=6.6, height=1.0 + 0.145 * len(results)) as (axes,):
        for y, result in enumerate(results):
            _line(axes, y, result)
        axes.axvline(1.0, color="black", linewidth=0.8)
        axes.set_xscale("log")
        axes.set_xlim(*_LIMITS)
        axes.set_xticks([0.1, 0.2, 0.5, 1, 2, 5, 10], labels=["⅒", "⅕", "½", "1", "2", "5", "10"])
        axes.minorticks_off()
        axes.tick_params(top=True, labeltop=True, length=2)
        axes.set_xlabel("regret, as a multiple of the best rival's")
        names = [f"{r.row.name}, N = {r.size}" for r in results]
        axes.set_yticks(range(len(results)), names, fontsize=6)
        axes.set_ylim(len(results) - 0.3, -0.7)
        axes.grid(False, axis="y")
        _groups(axes, [result.row.group for result in results])
        axes.legend(loc="upper center", bbox_to_anchor=(0.5, -0.04), ncols=3)
    # A few colours are enough, and take a quarter of the bytes.
    Image.open(picture).convert("RGB").quantize(64).save(picture, optimize=True)


def _line(axes: Axes, y: int, result: Result) -> None:
    """One row: ours with its interval, and the two ends of what is possible."""
    label = "headstart, with a 95 % interval" if y == 0 else None
    ratio, low, high = result.ratio(who.OURS, RIVALS)
    axes.plot([low, high], [y, y], color=plots.WARM, linewidth=1.6)
    axes.plot(ratio, y, "D", color=plots.WARM, label=label)
    for column, name, marker, colour in _OTHERS:
        if result.settings(column):
            ratio = result.mean(column) / result.mean(RIVALS)
            shown = min(max(ratio, _LIMITS[0]), _LIMITS[1])
            axes.plot(shown, y, marker, color=colour, label=name if y == 0 else None, alpha=0.8)


def _groups(axes: Axes, groups: Sequence[str]) -> None:
    first = 0
    for name, members in groupby(groups):
        size = len(list(members))
        axes.text(_LIMITS[1] * 1.08, first + (size - 1) / 2, name, va="center", fontsize=7)
        if first:
            axes.axhline(first - 0.5, color="black", linewidth=0.5)
        first += size
