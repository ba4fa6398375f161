"""Any interleaving of calls, time, files, merges and nonsense agrees with a naive model."""

import pickle
import tempfile
from pathlib import Path
from typing import Any, cast

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
)
from tests.live.naive import NaiveBandit, total
from tests.live.state import fingerprint

import headstart as hs
from headstart.live.engine.expiry import run_out
from headstart.live.outcomes import Outcome

DIMENSION = 3
NAMES = st.sampled_from(["ann", "bob", "cid", "dora", "eve", "far-0", "far-1"])
SEEDS = st.integers(0, 10_000)
# In halves: exact, and so never larger than the others by rounding alone.
VALUES = st.integers(-20, 20).map(lambda i: i / 2)
WEIGHTS = st.sampled_from([1.0, 0.5, 3.0])


class LiveMachine(RuleBasedStateMachine):
    """Pooled without the running task, so that the naive model freezes its bias as we do."""

    decisions = Bundle("decisions")

    @initialize(
        deadline=st.sampled_from([None, (30.0, None), (30.0, 0.5)]),
        idle=st.sampled_from([None, 20.0]),
        horizon=st.sampled_from([None, 4]),
        half_life=st.sampled_from([{}, {"half_life_tasks": 3.0}, {"half_life_seconds": 40.0}]),
    )
    def begin(
        self,
        deadline: tuple[float, float | None] | None,
        idle: float | None,
        horizon: int | None,
        half_life: dict[str, float],
    ) -> None:
        self.now = 0.0
        seconds, default = (None, None) if deadline is None else deadline
        self.settings: dict[str, Any] = {
            "deadline_seconds": seconds,
            "default_reward": default,
            "idle_seconds": idle,
            "horizon": horizon,
            "max_pending": 5,
            "reward_range": (-10.0, 10.0),
            **half_life,
        }
        self.bandit = self.new()
        self.naive = NaiveBandit(
            dimension=DIMENSION,
            regularization=2.0,
            clock=self.clock,
            deadline=seconds,
            default=default,
            idle=idle,
            horizon=horizon,
            max_pending=5,
            reward_range=(-10.0, 10.0),
            half_life_tasks=half_life.get("half_life_tasks"),
            half_life_seconds=half_life.get("half_life_seconds"),
        )
        self.copies = 0
        self.ids: set[str] = set()

    def clock(self) -> float:
        return self.now

    def new(self) -> hs.MetaBandit:
        prior = hs.priors.Pooled(within_task=False, regularization=2.0, estimation_regularization=2)
        given: dict[str, Any] = {"policy": hs.policies.OFUL(), "prior": prior, "scales": None}
        return hs.MetaBandit(
            dimension=DIMENSION, seed=0, clock=self.clock, **given, **self.settings
        )

    @rule(target=decisions, name=NAMES, seed=SEEDS, n_arms=st.integers(1, 4))
    def decide(self, name: str, seed: int, n_arms: int) -> str:
        return self.decided(self.bandit, self.naive, name, seed, n_arms)

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
        self.ids.add(decision.id)
        naive.hold(decision.id, name, arms[decision.arm_index])
        return decision.id

    @rule(decision=decisions, value=VALUES, weight=WEIGHTS)
    def reward(self, decision: str, value: float, weight: float) -> None:
        self.rewarded(decision, value, weight)

    def rewarded(self, decision: str, value: float, weight: float) -> None:
        self.naive.run_out()
        expected = self.naive.reward(decision, value, weight)
        if expected is Outcome.PAID:
            assert self.bandit.reward(decision, value, weight) is expected
            return
        run_out(self.bandit._tasks)
        before = fingerprint(self.bandit)
        assert self.bandit.reward(decision, value, weight) is expected
        assert fingerprint(self.bandit) == before

    @rule(decision=decisions, value=st.sampled_from([-11.0, 10.5, 1e12]))
    def reward_out_of_range(self, decision: str, value: float) -> None:
        self.rewarded(decision, value, 1.0)

    @rule(batch=st.lists(st.tuples(decisions, VALUES), max_size=6), weight=WEIGHTS)
    def reward_many(self, batch: list[tuple[str, float]], weight: float) -> None:
        batch = [*batch, ("elsewhere", 1.0)] if len(batch) == 3 else batch
        self.naive.run_out()
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

    @rule(decision=decisions)
    def cancel(self, decision: str) -> None:
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
        # A refused decision of an open task counts as its use, if idle time matters.
        if self.naive.idle is None:
            self.refused("finite|outweigh", self.bandit.decide, name, arms)
        self.refused("shape", self.bandit.decide, name, np.ones((2, DIMENSION + 1)))
        self.refused("finite", self.bandit.observe, name, arms[1], 1.0) if bad != 1e300 else None
        for decision in list(self.naive.pending)[:1]:
            self.refused("finite", self.bandit.reward, decision, float("nan"))
            self.refused("finite", self.bandit.reward_many, [decision], [bad * np.inf])

    def refused(self, message: str, call: Any, *arguments: Any) -> None:
        run_out(self.bandit._tasks)
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

    @rule(target=decisions, seed=SEEDS, n=st.integers(1, 3))
    def merge(self, seed: int, n: int) -> Any:
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
            return multiple()
        before = fingerprint(other)[:-1]
        other.next_prior()
        self.bandit.merge(other)
        self.naive.merge(naive)
        assert before[3:5] == fingerprint(other)[3:5]
        return multiple(*ids)

    def merge_checked(self, other: hs.MetaBandit, naive: NaiveBandit) -> None:
        mine, theirs = ({**each.open, **each.finished} for each in (self.naive, naive))
        if not set(mine) & set(theirs):
            raise ValueError("different tasks: none in common after all")
        self.bandit.merge(other)

    @precondition(lambda self: hasattr(self, "naive"))
    @invariant()
    def same_tasks(self) -> None:
        tasks, naive = self.bandit._tasks, self.naive
        assert sorted(map(str, self.bandit.tasks())) == sorted(naive.open)
        assert sorted(map(str, tasks.finished.numbers)) == sorted(naive.finished)
        assert self.bandit.n_finished == len(naive.finished)
        found = [tasks.pending.decision(place) for place in tasks.pending.oldest_first()]
        assert found == list(naive.pending)
        assert len(tasks.pending) == len(found) <= max(5, len(found))
        assert dict(tasks.settled.values) == naive.settled
        rewards = sum(tasks.row(name)[-7] for name in [*tasks.slots, *tasks.finished.numbers])
        assert rewards == total([*naive.open.values(), *naive.finished.values()])

    @precondition(lambda self: hasattr(self, "naive"))
    @invariant()
    def same_memory(self) -> None:
        state = self.bandit._tasks.population.state
        gram, moment = self.naive.gram_and_moment()
        scale = 1e-9 * (1.0 + np.abs(gram).max())
        np.testing.assert_allclose(state.memory["gram"], gram, rtol=1e-8, atol=scale)
        np.testing.assert_allclose(state.memory["moment"], moment, rtol=1e-8, atol=100 * scale)
        assert state.n_tasks == len(self.naive.counted_tasks())
        assert state.position == self.naive.position


TestLiveMachine = LiveMachine.TestCase
TestLiveMachine.settings = settings(max_examples=100, stateful_step_count=50, deadline=None)
