import numpy as np
import pytest
from tests.playing import play

import headstart as hs
from headstart import theory
from headstart.core.running import RunningEstimate
from headstart.theory import Trajectory

PRIORS = [
    hs.priors.Fixed(bias=[0.5, -0.5, 0.0], regularization=2.0),
    hs.priors.Average(regularization=2.0),
    hs.priors.Pooled(regularization=2.0),
    hs.priors.Average(within_task=False),
    hs.priors.Hierarchical(n_about=2),
]


@pytest.mark.parametrize("prior", PRIORS)
def test_a_trajectory_is_that_of_the_learner(prior: hs.interfaces.PriorEstimator) -> None:
    # Independent route: play once more, round by round, with the estimate that the loop uses.
    rng = np.random.default_rng(5)
    environment = hs.environments.Synthetic(
        dimension=3, n_arms=4, reward="linear", n_about=2, about_explains=0.5
    ).prepare(6, rng)
    learner = hs.Learner("learner", hs.policies.OFUL(), prior)
    memory = learner.begin(3, 6)
    for _ in range(2):
        task = environment.sample(9, 6, rng)
        episode = play(learner, memory, task, rng)
        path = Trajectory.of(task, episode, prior, memory)
        start = (
            prior.prior(memory, task.about)
            if isinstance(prior, hs.priors.Hierarchical)
            else prior.prior(memory)
        )
        running = RunningEstimate(start)
        follower = prior.running_bias(memory)
        for t in range(10):
            np.testing.assert_allclose(path.estimate.parameter[:, t], running.parameter, atol=1e-10)
            logs = path.estimate.log_determinant[:, t]
            np.testing.assert_allclose(logs, running.summary.log_determinant, atol=1e-10)
            if t < 9:
                x = np.ascontiguousarray(task.arms[np.arange(6), t, episode.choices[:, t]])
                y = np.ascontiguousarray(episode.rewards[:, t])
                running.observe(x, y)
                if follower is not None:
                    running.move(follower.observe(x, y))
        if not isinstance(prior, hs.priors.Hierarchical):  # a prior with a mixture is revised
            assert path.moves == (follower is not None)
        np.testing.assert_array_equal(path.estimate.prior.bias[:, 0], start.bias)
        memory = learner.learn(memory, episode)
    assert task.parameter is not None
    np.testing.assert_array_equal(path.truth[:, 3], task.parameter)
    gap = np.linalg.norm(path.estimate.prior.bias[:, 0] - task.parameter, axis=-1)
    np.testing.assert_allclose(path.bias_error[:, 0], gap)


def test_running_statistics_begin_with_nothing_and_end_with_all() -> None:
    task = hs.environments.Synthetic(dimension=3).sample(7, 2, np.random.default_rng(0))
    learner = hs.Learner("ITL", hs.policies.OFUL(), hs.priors.Fixed.zero())
    memory = learner.begin(3, 2)
    episode = play(learner, memory, task, np.random.default_rng(1))
    so_far = theory.running_statistics(task, episode.choices, episode.rewards)
    assert not so_far.gram[:, 0].any()
    for name in ("gram", "moment", "count", "sum_of_squares"):
        end = getattr(so_far, name)[:, -1]
        np.testing.assert_allclose(end, getattr(episode.statistics, name), rtol=1e-12)


def test_ever_is_a_running_or() -> None:
    happened = np.array([[0, 1, 0, 0], [0, 0, 0, 1]])
    expected = [[False, True, True, True], [False, False, False, True]]
    np.testing.assert_array_equal(theory.ever(happened), expected)


def test_a_linear_task_is_its_own_fit_and_a_winner_is_not() -> None:
    rng = np.random.default_rng(0)
    linear = hs.environments.Synthetic(dimension=3, reward="linear").sample(20, 2, rng)
    fit = theory.fit_means(linear)
    assert fit.parameter is linear.parameter
    assert not fit.unexplained.any()
    winner = hs.environments.Synthetic(dimension=3, reward="winner").sample(20, 2, rng)
    fit = theory.fit_means(winner)
    x, y = winner.arms[1].reshape(-1, 3), winner.means[1].reshape(-1)
    solved, residual, _, _ = np.linalg.lstsq(x, y, rcond=None)
    np.testing.assert_allclose(fit.parameter[1], solved, rtol=1e-9)
    assert fit.unexplained[1] == pytest.approx(float(residual[0]) / (y**2).sum(), rel=1e-9)


def test_fewer_arms_than_features_have_the_smallest_fit() -> None:
    arms = np.array([[[[1.0, 0.0, 0.0]], [[0.0, 2.0, 0.0]]]])
    means = np.array([[[3.0], [4.0]]])
    fit = theory.fit_means(hs.Task(arms=arms, rewards=means, means=means))
    np.testing.assert_allclose(fit.parameter, [[3.0, 2.0, 0.0]])
    np.testing.assert_allclose(fit.unexplained, 0.0, atol=1e-20)
