"""Thompson's scores have the posterior's mean and covariance."""

import numpy as np
import pytest

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.policies import Thompson

DRAWS, DIMENSION, N_ARMS = 200_000, 3, 4


def _case() -> tuple[RidgeEstimate, Floats, Floats]:
    """An estimate, arms, and the scores of many draws, (DRAWS, K)."""
    rng = np.random.default_rng(0)
    statistics = TaskStatistics.from_data(
        rng.standard_normal((6, DIMENSION)), rng.standard_normal(6)
    )
    estimate = RidgeEstimate(statistics, Prior(rng.standard_normal(DIMENSION), np.array(0.5)))
    arms = rng.standard_normal((N_ARMS, DIMENSION))
    one = estimate.read(arms)[None]
    many = one.repeat(DRAWS)
    policy = Thompson(noise_scale=0.5, scale=3.0)
    uniforms = rng.random((DRAWS, policy.n_uniforms(N_ARMS, DIMENSION)))
    return estimate, arms, policy.scores(many, uniforms)


def test_scores_have_the_posteriors_mean_and_covariance() -> None:
    estimate, arms, scores = _case()
    covariance = (0.5 * 3.0) ** 2 * arms @ estimate.inverse @ arms.T
    deviation = np.sqrt(np.diag(covariance))
    # A mean of n normal numbers is off by σ/√n; five of those, for four numbers.
    np.testing.assert_array_less(
        np.abs(scores.mean(0) - estimate.predict(arms)), 5 * deviation / np.sqrt(DRAWS)
    )
    # A covariance is off by √(σ_i²σ_j² + σ_ij²)/√n ≤ √2 σ_iσ_j/√n; five of those, for sixteen.
    margin = 5 * np.sqrt(2) * np.outer(deviation, deviation) / np.sqrt(DRAWS)
    np.testing.assert_array_less(np.abs(np.cov(scores.T) - covariance), margin)


def test_one_draw_is_used_for_all_arms_of_a_round() -> None:
    # Scores of four arms in three dimensions are linear in one w̃: the fourth follows.
    _, arms, scores = _case()
    drawn = np.linalg.solve(arms[:3], scores[:100, :3].T)
    np.testing.assert_allclose(arms[3] @ drawn, scores[:100, 3], rtol=1e-8, atol=1e-8)


def test_without_noise_thompson_is_greedy() -> None:
    estimate, arms, _ = _case()
    estimates = estimate.read(arms)
    scores = Thompson(scale=0.0).scores(estimates, np.full(DIMENSION, 0.9))
    np.testing.assert_allclose(scores, estimates.predictions, rtol=1e-14)


def test_median_uniforms_give_the_mean() -> None:
    estimate, arms, _ = _case()
    estimates = estimate.read(arms)
    scores = Thompson().scores(estimates, np.full(DIMENSION, 0.5))
    assert scores == pytest.approx(estimates.predictions, abs=1e-14)
