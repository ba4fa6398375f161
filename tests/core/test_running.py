"""The running estimate is the ridge estimate, updated: the same numbers at every step."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.core.seen import seen

from headstart.arrays import Floats
from headstart.core.prior import Mixture, Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.running import RunningEstimate
from headstart.core.statistics import TaskStatistics

LEADS = [(), (4,), (2, 3)]


def _prior(rng: np.random.Generator, lead: tuple[int, ...], d: int, kind: str) -> Prior:
    bias = rng.standard_normal((*lead, d))
    if kind == "number":
        return Prior(bias, np.array(10 ** rng.uniform(-3, 3)))
    if kind == "one each":
        return Prior(bias, np.asarray(10 ** rng.uniform(-3, 3, lead)))
    root = rng.standard_normal((*lead, d, d))
    matrix = root @ root.mT + 0.5 * np.eye(d)
    return Prior(bias, (matrix + matrix.mT) / 2)


def assert_agree(running: RunningEstimate, prior: Prior, x: Floats, y: Floats) -> None:
    """Compare with the ridge estimate of features (…, t, d) and rewards (…, t)."""
    truth = TaskStatistics.from_data(x, y)
    kept = running.statistics
    for name in ("gram", "moment", "count", "sum_of_squares"):
        np.testing.assert_allclose(
            getattr(kept, name), getattr(truth, name), rtol=1e-11, atol=1e-11
        )
    fresh = RidgeEstimate(truth, prior)
    # λ ≥ 1e-3 and ‖x‖² ≈ d: conditions up to 1e5, so eleven digits less the growth of t steps.
    scale = np.abs(fresh.inverse).max()
    np.testing.assert_allclose(running.inverse, fresh.inverse, rtol=0, atol=1e-9 * scale)
    np.testing.assert_allclose(running.parameter, fresh.parameter, rtol=1e-7, atol=1e-8)
    np.testing.assert_allclose(
        running.summary.log_determinant, fresh.log_determinant, rtol=0, atol=1e-8
    )


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("kind", ["number", "one each", "matrix"])
@settings(max_examples=15)
@given(seed=st.integers(0, 2**32 - 1), dimension=st.integers(1, 7), rounds=st.integers(0, 150))
def test_running_estimate_is_the_ridge_estimate(
    lead: tuple[int, ...], kind: str, seed: int, dimension: int, rounds: int
) -> None:
    rng = np.random.default_rng(seed)
    prior = _prior(rng, lead, dimension, kind)
    x, y = rng.standard_normal((*lead, rounds, dimension)), rng.standard_normal((*lead, rounds))
    running = RunningEstimate(prior)
    for t in range(rounds):
        running.observe(np.ascontiguousarray(x[..., t, :]), np.ascontiguousarray(y[..., t]))
    assert_agree(running, prior, x, y)


@pytest.mark.parametrize("lead", LEADS)
@pytest.mark.parametrize("kind", ["number", "matrix"])
def test_reading_arms_agrees(lead: tuple[int, ...], kind: str) -> None:
    rng = np.random.default_rng(1)
    dimension, n_arms, rounds = 5, 4, 30
    prior = _prior(rng, lead, dimension, kind)
    arms = rng.standard_normal((rounds, *lead, n_arms, dimension))
    rewards = rng.standard_normal((rounds, *lead))
    choices = rng.integers(0, n_arms, (rounds, *lead))
    running = RunningEstimate(prior)
    estimates = running.prepare(n_arms)
    chosen: list[Floats] = []
    for t in range(rounds):
        flat = arms[t].reshape(-1, n_arms, dimension)
        running.read(flat)
        features = np.array(chosen).reshape(t, *lead, dimension)
        data = TaskStatistics.from_data(
            np.moveaxis(features, 0, -2), np.moveaxis(rewards[:t], 0, -1)
        )
        expected = RidgeEstimate(data, prior).read(arms[t])
        kept, fresh = seen(estimates), seen(expected)
        for name, value in fresh.items():
            np.testing.assert_allclose(kept[name], value, rtol=1e-8, atol=1e-8, err_msg=name)
        running.learn_choices(flat, choices[t].reshape(-1), rewards[t].reshape(-1))
        chosen.append(np.take_along_axis(arms[t], choices[t][..., None, None], -2)[..., 0, :])


@pytest.mark.parametrize("kind", ["number", "matrix"])
def test_moving_the_bias_is_starting_there(kind: str) -> None:
    rng = np.random.default_rng(2)
    first = _prior(rng, (3,), 4, kind)
    moved = Prior(rng.standard_normal((3, 4)), first.regularization)
    x, y = rng.standard_normal((3, 20, 4)), rng.standard_normal((3, 20))
    running = RunningEstimate(first)
    for t in range(20):
        if t == 9:
            running.move(moved.bias)
        running.observe(np.ascontiguousarray(x[:, t]), np.ascontiguousarray(y[:, t]))
    assert_agree(running, moved, x, y)


@pytest.mark.parametrize("kind", ["number", "matrix"])
def test_starting_with_statistics_is_having_observed_them(kind: str) -> None:
    rng = np.random.default_rng(3)
    prior = _prior(rng, (2,), 4, kind)
    x, y = rng.standard_normal((2, 90, 4)), rng.standard_normal((2, 90))
    running = RunningEstimate(prior, TaskStatistics.from_data(x[:, :40], y[:, :40]))
    for t in range(40, 90):
        running.observe(np.ascontiguousarray(x[:, t]), np.ascontiguousarray(y[:, t]))
    assert_agree(running, prior, x, y)


def test_statistics_given_are_not_changed() -> None:
    start = TaskStatistics.from_data(np.eye(3), np.ones(3))
    running = RunningEstimate(Prior.zero(3, regularization=1.0), start)
    running.observe(np.ones(3), np.array(1.0))
    np.testing.assert_array_equal(start.gram, np.eye(3))
    before = running.statistics
    running.observe(np.ones(3), np.array(1.0))
    assert running.statistics.count == before.count + 1
    assert before.count == 4
    np.testing.assert_array_equal(before.gram, np.eye(3) + 1)


@pytest.mark.parametrize("exponent", [-6, -3, 0, 3])
def test_a_replication_does_not_depend_on_the_others(exponent: int) -> None:
    # At λ = 1e-6 every replication is refactorised at rounds of its own.
    rng = np.random.default_rng(4)
    prior = Prior.zero(5, regularization=10.0**exponent, lead=(6,))
    x = rng.standard_normal((400, 6, 5)) * rng.uniform(0.1, 3, (6, 1))
    y = rng.standard_normal((400, 6))
    together = RunningEstimate(prior)
    alone = [
        RunningEstimate(Prior.zero(5, regularization=10.0**exponent, lead=(1,))) for _ in "6" * 6
    ]
    for t in range(400):
        together.observe(x[t], y[t])
        for i, estimate in enumerate(alone):
            estimate.observe(x[t, i : i + 1].copy(), y[t, i : i + 1].copy())
    for i, estimate in enumerate(alone):
        np.testing.assert_array_equal(together.inverse[i], estimate.inverse[0])
        np.testing.assert_array_equal(together.parameter[i], estimate.parameter[0])
        for name in ("gram", "moment", "sum_of_squares"):
            np.testing.assert_array_equal(
                getattr(together.statistics, name)[i], getattr(estimate.statistics, name)[0]
            )


def test_a_replication_without_digits_leaves_the_others_as_they_are() -> None:
    # The first replication sees one direction only, at a λ far below its rounding.
    prior = Prior.zero(2, regularization=np.array([1e-30, 1e-6]), lead=(2,))
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((200, 2, 2)), rng.standard_normal((200, 2))
    x[:, 0] = 1.0
    together = RunningEstimate(prior)
    alone = RunningEstimate(Prior.zero(2, regularization=1e-6, lead=(1,)))
    for t in range(200):
        together.observe(x[t], y[t])
        alone.observe(x[t, 1:].copy(), y[t, 1:].copy())
    np.testing.assert_array_equal(together.inverse[1], alone.inverse[0])


def test_a_mixture_without_digits_leaves_the_others_as_they_are() -> None:
    def prior(size: int) -> Prior:
        mixture = Mixture(
            bias=np.zeros((size, 2, 2)),
            covariance=np.array([[np.eye(2), 9.0 * np.eye(2)]] * size),
            noise_scale=np.ones((size, 2)),
            weights=np.full((size, 2), 0.5),
            components_differ=np.ones(size, dtype=bool),
        )
        return Prior(
            np.zeros((size, 2)), np.eye(2), noise_degrees_of_freedom=np.ones(size), mixture=mixture
        )

    rng = np.random.default_rng(6)
    x, y = rng.standard_normal((9, 2, 2)), rng.standard_normal((9, 2))
    x[:, 0] = 1e9
    together, alone = RunningEstimate(prior(2)), RunningEstimate(prior(1))
    for t in range(9):
        together.observe(x[t], y[t])
        alone.observe(x[t, 1:].copy(), y[t, 1:].copy())
    np.testing.assert_array_equal(together.regularization[1], alone.regularization[0])
    np.testing.assert_array_equal(together.inverse[1], alone.inverse[0])
