from typing import Literal

import numpy as np
import pytest
import xarray as xr
from tests.diagnosis.small import ENVIRONMENT, HORIZON, learners

import headstart as hs
from headstart.diagnosis import record


def test_a_recording_is_the_simulation_itself(recorded: xr.Dataset) -> None:
    played = hs.simulate(
        ENVIRONMENT,
        learners(ENVIRONMENT.mean_parameter),
        n_tasks=6,
        horizon=HORIZON,
        replications=30,
    )
    np.testing.assert_array_equal(recorded["regret"], played["regret"])


def test_an_environment_is_prepared_as_in_the_simulation() -> None:
    environment = hs.environments.Synthetic(dimension=4, reward="linear")
    four = learners(environment.mean_parameter)
    recorded = record(
        environment, four, noise_scale=1.0, n_tasks=2, horizon=5, replications=3, seed=9
    )
    played = hs.simulate(environment, four, n_tasks=2, horizon=5, replications=3, seed=9)
    np.testing.assert_array_equal(recorded["regret"], played["regret"])
    np.testing.assert_array_equal(recorded["mean_parameter"], 1.0)


@pytest.mark.parametrize("adversary", ["switching", "reacting"])
def test_tasks_without_one_parameter_are_refused(
    adversary: Literal["switching", "reacting"],
) -> None:
    environment = hs.environments.NonStochastic(dimension=3, adversary=adversary)
    with pytest.raises(ValueError, match="one parameter each, got tasks of NonStochastic"):
        record(environment, learners(np.ones(3)), noise_scale=0.1, n_tasks=2, horizon=5)


def test_statistics_and_bias_agree_with_the_memory(recorded: xr.Dataset) -> None:
    # Fold the recorded statistics by hand: RR's start of the last task is Eq. 8 over the others.
    mine = recorded.sel(learner="RR-OFUL").transpose("replication", "task", ...)
    gram = mine["gram"].to_numpy()[:, :-1].sum(1) + 0.5 * np.eye(3)
    moment = mine["moment"].to_numpy()[:, :-1].sum(1)
    expected = np.linalg.solve(gram, moment[..., None])[..., 0]
    start = mine["bias"].sel(end="start").isel(task=-1)
    np.testing.assert_allclose(start, expected, atol=1e-10)
    gap = np.linalg.norm(start.to_numpy() - mine["parameter"].isel(task=-1).to_numpy(), axis=-1)
    np.testing.assert_allclose(mine["bias_error"].isel(task=-1, after=0), gap, atol=1e-12)
