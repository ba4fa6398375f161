"""The Gittins index by parts: its definition, and what it is worth to explore."""

import math

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

import headstart as hs
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates
from headstart.core.running import RunningEstimate
from headstart.kernels import worth_exploring
from headstart.policies import Gittins

seeds = st.integers(0, 2**32 - 1)
variances = st.floats(1e-6, 1e3)
uses = st.floats(1e-2, 1e6)


def learned_prior(rng: np.random.Generator, dimension: int, n_tasks: int = 5) -> hs.Prior:
    """A prior after some tasks."""
    estimator, mean = hs.priors.Hierarchical(), rng.standard_normal(dimension)
    memory = estimator.empty(dimension)
    for _ in range(n_tasks):
        x = rng.standard_normal((2 * dimension, dimension))
        y = x @ (mean + 0.3 * rng.standard_normal(dimension)) + rng.standard_normal(len(x))
        memory = estimator.absorb(memory, hs.TaskStatistics.from_data(x, y))
    return estimator.prior(memory)


def bonus(variance: float, n: float) -> float:
    """b(nσ²)/√n, as Chick and Gans (2009) print it."""
    x = n * variance
    if x <= 1 / 7:
        b = x / math.sqrt(2)
    elif x <= 100:
        b = math.exp(-0.02645 * math.log(x) ** 2 + 0.89106 * math.log(x) - 0.4873)
    else:
        b = math.sqrt(x) * math.sqrt(
            2 * math.log(x) - math.log(math.log(x)) - math.log(16 * math.pi)
        )
    return b / math.sqrt(n)


@given(seed=seeds, n=st.integers(0, 6))
def test_the_index_is_its_definition(seed: int, n: int) -> None:
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
    inverse = np.linalg.inv(x.T @ x + prior.regularization)
    parameter = inverse @ (x.T @ y + prior.regularization @ prior.bias)
    assert prior.mean_covariance is not None
    expected = []
    for arm in arms:
        square = arm @ inverse @ arm
        of_mean = min(arm @ prior.mean_covariance @ arm, square)
        parts = (square - of_mean, (n + 1) / 3), (of_mean, n + 1)
        worth = sum(bonus(variance, times) ** 2 for variance, times in parts)
        expected.append(arm @ parameter + float(prior.noise_scale) * math.sqrt(worth))
    found = Gittins().scores(estimates, np.empty(0))
    np.testing.assert_allclose(found, expected, rtol=1e-7, atol=1e-9)


@given(variance=variances, more=st.floats(1.01, 100.0), n=uses)
def test_more_variance_is_worth_more(variance: float, more: float, n: float) -> None:
    # The pieces of the approximation meet within two percent.
    assert worth_exploring(more * variance, n) > 0.98 * worth_exploring(variance, n)


@given(variance=variances, n=uses, more=st.floats(1.01, 100.0))
def test_more_uses_are_worth_more(variance: float, n: float, more: float) -> None:
    assert worth_exploring(variance, more * n) > 0.96 * worth_exploring(variance, n)


@given(variance=variances, n=uses)
def test_a_bonus_grows_slower_than_its_uses(variance: float, n: float) -> None:
    # A quantity that is used once is worth nearly nothing; one that is used for ever, √(2 log n)σ.
    assume(variance * n > math.e)
    assert worth_exploring(variance, n) < 2.0 * variance * math.log(variance * n) + variance


def test_what_is_certain_is_worth_nothing() -> None:
    assert worth_exploring(0.0, 1e6) == 0.0


def test_an_item_that_is_offered_again_is_explored() -> None:
    rng = np.random.default_rng(0)
    estimate = hs.RidgeEstimate(hs.TaskStatistics.zeros(2), hs.Prior.zero(2, regularization=1.0))
    read = estimate.read(np.zeros((2, 2)))
    widths = np.array([0.5, 0.5])
    items = ArmEstimates(
        read.projections, np.zeros(2), widths, read.inverse, read.summary,
        item_widths=widths, item_uses=np.array([1.0, 1000.0]),
    )  # fmt: skip
    scores: Floats = Gittins().scores(items, rng.random(0))
    assert scores[0] == pytest.approx(bonus(0.25, 1.0))
    assert scores[1] == pytest.approx(bonus(0.25, 1000.0))
    assert scores[1] > 3.0 * scores[0]


@pytest.mark.parametrize("noise_scale", [-1.0, float("nan")])
def test_a_wrong_noise_scale_is_refused(noise_scale: float) -> None:
    with pytest.raises(ValueError, match="noise_scale"):
        Gittins(noise_scale=noise_scale)
