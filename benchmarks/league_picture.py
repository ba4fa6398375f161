"""The league as a heat map, drawn from the table in league.md.

Run with `python -m benchmarks.league_picture`, after the table was made by `make league`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby
from pathlib import Path

import numpy as np
from benchmarks import league_learners as who
from matplotlib.axes import Axes
from matplotlib.colors import LogNorm
from matplotlib.patches import Rectangle
from PIL import Image

from headstart.arrays import Floats
from headstart.plotting import style as plots

PAGE = Path(__file__).parent / "league.md"
PICTURE = PAGE.parents[1] / "docs" / "figures" / "league.png"
SHOWN = (
    *who.TUNED, who.PAPER, who.ADA, who.INFORMED, who.ISOTROPIC, who.OURS, who.ORACLE, who.TOLD
)  # fmt: skip


@dataclass(frozen=True)
class Line:
    """A row of the table: mean regret by column."""

    group: str
    title: str
    means: dict[str, float]


def read(page: Path) -> Iterator[Line]:
    """The rows of the table."""
    rows = [line for line in page.read_text().splitlines() if line.startswith("|")]
    columns = [cell.strip() for cell in rows[0].strip("|").split("|")]
    for row in rows[2:]:
        cells = [cell.strip(" *") for cell in row.strip("|").split("|")]
        if len(cells) != len(columns):
            return  # the next table
        named = dict(zip(columns, cells, strict=True))
        means = {name: float(named[name]) for name in SHOWN if named[name] != "–"}
        yield Line(cells[0], f"{named['environment']}, N = {named['N']}", means)


def ratios(lines: Sequence[Line]) -> Floats:
    """Regret relative to the best column without the true variances or mean."""
    found = np.full((len(lines), len(SHOWN)), np.nan)
    for i, line in enumerate(lines):
        least = min(line.means[column] for column in (*who.TUNED, who.OURS))
        for j, column in enumerate(SHOWN):
            if column in line.means:
                found[i, j] = line.means[column] / least
    return found


def draw(page: Path, picture: Path) -> None:
    """Draw the table of a page."""
    lines = list(read(page))
    with plots.figure(picture, width=6.6, height=1.2 + 0.16 * len(lines)) as (axes,):
        axes.grid(False)
        axes.spines[:].set_visible(False)
        _cells(axes, ratios(lines))
        axes.set_yticks(range(len(lines)), [line.title for line in lines], fontsize=6.5)
        _columns(axes, len(lines))
        _groups(axes, [line.group for line in lines])
    # A few colours are enough for a heat map, and take a quarter of the bytes.
    Image.open(picture).convert("RGB").quantize(128).save(picture, optimize=True)


def _cells(axes: Axes, values: Floats) -> None:
    image = axes.imshow(values, aspect="auto", cmap="RdBu_r", norm=LogNorm(0.2, 5.0))
    for (i, j), value in np.ndenumerate(values):
        text = "–" if np.isnan(value) else f"{value:.2f}" if value < 10 else f"{value:.1f}"
        dark = not np.isnan(value) and not 0.4 < value < 2.5
        colour = "white" if dark else "#999999" if np.isnan(value) else "black"
        axes.text(j, i, text, ha="center", va="center", fontsize=6.5, color=colour)
    bar = axes.figure.colorbar(image, ax=axes, location="bottom", shrink=0.5, aspect=40, pad=0.01)
    bar.set_label("regret, as a multiple of the least of the tuned rivals' and ours")
    bar.set_ticks([0.2, 0.5, 1, 2, 5], labels=["⅕", "½", "1", "2", "5"])
    bar.minorticks_off()


def _columns(axes: Axes, n_rows: int) -> None:
    axes.set_xticks(range(len(SHOWN)), SHOWN)
    axes.tick_params(top=True, labeltop=True, bottom=False, labelbottom=False, length=0)
    for label, name in zip(axes.get_xticklabels(), SHOWN, strict=True):
        label.set(rotation=45, ha="left", va="bottom", rotation_mode="anchor")
        label.set_fontweight("bold" if name == who.OURS else "normal")
    ours = SHOWN.index(who.OURS) - 0.5
    axes.add_patch(Rectangle((ours, -0.5), 1, n_rows, fill=False, linewidth=1.0, zorder=3))


def _groups(axes: Axes, groups: Sequence[str]) -> None:
    first = 0
    for name, members in groupby(groups):
        size = len(list(members))
        axes.text(
            len(SHOWN) - 0.35, first + (size - 1) / 2, name, va="center", rotation=0, fontsize=7
        )
        if first:
            axes.axhline(first - 0.5, color="black", linewidth=0.6)
        first += size


if __name__ == "__main__":
    draw(PAGE, PICTURE)
