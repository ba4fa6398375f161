"""Any interleaving of calls, time, files, merges and nonsense agrees with a naive model."""

import inspect
import pickle
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    initialize,
    invariant,
    precondition,
    rule,
)
from tests.live.naive import NaiveBandit, total
from tests.live.state import (
    all_names,
    fingerprint,
    memory_state,
    pending_ids,
    run_out,
    settled_values,
)

import headstart as hs
from headstart.live import _pending
from headstart.live.outcomes import Outcome

pytestmark = pytest.mark.slow

DIMENSION = 3
NAMES = st.sampled_from(["ann", "bob", "cid", "dora", "eve", "far-0", "far-1"])
SEEDS = st.integers(0, 10_000)
# In halves: exact, and so never larger than the others by rounding alone.
# The default reward, 0.5, is told often.
VALUES = st.one_of(st.integers(-20, 20).map(lambda i: i / 2), st.just(0.5))
WHICH = st.integers(0, 99)
WEIGHTS = st.sampled_from([1.0, 0.5, 3.0])
MOST_PENDING = 5


@pytest.fixture(autouse=True, scope="module")
def _few_may_wait() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(_pending, "MOST_PENDING", MOST_PENDING)
        yield


class LiveMachine(RuleBasedStateMachine):
    """Pooled without the running task, so that the naive model freezes its bias as we do."""

    @initialize(
        deadline=st.sampled_from([None, (30.0, None), (30.0, 0.5)]),
        idle=st.sampled_from([None, 20.0]),
        half_life=st.sampled_from([None, 40.0]),
    )
    def begin(
        self,
        deadline: tuple[float, float | None] | None,
        idle: float | None,
        half_life: float | None,
    ) -> None:
        self.now = 0.0
        seconds, default = (None, None) if deadline is None else deadline
        self.settings: dict[str, Any] = {
            "deadline_seconds": seconds,
            "default_reward": default,
            "idle_seconds": idle,
            "reward_range": (-10.0, 10.0),
            "half_life_seconds": half_life,
        }
        self.bandit = self.new()
        self.naive = NaiveBandit(
            dimension=DIMENSION,
            regularization=2.0,
            clock=self.clock,
            deadline=seconds,
            default=default,
            idle=idle,
            most_pending=MOST_PENDING,
            reward_range=(-10.0, 10.0),
            half_life_seconds=half_life,
        )
        self.copies = 0
        self.ids: list[str] = []  # all that were ever given

    def clock(self) -> float:
        return self.now

    def new(self) -> hs.MetaBandit:
        prior = hs.priors.Pooled(within_task=False, regularization=2.0, estimation_regularization=2)
        given: dict[str, Any] = {"policy": hs.policies.OFUL(), "prior": prior, "scales": None}
        return hs.MetaBandit(
            dimension=DIMENSION, seed=0, clock=self.clock, **given, **self.settings
        )

    @rule(name=NAMES, seed=SEEDS, n_arms=st.integers(1, 4))
    def decide(self, name: str, seed: int, n_arms: int) -> None:
        self.decided(self.bandit, self.naive, name, seed, n_arms)

    def decided(
        self, bandit: hs.MetaBandit, naive: NaiveBandit, name: str, seed: int, n_arms: int = 3
    ) -> str:
        arms = np.random.default_rng(seed).standard_normal((n_arms, DIMENSION))
        decision = bandit.decide(name, arms)
        naive.run_out()
        expected = naive.scores(name, arms)
        np.testing.assert_allclose(decision.scores, expected, rtol=1e-8, atol=1e-9)
        assert expected[decision.arm_index] >= expected.max() - 1e-7
        assert decision.id not in self.ids
        self.ids.append(decision.id)
        naive.hold(decision.id, name, arms[decision.arm_index])
        return decision.id

    def pick(self, which: int) -> str:
        """Mostly a decision that waits; else any that was ever made, or none."""
        known = list(self.naive.pending) if which < 70 and self.naive.pending else self.ids
        return known[which % len(known)] if known else "elsewhere"

    @rule(name=NAMES, seed=SEEDS, value=VALUES)
    def decide_and_reward(self, name: str, seed: int, value: float) -> None:
        self.rewarded(self.decided(self.bandit, self.naive, name, seed), value, 1.0)

    @rule(which=WHICH, value=VALUES, weight=WEIGHTS)
    def reward(self, which: int, value: float, weight: float) -> None:
        self.rewarded(self.pick(which), value, weight)

    def rewarded(self, decision: str, value: float, weight: float) -> None:
        self.naive.run_out()
        expected = self.naive.reward(decision, value, weight)
        if expected is Outcome.PAID:
            assert self.bandit.reward(decision, value, weight) is expected
            return
        run_out(self.bandit)
        before = fingerprint(self.bandit)
        assert self.bandit.reward(decision, value, weight) is expected
        assert fingerprint(self.bandit) == before

    @rule(which=WHICH, value=st.sampled_from([-11.0, 10.5, 1e12]))
    def reward_out_of_range(self, which: int, value: float) -> None:
        self.rewarded(self.pick(which), value, 1.0)

    @rule(picked=st.lists(st.tuples(WHICH, VALUES), max_size=6), weight=WEIGHTS)
    def reward_many(self, picked: list[tuple[int, float]], weight: float) -> None:
        self.naive.run_out()
        batch = [(self.pick(which), value) for which, value in picked]
        expected = [self.naive.reward(decision, value, weight) for decision, value in batch]
        ids, values = [each for each, _ in batch], np.array([value for _, value in batch])
        assert self.bandit.reward_many(ids, values, weight) == expected

    @rule(name=NAMES, seed=SEEDS, value=VALUES, weight=WEIGHTS)
    def observe(self, name: str, seed: int, value: float, weight: float) -> None:
        x = np.random.default_rng(seed).standard_normal(DIMENSION)
        assert self.bandit.observe(name, x, value, weight) is Outcome.PAID
        self.naive.run_out()
        self.naive.start(name)
        self.naive.learn(name, x, value, weight)

    @rule(which=WHICH)
    def cancel(self, which: int) -> None:
        decision = self.pick(which)
        assert self.bandit.cancel(decision) == self.naive.cancel(decision)

    @rule(name=NAMES)
    def finish(self, name: str) -> None:
        if name in self.naive.open:
            self.bandit.finish(name)
            self.naive.finish(name)
        else:
            self.refused("open task", self.bandit.finish, name)

    @rule(name=NAMES)
    def forget(self, name: str) -> None:
        if name in self.naive.open or name in self.naive.finished:
            self.bandit.forget(name)
            self.naive.forget(name)
        else:
            self.refused("task", self.bandit.forget, name)

    @rule(seconds=st.sampled_from([1.0, 12.0, 35.0]))
    def wait(self, seconds: float) -> None:
        self.now += seconds

    @rule()
    def next_prior(self) -> None:
        prior = self.bandit.next_prior()
        self.naive.refresh()
        np.testing.assert_allclose(prior.bias, self.naive.bias(), rtol=1e-8, atol=1e-9)

    @rule(name=NAMES, bad=st.sampled_from([np.nan, np.inf, 1e300]), value=SEEDS)
    def nonsense(self, name: str, bad: float, value: int) -> None:
        arms = np.ones((2, DIMENSION))
        arms[1, value % DIMENSION] = bad
        self.catch_up(name)
        # A refused decision of an open task counts as its use, if idle time matters.
        if self.naive.idle is None:
            self.refused("finite|outweigh", self.bandit.decide, name, arms)
        self.refused("shape", self.bandit.decide, name, np.ones((2, DIMENSION + 1)))
        self.refused("finite", self.bandit.observe, name, arms[1], 1.0) if bad != 1e300 else None
        for decision in list(self.naive.pending)[:1]:
            self.refused("finite", self.bandit.reward, decision, float("nan"))
            self.refused("finite", self.bandit.reward_many, [decision], [bad * np.inf])

    def catch_up(self, name: str) -> None:
        """Give a task the newest prior, which it gets before it is used, also by a refused call."""
        run_out(self.bandit)
        self.naive.run_out()
        self.next_prior()
        is_finished = name in self.naive.finished
        if is_finished or name in self.naive.open:
            self.bandit.propensities(name, np.eye(DIMENSION))
            self.naive.start(name)
        if is_finished:
            self.naive.finish(name)

    def refused(self, message: str, call: Any, *arguments: Any) -> None:
        run_out(self.bandit)
        self.naive.run_out()
        self.bandit.next_prior()
        self.naive.refresh()
        before = fingerprint(self.bandit)
        with pytest.raises(ValueError, match=message):
            call(*arguments)
        assert fingerprint(self.bandit) == before

    @rule(resume=st.booleans())
    def save_and_load(self, resume: bool) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bandit.npz"
            self.bandit.save(path)
            self.copies += 1  # a seed of its own for every copy
            given: dict[str, Any] = {"seed": self.copies, "clock": self.clock}
            loaded = hs.MetaBandit.load(path, resume=resume, **given)
        ours, theirs = fingerprint(self.bandit), fingerprint(loaded)
        # Without `resume` all but the random numbers, which come last, is the same.
        assert ours[:-1] == theirs[:-1]
        assert (ours[-1] == theirs[-1]) == resume
        self.bandit = loaded
        self.naive.refresh()

    @rule()
    def pickle_and_unpickle(self) -> None:
        rebuild, (kind, saved, given) = cast("tuple[Any, Any]", self.bandit.__reduce__())
        # The machine's clock is no function that a pickle can name.
        self.bandit = rebuild(kind, pickle.loads(pickle.dumps(saved)), given)
        self.naive.refresh()

    @rule(seed=SEEDS, n=st.integers(1, 3))
    def merge(self, seed: int, n: int) -> None:
        """Another bandit sees tasks of its own, and is merged."""
        other, naive = self.new(), self.naive.fresh()
        ids = []
        for i in range(n):
            name = f"far-{i % 2}"
            ids.append(self.decided(other, naive, name, seed + i))
            if i < 2:
                naive.run_out()
                naive.reward(ids[-1], 1.0, 1.0)
                other.reward(ids[-1], 1.0)
        if any(name in {**self.naive.open, **self.naive.finished} for name in ("far-0", "far-1")):
            self.refused("different tasks", self.merge_checked, other, naive)
            return
        other.next_prior()
        before = fingerprint(other)
        self.bandit.merge(other)
        self.naive.merge(naive)
        assert fingerprint(other) == before

    def merge_checked(self, other: hs.MetaBandit, naive: NaiveBandit) -> None:
        mine, theirs = ({**each.open, **each.finished} for each in (self.naive, naive))
        if not set(mine) & set(theirs):
            raise ValueError("different tasks: none in common after all")
        self.bandit.merge(other)

    @precondition(lambda self: hasattr(self, "naive"))
    @invariant()
    def same_tasks(self) -> None:
        naive = self.naive
        assert sorted(map(str, self.bandit.tasks())) == sorted(naive.open)
        names = all_names(self.bandit)
        assert sorted(map(str, names)) == sorted([*naive.open, *naive.finished])
        assert self.bandit.n_finished == len(naive.finished)
        assert pending_ids(self.bandit) == list(naive.pending)
        assert settled_values(self.bandit) == naive.settled
        rewards = sum(self.bandit.task(name).n_rewards for name in names)
        assert rewards == total([*naive.open.values(), *naive.finished.values()])

    @precondition(lambda self: hasattr(self, "naive"))
    @invariant()
    def same_memory(self) -> None:
        state = memory_state(self.bandit)
        gram, moment = self.naive.gram_and_moment()
        scale = 1e-9 * (1.0 + np.abs(gram).max())
        np.testing.assert_allclose(state.memory["gram"], gram, rtol=1e-8, atol=scale)
        np.testing.assert_allclose(state.memory["moment"], moment, rtol=1e-8, atol=100 * scale)
        assert state.n_tasks == len(self.naive.counted_tasks())
        assert state.position == self.naive.position


TestLiveMachine = LiveMachine.TestCase
TestLiveMachine.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)

# How often a walk takes each step: hypothesis finds small failures, walks go far.
STEPS = {
    "decide": 6,
    "decide_and_reward": 4,
    "reward": 6,
    "observe": 3,
    "finish": 3,
    "wait": 3,
    "reward_many": 1,
    "reward_out_of_range": 1,
    "cancel": 1,
    "forget": 1,
    "next_prior": 1,
    "merge": 1,
    "save_and_load": 0.5,
    "pickle_and_unpickle": 0.5,
    "nonsense": 0.5,
}


@pytest.mark.parametrize("seed", range(40))
def test_a_long_walk_agrees_with_the_naive_model(seed: int) -> None:
    rng = np.random.default_rng(seed)
    machine = LiveMachine()
    deadlines = [None, (30.0, None), (30.0, 0.5)]
    machine.begin(
        deadline=deadlines[rng.integers(3)],
        idle=[None, None, 20.0][rng.integers(3)],
        half_life=[None, 40.0][rng.integers(2)],
    )
    draws: dict[str, Any] = {
        "name": lambda: ["ann", "bob", "cid", "dora", "eve", "far-0", "far-1"][rng.integers(7)],
        "seed": lambda: int(rng.integers(10_000)),
        "n_arms": lambda: int(rng.integers(1, 5)),
        "which": lambda: int(rng.integers(100)),
        "value": lambda: 0.5 if rng.random() < 0.2 else float(rng.integers(-20, 21)) / 2,
        "weight": lambda: float(rng.choice([1.0, 0.5, 3.0])),
        "seconds": lambda: float(rng.choice([1.0, 12.0, 35.0])),
        "resume": lambda: bool(rng.integers(2)),
        "n": lambda: int(rng.integers(1, 4)),
        "bad": lambda: float(rng.choice([np.nan, np.inf, 1e300])),
    }
    draws["picked"] = lambda: [(draws["which"](), draws["value"]()) for _ in range(rng.integers(7))]
    weights = np.array(list(STEPS.values()))
    for step in rng.choice(list(STEPS), size=120, p=weights / weights.sum()).tolist():
        method = getattr(machine, step)
        wanted = [each for each in inspect.signature(method).parameters if each in draws]
        given = {each: draws[each]() for each in wanted}
        if step == "reward_out_of_range":
            given["value"] = [-11.0, 10.5, 1e12][rng.integers(3)]
        if step == "nonsense":
            given["value"] = int(rng.integers(100))
        method(**given)
        machine.same_tasks()
        machine.same_memory()
