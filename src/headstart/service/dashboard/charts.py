"""Charts: where marks, ticks and readouts lie, in percent of the plot; templates draw them as SVG.

The plot is as wide as the page allows: positions are percentages and text keeps its size.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from headstart.arrays import Booleans, Floats
from headstart.service.dashboard.formats import MISSING, fixed, number, short

# Lines are drawn in a box of this many units that is stretched over the plot.
_BOX = 1000.0


@dataclass(frozen=True, kw_only=True)
class Tick:
    """A labelled position on an axis, in percent."""

    at: float
    label: str


@dataclass(frozen=True, kw_only=True)
class Scale:
    """A linear map of [low, high] to percent."""

    low: float
    high: float

    def at(self, value: float) -> float:
        """Percent of the way from low to high."""
        return round(100.0 * (value - self.low) / (self.high - self.low), 3)

    def width(self, length: float) -> float:
        """How wide a length is, in percent."""
        return round(100.0 * length / (self.high - self.low), 3)


@dataclass(frozen=True, kw_only=True)
class Series:
    """Values over positions, with ends of intervals where there are any; nan is a gap.

    kind: the name of its colour and dash in the style sheet.
    """

    name: str
    kind: str
    y: Floats  # (n,)
    low: Floats | None = None
    high: Floats | None = None


@dataclass(frozen=True, kw_only=True)
class Line:
    """A series as drawn: pieces between gaps, a band for each, and points that stand alone."""

    name: str
    kind: str
    pieces: list[str] = field(default_factory=list)
    bands: list[str] = field(default_factory=list)
    dots: list[tuple[float, float]] = field(default_factory=list)


@dataclass(frozen=True, kw_only=True)
class Hit:
    """A strip of the plot that shows its values while the pointer is over it."""

    x: float
    width: float
    centre: float
    title: str
    rows: list[tuple[str, str]]  # kind, text

    @property
    def box(self) -> tuple[int, int]:
        """Width and height of the readout in pixels: room for its longest row, and for all."""
        longest = max(len(self.title), *(len(text) for _, text in self.rows), 1)
        return round(24 + 7.3 * longest), 32 + 19 * len(self.rows)


@dataclass(frozen=True, kw_only=True)
class LineChart:
    """Lines over a common axis, with the same numbers as a table."""

    label: str
    lines: list[Line]
    x_ticks: list[Tick]
    y_ticks: list[Tick]
    hits: list[Hit]
    head: list[str]
    rows: list[list[str]]


def nice_ticks(low: float, high: float, n: int = 5) -> list[float]:
    """About n round numbers from below low to above high: steps of 1, 2, 2.5 or 5 times 10^k."""
    if not (math.isfinite(low) and math.isfinite(high)) or high <= low:
        low, high = (0.0, 1.0) if not math.isfinite(low) or low == 0.0 else (low - 1, low + 1)
    raw = (high - low) / max(n - 1, 1)
    power = 10.0 ** math.floor(math.log10(raw))
    step = next(m * power for m in (1.0, 2.0, 2.5, 5.0, 10.0) if m * power >= raw * (1 - 1e-9))
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(k * step, 12) for k in range(first, last + 1)]


def tick_labels(values: Sequence[float]) -> list[str]:
    """The ticks in words, all with the decimals that their step needs."""
    step = values[1] - values[0] if len(values) > 1 else 1.0
    if max(abs(value) for value in values) >= 10_000.0:
        return [short(value) for value in values]
    for decimals in range(7):
        if abs(step * 10**decimals - round(step * 10**decimals)) < 1e-6:
            return [fixed(value, decimals) for value in values]
    return [number(value) for value in values]


def line_chart(
    label: str,
    series: Sequence[Series],
    *,
    names: Sequence[str],
    column: str,
    ticks: Sequence[int],
    tick_names: Sequence[str] | None = None,
    from_zero: bool = True,
) -> LineChart:
    """Lines of series over n equidistant positions.

    names: (n,), what each position is called in readouts and in the table. column: what the
    positions are. ticks: which positions have a tick; tick_names: what stands there.
    """
    n = len(names)
    ys, scale = _vertical(series, from_zero)
    across = Scale(low=0.0, high=max(n - 1.0, 1.0))
    at = [across.at(i) for i in range(n)]
    width = 100.0 / max(n - 1.0, 1.0)
    hits = [
        Hit(
            x=round(max(at[i] - width / 2, 0.0), 3),
            width=round(width, 3),
            centre=at[i],
            title=names[i],
            rows=[(s.kind, f"{s.name} {_spelled(s, i)}") for s in series if _known(s, i)],
        )
        for i in range(n)
    ]
    labels = list(tick_names) if tick_names is not None else [names[i] for i in ticks]
    return LineChart(
        label=label,
        lines=[_line(s, across, scale) for s in series],
        x_ticks=[Tick(at=at[i], label=text) for i, text in zip(ticks, labels, strict=True)],
        y_ticks=[
            Tick(at=100.0 - scale.at(y), label=text)
            for y, text in zip(ys, tick_labels(ys), strict=True)
        ],
        hits=hits,
        head=[column, *(s.name for s in series)],
        rows=[[names[i], *(_spelled(s, i) for s in series)] for i in range(n)],
    )


def sparkline(values: Floats) -> str:
    """The points of a small line in the box, with room for its stroke."""
    low, high = float(np.min(values)), float(np.max(values))
    middle = high - low < 1e-12 * max(abs(high), 1.0)
    xs = np.linspace(0.0, _BOX, len(values)) if len(values) > 1 else np.array([0.0])
    ys = (
        np.full(len(values), _BOX / 2)
        if middle
        else _BOX * (0.92 - 0.84 * (values - low) / (high - low))
    )
    return " ".join(f"{x:.0f},{y:.0f}" for x, y in zip(xs, ys, strict=True))


def symmetric_scale(lows: Floats, highs: Floats) -> Scale:
    """A scale with zero in it that holds all intervals, and a little room at the ends."""
    low, high = min(float(np.min(lows)), 0.0), max(float(np.max(highs)), 0.0)
    room = 0.04 * (high - low) or 1.0
    return Scale(low=low - room, high=high + room)


def _vertical(series: Sequence[Series], from_zero: bool) -> tuple[list[float], Scale]:
    """Ticks and scale of the vertical axis: the values fill the plot, with a little room."""
    low, high = _extent(series, from_zero)
    room = 0.06 * (high - low) or 0.5
    scale = Scale(low=low if from_zero and low == 0.0 else low - room, high=high + room)
    ticks = nice_ticks(scale.low, scale.high)
    return [y for y in ticks if scale.low <= y <= scale.high], scale


def _extent(series: Sequence[Series], from_zero: bool) -> tuple[float, float]:
    joined = np.concatenate([s.y[np.isfinite(s.y)] for s in series])
    if not len(joined):
        return 0.0, 1.0
    low, high = float(joined.min()), float(joined.max())
    # The widest intervals, of very few values, reach beyond the plot: the lines come first.
    room = high - low or abs(high)
    for s in series:
        if s.low is not None and s.high is not None and np.isfinite(s.low).any():
            low = min(low, max(float(np.nanmin(s.low)), low - room / 2))
            high = max(high, min(float(np.nanmax(s.high)), high + room / 2))
    if from_zero:
        low, high = min(low, 0.0), max(high, 0.0)
    return low, high


def _known(series: Series, i: int) -> bool:
    return math.isfinite(series.y[i])


def _spelled(series: Series, i: int) -> str:
    if not _known(series, i):
        return MISSING
    text = number(float(series.y[i]))
    if series.low is None or series.high is None or not math.isfinite(series.low[i]):
        return text
    return f"{text} ({number(float(series.low[i]))} to {number(float(series.high[i]))})"


def _line(series: Series, across: Scale, scale: Scale) -> Line:
    line = Line(name=series.name, kind=series.kind)
    for piece in _pieces(np.isfinite(series.y)):
        points = [_point(across, scale, i, series.y[i]) for i in piece]
        if len(piece) == 1:
            at = piece[0]
            line.dots.append((across.at(at), 100.0 - scale.at(float(series.y[at]))))
        else:
            line.pieces.append(" ".join(points))
        if series.low is not None and series.high is not None and len(piece) > 1:
            inside = [i for i in piece if math.isfinite(series.low[i])]
            upper = [_point(across, scale, i, series.high[i]) for i in inside]
            lower = [_point(across, scale, i, series.low[i]) for i in reversed(inside)]
            line.bands.append(" ".join(upper + lower))
    return line


def _point(across: Scale, scale: Scale, i: int, y: float) -> str:
    return f"{_BOX * across.at(i) / 100:.1f},{_BOX * (1 - scale.at(float(y)) / 100):.1f}"


def _pieces(finite: Booleans) -> list[list[int]]:
    pieces: list[list[int]] = []
    for i in np.flatnonzero(finite).tolist():
        if pieces and pieces[-1][-1] == i - 1:
            pieces[-1].append(i)
        else:
            pieces.append([i])
    return pieces
