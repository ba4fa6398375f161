"""The noise that exploration reckons with: it cannot fall to nothing before clicks come."""

import math

import numpy as np
import pytest

import headstart as hs
from headstart.policies import BayesUCB

ARMS = np.eye(3)


def taught(
    values: list[float],
    policy: BayesUCB | None = None,
    reward_range: tuple[float, float] | None = None,
) -> hs.MetaBandit:
    """A bandit with these rewards of the first arm, five per task."""
    bandit = hs.MetaBandit(
        dimension=3, policy=policy, reward_range=reward_range, scales=None, seed=0
    )
    for i, value in enumerate(values):
        bandit.observe(i // 5, ARMS[0], value)
    bandit.learned()  # which counts all of them
    return bandit


def with_usual_noise(noise: float, n_rewards: float, clicks: float, unit: float = 1.0) -> float:
    """The noise where a rate of clicks, shrunk to a half by 20 rewards, counts 100 rewards."""
    rate = (clicks + 10.0) / (n_rewards + 20.0)
    usual = unit**2 * rate * (1.0 - rate)
    weight = 100.0 / (100.0 + n_rewards)
    return math.sqrt((1.0 - weight) * noise**2 + weight * max(usual, noise**2))


@pytest.mark.parametrize("unit", [1.0, 8.0])
def test_rare_clicks_do_not_end_exploration(unit: float) -> None:
    clicks = [0.0] * 40 + [unit] + [0.0] * 59
    limits = None if unit == 1.0 else (0.0, unit)
    bandit = taught(clicks, reward_range=limits)
    learned = bandit.learned().noise_scale
    assert learned < 0.15 * unit
    noise = with_usual_noise(learned, len(clicks), 1, unit)
    assert noise > 0.2 * unit
    told = taught(clicks, BayesUCB(z="slow", z_mean="arms", noise_scale=noise), limits)
    expected = told.decide("new", ARMS).scores
    np.testing.assert_allclose(bandit.decide("new", ARMS).scores, expected, rtol=1e-12)
    many = bandit.decide_many(["newer"], ARMS[None]).scores[0]
    np.testing.assert_allclose(many, expected, rtol=1e-12)


def test_many_rewards_outweigh_the_usual_noise() -> None:
    # The same answer to the same arm, again and again: there is no noise.
    bandit = taught([1.0] * 5000)
    noise = with_usual_noise(bandit.learned().noise_scale, 5000, 5000)
    told = taught([1.0] * 5000, BayesUCB(z="slow", z_mean="arms", noise_scale=noise))
    assert noise < 0.05
    scores = bandit.decide("new", ARMS).scores
    np.testing.assert_allclose(scores, told.decide("new", ARMS).scores, rtol=1e-12)


@pytest.mark.parametrize(
    ("values", "reward_range"),
    [([0.5, 0.25] * 20, None), ([0.0, 2.0] * 20, None), ([0.0, 1.0] * 20, (-1.0, 1.0))],
)
def test_other_rewards_have_the_noise_that_is_learned(
    values: list[float], reward_range: tuple[float, float] | None
) -> None:
    bandit = taught(values, reward_range=reward_range)
    policy = BayesUCB(z="slow", z_mean="arms", noise_scale=bandit.learned().noise_scale)
    expected = taught(values, policy, reward_range).decide("new", ARMS).scores
    np.testing.assert_allclose(bandit.decide("new", ARMS).scores, expected, rtol=1e-12)


def test_a_constant_part_of_the_rewards_changes_no_decision_of_a_warm_task() -> None:
    chosen = []
    for constant in (0.0, 1e5):
        rng = np.random.default_rng(0)
        bandit = hs.MetaBandit(dimension=3, scales=None, seed=0)
        for task in range(20):
            w = rng.normal([0.5, 0.2, constant], 0.2)
            for _ in range(10):
                x = np.append(rng.standard_normal(2), 1.0)
                bandit.observe(task, x, float(x @ w + 0.3 * rng.standard_normal()))
        w, indices = rng.normal([0.5, 0.2, constant], 0.2), []
        for _ in range(40):
            arms = np.column_stack([rng.standard_normal((5, 2)), np.ones(5)])
            noise = 0.3 * rng.standard_normal()
            decision = bandit.decide("new", arms)
            bandit.reward(decision.id, float(arms[decision.arm_index] @ w + noise))
            indices.append(decision.arm_index)
        chosen.append(indices)
    assert chosen[0] == chosen[1]
