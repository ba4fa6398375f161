"""The synthetic environment has the moments and the arms that it states."""

import numpy as np
import pytest

from headstart.environments import Gaussian, Synthetic


@pytest.mark.parametrize("total", [3.0, 24.0])
def test_total_variance_is_as_stated(total: float) -> None:
    mean = np.linspace(-1, 1, 8)
    environment = Synthetic(dimension=8, tasks=Gaussian(mean=mean, variance=total))
    parameter = environment.sample(1, 20_000, np.random.default_rng(0)).parameter
    assert parameter is not None
    # ‖w − w̄‖² is total/8 times a chi-square with 8 degrees: its mean is off by total·√(2/8/n).
    squares = ((parameter - mean) ** 2).sum(-1)
    assert abs(squares.mean() - total) < 5 * total * np.sqrt(2 / 8 / 20_000)
    # And every coordinate's mean by √(total/8/n).
    assert np.abs(parameter.mean(0) - mean).max() < 5 * np.sqrt(total / 8 / 20_000)
    np.testing.assert_array_equal(environment.mean_parameter, mean)


def test_linear_rewards_have_the_stated_means() -> None:
    environment = Synthetic(dimension=4, n_arms=3, reward="linear", noise_scale=0.7)
    task = environment.sample(50, 2_000, np.random.default_rng(1))
    assert task.parameter is not None
    utilities = (task.arms @ task.parameter[:, None, :, None])[..., 0]
    np.testing.assert_allclose(task.means, utilities, rtol=1e-12, atol=1e-12)
    noise = task.rewards - task.means
    # 300,000 numbers: the mean is off by 0.7/√n, the variance by 0.49·√(2/n).
    assert abs(noise.mean()) < 5 * 0.7 / np.sqrt(noise.size)
    assert abs(noise.var() - 0.49) < 5 * 0.49 * np.sqrt(2 / noise.size)


def test_winner_rewards_have_the_stated_means() -> None:
    environment = Synthetic(dimension=4, n_arms=5, reward="winner", noise_scale=0.6)
    task = environment.sample(50, 2_000, np.random.default_rng(2))
    assert set(np.unique(task.rewards)) == {0.0, 1.0}
    np.testing.assert_array_equal(task.rewards.sum(-1), 1)
    np.testing.assert_allclose(task.means.sum(-1), 1, rtol=1e-12)
    # Rounds sorted by the expected reward: the mean reward of each bin of 20,000 is that, within
    # five standard errors of a Bernoulli's mean.
    means, rewards = task.means.ravel(), task.rewards.ravel()
    for part in np.array_split(np.argsort(means), 25):
        expected = means[part].mean()
        error = np.sqrt((means[part] * (1 - means[part])).mean() / len(part))
        assert abs(rewards[part].mean() - expected) < 5 * error


def test_noiseless_winner_is_the_best_arm() -> None:
    task = Synthetic(noise_scale=0.0).sample(20, 10, np.random.default_rng(3))
    assert task.parameter is not None
    utilities = (task.arms @ task.parameter[:, None, :, None])[..., 0]
    np.testing.assert_array_equal(task.rewards.argmax(-1), utilities.argmax(-1))
    np.testing.assert_array_equal(task.rewards, task.means)


def test_arms_are_unit_vectors_around_an_orthonormal_basis() -> None:
    environment = Synthetic(dimension=6, n_arms=8, spread=0.5)
    prepared = environment.prepare(30, np.random.default_rng(4))
    products = prepared.bases[:, :6] @ prepared.bases[:, :6].mT
    np.testing.assert_allclose(products, np.broadcast_to(np.eye(6), products.shape), atol=1e-12)
    # More arms than dimensions: the basis is gone through again.
    np.testing.assert_array_equal(prepared.bases[:, 6:], prepared.bases[:, :2])
    task = prepared.sample(40, 30, np.random.default_rng(5))
    np.testing.assert_allclose(np.linalg.norm(task.arms, axis=-1), 1, rtol=1e-12)
    # E[(q + g)/‖q + g‖] points along q: the mean of 40 arms lies within 0.5/√40 · 5 of a multiple.
    middle = task.arms.mean(1)
    along = (middle * prepared.bases).sum(-1, keepdims=True)
    assert (along > 0.7).all()
    assert (np.linalg.norm(middle - along * prepared.bases, axis=-1) < 0.4).all()


def test_spread_is_the_length_of_what_is_added() -> None:
    # cos of the angle to q is 1/√(1 + s²) up to how g varies, for g orthogonal to q on average.
    for spread, least, most in ((0.0, 1.0, 1.0), (0.1, 0.99, 0.999), (1.0, 0.65, 0.75)):
        environment = Synthetic(dimension=50, n_arms=1, spread=spread)
        prepared = environment.prepare(200, np.random.default_rng(6))
        arms = prepared.sample(20, 200, np.random.default_rng(7)).arms
        cosine = float((arms * prepared.bases[:, None]).sum(-1).mean())
        assert least - 1e-12 <= cosine <= most + 1e-12


def test_tasks_of_a_replication_share_its_bases() -> None:
    prepared = Synthetic(spread=0.0).prepare(3, np.random.default_rng(8))
    one, two = (prepared.sample(2, 3, np.random.default_rng(seed)) for seed in (9, 10))
    np.testing.assert_array_equal(one.arms, two.arms)
    assert one.parameter is not None
    assert two.parameter is not None
    assert (one.parameter != two.parameter).all()
    assert (one.arms[0] != one.arms[1]).any()
