"""Side information: what it predicts, and what it costs where it predicts nothing."""

import numpy as np
import pytest

import headstart as hs
from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors import Hierarchical

H = np.array([[3.0, 0.0, -2.0], [0.0, 1.5, 0.0]])


def _learn(coefficients: Floats, n_tasks: int, seed: int = 0) -> tuple[Hierarchical, Memory]:
    """Tasks 1 + zᵀH + 0.3 N(0, I) with eight rounds each; z has mean 5 and deviation 2."""
    rng = np.random.default_rng(seed)
    estimator = Hierarchical(n_about=2)
    memory = estimator.empty(3)
    for _ in range(n_tasks):
        z = rng.standard_normal(2)
        x = rng.standard_normal((8, 3))
        w = 1.0 + z @ coefficients + 0.3 * rng.standard_normal(3)
        y = x @ w + 0.5 * rng.standard_normal(8)
        memory = estimator.absorb(memory, TaskStatistics.from_data(x, y, 5.0 + 2.0 * z))
    return estimator, memory


def test_the_bias_follows_side_information() -> None:
    estimator, memory = _learn(H, 40)
    for z in np.random.default_rng(1).standard_normal((5, 2)):
        prior = estimator.prior(memory, 5.0 + 2.0 * z)
        # 40 tasks determine a coefficient to about 0.35/√40.
        np.testing.assert_allclose(prior.bias, 1.0 + z @ H, atol=0.3)


def test_unknown_side_information_is_averaged_over() -> None:
    estimator, memory = _learn(H, 40)
    unknown, known = estimator.prior(memory), estimator.prior(memory, np.full(2, 5.0))
    np.testing.assert_allclose(unknown.bias, 1.0, atol=1.2)
    spread = [
        prior.noise_scale**2 * np.trace(np.linalg.inv(prior.regularization))
        for prior in (unknown, known)
    ]
    # HᵀH adds about 15 to a trace of about 0.3.
    assert spread[0] > 10.0 * spread[1]


def test_useless_side_information_changes_nothing() -> None:
    estimator, memory = _learn(np.zeros((2, 3)), 40)
    assert (memory["about_variances"] == 0.0).all()
    one, two = (estimator.prior(memory, about) for about in (None, np.array([9.0, 1.0])))
    np.testing.assert_array_equal(one.bias, two.bias)
    np.testing.assert_array_equal(one.regularization, two.regularization)


def test_side_information_is_asked_for() -> None:
    estimator = Hierarchical(n_about=2)
    memory, task = estimator.empty(3), TaskStatistics.zeros(3)
    with pytest.raises(ValueError, match="2 numbers of side information, got none"):
        estimator.absorb(memory, task)
    with pytest.raises(ValueError, match=r"about must have shape \(…, p\) = \(2,\), got \(3,\)"):
        estimator.prior(memory, np.zeros(3))


def test_statistics_keep_their_side_information() -> None:
    known = TaskStatistics.from_data(np.ones((1, 3)), np.ones(1), np.array([1.0, 2.0]))
    for total in (known + TaskStatistics.zeros(3), TaskStatistics.zeros(3) + known):
        np.testing.assert_array_equal(total.about, [1.0, 2.0])


def test_side_information_lowers_regret_in_simulation() -> None:
    environment = hs.environments.Synthetic(
        dimension=6,
        n_arms=4,
        reward="linear",
        tasks=hs.environments.Gaussian(variance=20.0),
        n_about=2,
        about_explains=0.9,
    )
    policy = hs.policies.BayesUCB()
    learners = [
        hs.Learner("without", policy, Hierarchical(covariance="isotropic")),
        hs.Learner("with", policy, Hierarchical(n_about=2)),
    ]
    results = hs.evaluate(
        environment, learners, n_training_tasks=15, n_test_tasks=4, horizon=15, replications=30
    )
    regret = results["regret"].sum("round").mean(("task", "replication")).sel(trained=15)
    assert float(regret.sel(learner="with")) < 0.7 * float(regret.sel(learner="without"))


def test_the_share_that_side_information_explains() -> None:
    settings = hs.environments.Synthetic(
        tasks=hs.environments.Gaussian(variance=20.0), n_about=3, about_explains=0.9
    )
    rng = np.random.default_rng(2)
    prepared = settings.prepare(400, rng)
    task = prepared.sample(1, 400, rng)
    assert task.about is not None
    assert task.parameter is not None
    assert prepared.about_coefficients is not None
    explained = (task.about[:, None] @ prepared.about_coefficients)[:, 0]
    rest = task.parameter - 1.0 - explained
    # ‖w − w̄‖² is 20 on average: 18 of it explained. 400 tasks of 20 coordinates.
    assert (explained**2).sum(-1).mean() == pytest.approx(18.0, rel=0.15)
    assert (rest**2).sum(-1).mean() == pytest.approx(2.0, rel=0.06)
