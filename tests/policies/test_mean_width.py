"""Exploring the mean task: the index by parts, in simulation and in live use."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import headstart as hs
from headstart.arrays import Floats
from headstart.core.running import RunningEstimate
from headstart.policies import BayesUCB

seeds = st.integers(0, 2**32 - 1)


def learned_prior(rng: np.random.Generator, dimension: int, n_tasks: int = 5) -> hs.Prior:
    """A prior after some tasks."""
    estimator, mean = hs.priors.Hierarchical(), rng.standard_normal(dimension)
    memory = estimator.empty(dimension)
    for _ in range(n_tasks):
        x = rng.standard_normal((2 * dimension, dimension))
        y = x @ (mean + 0.3 * rng.standard_normal(dimension)) + rng.standard_normal(len(x))
        memory = estimator.absorb(memory, hs.TaskStatistics.from_data(x, y))
    return estimator.prior(memory)


def slow_scores(
    prior: hs.Prior, x: Floats, y: Floats, arms: Floats, *, z: float, z_mean: float
) -> Floats:
    """The definition, from a posterior that is inverted in full; s is the prior's."""
    inverse = np.linalg.inv(x.T @ x + prior.regularization)
    parameter = inverse @ (x.T @ y + prior.regularization @ prior.bias)
    scale, scores = float(prior.noise_scale), []
    assert prior.mean_covariance is not None
    for arm in arms:
        square = arm @ inverse @ arm
        of_mean = min(arm @ prior.mean_covariance @ arm, square)
        own, n = square - of_mean, len(x) + 1.0
        usable = math.sqrt(own * n * own / (1.0 + n * own))
        scores.append(arm @ parameter + scale * (z * usable + z_mean * math.sqrt(of_mean)))
    return np.array(scores)


@given(seed=seeds, n=st.integers(0, 6), z=st.floats(0.0, 3.0), z_mean=st.floats(0.0, 3.0))
def test_the_index_by_parts_is_its_definition(seed: int, n: int, z: float, z_mean: float) -> None:
    rng = np.random.default_rng(seed)
    start = learned_prior(rng, 3)
    prior = hs.Prior(
        start.bias, start.regularization, start.noise_scale, mean_covariance=start.mean_covariance
    )
    x, y = rng.standard_normal((n, 3)), rng.standard_normal(n)
    arms = rng.standard_normal((4, 3))
    estimate = RunningEstimate(prior)
    for features, reward in zip(x, y, strict=True):
        estimate.observe(features, np.asarray(reward))
    estimates = estimate.prepare(4, mean_widths=True)
    estimate.read(arms[None])
    scores = BayesUCB(z=z, z_mean=z_mean).scores(estimates, np.empty(0))
    expected = slow_scores(prior, x, y, arms, z=z, z_mean=z_mean)
    np.testing.assert_allclose(scores, expected, rtol=1e-8, atol=1e-10)


@given(seed=seeds, n_tasks=st.integers(0, 8))
def test_the_mean_task_is_never_more_uncertain_than_a_task(seed: int, n_tasks: int) -> None:
    prior = learned_prior(np.random.default_rng(seed), 3, n_tasks)
    assert prior.mean_covariance is not None
    of_tasks = np.linalg.inv(prior.regularization) - prior.mean_covariance
    assert np.linalg.eigvalsh(of_tasks).min() > -1e-9 * np.trace(prior.mean_covariance)


def test_the_mean_task_becomes_known_as_tasks_complete() -> None:
    rng = np.random.default_rng(0)
    shares = []
    for n_tasks in (1, 4, 16, 64):
        prior = learned_prior(rng, 3, n_tasks)
        assert prior.mean_covariance is not None
        shares.append(
            np.trace(prior.mean_covariance) / np.trace(np.linalg.inv(prior.regularization))
        )
    # With 64 tasks about 1/64 of the variance is left; with one, most of it is the mean's.
    assert shares == sorted(shares, reverse=True)
    assert shares[0] > 0.3
    assert shares[-1] < 0.1


def test_z_mean_arms_grows_with_the_number_of_arms() -> None:
    estimate = hs.RidgeEstimate(
        hs.TaskStatistics.from_data(np.zeros((0, 1)), np.zeros(0)),
        hs.Prior.zero(1, regularization=1.0),
    )
    policy = BayesUCB(z_mean="arms")
    assert policy.mean_radius(estimate.summary, 1) == 0.0
    assert policy.mean_radius(estimate.summary, 200) == pytest.approx(
        math.sqrt(0.75 * math.log(200))
    )


@pytest.mark.parametrize("z_mean", ["many", -1.0, float("nan")])
def test_a_wrong_z_mean_is_refused(z_mean: object) -> None:
    with pytest.raises(ValueError, match="z_mean"):
        BayesUCB(z_mean=z_mean)  # type: ignore[arg-type]


def test_live_use_scores_alike_by_arrays_mappings_catalogues_and_batches() -> None:
    rng = np.random.default_rng(3)
    policy = BayesUCB(z=1.0, z_mean=2.0)
    arms = rng.standard_normal((7, 4))
    bandit = hs.MetaBandit(dimension=4, policy=policy, seed=0, scales=None)
    mean = rng.standard_normal(4)
    for user in range(12):
        for _ in range(5):
            decision = bandit.decide(user, arms)
            x = arms[decision.arm_index]
            bandit.reward(decision.id, float(x @ mean + rng.standard_normal()))
    items = hs.Catalogue({f"item {i}": row for i, row in enumerate(arms)})
    by_array = bandit.decide(3, arms).scores
    np.testing.assert_array_equal(bandit.decide_many([3], arms[None]).scores[0], by_array)
    np.testing.assert_allclose(bandit.decide(3, dict(enumerate(arms))).scores, by_array, rtol=1e-12)
    np.testing.assert_allclose(bandit.decide(3, items).scores, by_array, rtol=1e-9)


def test_live_use_explores_what_is_unknown_of_the_mean_task() -> None:
    """One arm that many tasks have tried is less uncertain than one that none has."""
    arms = np.eye(2)
    rng = np.random.default_rng(1)
    scores = {}
    for z_mean in (0.0, 2.0):
        policy = BayesUCB(z=0.0, z_mean=z_mean)
        bandit = hs.MetaBandit(dimension=2, policy=policy, seed=0, scales=None)
        for user in range(40):
            for _ in range(3):
                bandit.observe(user, arms[0], 0.5 + 0.3 * rng.standard_normal())
        scores[z_mean] = bandit.decide("new", arms).scores
    bonus = scores[2.0] - scores[0.0]
    assert bonus[1] > 3.0 * bonus[0] > 0.0
