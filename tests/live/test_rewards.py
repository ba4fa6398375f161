"""Rewards as applications send them: twice, late, wrong, never; and from several threads."""

import sys
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.live.state import (
    all_names,
    fingerprint,
    memory_state,
    pending_ids,
    settled_values,
    sizes,
)
from tests.live.test_memory import absorbed, assert_same, quiet

import headstart as hs
from headstart.arrays import Floats
from headstart.live import _pending
from headstart.live.outcomes import Outcome

pytestmark = pytest.mark.slow

ARMS = np.random.default_rng(0).standard_normal((4, 3))


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_a_batch_from_an_at_least_once_queue() -> None:
    clock = Clock()
    bandit = hs.MetaBandit(
        dimension=3, seed=0, deadline_seconds=60.0, reward_range=(0.0, 1.0), clock=clock
    )
    late = bandit.decide("ann", ARMS).id
    clock.now = 50.0
    a, b, c, d = (bandit.decide(user, ARMS).id for user in ("ann", "bob", "cid", "dora"))
    bandit.cancel(d)
    clock.now = 60.0
    ids = [a, a, b, a, "elsewhere", late, c, c, d]
    values = [1.0, 1.0, 0.0, 0.5, 1.0, 1.0, 2.0, 0.25, 1.0]
    assert bandit.reward_many(ids, values) == [
        "paid",
        "duplicate",
        "paid",
        "conflict",
        "unknown",
        "expired",
        "out_of_range",  # it still waits for its reward
        "paid",
        "unknown",
    ]
    # The queue sends everything again: what is learned stays as it is.
    before = fingerprint(bandit)
    again = bandit.reward_many(ids, values)
    assert again == [
        "duplicate",
        "duplicate",
        "duplicate",
        "conflict",
        "unknown",
        "expired",
        "conflict",
        "duplicate",
        "unknown",
    ]
    assert fingerprint(bandit) == before
    assert [bandit.task(user).n_rewards for user in ("ann", "bob", "cid")] == [1, 1, 1]


@given(seed=st.integers(0, 2**32 - 1), catalogue=st.booleans())
@settings(max_examples=30, deadline=None)
def test_a_batch_is_its_rewards_one_by_one(seed: int, catalogue: bool) -> None:
    """Duplicates, conflicts, unknown ids and refused weights included."""
    rng = np.random.default_rng(seed)
    bandits = [hs.MetaBandit(dimension=3, seed=1) for _ in range(2)]
    ids: list[list[str]] = [[], []]
    for bandit, made in zip(bandits, ids, strict=True):
        for user in range(8):
            bandit.observe(user, ARMS[user % 4], float(user))
        arms: Any = hs.Catalogue(ARMS) if catalogue else ARMS
        for user in (0, 1, 0, 2, 3, 3):
            made.append(bandit.decide(user, arms).id)
        bandit.finish(3)
        made.append("elsewhere")
    order = rng.integers(7, size=12).tolist()
    values = rng.integers(0, 2, 12).astype(float)
    weights = rng.choice([1.0, 2.0, 1e40], p=[0.6, 0.3, 0.1], size=12)
    at_once = bandits[0].reward_many([ids[0][i] for i in order], values, weights)
    given = zip(order, values.tolist(), weights.tolist(), strict=True)
    one_by_one = [bandits[1].reward(ids[1][i], value, weight) for i, value, weight in given]
    assert at_once == one_by_one
    assert fingerprint(bandits[0], ids=False) == fingerprint(bandits[1], ids=False)


def test_deadlines_pay_the_default_once() -> None:
    clock = Clock()
    bandit = hs.MetaBandit(
        dimension=3, seed=0, deadline_seconds=60.0, default_reward=0.0, clock=clock
    )
    first = bandit.decide("ann", ARMS)
    clock.now = 30.0
    second = bandit.decide("ann", ARMS)
    clock.now = 59.9
    assert bandit.reward(first.id, 1.0) is Outcome.PAID
    clock.now = 90.0
    assert bandit.reward(second.id, 1.0) is Outcome.EXPIRED
    view = bandit.task("ann")
    assert (view.n_rewards, view.n_pending) == (2, 0)
    expected = ARMS[first.arm_index]  # the second paid 0
    np.testing.assert_allclose(view.estimate.statistics.moment, expected)
    # A finished task stays finished: its user did not come back.
    bandit.decide("bob", ARMS)
    bandit.finish("bob")
    clock.now = 200.0
    bandit.decide("ann", ARMS)
    assert bandit.tasks() == ["ann"]
    assert bandit.task("bob").n_rewards == 1.0
    assert bandit.learned().n_tasks == 2


def test_a_task_may_end_in_the_call_that_uses_it() -> None:
    """Its deadline and its idle time pass, and the same call decides for it."""
    clock = Clock()
    given: dict[str, Any] = {"deadline_seconds": 1.0, "default_reward": 0.0, "idle_seconds": 1.0}
    bandit = hs.MetaBandit(dimension=3, seed=0, clock=clock, **given)
    for _ in range(20):
        decision = bandit.decide("ann", ARMS)
        bandit.decide("bob", ARMS)
        clock.now += 2.0
        again = bandit.decide("ann", ARMS)
        assert bandit.tasks() == ["ann"]
        assert bandit.reward(decision.id, 1.0) is Outcome.EXPIRED
        assert bandit.reward(again.id, 1.0) is Outcome.PAID
    assert bandit.task("ann").n_rewards == 40.0
    assert bandit.task("bob").n_rewards == 20.0


def test_a_deadline_given_to_a_file_counts_from_then(tmp_path: Any) -> None:
    bandit = hs.MetaBandit(dimension=3, seed=0)
    waiting = bandit.decide("ann", ARMS)
    bandit.save(tmp_path / "bandit.npz")
    clock = Clock()
    clock.now = 1e9
    given: dict[str, Any] = {"deadline_seconds": 60.0, "default_reward": 0.0, "clock": clock}
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", **given)
    loaded.decide("bob", ARMS)
    assert loaded.task("ann").n_pending == 1
    clock.now += 59.0
    assert loaded.reward(waiting.id, 1.0) is Outcome.PAID


def test_merged_decisions_expire_in_the_order_of_time() -> None:
    clock = Clock()
    given: dict[str, Any] = {"dimension": 3, "seed": 0, "deadline_seconds": 10.0, "clock": clock}
    one, two = hs.MetaBandit(**given), hs.MetaBandit(**given)
    ids = []
    for time in range(6):
        clock.now = float(time)
        bandit = (one, two)[time % 2]
        ids.append(bandit.decide(f"user-{time % 2}", ARMS).id)
    one.merge(two)
    for time in range(6):
        clock.now = 10.0 + time
        assert one.reward("elsewhere", 1.0) is Outcome.UNKNOWN  # any call settles what is due
        assert pending_ids(one) == ids[time + 1 :]


def test_the_oldest_expire_if_too_many_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pending, "MOST_PENDING", 3)
    bandit = hs.MetaBandit(dimension=3, seed=0)
    ids = [bandit.decide(user, ARMS).id for user in ("ann", "bob", "ann", "cid", "ann", "dora")]
    assert pending_ids(bandit) == ids[3:]
    assert [bandit.reward(each, 1.0) for each in ids] == 3 * ["expired"] + 3 * ["paid"]
    assert [each.id for each in bandit.decide("ann", ARMS, n=3)] == pending_ids(bandit)


@pytest.mark.nightly
def test_a_million_decisions_without_rewards_take_bounded_memory(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(_pending, "MOST_PENDING", 5_000)
    bandit = hs.MetaBandit(dimension=2, seed=0)
    names, arms = [f"user-{i}" for i in range(1000)], np.eye(2)
    reached = set()
    for batch in range(1000):
        ids = bandit.decide_many(names, arms).ids
        if batch % 100 == 0:
            assert len(pending_ids(bandit)) <= 5_000
        if batch >= 200 and batch % 20 == 0:
            reached.add((*sizes(bandit).values(), len(settled_values(bandit))))
    assert len(reached) == 1
    assert len(settled_values(bandit)) <= _pending.CAPACITY
    assert sizes(bandit)["features"] < 2 * 5_000 * 2 * 8
    # The latest are still paid.
    assert set(bandit.reward_many(ids, np.ones(1000))) == {Outcome.PAID}


def test_rewards_set_aside_by_their_range_do_not_settle_a_decision() -> None:
    bandit = hs.MetaBandit(dimension=3, seed=0, reward_range=(0.0, 1.0))
    decision = bandit.decide("ann", ARMS)
    for bad in (-0.1, 1.1, 1e12):
        assert bandit.reward(decision.id, bad) is Outcome.OUT_OF_RANGE
    assert bandit.observe("ann", ARMS[0], 7.0) is Outcome.OUT_OF_RANGE
    assert bandit.observe("new", ARMS[0], 7.0) is Outcome.OUT_OF_RANGE
    assert bandit.tasks() == ["ann"]
    assert bandit.reward(decision.id, 1.0) is Outcome.PAID
    with pytest.raises(ValueError, match="within reward_range"):
        hs.MetaBandit(
            dimension=1, reward_range=(0.0, 1.0), default_reward=2.0, deadline_seconds=1.0
        )


def test_threads_lose_no_reward_and_pay_none_twice() -> None:
    """Four threads with common users, in background mode, while tasks finish and return."""
    bandit = hs.MetaBandit(dimension=3, refresh="background")
    users, rounds, paid = 40, 300, [0] * 4
    shared: list[str] = []
    guard = threading.Lock()

    def work(worker: int) -> Floats:
        rng = np.random.default_rng(worker)
        counts = np.zeros(users)
        for t in range(rounds):
            user = int(rng.integers(users))
            decision = bandit.decide(user, rng.standard_normal((5, 3)))
            with guard:
                shared.append(decision.id)
                other = shared[int(rng.integers(len(shared)))]
            # One's own, and one of anybody's, which others may pay at the same time.
            for each in {decision.id, other}:
                if bandit.reward(each, float(rng.standard_normal())) is Outcome.PAID:
                    paid[worker] += 1
            if t % 5 == 0:
                try:
                    bandit.finish(user)
                except ValueError as error:  # another thread was first
                    assert "open task" in str(error)  # noqa: PT017
            if t % 50 == 0:
                bandit.next_prior()
            counts[user] += 1
        return counts

    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as pool:
            done = list(pool.map(work, range(4)))
    finally:
        sys.setswitchinterval(interval)
    assert len(done) == 4
    assert sum(paid) == len(set(shared)) == len(shared) == 4 * rounds
    quiet(bandit)
    names = all_names(bandit)
    counts = np.array([bandit.task(name).n_rewards for name in sorted(names)])
    np.testing.assert_array_equal(counts, np.sum(done, 0))
    state = memory_state(bandit)
    assert state.n_tasks == len(names)
    assert state.rounds == sum(paid)
    assert_same(state.memory, absorbed(bandit))
