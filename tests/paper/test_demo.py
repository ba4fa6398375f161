"""The demo's table and figure."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr

from headstart.paper import demo
from headstart.plotting import style as plots


def _results() -> xr.Dataset:
    # Two learners, two replications, one task of two rounds.
    reward = np.array([[[[1.0, 2.0]], [[3.0, 4.0]]], [[[0.0, 0.0]], [[0.0, 2.0]]]])
    dims = ("learner", "replication", "task", "round")
    return xr.Dataset(
        {"reward": (dims, reward), "regret": (dims, 10 - reward)},
        coords={"learner": ["ITL", "mine"], "round": [1, 2]},
    )


def test_table_by_hand() -> None:
    # Totals 3 and 7: mean 5, deviation √8, standard error √8/√2 = 2. Then 0 and 2: 1 ± 1.
    first, second = demo.table(_results())
    assert (first.learner, second.learner) == ("ITL", "mine")
    assert (first.reward, first.regret) == (5, 15)
    assert (second.reward, second.regret) == (1, 19)
    assert first.reward_error == pytest.approx(2)
    assert first.regret_error == pytest.approx(2)
    assert second.reward_error == pytest.approx(1)
    assert second.regret_error == pytest.approx(1)


def test_cumulative_draws_the_running_sum(tmp_path: Path) -> None:
    with plots.figure(tmp_path / "it.svg") as (axes,):
        plots.cumulative(axes, _results()["reward"].mean("task"), label="cumulative reward")
        lines = {line.get_label(): np.asarray(line.get_ydata()) for line in axes.get_lines()}
        # Means over replications of the rounds, 2 and 3, added up.
        np.testing.assert_allclose(lines["ITL"], [2, 5])
        np.testing.assert_allclose(lines["mine"], [0, 1])
        assert axes.get_ylabel() == "cumulative reward"
    assert "</svg>" in (tmp_path / "it.svg").read_text()


def test_a_figure_that_fails_leaves_no_file(tmp_path: Path) -> None:
    with pytest.raises(RuntimeError), plots.figure(tmp_path / "it.png"):
        raise RuntimeError
    assert list(tmp_path.iterdir()) == []
