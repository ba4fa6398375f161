import math
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import headstart as hs
from headstart import theory
from headstart.theory import AssumptionWarning, Setting
from headstart.theory.trajectory import Radius


def estimate_of(
    x: np.ndarray, y: np.ndarray, bias: np.ndarray, regularization: float
) -> hs.RidgeEstimate:
    statistics = hs.TaskStatistics.from_data(x, y)
    return hs.RidgeEstimate(statistics, hs.Prior(bias, np.asarray(regularization)))


def test_trace_radius_by_hand() -> None:
    # d = 2, t = 3, L = 2, λ = 4, R = ½, S = 3, δ = 1/e: 1 + tL²/λ = 4.
    setting = Setting(
        dimension=2,
        horizon=10,
        regularization=4.0,
        noise_scale=0.5,
        feature_bound=2.0,
        parameter_bound=3.0,
        failure_probability=math.exp(-1),
    )
    expected = 0.5 * math.sqrt(2 * (math.log(4) + 1)) + 2 * 3
    assert theory.trace_radius(setting, 3) == pytest.approx(expected, rel=1e-14)


def test_biased_radius_by_hand() -> None:
    # e1 played once: V = diag(1, 0), λ = 3, det(I + V/3) = 4/3; ‖h − w‖ = 5.
    estimate = estimate_of(np.array([[1.0, 0.0]]), np.array([1.0]), np.array([3.0, 4.0]), 3.0)
    radius = theory.biased_radius(
        estimate, np.zeros(2), noise_scale=2.0, failure_probability=math.exp(-2)
    )
    assert radius == pytest.approx(2 * math.sqrt(4 + math.log(4 / 3)) + math.sqrt(3) * 5, rel=1e-14)


def test_biased_radius_is_that_of_the_estimates_own_set() -> None:
    rng = np.random.default_rng(0)
    estimate = estimate_of(rng.normal(size=(6, 3)), rng.normal(size=6), rng.normal(size=3), 0.7)
    for w in rng.normal(scale=5, size=(200, 3)):
        how = {"noise_scale": 0.1, "failure_probability": 0.3}
        inside = estimate.distance(w) <= theory.biased_radius(estimate, w, **how)
        assert inside == estimate.contains(w, **how)


def test_fixed_bias_radius_by_hand_and_inside_theorem_1() -> None:
    estimate = estimate_of(np.array([[1.0, 0.0]]), np.array([1.0]), np.array([3.0, 4.0]), 3.0)
    radius = theory.fixed_bias_radius(
        estimate, np.zeros(2), noise_scale=2.0, failure_probability=math.exp(-2)
    )
    assert radius == pytest.approx(math.sqrt(4 * (4 + math.log(4 / 3)) + 3 * 25), rel=1e-14)
    assert radius < theory.biased_radius(
        estimate, np.zeros(2), noise_scale=2.0, failure_probability=math.exp(-2)
    )


def test_fixed_bias_radius_is_where_the_likelihood_ratio_reaches_one_over_delta() -> None:
    # Independent route: the ratio of the marginal density of y under w ~ N(h, R²/λ) to its density
    # under w*. At δ = 1/ratio the true parameter lies exactly on the boundary.
    rng = np.random.default_rng(1)
    d, n, noise, regularization = 3, 7, 0.8, 2.5
    x, h, w = rng.normal(size=(n, d)), rng.normal(size=d), rng.normal(size=d)
    y = x @ w + noise * rng.normal(size=n) + 3.0
    marginal = stats.multivariate_normal(x @ h, noise**2 * (np.eye(n) + x @ x.T / regularization))
    ratio = marginal.logpdf(y) - stats.multivariate_normal(x @ w, noise**2 * np.eye(n)).logpdf(y)
    assert ratio > 0  # otherwise there is no such δ
    estimate = estimate_of(x, y, h, regularization)
    radius = theory.fixed_bias_radius(
        estimate, w, noise_scale=noise, failure_probability=float(np.exp(-ratio))
    )
    assert radius == pytest.approx(estimate.distance(w), rel=1e-10)


def test_pooled_radius_by_hand() -> None:
    # V = diag(2, 0) over two tasks, λ = 1: det = 3; √λ‖H̄'‖ = 2.
    pool = estimate_of(np.array([[1.0, 0.0], [1.0, 0.0]]), np.zeros(2), np.zeros(2), 1.0)
    radius = theory.pooled_radius(
        pool, noise_scale=1.0, failure_probability=math.exp(-1), mean_norm=2.0
    )
    assert radius == pytest.approx(math.sqrt(2 + math.log(3)) + 2, rel=1e-14)


@given(
    d=st.integers(2, 8),
    t=st.integers(0, 30),
    regularization=st.floats(0.01, 100),
    delta=st.floats(1e-6, 0.999),
    seed=st.integers(0, 2**32 - 1),
)
def test_the_trace_form_covers_the_determinant_form(
    d: int, t: int, regularization: float, delta: float, seed: int
) -> None:
    x = np.random.default_rng(seed).normal(size=(t, d))
    x /= np.maximum(np.linalg.norm(x, axis=-1, keepdims=True), 1e-300)
    estimate = estimate_of(x, np.zeros(t), np.zeros(d), regularization)
    w = np.eye(d)[0]
    setting = Setting(
        dimension=d, horizon=30, regularization=regularization, failure_probability=delta
    )
    determinant = theory.biased_radius(estimate, w, noise_scale=1.0, failure_probability=delta)
    assert determinant <= theory.trace_radius(setting, t) * (1 + 1e-12)
    assert estimate.log_determinant <= setting.log_determinant(t) * (1 + 1e-9) + 1e-9


def test_in_one_dimension_the_trace_form_falls_short_and_warns() -> None:
    # One log(1/δ) of the two is gone: √(log 1/δ) < √(2 log 1/δ) before any data.
    setting = Setting(dimension=1, horizon=5, failure_probability=0.01, parameter_bound=0.0)
    with pytest.warns(AssumptionWarning, match="dimension of at least 2"):
        trace = theory.trace_radius(setting, 0)
    blank = estimate_of(np.zeros((1, 1)), np.zeros(1), np.zeros(1), 1.0)
    assert trace < theory.biased_radius(
        blank, np.zeros(1), noise_scale=1.0, failure_probability=0.01
    )


def test_conditions_that_do_not_hold_are_named() -> None:
    gaussian = Setting(dimension=2, horizon=5, bounded_tasks=False)
    with pytest.warns(AssumptionWarning, match="Eq. 2 needs ‖w‖ ≤ S"):
        theory.trace_radius(gaussian, 1)
    blank = estimate_of(np.zeros((1, 2)), np.zeros(1), np.zeros(2), 1.0)
    with pytest.warns(AssumptionWarning, match="fixed before the task begins"):
        theory.fixed_bias_radius(
            blank, np.zeros(2), noise_scale=1.0, failure_probability=0.1, frozen_bias=False
        )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        theory.trace_radius(Setting(dimension=2, horizon=5), 1)


def test_a_bias_that_follows_the_task_breaks_the_fixed_bias_radius_but_not_theorem_1() -> None:
    # h = the task's own least squares. Then ‖ŵ − w‖² − λ‖h − w‖² = ‖h − w‖² in V's norm, χ² with
    # d degrees of freedom: far above 2 log(1/δ) = 4.6 for d = 20, at any δ of interest.
    rng = np.random.default_rng(2)
    d, n, regularization = 20, 40, 1e4
    left: dict[Radius, int] = {theory.fixed_bias_radius: 0, theory.biased_radius: 0}
    for _ in range(200):
        x, w = rng.normal(size=(n, d)), rng.normal(size=d)
        y = x @ w + rng.normal(size=n)
        estimate = estimate_of(x, y, np.linalg.lstsq(x, y, rcond=None)[0], regularization)
        for radius in left:
            reach = radius(estimate, w, noise_scale=1.0, failure_probability=0.1)
            left[radius] += int(estimate.distance(w) > reach)
    assert left[theory.fixed_bias_radius] > 190
    assert left[theory.biased_radius] <= 20
