"""Where the marks of a chart lie."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from headstart.arrays import Floats
from headstart.service.dashboard.charts import (
    LineChart,
    Series,
    line_chart,
    nice_ticks,
    sparkline,
    symmetric_scale,
    tick_labels,
)

FINITE = st.floats(-1e6, 1e6, width=32)


@given(FINITE, FINITE, st.integers(3, 8))
def test_ticks_are_round_and_hold_the_range(first: float, second: float, n: int) -> None:
    low, high = sorted((first, second))
    if high - low < 1e-3:
        return
    ticks = nice_ticks(low, high, n)
    steps = np.diff(ticks)
    assert ticks[0] <= low + 1e-6 * (high - low)
    assert ticks[-1] >= high - 1e-6 * (high - low)
    assert len(ticks) <= 2 * n
    assert np.allclose(steps, steps[0])
    assert len(set(tick_labels(ticks))) == len(ticks)


@given(st.lists(st.one_of(FINITE, st.just(np.nan)), min_size=2, max_size=40))
def test_marks_lie_in_the_plot(values: list[float]) -> None:
    y = np.array(values)
    chart = _chart(y, y - 1.0, y + 1.0)
    points = [p for line in chart.lines for piece in line.pieces for p in piece.split()]
    xy = np.array([[float(c) for c in point.split(",")] for point in points]).reshape(-1, 2)
    assert ((xy >= -0.1) & (xy <= 1000.1)).all()
    drawn = len(points) + sum(len(line.dots) for line in chart.lines)
    assert drawn == np.isfinite(y).sum()
    assert all(0.0 <= tick.at <= 100.0 for tick in chart.y_ticks)
    assert len(chart.y_ticks) >= 2
    assert [len(row) for row in chart.rows] == [2] * len(values)


def _chart(y: Floats, low: Floats, high: Floats) -> LineChart:
    return line_chart(
        "values",
        [Series(name="a", kind="warm", y=y, low=low, high=high)],
        names=[str(i) for i in range(len(y))],
        column="i",
        ticks=[0],
        from_zero=False,
    )


def test_a_gap_parts_the_line() -> None:
    y = np.array([1.0, 2.0, np.nan, 3.0, np.nan, 4.0, 5.0])
    line = _chart(y, y, y).lines[0]
    assert len(line.pieces) == 2
    assert len(line.dots) == 1


def test_the_table_has_the_numbers_of_the_picture() -> None:
    y = np.array([0.5, np.nan])
    chart = _chart(y, y - 0.25, y + 0.25)
    assert chart.rows == [["0", "0.500 (0.250 to 0.750)"], ["1", "–"]]
    assert chart.hits[0].rows == [("warm", "a 0.500 (0.250 to 0.750)")]
    assert chart.hits[1].rows == []


def test_scale_has_zero() -> None:
    scale = symmetric_scale(np.array([2.0]), np.array([3.0]))
    assert 0.0 < scale.at(0.0) < scale.at(2.0) < scale.at(3.0) < 100.0


def test_a_constant_is_a_line_in_the_middle() -> None:
    assert sparkline(np.full(3, 7.0)) == "0,500 500,500 1000,500"
