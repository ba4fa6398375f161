"""A trial: its numbers, and its page as text for a terminal and as HTML with two figures."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import PercentFormatter

from headstart.atomic import atomic_write
from headstart.features import Features
from headstart.intervals import Interval
from headstart.plotting import document
from headstart.plotting import style as plots
from headstart.trials.earnings import Earnings
from headstart.trials.shares import Shares
from headstart.trials.starts import ALONE, MEAN, ONE, OURS, TWO
from headstart.trials.verdict import Answer, Curves

_STYLES: dict[str, dict[str, Any]] = {
    MEAN: {"color": plots.GREY, "linestyle": (0, (1, 1.2)), "marker": ""},
    ALONE: {"color": plots.COLD, "linestyle": (0, (2, 1)), "marker": "v"},
    ONE: {"color": plots.PURPLE, "linestyle": (0, (4, 1, 1, 1)), "marker": "s"},
    TWO: {"color": plots.GREEN, "linestyle": (0, (5, 1.5)), "marker": "^"},
    OURS: {"color": plots.WARM, "linestyle": "-", "marker": "D"},
}
# How many attributes that tasks differ along, and points of curves, are in a table.
_MOST_ALONG, _SHOWN = 6, (0, 1, 2, 5, 10, 20, 30)


@dataclass(frozen=True, kw_only=True)
class Trial:
    """Whether a warm start would pay, from a log; `print` shows it, `save` writes it as HTML.

    Attributes
    ----------
    answer : {"yes", "one model", "alone", "cannot tell"}
        Take headstart, one model for all tasks, or let each task learn alone.
    verdict : str
        The answer in one sentence, with its reason.
    shares : Shares or None
        `of`: shares of the variance of rewards by what they are of; `along`: which attributes tasks
        differ along. None where the log cannot tell.
    curves : Curves or None
        `of`: by method, the share of the variance that it predicts of a new task's next reward,
        after as many of its own rewards as `after` says.
    earnings : Earnings, str or None
        What each method's choices would have earned; a sentence where that is refused; None
        without propensities.
    features : Features or None
        The schema.
    notes : sequence of str
        What was read, and what else is worth knowing.
    code : str
        The lines to start with.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"user": ["ann", "bob"], "price": [3.0, 4.0], "click": [0, 1]})
    >>> print(hs.trial(log, task="user", reward="click").verdict)
    This log cannot tell, because it has 2 rewards, and at least 100 are needed.
    """

    answer: Answer
    verdict: str
    shares: Shares | None = None
    curves: Curves | None = None
    earnings: Earnings | str | None = None
    features: Features | None = field(default=None, repr=False)
    notes: Sequence[str] = ()
    code: str = ""

    def __str__(self) -> str:
        return text(self)

    def save(self, path: str | Path) -> Path:
        """Write the page as one HTML file with its figures.

        Parameters
        ----------
        path : str or Path
            The file, which must end in .html.

        Returns
        -------
        Path
            The file.
        """
        return write(self, Path(path))

    def record(self) -> dict[str, Any]:
        """Its numbers as plain data, for JSON."""
        found: dict[str, Any] = {"answer": self.answer, "verdict": self.verdict}
        found["notes"] = list(self.notes)
        if self.shares is not None:
            found["shares"] = _plain(self.shares.of)
            found["along"] = _plain(self.shares.along)
        if self.curves is not None:
            found["after"] = list(self.curves.after)
            found["predicted"] = {
                name: [one.record() for one in curve] for name, curve in self.curves.of.items()
            }
        if isinstance(self.earnings, Earnings):
            found["earned"] = _plain(self.earnings.values)
            found["refused"] = dict(self.earnings.refused)
        found["code"] = self.code
        return found


def _plain(intervals: Mapping[str, Interval]) -> dict[str, dict[str, float | None]]:
    return {name: one.record() for name, one in intervals.items()}


def text(trial: Trial) -> str:
    """The page for a terminal."""
    parts = [trial.verdict, "\n".join(trial.notes)]
    for title, header, rows in _tables(trial):
        widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
        lines = [
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(line, widths, strict=True))
            ).rstrip()
            for line in (header, *rows)
        ]
        parts.append("\n".join([title, *lines]))
    if isinstance(trial.earnings, str):
        parts.append(trial.earnings)
    if trial.code:
        parts.append(f"To start with:\n\n{trial.code}")
    return "\n\n".join(part for part in parts if part)


def _tables(trial: Trial) -> Iterator[tuple[str, list[str], list[list[str]]]]:
    """The title, head and rows of every table."""
    if trial.shares is not None:
        rows = [[name, *_percents(one)] for name, one in trial.shares.of.items()]
        yield "Do tasks differ? Shares of the variance of rewards:", ["", "share", "95 %"], rows
        along = list(trial.shares.along.items())[:_MOST_ALONG]
        if along and trial.answer == "yes":
            rows = [[name, *_percents(one)] for name, one in along]
            yield "Along what? Shares of what tasks prefer:", ["", "share", "95 %"], rows
    if trial.curves is not None:
        places = [i for i, after in enumerate(trial.curves.after) if after in _SHOWN]
        header = ["after rewards of its own", *(str(trial.curves.after[i]) for i in places)]
        rows = []
        for name, curve in trial.curves.of.items():
            rows.append([name, *(f"{curve[i].mean:.1%}" for i in places)])
            if name != MEAN:
                ends = (f"±{(curve[i].high - curve[i].low) / 2:.1%}" for i in places)
                rows.append(["", *ends])
        yield "How much of a new task's next rewards each method predicts:", header, rows
    if isinstance(trial.earnings, Earnings):
        found = trial.earnings
        rows = [["the log", *_numbers(found.logged), f"{found.n_rows:,}"]]
        for name, size in found.sizes.items():
            if name in found.values:
                rows.append([name, *_numbers(found.values[name]), f"{size:,.0f}"])
            else:
                rows.append([name, "refused", found.refused[name], f"{size:,.0f}"])
        header = ["", "reward", "95 %", "effective rows"]
        yield "What the best item by each would have earned per decision:", header, rows


def _percents(one: Interval) -> list[str]:
    return [f"{one.mean:.1%}", f"{one.low:.1%} to {one.high:.1%}"]


def _numbers(one: Interval) -> list[str]:
    return [f"{one.mean:.4g}", f"{one.low:.4g} to {one.high:.4g}"]


def write(trial: Trial, path: Path) -> Path:
    """Write the page as one HTML file."""
    if path.suffix != ".html":
        raise ValueError(f"the page must end in .html, got {path}")
    with TemporaryDirectory() as folder:
        figures(trial, Path(folder))
        blocks = list(_blocks(trial))
        html = document.page(document.markdown(blocks, "."), Path(folder))
    with atomic_write(path) as part:
        part.write_text(html, encoding="utf-8")
    return path


def _blocks(trial: Trial) -> Iterator[document.Block]:
    yield document.Heading("Would a warm start pay?", level=1)
    yield document.Paragraph(trial.verdict, strong=True)
    captions = {
        "Do tasks differ": ("shares", "Shares of the variance of rewards, with 95 % intervals."),
        "How much of a new": (
            "curves",
            "How much of a new task's next rewards each method predicts, by the number of its own "
            "rewards before. Bands are 95 % intervals over tasks.",
        ),
    }
    for title, header, rows in _tables(trial):
        yield document.Heading(title.rstrip(":,"))
        for start, picture in captions.items():
            if title.startswith(start):
                yield document.Picture(*picture)
        yield document.Table(header, rows)
    if isinstance(trial.earnings, str):
        yield document.Paragraph(trial.earnings)
    if trial.code:
        yield document.Heading("To start with")
        yield document.Paragraph(f"```python\n{trial.code}\n```")
    yield document.Heading("What was read")
    yield document.Items(trial.notes)


def figures(trial: Trial, folder: Path) -> None:
    """Both figures, as PNG and SVG."""
    if trial.shares is not None:
        paths = [folder / f"shares{suffix}" for suffix in (".png", ".svg")]
        with plots.figure(*paths, width=6.0, height=2.2) as (axes,):
            plot_shares(axes, trial)
    if trial.curves is not None:
        paths = [folder / f"curves{suffix}" for suffix in (".png", ".svg")]
        with plots.figure(*paths, width=6.0, height=3.2, legend=True) as (axes,):
            plot_curves(axes, trial)


def plot_shares(axes: Axes, trial: Trial) -> None:
    """A bar for every share, with its interval."""
    assert trial.shares is not None
    found = list(trial.shares.of.items())[::-1]
    places = np.arange(len(found))
    means = np.array([one.mean for _, one in found])
    ends = np.array([[one.mean - one.low, one.high - one.mean] for _, one in found]).T
    colours = [plots.GREY if name.startswith("noise") else plots.BLUE for name, _ in found]
    axes.barh(places, np.maximum(means, 0.0), color=colours, height=0.6)
    axes.errorbar(
        means, places, xerr=np.maximum(ends, 0.0), fmt="none", ecolor="black", elinewidth=1.0
    )
    axes.set_yticks(places, [name for name, _ in found])
    axes.xaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    axes.set_xlabel("share of the variance of rewards")
    axes.set_xlim(right=1.0)


def plot_curves(axes: Axes, trial: Trial) -> None:
    """What each method predicts after a task's own rewards, as lines with bands."""
    assert trial.curves is not None
    after = trial.curves.after
    for name, curve in trial.curves.of.items():
        style = _STYLES[name]
        axes.plot(after, [one.mean for one in curve], label=name, **style)
        if name in (OURS, ONE, ALONE):
            low, high = [one.low for one in curve], [one.high for one in curve]
            axes.fill_between(after, low, high, color=style["color"], alpha=0.15, linewidth=0)
    axes.yaxis.set_major_formatter(PercentFormatter(1.0, decimals=None))
    axes.set_xlabel("rewards of its own before")
    axes.set_ylabel(plots.wrapped("variance of the next rewards that is predicted"))
