"""A live task that is like none before notices it, one reward at a time or many at once."""

from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from tests.live.state import fingerprint

import headstart as hs
from headstart.running import RunningEstimate
from headstart.statistics import TaskStatistics

Floats = NDArray[np.float64]
D = 5


def _taught() -> hs.MetaBandit:
    """A bandit that has seen ten tasks around (1, …, 1)."""
    bandit = hs.MetaBandit(dimension=D, seed=1)
    rng = np.random.default_rng(2)
    for user in range(10):
        w = 1.0 + 0.1 * rng.standard_normal(D)
        for _ in range(30):
            decision = bandit.decide(user, arms := rng.standard_normal((4, D)))
            bandit.reward(decision.id, float(arms[decision.row] @ w + rng.standard_normal()))
        bandit.finish(user)
    return bandit


def _opposed(rounds: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((rounds, D))
    return x, -x.sum(-1) + rng.standard_normal(rounds)


def test_a_task_like_none_before_leaves_the_prior() -> None:
    bandit = _taught()
    start = bandit.prior
    x, y = _opposed(16)
    running = RunningEstimate(start)
    for t in range(16):
        bandit.observe("new", x[t], float(y[t]))
        running.observe(x[t], np.asarray(y[t]))
        view = bandit.task("new")
        np.testing.assert_allclose(view.estimate.parameter, running.parameter, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(view.noise_scale, running.noise_scale, rtol=1e-9)
    held = bandit.task("new").estimate.prior
    expected = start.reconsidered(TaskStatistics.from_data(x, y))
    np.testing.assert_allclose(held.bias, expected.bias, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(held.regularization, expected.regularization, rtol=1e-9)
    np.testing.assert_array_equal(held.bias, 0.0)
    assert np.abs(start.bias - 1.0).max() < 0.2


@pytest.mark.parametrize("n", [1, 2, 3, 8, 15])
def test_many_rewards_at_once_are_those_one_by_one(n: int) -> None:
    x, y = _opposed(n)
    bandits = _taught(), _taught()
    ids = [[bandit.decide("new", row[None]).id for row in x] for bandit in bandits]
    for decision, value in zip(ids[0], y.tolist(), strict=True):
        bandits[0].reward(decision, value)
    bandits[1].reward_many(ids[1], y)
    assert fingerprint(bandits[0]) == fingerprint(bandits[1])


def test_second_thoughts_survive_a_file(tmp_path: Path) -> None:
    bandit = _taught()
    x, y = _opposed(20)
    for t in range(5):
        bandit.observe("new", x[t], float(y[t]))
    bandit.save(tmp_path / "bandit.npz")
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", resume=True)
    for t in range(5, 20):
        for one in (bandit, loaded):
            one.observe("new", x[t], float(y[t]))
    assert fingerprint(bandit) == fingerprint(loaded)


def test_a_catalogue_sees_the_task_after_its_second_thoughts() -> None:
    bandit = _taught()
    items = np.random.default_rng(4).standard_normal((50, D))
    catalogue = hs.Catalogue(items)
    x, y = _opposed(16)
    for t in range(16):
        seen = bandit.decide("new", catalogue).scores
        plain = bandit.decide("new", items).scores
        np.testing.assert_allclose(seen, plain, rtol=1e-9, atol=1e-9)
        bandit.observe("new", x[t], float(y[t]))


def test_a_live_default_never_gives_an_arm_up() -> None:
    bandit = hs.MetaBandit(dimension=1, seed=0)
    radii = []
    for _ in range(3):
        # One arm that pays 0 or 2 in turn: its score above the prediction is the radius' share.
        decision = bandit.decide("one", np.ones((1, 1)))
        view = bandit.task("one")
        width = float(view.estimate.widths(np.ones((1, 1)))[0])
        gap = float(decision.scores[0] - view.estimate.predict(np.ones((1, 1)))[0])
        radii.append(gap / (width * view.noise_scale))
        bandit.reward(decision.id, 2.0 * (len(radii) % 2))
    # The quantiles ½, ⅔ and ¾ of the normal law.
    np.testing.assert_allclose(radii, [0.0, 0.43072730, 0.67448975], atol=1e-8)
