import numpy as np
import pytest
from tests.diagnosis.small import small_recording

import headstart as hs
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.diagnosis import Diagnosis
from headstart.diagnosis.trajectories import claimed_radius


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
    sets = Diagnosis(recorded).confidence_sets
    assert sets.share_outside("ITL", "as played") is None
    assert sets.share_outside("ITL", "Theorem 1") is not None
