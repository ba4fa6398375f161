"""The memory: every task counts once, as it is; tasks move, return, are forgotten, merged, aged."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.live.state import (
    all_names,
    fingerprint,
    is_busy,
    kept_state,
    memory_state,
    prior_tasks,
)

import headstart as hs
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.live.inputs import Name

D = 3
PRIORS: list[Callable[[], Any]] = [
    hs.priors.Hierarchical,
    lambda: hs.priors.Pooled(within_task=False),
    hs.priors.Pooled,
    hs.priors.Average,
]


def memory_of(bandit: hs.MetaBandit) -> Memory:
    bandit.next_prior()
    return memory_state(bandit).memory


def absorbed(bandit: hs.MetaBandit, without: Name | None = None) -> Memory:
    """The memory of every task's statistics, absorbed afresh.

    With the same unit of λ: the first task sets it, whichever that was.
    """
    found = memory_state(bandit).memory
    empty = bandit.prior.empty(bandit.dimension)
    memory: Memory = dict(empty) | {name: found[name] for name in empty if name == "unit"}
    for name in all_names(bandit):
        statistics = bandit.task(name).estimate.statistics
        if name != without and float(statistics.count) > 0.0:
            memory = bandit.prior.absorb(memory, statistics)
    return memory


# Of the latest tasks, in the order in which they came, and of the fit to them.
STORED = {"designs", "moments", "counts", "sums_of_squares", "residuals", "freedoms", "weights"}
FITTED = {"seen", "arrivals", "loadings", "rank", "fitted_at", "abouts", "about_variances"}
FITTED |= {"fitted_noise", "fitted_task", "fitted_mean", "fitted_along"}


def assert_same(found: Memory, expected: Memory, digits: float = 1e-9) -> None:
    """Equal to rounding: the sums, and the stored tasks in any order."""
    assert set(found) == set(expected)
    for name, array in expected.items():
        if name in FITTED:
            continue
        if name in STORED:
            ours, theirs = (
                np.sort((each**2).reshape(len(each), -1).sum(1)) for each in (found[name], array)
            )
            np.testing.assert_allclose(ours, theirs, rtol=1e-6, atol=1e-9, err_msg=name)
            continue
        scale = digits * (1.0 + float(np.abs(array).max(initial=0.0)))
        np.testing.assert_allclose(found[name], array, rtol=digits, atol=scale, err_msg=name)


def assert_same_prior(found: Prior, expected: Prior, digits: float = 1e-7) -> None:
    for name in ("bias", "regularization", "noise_scale", "noise_degrees_of_freedom"):
        np.testing.assert_allclose(
            getattr(found, name), getattr(expected, name), rtol=digits, atol=digits, err_msg=name
        )


def play(bandit: hs.MetaBandit, seed: int, steps: int, names: int = 6) -> None:
    """Decisions, early and late rewards, endings, cancelled decisions, forgotten tasks."""
    rng = np.random.default_rng(seed)
    w = rng.standard_normal((names, D)) + 1.0
    waiting: list[tuple[str, float]] = []
    for _ in range(steps):
        user, kind = int(rng.integers(names)), rng.random()
        if kind < 0.5:
            arms = rng.standard_normal((4, D))
            decision = bandit.decide(f"user-{user}", arms)
            reward = arms[decision.arm_index] @ w[user] + rng.standard_normal()
            waiting.append((decision.id, float(reward)))
        elif kind < 0.85 and waiting:
            bandit.reward(*waiting.pop(int(rng.integers(len(waiting)))))
        elif kind < 0.95 and f"user-{user}" in bandit.tasks():
            bandit.finish(f"user-{user}")
        elif kind > 0.985 and f"user-{user}" in bandit.tasks():
            bandit.forget(f"user-{user}")


@pytest.mark.parametrize("make", PRIORS, ids=range(len(PRIORS)))
@given(seed=st.integers(0, 2**32 - 1))
@settings(max_examples=15, deadline=None)
def test_the_memory_is_every_tasks_statistics_absorbed_afresh(
    make: Callable[[], Any], seed: int
) -> None:
    bandit = hs.MetaBandit(dimension=D, prior=make(), seed=0, scales=None)
    play(bandit, seed, 60)
    assert_same(memory_of(bandit), absorbed(bandit))
    counted = [name for name in all_names(bandit) if bandit.task(name).n_rewards]
    assert bandit.learned().n_tasks == len(counted)


@given(seed=st.integers(0, 2**32 - 1), refresh=st.sampled_from(["inline", "background"]))
@settings(max_examples=25, deadline=None)
def test_what_is_kept_of_a_task_follows_from_its_rewards_and_its_prior(
    seed: int, refresh: str
) -> None:
    """Whenever tasks move to newer priors, decisions that wait included."""
    bandit = hs.MetaBandit(dimension=D, seed=0, refresh=refresh)  # type: ignore[arg-type]
    play(bandit, seed, 80)
    for name in bandit.tasks():
        view, kept = bandit.task(name), kept_state(bandit, name)
        np.testing.assert_allclose(kept.inverse[0], view.estimate.inverse, rtol=1e-7, atol=1e-9)
        np.testing.assert_allclose(kept.parameter[0], view.estimate.parameter, rtol=1e-7, atol=1e-8)


def quiet(bandit: hs.MetaBandit, seconds: float = 300.0) -> None:
    """Wait until the thread has nothing left to do."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if not is_busy(bandit):
            return
        time.sleep(0.005)
    raise AssertionError("the thread is still at work")


@pytest.mark.parametrize("seed", range(4))
def test_the_thread_reaches_the_memory_of_inline_refreshes(seed: int) -> None:
    bandits = [
        hs.MetaBandit(dimension=D, seed=0, prior=hs.priors.Fixed.zero(), refresh="background"),
        hs.MetaBandit(
            dimension=D, seed=0, prior=hs.priors.Pooled(within_task=False), refresh="background"
        ),
        hs.MetaBandit(dimension=D, seed=0, refresh="background"),
    ]
    for bandit in bandits:
        play(bandit, seed, 200, names=20)
        quiet(bandit)
        state = memory_state(bandit)
        assert_same(state.memory, absorbed(bandit))
        bandit.next_prior()  # nothing is left to do
        assert memory_state(bandit) is state


@pytest.mark.parametrize("covariance", ["isotropic", "factor"])
def test_a_task_that_moved_has_the_prior_of_all_others(covariance: Any) -> None:
    """A task never learns from itself twice, nor does the fit that it starts from."""
    prior = hs.priors.Hierarchical(covariance=covariance)
    bandit = hs.MetaBandit(dimension=D, prior=prior, seed=0, scales=None)
    rng = np.random.default_rng(3)
    bandit.observe("first", [1.0, 0.0, 0.0], 3.0)
    assert prior_tasks(bandit, "first") == 0
    for user in range(6):
        for x in rng.standard_normal((8, D)):
            bandit.observe(user, x, float(x.sum() + 0.3 * rng.standard_normal()))
    bandit.next_prior()
    for x in rng.standard_normal((7, D)):  # eight rewards: it has just been revised
        bandit.observe("first", x, float(x.sum()))
    assert prior_tasks(bandit, "first") == 6
    others = prior.prior(prior.refit(absorbed(bandit, without="first")))
    view = bandit.task("first").estimate
    assert_same_prior(view.prior, others.revised(view.statistics))
    # With itself among them it would be another.
    every = bandit.prior.prior(memory_of(bandit)).revised(view.statistics)
    assert np.abs(every.regularization - view.prior.regularization).max() > 0.1


def test_tasks_move_when_twice_as_many_others_are_known() -> None:
    prior = hs.priors.Pooled(within_task=False)
    bandit = hs.MetaBandit(dimension=1, prior=prior, seed=0, scales=None)
    for user in range(3):
        bandit.observe(user, [1.0], 1.0)
    held = []
    bandit.observe("open", [1.0], 0.0)
    for user in range(3, 12):
        bandit.observe(user, [1.0], 1.0)
        bandit.next_prior()
        bandit.observe("open", [1.0], 0.0)
        held.append(prior_tasks(bandit, "open"))
    # It began with 3 others; with 6 and with 12 it moves on.
    assert held == [3, 3, 6, 6, 6, 6, 6, 6, 12]
    # h = Σb / (ΣV + 1) over the 12 others, each with one reward of 1.
    np.testing.assert_allclose(bandit.task("open").estimate.prior.bias, [12 / 13])


@pytest.mark.parametrize("n_tasks", [4, 36])
@pytest.mark.parametrize("half_life", [None, 20.0])
def test_tasks_that_never_end_follow_what_all_have_learned(
    n_tasks: int, half_life: float | None
) -> None:
    """The number of tasks stays; rewards were 0, and are 1 from then on."""
    now = [0.0]
    prior = hs.priors.Pooled(within_task=False)
    given: dict[str, Any] = {"half_life_seconds": half_life, "clock": lambda: now[0]}
    bandit = hs.MetaBandit(dimension=1, prior=prior, seed=0, scales=None, **given)
    for value in [0.0, *np.ones(60)]:
        for user in range(n_tasks):
            bandit.reward(bandit.decide(user, [[1.0]]).id, value)
        bandit.next_prior()
        now[0] += 1.0
    known = float(bandit.next_prior().bias[0])
    assert known > 0.95
    held = [bandit.task(user).estimate.prior.bias[0] for user in range(n_tasks)]
    # Each was renewed when half of the 61 rewards were known, or later.
    np.testing.assert_allclose(held, known, atol=0.05)


@pytest.mark.parametrize("calls", ["decide", "batch", "propensities"])
def test_of_many_tasks_each_decides_by_the_prior_of_all(calls: str) -> None:
    prior = hs.priors.Pooled(within_task=False)
    bandit = hs.MetaBandit(dimension=1, prior=prior, seed=0, scales=None)
    for user in range(32):
        bandit.observe(user, [1.0], 1.0)
    bandit.observe("open", [1.0], 0.0)
    held = []
    for user in range(32, 48):
        bandit.observe(user, [1.0], 1.0)
        bandit.next_prior()
        if calls == "decide":
            bandit.decide("open", np.ones((1, 1)))
        elif calls == "batch":
            bandit.decide_many(["open", "another"], np.ones((2, 1, 1)))
        else:
            bandit.propensities("open", np.ones((1, 1)))
        held.append(prior_tasks(bandit, "open"))
    # It began with 32 others, and gets a newer prior with more than an eighth more of them.
    assert held == [32] * 4 + [37] * 5 + [42] * 6 + [48]
    # h = Σb / (ΣV + 1) over all tasks: 48 rewards of 1, and its own of 0.
    np.testing.assert_allclose(bandit.task("open").estimate.prior.bias, [48 / 50])


def test_of_many_tasks_a_new_one_waits_until_an_eighth_have_changed() -> None:
    bandit = hs.MetaBandit(dimension=1, prior=hs.priors.Pooled(within_task=False), seed=0)
    begun = []
    for user in range(50):
        bandit.observe(user, [1.0], 1.0)
        begun.append(prior_tasks(bandit, user))
    # A task is counted when a later one opens: of up to 32 each, then 4, 5 and 5 together.
    assert begun == [*range(33), 32, 32, 32, *[36] * 5, *[41] * 6, *[47] * 3]
    assert bandit.learned().n_tasks == 50


@pytest.mark.parametrize("make", PRIORS, ids=range(len(PRIORS)))
def test_finishing_and_returning_is_as_if_never_finished(make: Callable[[], Any]) -> None:
    bandits = [hs.MetaBandit(dimension=D, prior=make(), seed=0) for _ in range(2)]
    rng = np.random.default_rng(1)
    for t in range(60):
        user, arms, value = t % 4, rng.standard_normal((5, D)), float(rng.standard_normal())
        scores = []
        for i, bandit in enumerate(bandits):
            decision = bandit.decide(user, arms)
            scores.append(decision.scores)
            if i == 1 and t % 3 == 0:
                bandit.finish(user)
            bandit.reward(decision.id, value)
            if i == 1 and t % 5 == 0:
                bandit.finish(user)
        np.testing.assert_allclose(scores[1], scores[0], rtol=1e-8, atol=1e-9)
    assert_same(memory_of(bandits[1]), memory_of(bandits[0]))
    assert bandits[0].learned().n_tasks == bandits[1].learned().n_tasks == 4


@pytest.mark.parametrize("make", PRIORS, ids=range(len(PRIORS)))
def test_a_forgotten_task_was_never_seen(make: Callable[[], Any]) -> None:
    bandits = [hs.MetaBandit(dimension=D, prior=make(), seed=0) for _ in range(2)]
    rng = np.random.default_rng(2)
    x = rng.standard_normal((6, 10, D))
    for i, bandit in enumerate(bandits):
        for user in range(6):
            if user == 3 and i == 0:
                continue
            for row in x[user]:
                bandit.observe(user, row, float(row.sum()))
            if user % 2:
                bandit.finish(user)
    waiting = bandits[1].decide(3, x[0])
    bandits[1].finish(3)
    bandits[1].forget(3)
    assert_same(memory_of(bandits[1]), memory_of(bandits[0]))
    assert bandits[1].reward(waiting.id, 1.0) == "unknown"
    assert bandits[1].n_finished == bandits[0].n_finished
    ours, theirs = (bandit.decide("new", x[0]).scores for bandit in bandits)
    np.testing.assert_allclose(theirs, ours, rtol=1e-8)
    # One that comes back under the name is new.
    assert bandits[1].decide(3, x[0]).scores.shape == (10,)
    assert bandits[1].task(3).n_rewards == 0


def test_forgetting_the_only_task_leaves_nothing() -> None:
    bandit = hs.MetaBandit(dimension=D, seed=0)
    fresh = bandit.next_prior()
    bandit.observe("bot", [1.0, 2.0, 3.0], 1e12)
    bandit.next_prior()
    bandit.forget("bot")
    assert_same_prior(bandit.next_prior(), fresh)
    assert bandit.learned().n_tasks == 0


def test_a_task_that_learns_while_its_change_is_counted_is_counted_again() -> None:
    """As the thread does it: between reading a task and installing the memory, the task learns."""
    bandit = hs.MetaBandit(dimension=D, prior=hs.priors.Pooled(within_task=False), seed=0)
    memory, population = bandit._memory, bandit._memory.population
    for t, x in enumerate(np.eye(D)):
        bandit.observe("ann", x, 1.0)
        changes = memory.changes(memory.begin_refresh(1))
        bandit.observe("ann", -x, 1.0)
        new = population.replaced(population.state, changes)
        memory.install(changes, new, population.starting_from(new.memory), None)
        assert memory_state(bandit).rounds == 2 * t + 1
        assert is_busy(bandit)
    bandit.next_prior()
    state = memory_state(bandit)
    assert (state.n_tasks, state.rounds) == (1, 2 * D)
    assert_same(state.memory, absorbed(bandit))
    assert not is_busy(bandit)


def test_a_task_that_ends_while_its_change_is_counted_leaves_nothing(tmp_path: Any) -> None:
    """Its only decision was cancelled, so that nothing is known of it."""
    bandit = hs.MetaBandit(dimension=D, seed=0, deadline_seconds=60.0, default_reward=0.0)
    bandit.cancel(bandit.decide("ann", np.eye(D)).id)
    bandit._memory.changes(bandit._memory.begin_refresh(1))
    bandit.finish("ann")
    assert bandit.learned().n_tasks == 0
    assert (bandit.tasks(), bandit.n_finished) == ([], 0)
    bandit.save(tmp_path / "bandit.npz")


def test_half_life_by_hand() -> None:
    now = [1000.0]
    prior = hs.priors.Pooled(within_task=False)
    given: dict[str, Any] = {"prior": prior, "seed": 0, "scales": None, "clock": lambda: now[0]}
    bandit = hs.MetaBandit(dimension=1, half_life_seconds=10.0, **given)
    for user, value in enumerate([1.0, 2.0, 4.0]):
        bandit.observe(user, [1.0], value)
        bandit.next_prior()
        now[0] += 5.0
    weights = 2.0 ** (-np.array([15.0, 10.0, 5.0]) / 10.0)
    np.testing.assert_allclose(memory_of(bandit)["moment"], [weights @ [1.0, 2.0, 4.0]])
    # A task is as old as its last reward that was counted.
    bandit.finish(0)
    bandit.observe(0, [1.0], 1.0)
    expected = np.array([1.0, weights[1], weights[2]]) @ [2.0, 2.0, 4.0]
    np.testing.assert_allclose(memory_of(bandit)["moment"], [expected])
    now[0] += 10.0
    np.testing.assert_allclose(memory_of(bandit)["moment"], [expected / 2])


@pytest.mark.parametrize(
    ("before", "after"),
    [
        (None, 50.0),
        (2.0, 4.0),
        (2.0, None),
    ],
)
def test_another_half_life_counts_from_now(
    before: float | None, after: float | None, tmp_path: Any
) -> None:
    """What a file's tasks weigh stays, unless nothing is to be forgotten any more."""
    now = [100.0]
    bandit = hs.MetaBandit(
        dimension=1,
        prior=hs.priors.Pooled(within_task=False),
        seed=0,
        scales=None,
        clock=lambda: now[0],
        half_life_seconds=before,
    )
    for user in range(4):
        now[0] += 1.0
        bandit.observe(user, [1.0], float(user))
        bandit.next_prior()
    bandit.save(tmp_path / "bandit.npz")
    given: dict[str, Any] = {"seed": 0, "half_life_seconds": after}
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", clock=lambda: now[0], **given)
    forgotten = before is not None and after is not None
    weights = 2.0 ** (-np.array([3.0, 2.0, 1.0, 0.0]) / 2.0) if forgotten else np.ones(4)
    values = np.arange(4.0)
    np.testing.assert_allclose(memory_of(loaded)["moment"], [weights @ values])
    np.testing.assert_allclose(loaded.learned().effective_tasks, weights.sum())
    # Each is still taken out with the weight that it has.
    loaded.forget(2)
    kept = np.array([0, 1, 3])
    np.testing.assert_allclose(memory_of(loaded)["moment"], [weights[kept] @ values[kept]])
    loaded.observe("new", [1.0], 5.0)
    now[0] += 9.0
    factor = 1.0 if after is None else 2.0 ** (-9.0 / after)
    expected = factor * (weights[kept] @ values[kept]) + 5.0
    np.testing.assert_allclose(memory_of(loaded)["moment"], [expected])


@pytest.mark.parametrize("make", PRIORS, ids=range(len(PRIORS)))
@pytest.mark.parametrize("through", ["objects", "files"])
def test_two_halves_merged_are_one_that_saw_both(
    make: Callable[[], Any], through: str, tmp_path: Any
) -> None:
    whole, one, two = (hs.MetaBandit(dimension=D, prior=make(), seed=0) for _ in range(3))
    rng = np.random.default_rng(7)
    w = 1.0 + 0.3 * rng.standard_normal((10, D))
    for user in range(10):
        for x in rng.standard_normal((6, D)):
            value = float(x @ w[user] + 0.1 * rng.standard_normal())
            for bandit in (whole, one if user < 5 else two):
                bandit.observe(user, x, value)
        for bandit in (whole, one if user < 5 else two):
            if user % 3 == 0:
                bandit.finish(user)
    waiting = [bandit.decide(user, np.eye(D)) for bandit, user in ((one, 1), (two, 7))]
    if through == "files":
        two.save(tmp_path / "two.npz")
        two = hs.MetaBandit.load(tmp_path / "two.npz", seed=0)
    before = fingerprint(two)
    two.next_prior()
    prints = fingerprint(two)
    one.merge(two)
    assert fingerprint(two) == prints
    assert before[3:5] == prints[3:5]
    assert_same_prior(one.next_prior(), whole.next_prior(), 1e-6)
    assert one.learned().n_tasks == whole.learned().n_tasks == 10
    assert sorted(one.tasks()) == sorted(whole.tasks())
    ours, theirs = (bandit.decide("new", np.eye(D)).scores for bandit in (one, whole))
    np.testing.assert_allclose(ours, theirs, rtol=1e-6)
    assert [one.reward(each.id, 1.0) for each in waiting] == ["paid", "paid"]
    assert one.task(7).n_rewards == 7


def test_merging_what_does_not_fit_changes_nothing() -> None:
    bandit = hs.MetaBandit(dimension=2, seed=0)
    bandit.observe("ann", [1.0, 0.0], 1.0)
    bandit.next_prior()
    before = fingerprint(bandit)
    others = {
        "different tasks": hs.MetaBandit(dimension=2, seed=0),
        "same dimension": hs.MetaBandit(dimension=3, seed=0),
        "same prior": hs.MetaBandit(dimension=2, prior=hs.priors.Pooled(), seed=0),
        "same half-life": hs.MetaBandit(dimension=2, half_life_seconds=3.0, seed=0),
        "same scales": hs.MetaBandit(dimension=2, seed=0),
    }
    others["different tasks"].observe("ann", [1.0, 0.0], 1.0)
    for x in 20 * [[1.0, 0.0], [0.0, 1e4]]:  # so far apart that they are scaled
        others["same scales"].observe("bob", x, 1.0)
    for message, other in others.items():
        with pytest.raises(ValueError, match=message):
            bandit.merge(other)
        assert fingerprint(bandit) == before


def test_one_reward_in_the_wrong_unit_leaves_the_prior() -> None:
    bandits = [hs.MetaBandit(dimension=D, seed=0) for _ in range(2)]
    rng = np.random.default_rng(4)
    for user in range(20):
        for x in rng.standard_normal((10, D)):
            for bandit in bandits:
                bandit.observe(user, x, float(x.sum()))
    bandits[1].observe("broken", [1.0, 1.0, 1.0], 1e12)
    bandits[1].observe(7, [1.0, 0.0, 0.0], 1e12)
    ours, theirs = (bandit.next_prior() for bandit in bandits)
    np.testing.assert_allclose(theirs.bias, ours.bias, rtol=0.02)
    assert bandits[1].learned().n_tasks == 19  # neither the one, nor what the other was
    # Without the broken reward's task, the memory is as if it had never been.
    bandits[1].forget("broken")
    bandits[1].forget(7)
    bandits[0].forget(7)
    assert_same_prior(bandits[1].next_prior(), bandits[0].next_prior())


@pytest.mark.parametrize("refresh", ["inline", "background"])
def test_nothing_is_left_of_a_forgotten_task_whose_rewards_were_large(refresh: Any) -> None:
    """Beside times in seconds, what the others add to the sums loses its digits."""
    bandits = [hs.MetaBandit(dimension=D, seed=0, refresh=refresh) for _ in range(2)]
    rng = np.random.default_rng(5)
    for x in rng.standard_normal((3, D)):
        bandits[1].observe("test", x, 1.7e9)
    for user in range(12):
        for x in rng.standard_normal((10, D)):
            value = float(x.sum() + 0.5 * rng.standard_normal())
            for bandit in bandits:
                bandit.observe(user, x, value)
    if refresh == "background":
        quiet(bandits[1])
    bandits[1].forget("test")
    assert_same(memory_of(bandits[1]), memory_of(bandits[0]))
    assert bandits[1].learned().n_tasks == 12
    assert 0.3 < bandits[1].learned().noise_scale < 0.7


def log_of(users: int, rounds: int, seed: int) -> tuple[pd.DataFrame, Floats]:
    rng = np.random.default_rng(seed)
    w = np.array([1.0, -1.0, 0.5]) + 0.5 * rng.standard_normal((users, D))
    x = rng.standard_normal((users, rounds, D))
    y = np.einsum("utd,ud->ut", x, w) + 0.1 * rng.standard_normal((users, rounds))
    frame = pd.DataFrame(x.reshape(-1, D), columns=["a", "b", "c"])
    frame["task"] = np.repeat([f"user-{i}" for i in range(users)], rounds)
    frame["reward"] = y.ravel()
    return frame, w


def test_a_logs_user_who_comes_back_counts_once() -> None:
    frame, w = log_of(40, 6, 0)
    columns: dict[str, Any] = {"features": ["a", "b", "c"]}
    bandit = hs.MetaBandit(dimension=D, seed=0).fit(frame, remember_tasks=True, **columns)
    assert bandit.learned().n_tasks == bandit.n_finished == 40
    # Its estimate is that of its rows, from a prior that others taught.
    decision = bandit.decide("user-3", np.eye(D))
    view = bandit.task("user-3")
    rows = frame[frame.task == "user-3"]
    expected = TaskStatistics.from_data(rows[["a", "b", "c"]].to_numpy(), rows.reward.to_numpy())
    np.testing.assert_allclose(view.estimate.statistics.gram, expected.gram)
    np.testing.assert_allclose(view.estimate.statistics.moment, expected.moment)
    assert np.abs(view.estimate.parameter - w[3]).max() < 0.3
    assert np.abs(view.estimate.prior.bias - [1.0, -1.0, 0.5]).max() < 0.4
    kept = kept_state(bandit, "user-3")
    np.testing.assert_allclose(kept.parameter[0], view.estimate.parameter, rtol=1e-9)
    bandit.reward(decision.id, 1.0)
    bandit.finish("user-3")
    assert bandit.learned().n_tasks == 40
    assert_same(memory_of(bandit), absorbed(bandit))
    # Without remember_tasks a user of that name is a new one, who counts once more.
    other = hs.MetaBandit(dimension=D, seed=0).fit(frame, **columns)
    other.observe("user-3", [1.0, 0.0, 0.0], 1.0)
    assert other.learned().n_tasks == 41


@pytest.mark.parametrize("open_task", [True, False])
@pytest.mark.parametrize("covariance", ["isotropic", "factor"])
def test_a_second_log_of_the_same_users_goes_on(open_task: bool, covariance: Any) -> None:
    """Two logs that are kept are one: every user counts once, with the rows of both."""
    frame, _ = log_of(24, 8, 1)
    columns: dict[str, Any] = {"features": ["a", "b", "c"], "remember_tasks": True}
    first = frame.groupby("task").cumcount() < 3
    prior = hs.priors.Hierarchical(covariance=covariance)
    bandit = hs.MetaBandit(dimension=D, prior=prior, seed=0).fit(frame[first], **columns)
    waiting = bandit.decide("user-4", np.eye(D))
    bandit.reward(waiting.id, 1.0)
    waiting = bandit.decide("user-4", np.eye(D))
    if not open_task:
        bandit.finish("user-4")
    bandit.fit(frame[~first], **columns)
    assert bandit.tasks() == (["user-4"] if open_task else [])
    assert bandit.learned().n_tasks == 24
    assert bandit.task("user-4").n_rewards == 9
    assert bandit.task("user-4").n_pending == 1
    assert bandit.task("user-5").n_rewards == 8
    rows = frame[frame.task == "user-5"]
    expected = TaskStatistics.from_data(rows[["a", "b", "c"]].to_numpy(), rows.reward.to_numpy())
    np.testing.assert_allclose(bandit.task("user-5").estimate.statistics.gram, expected.gram)
    assert_same(memory_of(bandit), absorbed(bandit))
    # The pending decision is paid, and the task is what its statistics and its prior say.
    assert bandit.reward(waiting.id, 0.5) == "paid"
    bandit.decide("user-4", np.eye(D))
    kept, view = kept_state(bandit, "user-4"), bandit.task("user-4")
    np.testing.assert_allclose(kept.parameter[0], view.estimate.parameter, rtol=1e-9)
    assert_same(memory_of(bandit), absorbed(bandit))


def test_a_finished_task_can_be_looked_at() -> None:
    for prior in (None, hs.priors.Pooled()):
        bandit = hs.MetaBandit(dimension=D, prior=prior, seed=0)
        rng = np.random.default_rng(0)
        for user in ("ann", "bob"):
            for x in rng.standard_normal((5, D)):
                bandit.observe(user, x, float(x.sum()))
        bandit.next_prior()
        before = bandit.task("ann")
        bandit.finish("ann")
        after = bandit.task("ann")
        assert (after.n_rewards, repr(after)) == (5, repr(before))
        np.testing.assert_allclose(after.estimate.parameter, before.estimate.parameter, rtol=1e-9)
        assert (bandit.tasks(), bandit.n_finished) == (["bob"], 1)
    with pytest.raises(ValueError, match="open or a finished task, got 'eve'"):
        bandit.task("eve")


def clicks() -> pd.DataFrame:
    """0/1 rewards of 100 users, five of which have one reward of 100,000."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame(rng.standard_normal((2_000, D)), columns=["a", "b", "c"])
    frame["task"] = np.arange(2_000) // 20
    frame["reward"] = (frame["a"] + rng.standard_normal(2_000) > 0).astype(float)
    frame.loc[[500, 700, 900, 1100, 1300], "reward"] = 1e5
    return frame


@pytest.mark.parametrize("remember_tasks", [False, True])
def test_rewards_of_a_log_outside_of_the_range_do_not_count(remember_tasks: bool) -> None:
    given: dict[str, Any] = {"features": ["a", "b", "c"], "remember_tasks": remember_tasks}
    bandit = hs.MetaBandit(dimension=D, reward_range=(0, 1), seed=0)
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match=r"within reward_range \(0, 1\), got 100000.0 in row 500"):
        bandit.fit(clicks(), **given)
    assert fingerprint(bandit) == before
    bandit.fit(clicks(), on_bad="drop", **given)
    assert bandit.learned().noise_scale < 1.0
    assert bandit.learned().n_tasks == 100
    report = bandit.log_report
    assert report is not None
    assert report.n_bad == 5
    assert report.set_aside is not None
    assert report.set_aside.count == 0


@pytest.mark.parametrize("remember_tasks", [False, True])
def test_users_of_a_log_in_another_unit_are_set_aside_and_named(remember_tasks: bool) -> None:
    bandit = hs.MetaBandit(dimension=D, seed=0)
    bandit.fit(clicks(), features=["a", "b", "c"], remember_tasks=remember_tasks)
    assert bandit.learned().noise_scale < 1.0
    assert bandit.learned().n_tasks == bandit.n_finished == 95
    report = bandit.log_report
    assert report is not None
    assert report.set_aside is not None
    assert (report.set_aside.count, report.set_aside.examples) == (5, (25, 35, 45))
    assert (
        "5 of the 100 tasks set aside: their rewards are a thousand times the others' "
        "(25, 35, 45, …)" in report.summary()
    )


def test_scales_are_named_as_the_features_are(caplog: pytest.LogCaptureFixture) -> None:
    frame, _ = log_of(20, 5, 0)
    frame["b"] *= 1e4
    hs.MetaBandit(dimension=D, seed=0).fit(frame, features=["a", "b", "c"])
    assert "relative to the others: b: " in caplog.text


@dataclass(frozen=True, kw_only=True)
class Overflowing(hs.priors.Fixed):
    """A prior whose sums went out of range."""

    value: float

    def prior(self, memory: Memory) -> Prior:
        return Prior.trusted(memory["bias"], np.full((D, D), self.value))


@pytest.mark.parametrize("value", [np.nan, np.inf, 1.0])
def test_a_prior_that_is_not_finite_is_refused(value: float) -> None:
    bandit = hs.MetaBandit(D, prior=Overflowing(value=value))
    with pytest.raises(ValueError, match="the prior must be finite"):
        bandit.decide("one", np.eye(D))
