from typing import Literal

import numpy as np
import pytest
import xarray as xr
from tests.diagnosis.small import ENVIRONMENT, HORIZON, learners, small_recording

import headstart as hs
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.diagnosis import Diagnosis, record
from headstart.diagnosis.recorder import claimed_radius


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


def estimate() -> RidgeEstimate:
    rng = np.random.default_rng(0)
    statistics = TaskStatistics.from_data(rng.normal(size=(2, 6, 3)), rng.normal(size=(2, 6)))
    return RidgeEstimate(statistics, Prior(rng.normal(size=(2, 3)), np.array(0.7)))


@pytest.mark.parametrize(
    "policy",
    [
        hs.policies.OFUL(),
        hs.policies.OFUL(bias_error=0.5, fixed_bias=True),
        hs.policies.OFUL(bias_error=hs.policies.NormBound(parameter_bound=2.0)),
    ],
)
def test_the_claimed_radius_is_the_one_that_scores_arms(policy: hs.policies.OFUL) -> None:
    read = estimate().read(np.ones((2, 4, 3)))
    radius = claimed_radius(policy, estimate())
    assert radius is not None
    widened = read.predictions + radius[:, None] * read.widths
    np.testing.assert_array_equal(policy.scores(read, np.empty((2, 0))), widened)


@pytest.mark.parametrize(
    "policy", [hs.policies.Greedy(), hs.policies.BayesUCB(), hs.policies.Thompson()]
)
def test_policies_without_a_confidence_set_claim_none(policy: hs.interfaces.Policy) -> None:
    assert claimed_radius(policy, estimate()) is None
    recorded = small_recording(n_tasks=2, replications=2, regularizations=(), policy=policy)
    sets = Diagnosis(recorded)
    assert sets.share_outside("ITL", "as played") is None
    assert sets.share_outside("ITL", "Theorem 1") is not None
