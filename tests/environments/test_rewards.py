"""The winner's chances, against numerical integration."""

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import norm

from headstart import kernels
from headstart.arrays import Floats


def _chances(utilities: list[float]) -> list[float]:
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
    chances = np.empty((1, len(utilities)))
    kernels.win_probabilities(np.array([utilities]), chances)
    np.testing.assert_allclose(chances[0], _chances(utilities), rtol=0, atol=1e-11)


def test_somebody_wins() -> None:
    rng = np.random.default_rng(1)
    for n_arms in (1, 2, 3, 5, 6, 20, 100):
        chances = np.empty((50, n_arms))
        kernels.win_probabilities(rng.random((50, n_arms)), chances)
        np.testing.assert_allclose(chances.sum(-1), 1, rtol=0, atol=1e-12 if n_arms < 50 else 1e-8)


def test_win_probabilities_of_two_by_formula() -> None:
    # P(u₁ + z₁ > u₂ + z₂) = Φ((u₁ − u₂)/√2).
    gaps = np.linspace(-6, 6, 25)
    chances = np.empty((25, 2))
    kernels.win_probabilities(np.stack([gaps, np.zeros(25)], axis=1), chances)
    np.testing.assert_allclose(chances[:, 0], norm.cdf(gaps / np.sqrt(2)), rtol=0, atol=1e-12)


def test_win_probabilities_are_what_happens() -> None:
    utilities = np.array([[0.0, 0.4, 1.0, 0.9]])
    chances = np.empty((1, 4))
    kernels.win_probabilities(utilities, chances)
    n = 200_000
    contests = utilities + np.random.default_rng(0).standard_normal((n, 4))
    wins = np.bincount(contests.argmax(-1), minlength=4) / n
    # Five standard errors of a frequency.
    margin = 5 * np.sqrt(chances[0] * (1 - chances[0]) / n)
    np.testing.assert_array_less(np.abs(wins - chances[0]), margin)
