"""Curves show means over replications, with bands of 95 %."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headstart.intervals import interval
from headstart.plotting.curves import half_width, plot_cumulative
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
        plot_cumulative(axes, values, label="cumulative reward")
        lines = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.get_lines()}
        # Means over replications, 2 and 3, added up.
        np.testing.assert_allclose(lines["ITL"], [2, 5])
        np.testing.assert_allclose(lines["mine"], [0, 1])
        assert axes.get_ylabel() == "cumulative reward"
        # One thin line between two tasks, none within one.
        assert len(axes.get_lines()) == 2 + (dims == ("task", "round"))
    assert "</svg>" in (tmp_path / "it.svg").read_text()


def test_half_widths_are_those_of_intervals() -> None:
    values = xr.DataArray(
        np.random.default_rng(0).standard_normal((3, 5)), dims=("learner", "replication")
    )
    found = [interval(row) for row in values.to_numpy()]
    np.testing.assert_allclose(half_width(values), [(i.high - i.low) / 2 for i in found])
