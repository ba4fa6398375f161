"""OFUL's radius and index, worked out by hand."""

import math

import numpy as np
import pytest

from headstart.core.arm_estimates import ArmEstimates
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.policies import OFUL, Greedy, NormBound

NOTHING = np.empty(0)
ARMS = np.array([[1.0, 0.0], [1.0, 1.0], [1.0, -1.0]])


def _estimates() -> ArmEstimates:
    # V = [[2, 1], [1, 2]], b = (11, 3), λ = 1, h = (1, -3): V + λI = [[3, 1], [1, 3]],
    # (V + λI)⁻¹ = [[3, -1], [-1, 3]]/8, b + h = (12, 0), ŵ = (4.5, -1.5), det(I + V) = 8.
    statistics = TaskStatistics(
        gram=np.array([[2.0, 1.0], [1.0, 2.0]]),
        moment=np.array([11.0, 3.0]),
        count=np.array(3.0),
        sum_of_squares=np.array(50.0),
    )
    return RidgeEstimate(statistics, Prior(np.array([1.0, -3.0]), np.array(1.0))).read(ARMS)


def test_radius_by_hand() -> None:
    # δ = e⁻³: 2 log(1/δ) = 6.
    noise = math.sqrt(6 + math.log(8))
    delta = math.exp(-3)
    plain = OFUL(noise_scale=2.0, failure_probability=delta)
    assert float(plain.radius(_estimates().summary)) == pytest.approx(2 * noise)
    told = OFUL(noise_scale=2.0, failure_probability=delta, bias_error=0.7, scale=3.0)
    assert float(told.radius(_estimates().summary)) == pytest.approx(3 * (2 * noise + 0.7))
    # ‖h‖ + S = √10 + 5.
    split = OFUL(failure_probability=delta, bias_error=NormBound(parameter_bound=5.0))
    assert float(split.radius(_estimates().summary)) == pytest.approx(noise + math.sqrt(10) + 5)


def test_bias_error_is_scaled_by_the_root_of_regularization() -> None:
    prior = Prior(np.zeros(2), np.array(9.0))
    estimates = RidgeEstimate(TaskStatistics.zeros(2), prior).read(ARMS)
    # Nothing is known: log det = 0. √9 · 2 = 6.
    policy = OFUL(noise_scale=0.0, bias_error=2.0)
    assert float(policy.radius(estimates.summary)) == pytest.approx(6)
    split = OFUL(noise_scale=0.0, bias_error=NormBound(parameter_bound=2.0))
    assert float(split.radius(estimates.summary)) == pytest.approx(6)
    # ‖(1, 1)‖ in (9I)⁻¹ is √2/3.
    scores = policy.scores(estimates, NOTHING)
    np.testing.assert_allclose(scores, [2, 2 * math.sqrt(2), 2 * math.sqrt(2)])


def test_full_matrix_uses_its_largest_eigenvalue() -> None:
    # ‖h − w*‖ in Λ's norm is at most √(its largest eigenvalue, 3) times the plain one.
    prior = Prior(np.zeros(2), np.array([[2.0, 1.0], [1.0, 2.0]]))
    estimates = RidgeEstimate(TaskStatistics.zeros(2), prior).read(ARMS)
    assert float(OFUL(noise_scale=0.0, bias_error=1.0).radius(estimates.summary)) == pytest.approx(
        3**0.5
    )


def test_index_by_hand() -> None:
    # Predictions 4.5, 3, 6; widths √(3/8), √(1/2), 1.
    np.testing.assert_allclose(_estimates().predictions, [4.5, 3, 6])
    policy = OFUL(noise_scale=2.0, failure_probability=math.exp(-3))
    beta = 2 * math.sqrt(6 + math.log(8))
    expected = [4.5 + beta * math.sqrt(3 / 8), 3 + beta * math.sqrt(1 / 2), 6 + beta]
    np.testing.assert_allclose(policy.scores(_estimates(), NOTHING), expected)


def test_oful_without_a_radius_is_greedy() -> None:
    silent = OFUL(scale=0.0)
    np.testing.assert_array_equal(
        silent.scores(_estimates(), NOTHING), Greedy().scores(_estimates(), NOTHING)
    )
