"""What waits counts as its default, from the decision on; a reward replaces it exactly."""

import contextlib
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.live.state import all_names, fingerprint, kept_state, memory_state
from tests.live.test_memory import absorbed, assert_same, quiet

import headstart as hs
from headstart.arrays import Floats
from headstart.core.ridge import RidgeEstimate
from headstart.kernels import state as columns
from headstart.live import _pending
from headstart.live.outcomes import Outcome

D = 3
ARMS = np.random.default_rng(0).standard_normal((4, D))


class Clock:
    """A time that tests set."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def waiting(clock: Callable[[], float] | None = None, **given: Any) -> hs.MetaBandit:
    """A bandit whose decisions count as 0 until their reward comes."""
    settings: dict[str, Any] = {"seed": 0, "deadline_seconds": 60.0, "default_reward": 0.0}
    return hs.MetaBandit(dimension=D, clock=clock or Clock(), **settings | given)


def test_a_decision_counts_as_its_default_until_it_is_paid() -> None:
    bandit = waiting(prior=hs.priors.Fixed.zero(), default_reward=0.25)
    decision = bandit.decide("ann", ARMS)
    x = ARMS[decision.arm_index]
    view = bandit.task("ann")
    assert (view.n_rewards, view.n_pending) == (1, 1)
    found = view.estimate.statistics
    np.testing.assert_allclose(found.gram, np.outer(x, x))
    np.testing.assert_allclose(found.moment, 0.25 * x)
    assert (float(found.count), float(found.sum_of_squares)) == (1.0, 0.0625)
    before = view.estimate.parameter
    assert bandit.reward(decision.id, 2.0) is Outcome.PAID
    view = bandit.task("ann")
    assert (view.n_rewards, view.n_pending) == (1, 0)
    np.testing.assert_allclose(view.estimate.statistics.gram, np.outer(x, x))
    np.testing.assert_allclose(view.estimate.statistics.moment, 2.0 * x)
    found = view.estimate.statistics
    assert (float(found.count), float(found.sum_of_squares)) == (1.0, 4.0)
    # ŵ has moved by A x (y − default).
    inverse = np.linalg.inv(np.eye(D) + np.outer(x, x))
    np.testing.assert_allclose(view.estimate.parameter, before + 1.75 * inverse @ x)
    np.testing.assert_allclose(kept_state(bandit, "ann").parameter[0], view.estimate.parameter)


def test_the_default_may_be_corrected_within_the_deadline() -> None:
    clock = Clock()
    bandit = waiting(clock)
    clicked, ignored, late = (bandit.decide("ann", ARMS).id for _ in range(3))
    for decision in (clicked, ignored, late):
        assert bandit.reward(decision, 0.0) is Outcome.PAID
        assert bandit.reward(decision, 0.0) is Outcome.DUPLICATE
    assert bandit.task("ann").n_pending == 0
    assert not bandit.cancel(clicked)  # it has its reward
    assert bandit.reward(clicked, 1.0) is Outcome.PAID
    assert bandit.reward(clicked, 1.0) is Outcome.DUPLICATE
    assert bandit.reward(clicked, 0.0) is Outcome.CONFLICT  # what is no default stays
    clock.now = 60.0
    assert bandit.reward(late, 1.0) is Outcome.CONFLICT
    assert bandit.reward(late, 0.0) is Outcome.DUPLICATE
    statistics = bandit.task("ann").estimate.statistics
    assert (float(statistics.count), float(statistics.sum_of_squares)) == (3.0, 1.0)


def test_at_the_deadline_nothing_more_is_learned() -> None:
    clock = Clock()
    bandit = waiting(clock)
    decision = bandit.decide("ann", ARMS)
    before = bandit.task("ann").estimate.statistics
    clock.now = 60.0
    assert bandit.reward(decision.id, 1.0) is Outcome.EXPIRED
    after = bandit.task("ann")
    assert (after.n_rewards, after.n_pending) == (1, 0)
    np.testing.assert_array_equal(after.estimate.statistics.gram, before.gram)
    np.testing.assert_array_equal(after.estimate.statistics.moment, before.moment)


def test_a_decision_that_is_given_up_never_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_pending, "MOST_PENDING", 2)
    bandit = waiting()
    for name in ("ann", "bob"):
        bandit.observe(name, ARMS[0], 1.0)
    known = bandit.task("ann").estimate.statistics
    decision = bandit.decide("ann", ARMS)
    bandit.next_prior()  # which counts it, too
    assert bandit.cancel(decision.id)
    for _ in range(3):
        bandit.decide("ann", ARMS)
    assert bandit.task("ann").n_rewards == 3  # the oldest of the three is dropped
    bandit.decide("cid", ARMS, n=2)  # and then both others
    for name, part in (("ann", known), ("cid", None)):
        found = bandit.task(name).estimate.statistics
        if part is not None:
            np.testing.assert_allclose(found.gram, part.gram, atol=1e-14)
            np.testing.assert_allclose(found.moment, part.moment, atol=1e-14)
            assert found.count == part.count
    assert bandit.reward(decision.id, 1.0) is Outcome.UNKNOWN


def test_a_task_of_which_nothing_is_left_is_not_counted() -> None:
    bandit = waiting()
    bandit.observe("bob", ARMS[0], 1.0)
    decision = bandit.decide("ann", ARMS)
    assert bandit.learned().n_tasks == 2
    bandit.finish("ann")
    assert bandit.cancel(decision.id)
    assert bandit.learned().n_tasks == 1
    assert bandit.n_finished == 0
    decision = bandit.decide("cid", ARMS)
    assert bandit.learned().n_tasks == 2
    bandit.forget("cid")
    assert bandit.learned().n_tasks == 1
    assert bandit.reward(decision.id, 1.0) is Outcome.UNKNOWN


def test_without_a_default_a_decision_that_waits_changes_nothing() -> None:
    """To the bit: the rows, the memory and what is kept of decisions."""
    bandits = [
        hs.MetaBandit(dimension=D, seed=0, clock=Clock(), deadline_seconds=deadline)
        for deadline in (None, 60.0)
    ]
    for bandit in bandits:
        for i in range(12):
            bandit.observe(i % 4, ARMS[i % 4], float(i))
        rows = fingerprint(bandit)[0]
        ids = [bandit.decide(name, ARMS).id for name in (0, 1, 2, 0)]
        ids += bandit.decide_many([0, 3], ARMS).ids.tolist()
        assert fingerprint(bandit)[0] == rows
        bandit.cancel(ids[2])
        assert fingerprint(bandit)[0] == rows
        bandit.reward_many(ids, np.arange(6.0))
        assert bandit._tasks.pending.n_provisional == 0
    one, other = (fingerprint(bandit, ids=False) for bandit in bandits)
    assert one == other


def test_rounds_are_numbered_by_decision() -> None:
    """The slow z counts decisions, whether their rewards have come or not."""

    bandit = waiting(policy=hs.policies.BayesUCB(z="slow"))
    ids = []
    for t in range(5):
        ids.append(bandit.decide("ann", ARMS).id)
        assert float(kept_state(bandit, "ann").scalars[0, columns.COUNT]) == t + 1.0
    bandit.reward_many(ids[:2], [1.0, 0.0])
    assert float(kept_state(bandit, "ann").scalars[0, columns.COUNT]) == 5.0


@dataclass
class Told:
    """What a task was told in the end, by decision, in the order of decisions."""

    x: dict[str, Floats] = field(default_factory=dict)
    y: dict[str, float] = field(default_factory=dict)
    weight: dict[str, float] = field(default_factory=dict)
    lost: set[str] = field(default_factory=set)

    def statistics(self, discount: float) -> hs.TaskStatistics:
        """Sums of the final rewards; one that was given up is as if it had the weight 0."""
        gram, moment, count, squares = np.zeros((D, D)), np.zeros(D), 0.0, 0.0
        for each, x in self.x.items():
            w, y = 0.0 if each in self.lost else self.weight[each], self.y[each]
            gram = discount * gram + w * np.outer(x, x)
            moment = discount * moment + w * y * x
            count, squares = discount * count + w, discount * squares + w * y * y
        sums: dict[str, Any] = {"count": np.array(count), "sum_of_squares": np.array(squares)}
        return hs.TaskStatistics(gram=gram, moment=moment, **sums)


def noise_scale(estimate: RidgeEstimate) -> float:
    """s from (n₀s² + Σ(y − xᵀŵ)² + ‖ŵ − h‖²)/(n₀ + T), with the norm of Λ."""
    prior, task, w = estimate.prior, estimate.statistics, estimate.parameter
    scale, n = float(prior.noise_scale), float(prior.noise_degrees_of_freedom)
    if np.isinf(n):
        return scale
    gap = w - prior.bias
    residual = task.sum_of_squares + w @ (task.gram @ w - 2.0 * task.moment)
    total = n * scale**2 + residual + gap @ prior.regularization @ gap
    return float(np.sqrt(total / max(n + float(task.count), 1.0))) or scale


class Session:
    """Random calls of a bandit with three tasks, and what each was told in the end."""

    def __init__(self, rng: np.random.Generator, *, catalogue: bool, **given: Any) -> None:
        self.rng, self.clock = rng, Clock()
        self.bandit = waiting(self.clock, **given)
        self.default = float(given["default_reward"])
        self.arms: Any = hs.Catalogue(ARMS) if catalogue else ARMS
        self.told = {name: Told() for name in "abc"}
        self.waits: dict[str, str] = {}

    def decide(self, name: str) -> None:
        decision = self.bandit.decide(name, self.arms)
        self.note(decision.id, name, decision.arm_index)

    def decide_many(self, _: str) -> None:
        many = self.bandit.decide_many(list(self.told), ARMS)
        for decision, name, arm in zip(many.ids, many.tasks, many.arm_indices, strict=True):
            self.note(str(decision), str(name), int(arm))

    def note(self, decision: str, name: str, arm: int) -> None:
        self.clock.now += 1.0
        self.waits[decision] = name
        mine = self.told[name]
        mine.x[decision], mine.y[decision], mine.weight[decision] = ARMS[arm], self.default, 1.0

    def pay(self, _: str, value: float | None = None) -> None:
        if self.waits:
            decision = str(self.rng.choice(list(self.waits)))
            mine = self.told[self.waits[decision]]
            final = float(self.rng.normal()) if value is None else value
            weight = float(self.rng.choice([1.0, 0.4, 3.0]))
            if self.bandit.reward(decision, final, weight) is Outcome.PAID:
                mine.y[decision], mine.weight[decision] = final, weight
                if value is None:
                    del self.waits[decision]

    def pay_default(self, name: str) -> None:
        self.pay(name, self.default)

    def cancel(self, _: str) -> None:
        if self.waits:
            decision = str(self.rng.choice(list(self.waits)))
            if self.bandit.cancel(decision):
                self.told[self.waits.pop(decision)].lost.add(decision)

    def wait(self, _: str) -> None:
        if self.rng.random() < 0.2:
            self.clock.now += 70.0
            self.waits.clear()

    def finish(self, name: str) -> None:
        if name in self.bandit.tasks():
            self.bandit.finish(name)

    def file(self, _: str) -> None:
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "bandit.npz"
            self.bandit.save(path)
            self.bandit = hs.MetaBandit.load(path, seed=1, clock=self.clock)


STEPS = (
    Session.decide,
    Session.decide_many,
    Session.pay,
    Session.pay_default,
    Session.cancel,
    Session.wait,
    Session.finish,
    Session.file,
)


@pytest.mark.slow
@given(
    seed=st.integers(0, 2**32 - 1),
    discount=st.sampled_from([1.0, 1.0, 0.9]),
    catalogue=st.booleans(),
    default=st.sampled_from([0.0, 0.5]),
    idle=st.sampled_from([None, 1e9]),
)
@settings(max_examples=40, deadline=None)
def test_in_any_order_the_final_rewards_count(
    seed: int, discount: float, catalogue: bool, default: float, idle: float | None
) -> None:
    """Payments, corrections, weights, cancellations, expiry, finishing, files: the sums are right.

    So are the estimate and the noise scale that follow from them, and the memory.
    """
    rng = np.random.default_rng(seed)
    given: dict[str, Any] = {"discount": discount, "default_reward": default, "idle_seconds": idle}
    session = Session(rng, catalogue=catalogue, **given)
    for step in rng.integers(len(STEPS), size=40):
        STEPS[step](session, str(rng.choice(list("abc"))))
    session.clock.now += 70.0
    bandit = session.bandit
    bandit.observe("z", ARMS[0], 0.0)  # any call settles what is due
    bandit.next_prior()
    for name, mine in session.told.items():
        expected = mine.statistics(discount)
        if float(expected.count) == 0.0:
            continue
        view = bandit.task(name)
        assert view.n_pending == 0
        found = view.estimate.statistics
        for part in ("gram", "moment", "count", "sum_of_squares"):
            np.testing.assert_allclose(
                getattr(found, part), getattr(expected, part), rtol=1e-9, atol=1e-9, err_msg=part
            )
        np.testing.assert_allclose(view.noise_scale, noise_scale(view.estimate), rtol=1e-6)
        if name in bandit.tasks():
            kept = kept_state(bandit, name).parameter[0]
            np.testing.assert_allclose(kept, view.estimate.parameter, rtol=1e-7, atol=1e-7)
    assert_same(memory_state(bandit).memory, absorbed(bandit), digits=1e-8)


def test_a_prior_that_was_revised_by_a_default_is_revised_by_the_reward() -> None:
    """Rewards of about 5 whose default is 0: after each, the task has the prior of all rewards."""
    rng = np.random.default_rng(0)
    w = np.array([1.0, -1.0, 2.0])
    told, waits = hs.MetaBandit(dimension=D, seed=0), waiting()
    for bandit in (told, waits):
        rng = np.random.default_rng(0)
        for name in range(8):
            for _ in range(6):
                x = rng.standard_normal(D)
                bandit.observe(name, x, float(x @ w + 5.0 + 0.1 * rng.standard_normal()))
    for t in range(12):
        shown = np.random.default_rng(t).standard_normal((1, D))
        for bandit in (told, waits):
            decision = bandit.decide("new", shown)
            bandit.reward(decision.id, float(shown[0] @ w + 5.0))
        one, other = (bandit.task("new") for bandit in (told, waits))
        np.testing.assert_allclose(
            one.estimate.parameter, other.estimate.parameter, rtol=1e-5, atol=1e-6
        )
        np.testing.assert_allclose(one.noise_scale, other.noise_scale, rtol=1e-5)


def test_a_catalogue_scores_as_arrays_do() -> None:
    bandits = [waiting() for _ in range(2)]
    shown: list[Any] = [hs.Catalogue(ARMS), ARMS]
    for t in range(30):
        decisions = [b.decide("ann", s) for b, s in zip(bandits, shown, strict=True)]
        np.testing.assert_allclose(decisions[0].scores, decisions[1].scores, rtol=1e-9)
        assert decisions[0].arm_index == decisions[1].arm_index
        if t % 3 == 0:
            for bandit, decision in zip(bandits, decisions, strict=True):
                bandit.reward(decision.id, 1.0)


def test_a_batch_counts_as_its_decisions_one_by_one() -> None:
    bandits = [waiting(prior=hs.priors.Fixed.zero()) for _ in range(2)]
    names = ["a", "b", "c"]
    for t in range(6):
        many = bandits[0].decide_many(names, ARMS)
        ones = [bandits[1].decide(name, ARMS) for name in names]
        np.testing.assert_allclose(many.scores, [one.scores for one in ones], rtol=1e-9)
        values = [1.0, 0.0, float(t)]
        assert bandits[0].reward_many(many.ids, values) == [
            bandits[1].reward(one.id, value) for one, value in zip(ones, values, strict=True)
        ]
    one, other = (bandit.task("c").estimate.statistics for bandit in bandits)
    np.testing.assert_allclose(one.gram, other.gram)
    np.testing.assert_allclose(one.moment, other.moment)


def test_a_reward_too_large_leaves_the_default() -> None:
    bandit = waiting()
    decision = bandit.decide("ann", ARMS)
    before = fingerprint(bandit)
    assert bandit.reward(decision.id, 1.0, weight=1e40) is Outcome.OUT_OF_RANGE
    assert fingerprint(bandit) == before
    assert bandit.reward(decision.id, 1.0) is Outcome.PAID


def test_an_other_default_holds_for_later_decisions(tmp_path: Path) -> None:
    clock = Clock()
    bandit = waiting(clock)
    first, second = (bandit.decide("ann", ARMS).id for _ in range(2))
    bandit.save(tmp_path / "bandit.npz")
    for default in (None, 1.0):
        given: dict[str, Any] = {"default_reward": default, "clock": clock, "seed": 1}
        loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", **given)
        assert loaded.task("ann").n_rewards == 2
        assert loaded.reward(first, 3.0) is Outcome.PAID
        assert loaded.cancel(second)
        statistics = loaded.task("ann").estimate.statistics
        np.testing.assert_allclose([statistics.count, statistics.sum_of_squares], [1.0, 9.0])


def test_a_default_given_to_a_file_counts_for_later_decisions(tmp_path: Path) -> None:
    """Those in the file count from their reward on, or from their deadline."""
    clock = Clock()
    bandit = waiting(clock, default_reward=None)
    paid, due = (bandit.decide("ann", ARMS).id for _ in range(2))
    bandit.save(tmp_path / "bandit.npz")
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", clock=clock, default_reward=0.0)
    assert loaded.task("ann").n_pending == 2
    assert loaded.task("ann").n_rewards == 0
    assert loaded.reward(paid, 1.0) is Outcome.PAID
    clock.now = 60.0
    assert loaded.reward(due, 1.0) is Outcome.EXPIRED
    assert loaded.task("ann").n_rewards == 2


@pytest.mark.parametrize("moving", [hs.priors.Average(), hs.priors.Pooled()])
def test_a_bias_that_moves_follows_the_final_rewards(moving: Any) -> None:
    """AVG and RR: the estimate is that of a bandit that was told the same rewards at once."""
    given: dict[str, Any] = {"prior": moving, "policy": hs.policies.OFUL(), "scales": None}
    told, waits = hs.MetaBandit(dimension=D, seed=0, **given), waiting(**given)
    rng = np.random.default_rng(0)
    late: list[tuple[str, float]] = []
    for t in range(20):
        arm, value, name = ARMS[t % 4][None], float(rng.normal()), f"user-{t // 7}"
        told.reward(told.decide(name, arm).id, value)
        late.append((waits.decide(name, arm).id, value))
    for decision, value in reversed(late):
        assert waits.reward(decision, value) is Outcome.PAID
    for bandit in (told, waits):
        bandit.next_prior()
    for name in map(str, told.tasks()):
        one, other = (bandit.task(name).estimate.parameter for bandit in (told, waits))
        np.testing.assert_allclose(one, other, rtol=1e-7, atol=1e-9)


def clicks_per_1000(rule: str, seed: int, *, users: int = 120, visits: int = 10) -> float:
    """A shop of 30 items whose clicks come 40 visits late, and whose deadline is never reached.

    Rules: a missing click is told at once; it counts as the default; or only clicks are learned,
    as they are until the first deadline where the default counts from then on.
    """
    world, noise = np.random.default_rng(seed), np.random.default_rng(seed + 1000)
    kinds = np.eye(5)[world.integers(5, size=30)]
    items = np.hstack([kinds, 0.5 * world.standard_normal((30, 2))])
    taste = np.concatenate([world.normal(0.0, 1.0, 5), world.normal(0.0, 0.5, 2)])
    rates = 1.0 / (1.0 + np.exp(3.2 - items @ taste))
    given: dict[str, Any] = {"deadline_seconds": 1e9, "default_reward": 0.0}
    bandit = hs.MetaBandit(dimension=7, seed=seed, **given if rule == "counts" else {})
    order = np.random.default_rng(seed + 2000).permutation(np.repeat(np.arange(users), visits))
    clicks = 0
    late: list[tuple[int, str]] = []
    for t, user in enumerate(order.tolist()):
        while late and late[0][0] <= t:
            bandit.reward(late.pop(0)[1], 1.0)
        decision = bandit.decide(user, items)
        if noise.random() < rates[decision.arm_index]:
            clicks += 1
            late.append((t + 40, decision.id))
        elif rule == "told":
            bandit.reward(decision.id, 0.0)
    return 1000.0 * clicks / len(order)


@pytest.mark.nightly
def test_a_long_deadline_costs_next_to_nothing() -> None:
    """Learning from clicks alone earns about half.

    The mean of eight shops of 1,200 visits has a standard error of about 1000·√(0.12·0.88/9600),
    3.3, a difference of two 4.7; the margin is three of those.
    """
    told, counts, only_clicks = (
        np.mean([clicks_per_1000(rule, seed) for seed in range(8)])
        for rule in ("told", "counts", "clicks")
    )
    assert counts > told - 14.0
    assert counts > only_clicks + 14.0


@pytest.mark.slow
def test_threads_count_every_decision_once() -> None:
    """In background mode, while decisions are paid, given up and expire, and tasks finish."""
    bandit = waiting(refresh="background", seed=None)
    shared: list[str] = []

    def work(worker: int) -> None:
        rng = np.random.default_rng(worker)
        for t in range(200):
            user = int(rng.integers(20))
            shared.append(bandit.decide(user, rng.standard_normal((5, D))).id)
            each = shared[int(rng.integers(len(shared)))]
            if rng.random() < 0.3:
                bandit.cancel(each)
            else:
                bandit.reward(each, float(rng.integers(2)), float(rng.choice([1.0, 0.5])))
            if t % 7 == 0:
                with contextlib.suppress(ValueError):  # another thread was first
                    bandit.finish(user)

    with ThreadPoolExecutor(4) as pool:
        list(pool.map(work, range(4)))
    quiet(bandit)
    bandit.next_prior()
    assert_same(memory_state(bandit).memory, absorbed(bandit), digits=1e-8)
    names = all_names(bandit)
    counted = [name for name in names if bandit.task(name).n_rewards]
    assert bandit.learned().n_tasks == len(counted)


@pytest.mark.parametrize("size", [1e-5, 1e5])
def test_features_of_another_size_leave_nothing_when_given_up(size: float) -> None:
    bandit = waiting(prior=hs.priors.Fixed.zero())
    for x in ARMS:
        bandit.observe("ann", x, 1.0)
    before = bandit.task("ann")
    decision = bandit.decide("ann", size * np.array([[1.0, -2.0, 0.5]]))
    assert bandit.cancel(decision.id)
    after = bandit.task("ann")
    # What is left of x is the rounding of xxᵀ in V.
    digits = max(1.0, size) ** 2 * 1e-15
    left, kept = after.estimate.statistics.gram, before.estimate.statistics.gram
    np.testing.assert_allclose(left, kept, rtol=1e-14, atol=digits)
    found, expected = kept_state(bandit, "ann").parameter[0], before.estimate.parameter
    np.testing.assert_allclose(found, expected, atol=max(1e-9, 10 * digits))
