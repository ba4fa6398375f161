"""The demo's table and its picture."""

from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from matplotlib.image import imread

from headstart.paper.demo import learner_totals, play_demo, plot_demo

pytestmark = pytest.mark.slow


def test_totals_by_hand() -> None:
    # Two learners, two replications, one task of two rounds.
    reward = np.array([[[[1.0, 2.0]], [[3.0, 4.0]]], [[[0.0, 0.0]], [[0.0, 2.0]]]])
    dims = ("learner", "replication", "task", "round")
    results = xr.Dataset(
        {"reward": (dims, reward), "regret": (dims, 10 - reward)},
        coords={"learner": ["ITL", "mine"], "round": [1, 2]},
    )
    # Totals 3 and 7: mean 5, deviation √8, standard error √8/√2 = 2. Then 0 and 2: 1 ± 1.
    first, second = learner_totals(results)
    assert (first.learner, second.learner) == ("ITL", "mine")
    assert (first.reward.mean, first.regret.mean) == (5, 15)
    assert (second.reward.mean, second.regret.mean) == (1, 19)
    assert first.reward.error == pytest.approx(2)
    assert first.regret.error == pytest.approx(2)
    assert second.reward.error == pytest.approx(1)
    assert second.regret.error == pytest.approx(1)


def test_the_readmes_picture_is_what_the_demo_draws(tmp_path: Path) -> None:
    results = play_demo(replications=100, seed=0)
    for played in results.values():
        names = played["learner"].to_numpy().tolist()
        assert names == ["OPT", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL", "headstart"]
    plot_demo(results, tmp_path / "demo.png")
    shown = imread(Path(__file__).parents[2] / "docs" / "figures" / "demo.png")
    drawn = imread(tmp_path / "demo.png")
    assert shown.shape == drawn.shape
    # Another machine's rounding may move a line by a pixel; another picture differs far more.
    assert np.abs(shown - drawn).mean() < 0.005
