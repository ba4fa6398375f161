"""The demo's table."""

import numpy as np
import pytest
import xarray as xr

from headstart.paper.demo import learner_totals, play_demo


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


def test_ours_is_played_beside_the_five() -> None:
    results = play_demo(replications=2, seed=0)
    for played in results.values():
        names = played["learner"].to_numpy().tolist()
        assert names == ["OPT", "Oracle", "AVG-OFUL", "RR-OFUL", "ITL", "Hierarchical (ours)"]
