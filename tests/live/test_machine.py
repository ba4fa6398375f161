"""Any interleaving of decide, reward, finish, save, load and nonsense agrees with a naive model."""

import tempfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, consumes, invariant, rule
from tests.live.naive import NaiveBandit
from tests.live.state import fingerprint

import headstart as hs

DIMENSION = 3
NAMES = st.sampled_from(["ann", "bob", "cid", "dora", "eve"])
SEEDS = st.integers(0, 10_000)


class LiveMachine(RuleBasedStateMachine):
    """Pooled without the running task, so that the naive model freezes its bias as we do."""

    decisions = Bundle("decisions")

    def __init__(self) -> None:
        super().__init__()
        prior = hs.priors.Pooled(within_task=False, regularization=2.0, estimation_regularization=2)
        self.bandit = hs.MetaBandit(
            dimension=DIMENSION, policy=hs.policies.OFUL(), prior=prior, seed=0
        )
        self.naive = NaiveBandit(dimension=DIMENSION, regularization=2.0)
        self.gone: list[int] = []
        self.copies = 0

    @rule(target=decisions, name=NAMES, seed=SEEDS, n_arms=st.integers(1, 4))
    def decide(self, name: str, seed: int, n_arms: int) -> int:
        arms = np.random.default_rng(seed).standard_normal((n_arms, DIMENSION))
        decision = self.bandit.decide(name, arms)
        expected = self.naive.scores(name, arms)
        np.testing.assert_allclose(decision.scores, expected, rtol=1e-8, atol=1e-9)
        assert expected[decision.arm_index] >= expected.max() - 1e-7
        assert decision.id not in self.naive.pending
        assert decision.id not in self.gone
        self.naive.pending[decision.id] = (name, arms[decision.arm_index])
        return decision.id

    @rule(
        decision=consumes(decisions),
        value=st.floats(-10, 10),
        weight=st.sampled_from([1.0, 0.5, 3.0]),
    )
    def reward(self, decision: int, value: float, weight: float) -> None:
        if decision in self.naive.pending:
            self.bandit.reward(decision, value, weight)
            self.naive.reward(decision, value, weight)
        else:
            self.refused("is not open", self.bandit.reward, decision, value)
        self.gone.append(decision)

    @rule(decision=decisions)
    def forget(self, decision: int) -> None:
        if decision in self.naive.pending:
            self.bandit.forget(decision)
            del self.naive.pending[decision]
        else:
            self.refused("is not open", self.bandit.forget, decision)

    @rule(name=NAMES)
    def finish(self, name: str) -> None:
        if name in self.naive.open:
            self.bandit.finish(name)
            self.gone += [i for i, held in self.naive.pending.items() if held[0] == name]
            self.naive.finish(name)
        else:
            self.refused("open task", self.bandit.finish, name)

    @rule(name=NAMES, bad=st.sampled_from([np.nan, np.inf, 1e300]), value=SEEDS)
    def nonsense(self, name: str, bad: float, value: int) -> None:
        arms = np.ones((2, DIMENSION))
        arms[1, value % DIMENSION] = bad
        self.refused("finite|outweigh", self.bandit.decide, name, arms)
        self.refused("shape", self.bandit.decide, name, np.ones((2, DIMENSION + 1)))
        for decision in list(self.naive.pending)[:1]:
            self.refused("finite", self.bandit.reward, decision, float("nan"))
        for decision in self.gone[-1:]:
            self.refused("is not open", self.bandit.reward, decision, 1.0)

    def refused(self, message: str, call: Any, *arguments: Any) -> None:
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
            loaded = hs.MetaBandit.load(path, resume=resume, seed=self.copies)
        ours, theirs = fingerprint(self.bandit), fingerprint(loaded)
        # Without `resume` all but the random numbers, which come last, is the same.
        assert ours[:-1] == theirs[:-1]
        assert (ours[-1] == theirs[-1]) == resume
        self.bandit = loaded

    @invariant()
    def same_tasks(self) -> None:
        assert sorted(map(str, self.bandit.tasks())) == sorted(self.naive.open)
        assert len(self.bandit._tasks.pending) == len(self.naive.pending)
        assert self.bandit.n_finished == len(self.naive.finished)


# 200 runs of 50 steps: 10,000.
TestLiveMachine = LiveMachine.TestCase
TestLiveMachine.settings = settings(max_examples=200, stateful_step_count=50, deadline=None)
