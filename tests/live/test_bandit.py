"""MetaBandit: what it decides and learns, against simulation, closed forms and bad callers."""

from itertools import permutations
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.live.state import fingerprint, kept_state, memory_state, pending_ids, sizes

import headstart as hs
from headstart.arrays import Floats
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.live import _chooser
from headstart.live._rows import Layout
from headstart.live.outcomes import Outcome

pytestmark = pytest.mark.slow

DIMENSION = 4

POLICIES = [
    hs.policies.OFUL(),
    hs.policies.OFUL(bias_error=hs.policies.NormBound(parameter_bound=1.0)),
    hs.policies.BayesUCB(),
    hs.policies.Greedy(),
    hs.policies.Thompson(),
    hs.policies.Uniform(),
]
PRIORS = [
    hs.priors.Fixed.zero(),
    hs.priors.Average(),
    hs.priors.Pooled(),
    hs.priors.Pooled(within_task=False),
    hs.priors.Hierarchical(),
]


def arms_of(seed: int, n_arms: int = 5, dimension: int = DIMENSION) -> Floats:
    return np.random.default_rng(seed).standard_normal((n_arms, dimension))


@pytest.mark.parametrize("prior", PRIORS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("policy", POLICIES[:4], ids=lambda p: type(p).__name__)
def test_live_equals_simulation(policy: Any, prior: Any) -> None:
    """Live decisions on a simulation's own data are those of the simulation."""
    environment = hs.environments.Synthetic(dimension=6, n_arms=4, reward="linear")
    rng = np.random.default_rng(5)
    drawn = [environment.sample(15, 1, rng) for _ in range(6)]

    class Replayed:
        dimension = 6

        def __init__(self) -> None:
            self._left = iter(drawn)

        def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> hs.Task:
            return next(self._left)

    learner = hs.Learner("one", policy, prior)
    played = hs.simulate(Replayed(), [learner], n_tasks=6, horizon=15, replications=1, seed=0)
    bandit = hs.MetaBandit(dimension=6, policy=policy, prior=prior, seed=0)
    for j, task in enumerate(drawn):
        for t in range(15):
            decision = bandit.decide(j, task.arms[0, t])
            choice = int(played.choice[0, 0, j, t])
            # A tie may fall otherwise; then the simulation's choice must have tied with ours.
            gap = decision.scores.max() - decision.scores[choice]
            assert gap <= 1e-8 * max(1.0, float(np.abs(decision.scores).max()))
            if decision.arm_index == choice:
                bandit.reward(decision.id, float(task.rewards[0, t, choice]))
            else:
                bandit.cancel(decision.id)
                bandit.observe(j, task.arms[0, t, choice], float(task.rewards[0, t, choice]))
        bandit.finish(j)


def test_estimate_is_the_closed_form() -> None:
    bandit = hs.MetaBandit(dimension=DIMENSION, prior=hs.priors.Hierarchical(), seed=1)
    rng = np.random.default_rng(2)
    for user in range(4):
        for t in range(12):
            decision = bandit.decide(f"user-{user}", arms_of(100 * user + t))
            bandit.reward(decision.id, float(rng.standard_normal()))
        if user < 3:
            bandit.finish(f"user-{user}")
    view = bandit.task("user-3")
    kept = kept_state(bandit, "user-3").parameter[0]
    np.testing.assert_allclose(kept, view.estimate.parameter, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(view.noise_scale, view.estimate.noise_scale, rtol=1e-9)
    assert (view.n_rewards, view.n_pending) == (12, 0)
    low, high = view.interval(arms_of(0))
    assert (low < view.estimate.predict(arms_of(0))).all()
    assert (high > view.estimate.predict(arms_of(0))).all()


def test_late_rewards_in_any_order_are_the_same() -> None:
    arms = [arms_of(seed) for seed in range(4)]
    values = [1.0, -2.0, 0.5, 3.0]
    found = []
    for order in permutations(range(4)):
        bandit = hs.MetaBandit(dimension=DIMENSION, prior=hs.priors.Hierarchical(), seed=0)
        chosen = [bandit.decide("user", options) for options in arms]
        for i in order:
            bandit.reward(chosen[i].id, values[i])
        found.append(bandit.decide("user", arms_of(9)).scores)
        bandit.finish("user")
        found[-1] = np.append(found[-1], bandit.next_prior().bias)
    for other in found[1:]:
        np.testing.assert_allclose(other, found[0], rtol=1e-10, atol=1e-12)


def test_a_reward_belongs_to_the_features_of_its_decision() -> None:
    bandit = hs.MetaBandit(dimension=2, policy=hs.policies.Greedy(), prior=hs.priors.Fixed.zero())
    first = bandit.decide("user", np.array([[1.0, 0.0]]))
    bandit.decide("user", np.array([[0.0, 1.0]]))
    bandit.reward(first.id, 2.0)
    np.testing.assert_allclose(bandit.task("user").estimate.parameter, [1.0, 0.0])


def test_a_weight_counts_the_reward_so_many_times() -> None:
    once = hs.MetaBandit(dimension=DIMENSION, seed=0)
    thrice = hs.MetaBandit(dimension=DIMENSION, seed=0)
    x = arms_of(3)[0]
    once.observe("user", x, 0.7, weight=3.0)
    for _ in range(3):
        thrice.observe("user", x, 0.7)
    expected = thrice.decide("user", arms_of(4)).scores
    np.testing.assert_allclose(once.decide("user", arms_of(4)).scores, expected, rtol=1e-9)


def test_the_default_learns_from_task_to_task() -> None:
    """After 30 users whose parameters lie near (1, 1, 1, 1), a new user starts near it."""
    bandit = hs.MetaBandit(dimension=DIMENSION, seed=0)
    rng = np.random.default_rng(0)
    for user in range(30):
        w = 1.0 + 0.1 * rng.standard_normal(DIMENSION)
        for t in range(10):
            arms = arms_of(1000 * user + t)
            decision = bandit.decide(user, arms)
            bandit.reward(
                decision.id, float(arms[decision.arm_index] @ w + 0.1 * rng.standard_normal())
            )
        bandit.finish(user)
    # 300 rewards of noise 0.1 fix the mean of 30 tasks to about 0.1/√30 = 0.02 a coordinate.
    np.testing.assert_allclose(bandit.next_prior().bias, np.ones(DIMENSION), atol=0.15)
    assert bandit.n_finished == 30


def test_arms_by_id_masks_and_the_best_n() -> None:
    bandit = hs.MetaBandit(dimension=2, policy=hs.policies.Greedy(), prior=hs.priors.Fixed.zero())
    bandit.observe("user", [1.0, 0.0], 1.0)
    menu = {"tea": [1.0, 0.0], "milk": [0.5, 0.0], "rum": [-1.0, 0.0]}
    assert bandit.decide("user", menu).arm == "tea"
    masked = bandit.decide("user", menu, mask=[False, True, True])
    assert masked.arm == "milk"
    assert masked.scores[0] == -np.inf
    best = bandit.decide("user", menu, n=3)
    assert [decision.arm for decision in best] == ["tea", "milk", "rum"]
    bandit.reward(best[2].id, -1.0)
    bandit.reward(best[0].id, 1.0)
    assert bandit.task("user").n_rewards == 3


def test_propensities() -> None:
    same = np.ones((4, 2))
    bandit = hs.MetaBandit(dimension=2, policy=hs.policies.Uniform(), seed=0)
    assert bandit.decide("user", same).propensity == 0.25
    tied = hs.MetaBandit(dimension=2, policy=hs.policies.Greedy(), prior=hs.priors.Fixed.zero())
    tied.observe("user", [1.0, 0.0], 1.0)
    decision = tied.decide("user", [[1.0, 0.0], [1.0, 0.0], [0.5, 0.0]])
    assert decision.propensity == 0.5
    np.testing.assert_allclose(
        tied.propensities("user", [[1.0, 0.0], [1.0, 0.0], [0.5, 0.0]])[2], 0.0
    )


def test_propensity_of_thompson_is_that_of_its_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two opposite arms of equal width and mean 0: each wins half of the time."""
    monkeypatch.setattr(_chooser, "DRAWS", 4000)
    bandit = hs.MetaBandit(dimension=2, policy=hs.policies.Thompson(), seed=0)
    chance = bandit.decide("user", [[1.0, 0.0], [-1.0, 0.0]]).propensity
    assert abs(chance - 0.5) < 5 * 0.5 / np.sqrt(4000)


def test_forgetting_keeps_the_prior() -> None:
    """After n discounted rewards the statistics are their sum of powers, and Λ is untouched."""
    discount, n = 0.8, 30
    bandit = hs.MetaBandit(dimension=2, discount=discount, prior=hs.priors.Fixed.zero(), seed=0)
    for _ in range(n):
        bandit.observe("user", [1.0, 0.0], 2.0)
    view = bandit.task("user")
    weight = (1 - discount**n) / (1 - discount)
    np.testing.assert_allclose(view.estimate.statistics.gram, np.diag([weight, 0.0]), atol=1e-12)
    np.testing.assert_allclose(view.estimate.prior.regularization, np.eye(2))
    scores = bandit.decide("user", np.eye(2)).scores
    expected = RidgeEstimate(view.estimate.statistics, view.estimate.prior)
    np.testing.assert_allclose(kept_state(bandit, "user").inverse[0], expected.inverse)
    assert np.isfinite(scores).all()


def test_idle_time_finishes_tasks() -> None:
    now = [0.0]
    bandit = hs.MetaBandit(dimension=2, idle_seconds=10.0, clock=lambda: now[0], seed=0)
    decisions = [bandit.decide("a", np.eye(2)) for _ in range(2)]
    bandit.reward(decisions[0].id, 1.0)
    bandit.finish("a")
    # A late reward is learned by the task, which goes on.
    assert bandit.reward(decisions[1].id, 1.0) is Outcome.PAID
    assert bandit.tasks() == ["a"]
    assert bandit.task("a").n_rewards == 2
    bandit.finish("a")
    late = bandit.decide("b", np.eye(2))
    now[0] = 6.0
    bandit.decide("c", np.eye(2))
    now[0] = 11.0
    bandit.decide("d", np.eye(2))
    assert bandit.tasks() == ["c", "d"]
    assert bandit.n_finished == 2  # "b" had no reward, but may get one
    now[0] = 30.0
    bandit.cancel(late.id)
    assert bandit.n_finished == 1  # nothing is known of "b", which leaves no trace


def test_each_reward_counts_once() -> None:
    bandit = hs.MetaBandit(dimension=DIMENSION, seed=0)
    first, second = (bandit.decide("user", arms_of(seed)) for seed in (1, 2))
    assert bandit.reward(first.id, 1.0) is Outcome.PAID
    before = fingerprint(bandit)
    assert bandit.reward(first.id, 1.0) is Outcome.DUPLICATE
    assert bandit.reward(first.id, 2.0) is Outcome.CONFLICT
    prefix = first.id[:16]
    for wrong in (
        "",
        "x",
        prefix,
        f"{prefix}{2**40 + 1:014x}",
        f"{prefix}{'z' * 14}",
        first.id[1:],
    ):
        assert bandit.reward(wrong, 1.0) is Outcome.UNKNOWN
    assert fingerprint(bandit) == before
    bandit.finish("user")
    with pytest.raises(ValueError, match="open task"):
        bandit.finish("user")
    assert bandit.reward(second.id, 1.0) is Outcome.PAID
    assert bandit.reward(second.id, 1.0) is Outcome.DUPLICATE
    assert bandit.task("user").n_rewards == 2


BAD_ARMS = [
    (np.full((2, DIMENSION), np.nan), "finite"),
    (np.array([[1.0, 2.0, np.inf, 0.0]]), "finite, got inf at index"),
    (np.ones((2, DIMENSION + 1)), "shape"),
    (np.ones(DIMENSION), "shape"),
    (np.ones((0, DIMENSION)), "shape"),
    ([["a", "b", "c", "d"]], "numbers"),
    (np.full((1, DIMENSION), 1e200), "outweigh"),
    ({"x": np.ones(DIMENSION), "y": np.ones(3)}, "arm 'y'"),
    ({}, "shape"),
    (None, "finite|numbers|shape"),
]


@pytest.mark.parametrize("known", [True, False])
@pytest.mark.parametrize(("arms", "message"), BAD_ARMS, ids=range(len(BAD_ARMS)))
def test_bad_arms_change_nothing(arms: Any, message: str, known: bool) -> None:
    bandit = hs.MetaBandit(dimension=DIMENSION, seed=0)
    bandit.reward(bandit.decide("user", arms_of(1)).id, 1.0)
    bandit.next_prior()  # opening a task brings the memory up to date, whatever becomes of the call
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match=message):
        bandit.decide("user" if known else "new", arms)
    assert fingerprint(bandit) == before


BAD_CALLS: list[tuple[Any, str]] = [
    (lambda b, i: b.reward(i, float("nan")), "finite"),
    (lambda b, i: b.reward(i, float("inf")), "finite"),
    (lambda b, i: b.reward(i, "1"), "number"),
    (lambda b, i: b.reward(i, 1.0, weight=0.0), "above 0"),
    (lambda b, i: b.reward(i, 1.0, weight=float("nan")), "above 0"),
    (lambda b, i: b.reward(3, 1.0), "a string, got 3"),
    (lambda b, i: b.reward(None, 1.0), "a string, got None"),
    (lambda b, i: b.observe("user", [1.0], 1.0), "shape"),
    (lambda b, i: b.observe("new", np.full(DIMENSION, 1e30), 1.0), "outweigh"),
    (lambda b, i: b.decide(1.5, np.ones((1, DIMENSION))), "string or an integer"),
    (lambda b, i: b.decide("user", np.ones((2, DIMENSION)), mask=[False, False]), "at least one"),
    (lambda b, i: b.decide("user", np.ones((2, DIMENSION)), mask=[2, 0]), "booleans"),
    (lambda b, i: b.decide("user", np.ones((2, DIMENSION)), n=3), "at most"),
    (lambda b, i: b.decide_many(["a", "a"], np.ones((2, DIMENSION))), "different"),
    (lambda b, i: b.decide_many(["a", "b"], np.ones((3, 2, DIMENSION))), "shape"),
    (lambda b, i: b.decide_many(["a", "b"], np.full((2, 2, DIMENSION), 1e99)), "outweigh"),
    (lambda b, i: b.reward_many([i, i], [1.0, np.nan]), "finite"),
    (lambda b, i: b.reward_many([i, 77], [1.0, 1.0]), "a string, got 77"),
    (lambda b, i: b.reward_many([i, i], [1.0, 1.0], weights=[1.0, 0.0]), "above 0"),
    (lambda b, i: b.forget("never seen"), "task"),
    (lambda b, i: b.cancel(7), "a string, got 7"),
    (lambda b, i: b.reward_many([i], [np.nan]), "finite"),
    (lambda b, i: b.reward_many([i], [1.0, 2.0]), "shape"),
    (lambda b, i: b.finish("never opened"), "open task"),
    (lambda b, i: b.task("never opened"), "open or a finished task"),
]


@pytest.mark.parametrize(("call", "message"), BAD_CALLS, ids=range(len(BAD_CALLS)))
def test_bad_calls_change_nothing(call: Any, message: str) -> None:
    bandit = hs.MetaBandit(dimension=DIMENSION, seed=0)
    bandit.reward(bandit.decide("user", arms_of(1)).id, 1.0)
    waiting = bandit.decide("user", arms_of(2))
    bandit.next_prior()
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match=message):
        call(bandit, waiting.id)
    assert fingerprint(bandit) == before
    bandit.reward(waiting.id, 1.0)


def test_a_reward_too_large_to_be_learned_is_out_of_range_and_changes_nothing() -> None:
    bandit = hs.MetaBandit(dimension=DIMENSION, seed=0)
    decision = bandit.decide("user", arms_of(1))
    before = fingerprint(bandit)
    assert bandit.reward(decision.id, 1e60) is hs.Outcome.OUT_OF_RANGE
    assert fingerprint(bandit) == before
    assert bandit.reward(decision.id, 1.0) is hs.Outcome.PAID


@given(st.integers(1, 6), st.integers(1, 5), st.integers(0, 2**32 - 1))
def test_many_at_once_equals_one_by_one(n: int, n_arms: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    at_once = hs.MetaBandit(dimension=3, prior=hs.priors.Hierarchical(), seed=7)
    one_by_one = hs.MetaBandit(dimension=3, prior=hs.priors.Hierarchical(), seed=7)
    names = [f"user-{i}" for i in range(n)]
    for _ in range(3):
        arms, values = rng.standard_normal((n, n_arms, 3)), rng.standard_normal(n)
        decided = at_once.decide_many(names, arms)
        assert at_once.reward_many(decided.ids, values) == [Outcome.PAID] * n
        decisions = [one_by_one.decide(name, arms[i]) for i, name in enumerate(names)]
        for i, decision in enumerate(decisions):
            assert decision.arm_index == decided.arm_indices[i]
            np.testing.assert_array_equal(decision.scores, decided.scores[i])
            assert decision.propensity == decided.propensities[i]
            assert one_by_one.reward(decision.id, float(values[i])) is Outcome.PAID
    for name in names:
        ours, theirs = at_once.task(name).estimate, one_by_one.task(name).estimate
        np.testing.assert_array_equal(ours.statistics.gram, theirs.statistics.gram)
    assert fingerprint(at_once, ids=False) == fingerprint(one_by_one, ids=False)


def test_forgotten_tasks_and_those_without_rewards_cost_nothing() -> None:
    bandit = hs.MetaBandit(dimension=DIMENSION, prior=hs.priors.Pooled(within_task=False), seed=0)
    reached = []
    for user in range(200):
        decision = bandit.decide(user, arms_of(user))
        other = bandit.decide(f"other-{user}", arms_of(user))
        bandit.decide(user, arms_of(user))
        bandit.reward(decision.id, 1.0)
        bandit.finish(user)
        bandit.forget(user)
        bandit.finish(f"other-{user}")
        bandit.cancel(other.id)
        reached.append((*sizes(bandit).values(), bandit.tasks(), bandit.n_finished))
    assert all(numbers == reached[0] for numbers in reached)
    assert pending_ids(bandit) == []


def test_a_finished_task_takes_half_of_its_memory() -> None:
    bandit = hs.MetaBandit(dimension=50, seed=0)
    for user in range(100):
        bandit.observe(user, arms_of(user, 1, 50)[0], 1.0)
        bandit.finish(user)
    row = 8 * Layout(50).length
    assert sizes(bandit)["rows"] < 20 * row
    assert sizes(bandit)["finished"] < 1.2 * 100 * 0.6 * row


def test_statistics_of_a_finished_task_are_those_of_its_data() -> None:
    bandit = hs.MetaBandit(dimension=DIMENSION, prior=hs.priors.Pooled(), seed=0)
    x, y = arms_of(0, n_arms=20), np.arange(20.0)
    for features, value in zip(x, y, strict=True):
        bandit.observe("user", features, float(value))
    bandit.finish("user")
    expected = TaskStatistics.from_data(x, y)
    bandit.next_prior()
    memory = memory_state(bandit).memory
    np.testing.assert_allclose(memory["gram"], expected.gram, rtol=1e-12)
    np.testing.assert_allclose(memory["moment"], expected.moment, rtol=1e-12)


@pytest.mark.parametrize("n_arms", [1, 2, 3, 8])
def test_arms_whose_width_overflows_are_refused_on_every_path(n_arms: int) -> None:
    # xᵀAx is −∞ + ∞ here, which a fused multiply-add may leave as −∞.
    regularization = np.array([[197.0, 49.0], [49.0, 34.0]])
    prior = hs.priors.Fixed(regularization=regularization)
    bandit = hs.MetaBandit(dimension=2, policy=hs.policies.OFUL(), prior=prior, seed=0)
    arms = np.full((n_arms, 2), 1e200)
    for _ in range(2):  # a new task, then an open one
        with pytest.raises(ValueError, match="must not outweigh the prior"):
            bandit.decide("user", arms)
        with pytest.raises(ValueError, match="must not outweigh the prior"):
            bandit.decide_many(["user"], arms)
        bandit.observe("user", [1.0, 0.0], 1.0)


def test_a_refused_batch_uses_up_no_ids() -> None:
    bandit = hs.MetaBandit(dimension=1, seed=0)
    with pytest.raises(ValueError, match=r"arms\[1\]"):
        bandit.decide_many(["a", "b"], np.array([[[1.0]], [[1e9]]]))
    assert bandit.tasks() == []
    ids = [bandit.decide("c", np.ones((1, 1))).id for _ in range(3)]
    assert [int(each[16:], 16) for each in ids] == [1, 2, 3]
    assert len({each[:16] for each in ids}) == 1


def test_the_noise_scale_is_accurate_for_large_features_with_a_discount() -> None:
    errors = []
    for seed in range(40):
        rng = np.random.default_rng(seed)
        d = int(rng.integers(2, 6))
        w = rng.standard_normal(d) / 1e5
        bandit = hs.MetaBandit(dimension=d, discount=0.99, policy=hs.policies.Greedy(), seed=1)
        for user, n in enumerate((4, 8, 2)):
            for _ in range(n):
                x = 1e5 * rng.standard_normal(d)
                bandit.observe(user, x, float(x @ w + 0.1 * rng.standard_normal()))
            view = bandit.task(user)
            # The same by a linear solve.
            errors.append(abs(view.noise_scale / float(view.estimate.noise_scale) - 1.0))
            bandit.finish(user)
    # V is 1e10 beside rewards of 1: of 16 digits of Σy² six are left at worst.
    assert max(errors) < 1e-3


def test_a_bandit_is_a_table_of_its_open_tasks() -> None:
    bandit = hs.MetaBandit(dimension=2, feature_names=["price", "size"], seed=0)
    bandit.observe("ann", [1.0, 0.0], 1.0)
    bandit.decide("bob", [[1.0, 0.0], [0.0, 1.0]])
    table = bandit.to_frame()
    assert table.index.tolist() == ["ann", "bob"]
    assert table[["n_rewards", "n_pending"]].to_numpy().tolist() == [[1, 0], [0, 1]]
    parameter = bandit.task("ann").estimate.parameter
    np.testing.assert_array_equal(table.loc["ann", ["price", "size"]], parameter)
    assert bandit.learned().to_frame().index.tolist() == ["price", "size"]
    assert "1 pending" in bandit._repr_html_()
    assert hs.MetaBandit(dimension=2).to_frame().empty


def test_the_dimension_may_be_first_and_a_decision_stands_for_its_id() -> None:
    bandit = hs.MetaBandit(2, seed=0)
    decision = bandit.decide("ann", np.eye(2))
    assert bandit.reward(decision, 1.0) is hs.Outcome.PAID
    assert bandit.reward(decision.id, 1.0) is hs.Outcome.DUPLICATE
    with pytest.raises(TypeError, match=r"random_state.*seed"):
        hs.MetaBandit(2, random_state=0)  # type: ignore[call-arg]
