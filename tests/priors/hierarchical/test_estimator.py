"""The prior that tunes itself: what it recovers, and what it must not depend on."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from tests.playing import play
from tests.priors.hierarchical.dense import sample_tasks, statistics

import headstart as hs
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors import Hierarchical

pytestmark = pytest.mark.slow

ALL = [Hierarchical(covariance="isotropic"), Hierarchical()]
each = pytest.mark.parametrize("estimator", ALL, ids=["isotropic", "factor"])


def _learn(
    estimator: Hierarchical, tasks: list[TaskStatistics], lead: tuple[int, ...] = ()
) -> Memory:
    memory = estimator.empty(tasks[0].dimension, lead)
    for task in tasks:
        memory = estimator.absorb(memory, task)
    return memory


def _batch(
    seed: int, *, lead: tuple[int, ...], n_tasks: int, horizon: int, dimension: int, scale: Floats
) -> list[TaskStatistics]:
    """Tasks N(1, diag scale²) on random designs, with noise 0.5."""
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(n_tasks):
        x = rng.standard_normal((*lead, horizon, dimension))
        w = 1.0 + scale * rng.standard_normal((*lead, dimension))
        y = (x @ w[..., None])[..., 0] + 0.5 * rng.standard_normal((*lead, horizon))
        found.append(TaskStatistics.from_data(x, y))
    return found


@pytest.mark.parametrize(("scale", "horizon"), [(0.1, 15), (0.5, 15), (2.0, 15), (0.5, 4)])
def test_variances_are_recovered(scale: float, horizon: int) -> None:
    # 40 tasks of 6 features: τ² has a relative standard error of √(2/240) = 9 % at best, so the
    # median of 60 fits has one of about 2 %. The last case has fewer rounds than features; there
    # much larger or smaller scales are hardly distinguished from noise, and not tested.
    tasks = _batch(0, lead=(60,), n_tasks=40, horizon=horizon, dimension=6, scale=np.full(6, scale))
    prior = Hierarchical().prior(_learn(Hierarchical(), tasks, (60,)))
    assert prior.mean_covariance is not None
    noise = prior.noise_scale**2
    assert np.median(noise) == pytest.approx(0.25, rel=0.15)
    of_task = np.linalg.inv(prior.regularization) - prior.mean_covariance
    task = noise * np.trace(of_task, axis1=-2, axis2=-1) / 6.0
    assert np.median(task) == pytest.approx(scale**2, rel=0.15)


@each
def test_the_mean_task_explains_at_least_the_share_that_is_asked_for(
    estimator: Hierarchical,
) -> None:
    """Where rewards are noise only, and twelve tasks say that all is 0."""
    rng = np.random.default_rng(3)
    data = [(rng.standard_normal((8, 3)), rng.standard_normal(8)) for _ in range(12)]
    tasks = statistics(data)
    found = {}
    for least in (0.0, 0.1, 1.0):
        asked = replace(estimator, _least_signal=least)
        memory = _learn(asked, tasks)
        covariance = asked.prior(memory).mean_covariance
        assert covariance is not None
        found[least] = float(np.trace(covariance))
    assert found[0.0] < found[0.1] < found[1.0]


def test_directions_do_not_explain_the_noise() -> None:
    # Six rewards of 0 or 1 of 24 features each, with noise of about 0.4: some directions fit all of
    # them.
    rng, estimator = np.random.default_rng(5), Hierarchical(_least_signal=0.1)
    memory, noises = estimator.empty(24), []
    w = 0.1 * rng.standard_normal(24)
    for _ in range(60):
        x = rng.standard_normal((6, 24))
        x[:, -1] = 1.0
        rate = np.clip(0.5 + x[:, :-1] @ w[:-1] + 0.05 * rng.standard_normal(), 0.02, 0.98)
        clicks = (rng.random(6) < rate).astype(float)
        memory = estimator.absorb(memory, TaskStatistics.from_data(x, clicks))
        noises.append(float(estimator.prior(memory).noise_scale))
    # Without a limit it falls to 0.05; the isotropic prior has 0.22 at least, from the tenth on.
    assert min(noises[9:]) > 0.15


def test_bias_approaches_the_mean_task() -> None:
    tasks = _batch(1, lead=(20,), n_tasks=200, horizon=8, dimension=4, scale=np.full(4, 0.5))
    few = Hierarchical().prior(_learn(Hierarchical(), tasks[:5], (20,)))
    many = Hierarchical().prior(_learn(Hierarchical(), tasks, (20,)))
    errors = [float(((prior.bias - 1.0) ** 2).sum(-1).mean()) for prior in (few, many)]
    # Of order d(τ² + s²/T)/N: 0.2 and 0.006.
    assert errors[0] > 0.1
    assert errors[1] < 0.015


@each
def test_multiplied_rewards_change_no_choice(estimator: Hierarchical) -> None:
    # From the first round on, with nothing known about the scale. 1024 only moves exponents.
    environment = hs.environments.Synthetic(dimension=6, n_arms=4, reward="linear")
    prepared = environment.prepare(5, np.random.default_rng(0))
    learner = hs.Learner("it", hs.policies.BayesUCB(), estimator)
    tasks = [prepared.sample(12, 5, np.random.default_rng((1, j))) for j in range(8)]
    chosen = []
    for factor in (1.0, 1024.0, 1000.0, 1e-6):
        memory, choices = learner.begin(6, 5), []
        for j, task in enumerate(tasks):
            scaled = hs.Task(arms=task.arms, rewards=factor * task.rewards, means=task.means)
            episode = play(learner, memory, scaled, np.random.default_rng((2, j)))
            memory = learner.learn(memory, episode)
            choices.append(episode.choices)
        chosen.append(np.stack(choices))
    for other in chosen[1:]:
        np.testing.assert_array_equal(chosen[0], other)


@each
@pytest.mark.parametrize("constant", [100.0, 1e5, -1e5])
def test_a_constant_part_of_the_rewards_changes_nothing_but_its_own_weight(
    estimator: Hierarchical, constant: float
) -> None:
    rng = np.random.default_rng(5)
    data = []
    for _ in range(30):
        x = np.column_stack([rng.standard_normal((10, 2)), np.ones(10)])
        data.append((x, x @ rng.normal([0.5, 0.2, 0.0], 0.2) + 0.3 * rng.standard_normal(10)))
    plain, moved = (
        estimator.prior(_learn(estimator, statistics([(x, y + more) for x, y in data])))
        for more in (0.0, constant)
    )
    # One of them is around 0, and the other one around the mean reward.
    np.testing.assert_allclose(moved.bias - [0.0, 0.0, constant], plain.bias, atol=5e-3)
    np.testing.assert_allclose(moved.noise_scale, plain.noise_scale, rtol=1e-3)
    np.testing.assert_allclose(moved.regularization, plain.regularization, rtol=0.02, atol=0.02)


@each
@pytest.mark.parametrize(
    ("factor", "digits"),
    # λ's grid moves in steps of √10: between two of them, only a spline tells its points apart.
    [(1e-3, 8), (1e3, 8), (2.0**-10, 3), (2.0**10, 3)],
)
def test_features_of_any_scale_give_the_same_predictions(
    estimator: Hierarchical, factor: float, digits: int
) -> None:
    accuracy = 10.0**-digits
    data = sample_tasks(np.random.default_rng(3), (5, 9, 2, 7, 7, 7), 3)
    one = estimator.prior(_learn(estimator, statistics(data)))
    two = estimator.prior(_learn(estimator, statistics([(factor * x, y) for x, y in data])))
    np.testing.assert_allclose(two.bias * factor, one.bias, rtol=accuracy)
    np.testing.assert_allclose(
        two.regularization, factor**2 * one.regularization, rtol=accuracy, atol=accuracy * factor**2
    )
    np.testing.assert_allclose(two.noise_scale, one.noise_scale, rtol=accuracy)


@each
def test_tasks_without_rewards_are_ignored(estimator: Hierarchical) -> None:
    tasks = statistics(sample_tasks(np.random.default_rng(4), (5, 9, 2, 7, 7, 7), 3))
    nothing = TaskStatistics.zeros(3)
    plain = estimator.prior(_learn(estimator, tasks))
    mixed = estimator.prior(_learn(estimator, [nothing, *tasks[:2], nothing, *tasks[2:], nothing]))
    np.testing.assert_allclose(mixed.bias, plain.bias, rtol=1e-6)
    np.testing.assert_allclose(mixed.regularization, plain.regularization, rtol=1e-5)


@each
def test_before_any_reward_it_is_itl(estimator: Hierarchical) -> None:
    for memory in (
        estimator.empty(3, (2,)),
        _learn(estimator, [TaskStatistics.zeros(3, (2,))], (2,)),
    ):
        prior = estimator.prior(memory)
        np.testing.assert_array_equal(prior.bias, 0.0)
        np.testing.assert_allclose(prior.regularization, np.tile(np.eye(3) / 2.0, (2, 1, 1)))
        np.testing.assert_array_equal(prior.noise_degrees_of_freedom, 0.0)


def test_rewards_of_zero_leave_the_bias_at_zero() -> None:
    x = np.random.default_rng(5).standard_normal((2, 6, 3))
    prior = Hierarchical().prior(
        _learn(Hierarchical(), [TaskStatistics.from_data(x, np.zeros((2, 6)))], (2,))
    )
    np.testing.assert_array_equal(prior.bias, 0.0)
    assert np.isfinite(prior.regularization).all()


@each
def test_noiseless_tasks_stay_finite(estimator: Hierarchical) -> None:
    data = sample_tasks(np.random.default_rng(6), (6,) * 8, 3, noise=0.0, task_scale=0.0)
    prior = estimator.prior(_learn(estimator, statistics(data)))
    np.testing.assert_allclose(prior.bias, 1.0, rtol=1e-4)
    assert np.isfinite(prior.regularization).all()


@each
def test_leading_axes_are_independent(estimator: Hierarchical) -> None:
    tasks = _batch(7, lead=(2, 3), n_tasks=7, horizon=5, dimension=4, scale=np.full(4, 0.5))
    whole = estimator.prior(_learn(estimator, tasks, (2, 3)))
    for i in np.ndindex(2, 3):
        alone = [
            TaskStatistics(task.gram[i], task.moment[i], task.count[i], task.sum_of_squares[i])
            for task in tasks
        ]
        part = estimator.prior(_learn(estimator, alone))
        for name in ("bias", "regularization", "noise_scale", "noise_degrees_of_freedom"):
            np.testing.assert_allclose(getattr(whole, name)[i], getattr(part, name), rtol=1e-9)


@pytest.mark.parametrize(
    ("dimension", "horizon", "stored"),
    # 256 of a few numbers each, 64 of many.
    [(2, 3, 256), (70, 64, 64)],
)
def test_the_latest_tasks_are_stored(dimension: int, horizon: int, stored: int) -> None:
    estimator, scale = Hierarchical(), np.ones(dimension)
    lot = _batch(8, lead=(), n_tasks=stored + 3, horizon=horizon, dimension=dimension, scale=scale)
    memory = estimator.recount(
        estimator.empty(dimension),
        TaskStatistics.zeros(dimension, (0,)),
        TaskStatistics.stack(lot, dimension),
    )
    np.testing.assert_array_equal(memory["moments"], np.stack([t.moment for t in lot[3:]]))
    assert np.isfinite(estimator.prior(memory).regularization).all()


def test_a_recount_replaces_tasks() -> None:
    lot = _batch(8, lead=(), n_tasks=9, horizon=3, dimension=2, scale=np.ones(2))
    estimator = Hierarchical(covariance="isotropic")
    found = estimator.recount(
        _learn(estimator, lot[:6]),
        TaskStatistics.stack(lot[1:3], 2),
        TaskStatistics.stack(lot[6:], 2),
    )
    expected = _learn(estimator, [lot[0], *lot[3:]])
    for name, array in expected.items():
        np.testing.assert_allclose(found[name], array, atol=1e-9, err_msg=name)


@pytest.mark.parametrize("offset", [0.0, 5.0])
def test_a_constant_feature_learns_the_offset(offset: float) -> None:
    rng = np.random.default_rng(9)
    tasks = []
    for _ in range(30):
        x = 0.01 * rng.standard_normal((12, 3))
        y = x @ (100.0 + 30.0 * rng.standard_normal(3)) + offset + 0.3 * rng.standard_normal(12)
        tasks.append(TaskStatistics.from_data(np.column_stack([x, np.full(12, 0.02)]), y))
    prior = Hierarchical().prior(_learn(Hierarchical(), tasks))
    assert 0.02 * prior.bias[-1] == pytest.approx(offset, abs=0.2)
    np.testing.assert_allclose(prior.bias[:-1], 100.0, atol=30.0)


def test_unknown_covariance_is_refused() -> None:
    with pytest.raises(ValueError, match="covariance must be one of factor, isotropic, got 'low'"):
        Hierarchical(covariance="low")  # type: ignore[arg-type]


def test_prior_carries_the_noise() -> None:
    tasks = _batch(10, lead=(), n_tasks=30, horizon=20, dimension=3, scale=np.ones(3))
    prior: Prior = Hierarchical().prior(_learn(Hierarchical(), tasks))
    assert prior.noise_scale == pytest.approx(0.5, rel=0.1)
    assert prior.noise_degrees_of_freedom == 600.0


@pytest.mark.parametrize("factor", [2.0**-10, 2.0**10])
def test_revision_does_not_depend_on_the_features_unit(factor: float) -> None:
    estimator = Hierarchical()
    for seed in range(20):
        data = sample_tasks(np.random.default_rng((6, seed)), (6, 6), 3)
        found = []
        for scale in (1.0, factor):
            tasks = [(scale * x, y) for x, y in data]
            mixture = estimator.prior(_learn(estimator, statistics(tasks))).mixture
            assert mixture is not None
            found.append(bool(mixture.components_differ))
        assert found[0] == found[1]


@pytest.mark.parametrize("covariance", ["factor", "isotropic"])
def test_tasks_without_noise_along_one_direction_give_a_finite_prior(covariance: Any) -> None:
    # Nothing bounds the fit but its own limits: no noise, and no variance but along one direction.
    rng = np.random.default_rng(8)
    estimator = Hierarchical(covariance=covariance)
    memory, direction = estimator.empty(5), rng.standard_normal(5)
    for _ in range(40):
        x = rng.standard_normal((12, 5))
        y = x @ (rng.random() * direction)
        memory = estimator.absorb(memory, TaskStatistics.from_data(x, y))
        prior = estimator.prior(memory)
        assert np.isfinite(prior.bias).all()
        assert np.isfinite(prior.regularization).all()
        assert (np.linalg.eigvalsh(prior.regularization) > 0.0).all()
