import numpy as np
import pytest

import headstart as hs


def test_the_index_is_the_best_that_the_confidence_set_allows() -> None:
    # Eq. 3 maximises xᵀw over the ellipsoid; Eq. 4 says that is xᵀŵ + β‖x‖. Points of its surface
    # stay below, and w = ŵ + β(V + λI)⁻¹x/‖x‖ reaches it.
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(5, 3)), rng.normal(size=5)
    estimate = hs.RidgeEstimate(
        hs.TaskStatistics.from_data(x, y), hs.Prior(rng.normal(size=3), np.asarray(0.5))
    )
    arms = rng.normal(size=(4, 3))
    policy = hs.policies.OFUL(noise_scale=0.7, failure_probability=0.1)
    estimates = estimate.read(arms)
    index, beta = policy.scores(estimates, np.empty(0)), float(policy.radius(estimates.summary))
    turns = rng.normal(size=(20000, 3))
    turns *= beta / np.linalg.norm(turns, axis=1, keepdims=True)
    root = np.linalg.cholesky(estimate.inverse)
    surface = estimate.parameter + turns @ root.T
    reached = (arms @ surface.T).max(1)
    assert (reached <= index + 1e-9).all()
    np.testing.assert_allclose(reached, index, rtol=0.02)
    for arm, width, score in zip(arms, estimates.widths, index, strict=True):
        best = estimate.parameter + beta * estimate.inverse @ arm / width
        assert estimate.distance(best) == pytest.approx(beta)
        assert arm @ best == pytest.approx(score)
