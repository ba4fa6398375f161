"""Curves show means over replications, with bands of 95 %."""

from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headstart.intervals import interval
from headstart.plotting.curves import half_width, plot
from headstart.plotting.style import figure

# Two learners, two replications, two tasks of one round.
REWARD = xr.DataArray(
    [[[[1.0], [2.0]], [[3.0], [4.0]]], [[[0.0], [0.0]], [[0.0], [2.0]]]],
    dims=("learner", "replication", "task", "round"),
    coords={"learner": ["ITL", "mine"], "round": [1]},
)


@pytest.mark.parametrize("dims", [("task", "round"), ("round", "task")])
def test_cumulative_is_the_running_sum_over_tasks_and_rounds(
    dims: tuple[str, str], tmp_path: Path
) -> None:
    values = REWARD.drop_vars("round").rename(dict(zip(("task", "round"), dims, strict=True)))
    with figure(tmp_path / "it.svg") as (axes,):
        plot(axes, values, "round", label="cumulative reward")
        lines = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.get_lines()}
        # Means over replications, 2 and 3, added up.
        np.testing.assert_allclose(lines["ITL"], [2, 5])
        np.testing.assert_allclose(lines["mine"], [0, 1])
        assert axes.get_ylabel() == "cumulative reward"
        # Small ticks at the ends of two tasks, none where there is one.
        ends = list(axes.xaxis.get_minor_locator()())
        assert ends == ([1, 2] if dims == ("task", "round") else [])
    assert "</svg>" in (tmp_path / "it.svg").read_text()


def test_half_widths_are_those_of_intervals() -> None:
    values = np.random.default_rng(0).standard_normal((5, 3))
    found = [interval(column) for column in values.T]
    np.testing.assert_allclose(half_width(values), [(i.high - i.low) / 2 for i in found])


def test_bands_of_differences_are_paired(tmp_path: Path) -> None:
    # Replications differ by thousands, the learners by exactly one per round.
    common = 1000.0 * np.arange(4).reshape(1, 4, 1, 1) * np.ones((2, 4, 1, 3))
    values = xr.DataArray(
        common + np.array([0.0, 1.0]).reshape(2, 1, 1, 1),
        dims=("learner", "replication", "task", "round"),
        coords={"learner": ["ITL", "mine"], "round": [1, 2, 3]},
    )
    with figure(tmp_path / "it.svg") as (axes,):
        plot(axes, values, "round", label="difference", reference="ITL")
        lines = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.get_lines()}
        np.testing.assert_allclose(lines["mine"], [1, 2, 3])
        np.testing.assert_array_equal(lines["ITL"], 0.0)
        (band,) = axes.collections
        low, high = band.get_datalim(axes.transData).intervaly
        assert 0.9 < low < high < 3.1


@pytest.mark.parametrize(("largest", "scale"), [(12.0, "linear"), (200.0, "log")])
def test_one_tall_curve_makes_the_axis_logarithmic(
    largest: float, scale: str, tmp_path: Path
) -> None:
    means = np.array([2.0, 3.0, largest]).reshape(3, 1, 1)
    values = xr.DataArray(
        means + np.zeros((3, 2, 4)),
        dims=("learner", "regularization", "replication"),
        coords={"learner": ["a", "b", "c"], "regularization": [1.0, 10.0]},
    )
    with figure(tmp_path / "it.svg") as (axes,):
        plot(axes, values, "regularization", label="regret (wins)")
        assert axes.get_yscale() == scale


@pytest.mark.parametrize(
    ("sizes", "scale", "labels"),
    [
        ([1, 10, 100], "log", ["1", "10", "100"]),
        ([0, 1, 5, 20], "symlog", ["0", "1", "5", "20"]),
        ([5, 10], "linear", ["5", "10"]),
        (list(range(1, 31)), "linear", None),
        ([1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 12, 15, 20, 50, 100, 200], "log", None),
    ],
)
def test_labels_of_numbers_of_tasks_do_not_overlap(
    sizes: list[int], scale: str, labels: list[str] | None, tmp_path: Path
) -> None:
    values = xr.DataArray(
        np.random.default_rng(0).uniform(3.0, 5.0, (2, len(sizes), 4)),
        dims=("learner", "trained", "replication"),
        coords={"learner": ["ITL", "mine"], "trained": sizes},
    )
    # Three panels, as wide as any report has them.
    with figure(tmp_path / "it.png", columns=3, height=2.8) as panels:
        for axes in panels:
            plot(axes, values, "trained", label="regret of a test task (units of reward)")
    axes = panels[0]
    assert axes.get_xscale() == scale
    low, high = axes.get_xlim()
    ticks = zip(axes.get_xticks(), axes.get_xticklabels(), strict=True)
    shown = [label for at, label in ticks if low <= at <= high]
    assert labels is None or [label.get_text() for label in shown] == labels
    assert len(shown) >= min(len(sizes), 5)
    boxes = [label.get_window_extent() for label in shown]
    assert all(one.x1 < other.x0 for one, other in pairwise(boxes))


def test_sums_of_tasks_are_plotted_one_by_one(tmp_path: Path) -> None:
    with figure(tmp_path / "it.svg") as (axes,):
        plot(axes, REWARD, "task", label="reward")
        lines = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.get_lines()}
    np.testing.assert_allclose(lines["ITL"], [2, 3])
    np.testing.assert_allclose(lines["mine"], [0, 1])
