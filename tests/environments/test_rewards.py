"""The probabilities to win, against numerical integration; the shift of utilities."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

from headstart import kernels
from headstart.arrays import Floats
from headstart.environments import rewards


def _probabilities(utilities: list[float]) -> list[float]:
    """P(uₖ + zₖ is the largest) = ∫ φ(y − uₖ) Π_{j≠k} Φ(y − uⱼ) dy, adaptively."""
    found = []
    for k, own in enumerate(utilities):
        others = np.array([u for j, u in enumerate(utilities) if j != k])

        def density(y: float, own: float = own, others: Floats = others) -> float:
            return float(norm.pdf(y - own) * np.prod(norm.cdf(y - others)))

        value, _ = quad(density, own - 12, own + 12, epsabs=1e-13, epsrel=1e-12, limit=200)
        found.append(value)
    return found


@pytest.mark.parametrize(
    "utilities",
    [
        [0.3],
        [0.0, 1.0],
        [0.0, 0.0, 0.0, 0.0],
        [0.0, 0.2, 0.5, 0.9, 1.0],
        [0.0, 2.5, 2.0, 0.4, 2.5, 1.1, 2.4],
        [0.0, 5.0, 10.0],
        [-3.0, 0.0, 3.0],
        [0.1 * k for k in range(20)],
    ],
)
def test_win_probabilities_are_the_integral(utilities: list[float]) -> None:
    probabilities = np.empty((1, len(utilities)))
    kernels.win_probabilities(np.array([utilities]), probabilities)
    np.testing.assert_allclose(probabilities[0], _probabilities(utilities), rtol=0, atol=1e-11)


def test_win_probabilities_sum_to_one() -> None:
    rng = np.random.default_rng(1)
    for n_arms in (1, 2, 3, 5, 6, 20, 100):
        probabilities = np.empty((50, n_arms))
        kernels.win_probabilities(rng.random((50, n_arms)), probabilities)
        np.testing.assert_allclose(
            probabilities.sum(-1), 1, rtol=0, atol=1e-12 if n_arms < 50 else 1e-8
        )


def test_win_probabilities_of_two_by_formula() -> None:
    # P(u₁ + z₁ > u₂ + z₂) = Φ((u₁ − u₂)/√2).
    gaps = np.linspace(-6, 6, 25)
    probabilities = np.empty((25, 2))
    kernels.win_probabilities(np.stack([gaps, np.zeros(25)], axis=1), probabilities)
    np.testing.assert_allclose(probabilities[:, 0], norm.cdf(gaps / np.sqrt(2)), rtol=0, atol=1e-12)


def test_win_probabilities_are_the_frequencies_of_wins() -> None:
    utilities = np.array([[0.0, 0.4, 1.0, 0.9]])
    probabilities = np.empty((1, 4))
    kernels.win_probabilities(utilities, probabilities)
    n = 200_000
    contests = utilities + np.random.default_rng(0).standard_normal((n, 4))
    wins = np.bincount(contests.argmax(-1), minlength=4) / n
    # Five standard errors of a frequency.
    margin = 5 * np.sqrt(probabilities[0] * (1 - probabilities[0]) / n)
    np.testing.assert_array_less(np.abs(wins - probabilities[0]), margin)


@given(st.integers(0, 2**32), st.integers(2, 6))
def test_the_shift_maps_a_round_to_the_unit_interval(seed: int, n_arms: int) -> None:
    utilities = np.random.default_rng(seed).normal(size=(3, n_arms)) * 100
    sampled, means = rewards.sample_rewards(
        utilities, mode="linear", shift="round", noise_scale=0.0, rng=np.random.default_rng(0)
    )
    np.testing.assert_array_equal(sampled, means)
    np.testing.assert_array_equal(means.min(-1), 0.0)
    np.testing.assert_array_equal(means.max(-1), 1.0)
    np.testing.assert_array_equal(means.argsort(-1), utilities.argsort(-1))


def test_the_shift_follows_the_mode_unless_it_is_chosen() -> None:
    utilities = np.array([[0.0, 1.0, 4.0]])

    def means(mode: rewards.Mode, shift: rewards.Shift | None) -> Any:
        rng = np.random.default_rng(0)
        return rewards.sample_rewards(utilities, mode=mode, shift=shift, noise_scale=1.0, rng=rng)[
            1
        ]

    np.testing.assert_array_equal(means("linear", None), utilities)
    np.testing.assert_array_equal(means("linear", "none"), utilities)
    np.testing.assert_array_equal(means("linear", "round"), utilities / 4)
    np.testing.assert_array_equal(means("winner", None), means("winner", "round"))
    assert means("winner", "none")[0, 2] > means("winner", "round")[0, 2] + 0.2
