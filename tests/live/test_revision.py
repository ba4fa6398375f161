"""A live task that is like none before revises its prior, by one reward or by many at once."""

from pathlib import Path

import numpy as np
import pytest
from tests.live.state import assert_alike, fingerprint, kept_state, pending_ids

import headstart as hs
from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.running import RunningEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.live.outcomes import Outcome

D = 5


def _taught() -> hs.MetaBandit:
    """A bandit that has seen ten tasks around (1, …, 1)."""
    bandit = hs.MetaBandit(dimension=D, seed=1)
    rng = np.random.default_rng(2)
    for user in range(10):
        w = 1.0 + 0.1 * rng.standard_normal(D)
        for _ in range(30):
            decision = bandit.decide(user, arms := rng.standard_normal((4, D)))
            bandit.reward(decision.id, float(arms[decision.arm_index] @ w + rng.standard_normal()))
        bandit.finish(user)
    return bandit


def _opposed(rounds: int) -> tuple[Floats, Floats]:
    rng = np.random.default_rng(3)
    x = rng.standard_normal((rounds, D))
    return x, -x.sum(-1) + rng.standard_normal(rounds)


def test_a_task_like_none_before_leaves_the_prior() -> None:
    bandit = _taught()
    start = bandit.next_prior()
    x, y = _opposed(16)
    running = RunningEstimate(start)
    for t in range(16):
        bandit.observe("new", x[t], float(y[t]))
        running.observe(x[t], np.asarray(y[t]))
        view = bandit.task("new")
        np.testing.assert_allclose(view.estimate.parameter, running.parameter, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(view.noise_scale, running.summary.noise_scale, rtol=1e-9)
    held = bandit.task("new").estimate.prior
    expected = start.revised(TaskStatistics.from_data(x, y))
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
    one, other = (fingerprint(bandit, ids=False) for bandit in bandits)
    assert_alike(one, other)


def test_a_revised_prior_survives_a_file(tmp_path: Path) -> None:
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


def test_a_catalogue_is_scored_with_the_revised_prior() -> None:
    bandit = _taught()
    items = np.random.default_rng(4).standard_normal((50, D))
    catalogue = hs.Catalogue(items)
    x, y = _opposed(16)
    for t in range(16):
        seen = bandit.decide("new", catalogue).scores
        plain = bandit.decide("new", items).scores
        np.testing.assert_allclose(seen, plain, rtol=1e-9, atol=1e-9)
        bandit.observe("new", x[t], float(y[t]))


def test_a_refusal_right_after_a_revision() -> None:
    bandit = _taught()
    x, y = _opposed(2)
    ids = [bandit.decide("new", row[None]).id for row in x]
    # The first reward revises the prior; the second has too large a weight to be learned.
    outcomes = bandit.reward_many(ids, [100.0 * float(y[0]), 1.0], [1.0, 1e30])
    assert outcomes == [Outcome.PAID, Outcome.OUT_OF_RANGE]
    assert bandit.task("new").n_rewards == 1
    assert bandit.task("new").n_pending == 1
    assert pending_ids(bandit) == ids[1:]


def test_a_prior_without_a_mixture_takes_over(tmp_path: Path) -> None:
    bandit = _taught()
    x, y = _opposed(8)
    bandit.observe("new", x[0], float(y[0]))
    bandit.save(tmp_path / "bandit.npz")
    held = bandit.task("new").estimate.prior
    for bias in (0.0, 7.0):
        loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", prior=Plain(bias=bias), seed=1)
        np.testing.assert_array_equal(loaded.task("new").estimate.prior.bias, held.bias)
        for t in range(1, 8):
            loaded.observe("new", x[t], float(y[t]))
        # Rewards that differ so much revise the prior: to what is learned now.
        view = loaded.task("new").estimate
        np.testing.assert_array_equal(view.prior.bias, np.full(D, bias))
        np.testing.assert_allclose(
            kept_state(loaded, "new").parameter[0], view.parameter, rtol=1e-9
        )


class Plain(hs.priors.Hierarchical):
    """The same memory, and a prior without a mixture."""

    def __init__(self, bias: float = 0.0) -> None:
        super().__init__()
        object.__setattr__(self, "_bias", bias)

    def prior(self, memory: Memory, about: Floats | None = None) -> Prior:
        return Prior(np.full(D, self._bias), np.array(1.0))  # type: ignore[attr-defined]


@pytest.mark.parametrize(("discount", "noticed"), [(0.5, False), (0.9, True)])
def test_forgetting_and_revision(discount: float, noticed: bool) -> None:
    bandit = hs.MetaBandit(dimension=D, seed=1, discount=discount)
    for user in range(10):
        rng = np.random.default_rng((5, user))
        for x in rng.standard_normal((30, D)):
            bandit.observe(user, x, float(x.sum() + rng.standard_normal()))
        bandit.finish(user)
    x, y = _opposed(16)
    for t in range(16):
        bandit.observe("new", x[t], float(y[t]))
        view = bandit.task("new")
        # All that is kept follows from the statistics, forgotten as far as they are.
        kept = kept_state(bandit, "new").parameter[0]
        np.testing.assert_allclose(kept, view.estimate.parameter, rtol=1e-9)
        np.testing.assert_allclose(view.noise_scale, view.estimate.noise_scale, rtol=1e-9)
    # Two rewards in memory are no evidence of anything, ten are.
    assert (view.estimate.prior.bias == 0.0).all() == noticed


def test_weights_of_any_size_leave_the_scores_finite() -> None:
    bandit = hs.MetaBandit(dimension=2, seed=0)
    bandit.observe("one", [1.0, 0.0], 1.0, weight=1e11)
    bandit.observe("one", [1.0, 0.0], 1.0, weight=1e21)
    assert np.isfinite(bandit.decide("one", np.eye(2)).scores).all()


def test_a_slow_z_explores_the_more_the_longer_the_task() -> None:
    bandit = hs.MetaBandit(dimension=1, policy=hs.policies.BayesUCB(z="slow"), seed=0)
    radii = []
    for _ in range(3):
        # One arm that pays 0 or 2 in turn: its score above the prediction is the radius' share.
        decision = bandit.decide("one", np.ones((1, 1)))
        view = bandit.task("one")
        width = float(view.estimate.widths(np.ones((1, 1)))[0])
        gap = float(decision.scores[0] - view.estimate.predict(np.ones((1, 1)))[0])
        radii.append(gap / (width * view.noise_scale))
        bandit.reward(decision.id, 2.0 * (len(radii) % 2))
    expected = np.sqrt(1.0 + np.log1p(np.arange(3) / 50.0))
    np.testing.assert_allclose(radii, expected, atol=1e-8)


class Overflowing(hs.priors.Hierarchical):
    """A prior that is not finite from the fourth task on."""

    def prior(self, memory: Memory, about: Floats | None = None) -> Prior:
        prior = super().prior(memory, about)
        if memory["count"] > 100:
            bias = np.full_like(prior.bias, np.inf)
            return checks.trusted(Prior, **{**vars(prior), "bias": bias})
        return prior


def test_a_prior_that_is_not_finite_reaches_no_task() -> None:
    bandit = hs.MetaBandit(dimension=D, prior=Overflowing(), seed=0)
    rng = np.random.default_rng(8)
    for user in range(4):
        if user == 2:
            bandit.observe("open", np.ones(D), float(D))
        for x in rng.standard_normal((30, D)):
            bandit.observe(user, x, float(x.sum() + rng.standard_normal()))
        bandit.finish(user)
    bandit.next_prior()
    before = bandit.task("open").estimate.prior
    # Rewards that would revise the prior are learned, and the task goes on from the one it has.
    for _ in range(8):
        bandit.observe("open", np.ones(D), -50.0)
    view = bandit.task("open")
    assert view.n_rewards == 9
    np.testing.assert_array_equal(view.estimate.prior.bias, before.bias)
    with pytest.raises(ValueError, match="the prior must be finite"):
        bandit.decide("new", np.eye(D))
    assert "new" not in bandit.tasks()
