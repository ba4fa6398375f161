"""KG* against quadrature and against all numbers of further rewards."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.stats import norm

import headstart as hs
from headstart.arrays import Floats
from headstart.policies import KnowledgeGradient

finite = st.floats(-3.0, 3.0)


def _read(means: Floats, variances: Floats, noise: float) -> hs.RidgeEstimate:
    """Independent arms, the basis vectors, with these posterior means and variances."""
    regularization = np.diag(noise**2 / variances)
    nothing = hs.TaskStatistics.from_data(np.empty((0, len(means))), np.empty(0))
    return hs.RidgeEstimate(nothing, hs.Prior(means, regularization, np.asarray(noise)))


def _gain(means: Floats, variances: Floats, noise: float, arm: int, m: int) -> float:
    """By how much m rewards of an arm raise the largest mean, by the distribution of their mean."""
    changed = variances[arm] ** 2 / (variances[arm] + noise**2 / m)
    others = np.delete(means, arm).max()
    now = max(means[arm], others)

    def integrand(z: float) -> float:
        return float((max(means[arm] + np.sqrt(changed) * z, others) - now) * norm.pdf(z))

    crossing = (others - means[arm]) / np.sqrt(changed)
    return float(quad(integrand, -9.0, 9.0, points=[np.clip(crossing, -9.0, 9.0)])[0])


@settings(max_examples=25, deadline=None)
@given(
    st.lists(st.tuples(finite, st.floats(0.01, 4.0)), min_size=2, max_size=4, unique=True),
    st.floats(0.2, 2.0),
)
def test_one_more_reward_is_worth_its_expected_gain(
    arms: list[tuple[float, float]], noise: float
) -> None:
    means, variances = (np.array(column) for column in zip(*arms, strict=True))
    policy = KnowledgeGradient(horizon=8, batches=False)
    read = _read(means, variances, noise).read(np.eye(len(means)))
    expected = [mean + 7 * _gain(means, variances, noise, arm, 1) for arm, mean in enumerate(means)]
    np.testing.assert_allclose(policy.scores(read, np.empty(0)), expected, atol=1e-6)


def test_the_best_number_of_rewards_is_found_within_one_percent() -> None:
    rng = np.random.default_rng(0)
    for _ in range(8):
        means, variances = rng.standard_normal(3), rng.uniform(0.01, 1.0, 3)
        read = _read(means, variances, 1.0).read(np.eye(3))
        found = KnowledgeGradient(horizon=100).scores(read, np.empty(0)) - means
        for arm in range(3):
            every = [(100 - m) / m * _gain(means, variances, 1.0, arm, m) for m in range(1, 100)]
            assert found[arm] == pytest.approx(max(every), rel=0.01, abs=1e-6)


def test_in_the_last_round_the_best_prediction_is_chosen() -> None:
    read = _read(np.array([0.0, 0.1]), np.array([9.0, 0.1]), 1.0).read(np.eye(2))
    scores = KnowledgeGradient(horizon=1).scores(read, np.empty(0))
    np.testing.assert_array_equal(scores, [0.0, 0.1])


@pytest.mark.parametrize("wrong", [{"horizon": 0}, {"horizon": 5, "noise_scale": -1.0}])
def test_settings_are_checked(wrong: dict[str, float]) -> None:
    with pytest.raises(ValueError, match=list(wrong)[-1]):
        KnowledgeGradient(**wrong)  # type: ignore[arg-type]
