"""Tasks in any order: what is played when, from which state, and with which rewards."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any
from unittest import mock

import numpy as np
import pytest
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st

import headstart as hs
from headstart.arrays import Floats, Integers
from headstart.interfaces import ArmEstimates
from headstart.schedules import Arrivals, InParallel, InSequence, Schedule
from headstart.simulation import Rounds, State, Turns
from headstart.simulation.turns import checked_order, stretches

WORLD = hs.environments.Synthetic(dimension=3, n_arms=4, reward="linear")
SCHEDULES: list[Schedule] = [InSequence(), InParallel(2), InParallel(5), Arrivals(0.5), Arrivals(3)]
SHORT: dict[str, Any] = {"n_tasks": 5, "horizon": 6, "replications": 4, "seed": 3}

every_schedule = pytest.mark.parametrize("schedule", SCHEDULES, ids=repr)


@given(
    schedule=st.one_of(
        st.just(InSequence()),
        st.builds(InParallel, st.integers(1, 6)),
        st.builds(Arrivals, st.floats(0.01, 20)),
    ),
    n_tasks=st.integers(1, 8),
    horizon=st.integers(1, 6),
    seed=st.integers(0, 99),
)
def test_stretches_are_where_tasks_overlap(
    schedule: Schedule, n_tasks: int, horizon: int, seed: int
) -> None:
    order = checked_order(schedule, n_tasks, horizon, np.random.default_rng(seed))
    parts = list(stretches(order, delay=0))
    np.testing.assert_array_equal(np.concatenate([one.order + one.first for one in parts]), order)
    for part in parts:
        # Tasks within, by hand: those that have begun and not ended, after every turn but the last.
        left, open_tasks = np.full(part.n_tasks, horizon), set()
        for turn, task in enumerate(part.order.tolist()):
            open_tasks.add(task)
            left[task] -= 1
            if left[task] == 0:
                open_tasks.remove(task)
            assert bool(open_tasks) == (turn + 1 < len(part.order))
    assert sum(part.n_tasks for part in parts) == n_tasks
    (whole,) = stretches(order, delay=1)
    np.testing.assert_array_equal(whole.order, order)


def test_groups_play_in_turn() -> None:
    order = InParallel(2).order(5, 2, np.random.default_rng(0))
    assert order.tolist() == [0, 1, 0, 1, 2, 3, 2, 3, 4, 4]
    assert InParallel(9).order(2, 2, np.random.default_rng(0)).tolist() == [0, 1, 0, 1]


def test_about_n_tasks_are_open_at_a_time() -> None:
    order = Arrivals(5).order(4000, 20, np.random.default_rng(0))
    begins = np.unique(order, return_index=True)[1]
    ends = len(order) - np.unique(order[::-1], return_index=True)[1]
    # At a turn, its own task is open in any case, and others are as at any time.
    others = 5 * 19 / 20
    assert others < (ends - begins).sum() / len(order) < others + 1


@dataclass(frozen=True)
class Given:
    """An order written down."""

    turns: Any
    delay: int = 0

    def order(self, n_tasks: int, horizon: int, rng: np.random.Generator) -> Integers:
        return np.asarray(self.turns)


@pytest.mark.parametrize(
    ("turns", "words"),
    [
        ([0, 0, 1], "each of the numbers 0 to 1 2 times"),
        ([0, 0, 1, 2], "each of the numbers 0 to 1 2 times"),
        ([0.0, 0.0, 1.0, 1.0], "got float64"),
        ([1, 0, 1, 0], r"in the order of their numbers, got \[1, 0\]"),
    ],
)
def test_an_order_is_checked(turns: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        hs.simulate(WORLD, hs.Optimal(), 2, 2, schedule=Given(turns))


@pytest.mark.parametrize("wrong", ["parallel", InParallel])
def test_what_is_no_schedule_is_named(wrong: Any) -> None:
    with pytest.raises(ValueError, match="schedule must be a schedule, such as"):
        hs.simulate(WORLD, hs.Optimal(), 2, 2, schedule=wrong)
    for make in (lambda: InParallel(0), lambda: Arrivals(-1.0), lambda: InSequence(delay=-1)):
        with pytest.raises(ValueError, match="must be"):
            make()


@every_schedule
def test_where_nothing_is_shared_every_order_gives_the_same_bits(schedule: Schedule) -> None:
    agents: list[Any] = [hs.learners.itl(), hs.learners.lin_ts(), hs.Optimal()]
    before = hs.simulate(WORLD, agents, **SHORT)
    after = hs.simulate(WORLD, agents, schedule=schedule, **SHORT)
    xr.testing.assert_identical(before, after.drop_vars("turn", errors="ignore"))
    if "turn" in after.coords:
        rows = after["turn"].to_numpy()
        assert sorted(rows.ravel().tolist()) == list(range(1, rows.size + 1))
        assert (np.diff(rows, axis=1) > 0).all()


@dataclass(frozen=True)
class Counting:
    """Chooses the arm whose number is how many tasks it had learned when this one began."""

    name: str = "counting"

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 0

    def begin(self, dimension: int, replications: int) -> State:
        return {"learned": np.zeros(replications, dtype=np.int64)}

    def play(self, state: State, rounds: Rounds) -> None:
        while not rounds.over:
            rounds.choose(state["learned"])

    def learn(self, state: State, played: None) -> State:
        return {"learned": state["learned"] + 1}


@every_schedule
def test_a_task_plays_from_the_state_at_its_begin(schedule: Schedule) -> None:
    world = hs.environments.Synthetic(dimension=2, n_arms=5)
    results = hs.simulate(world, Counting(), schedule=schedule, **SHORT)
    turn = results["turn"].to_numpy() if "turn" in results.coords else np.arange(30).reshape(5, 6)
    ended = (turn[:, -1] < turn[:, :1]).sum(1)
    for chosen in results["choice"].to_numpy()[0].reshape(4, 5, 6):
        np.testing.assert_array_equal(chosen, np.repeat(ended[:, None], 6, axis=1))


def test_an_agent_that_learns_by_adding_learns_all_tasks_that_overlap() -> None:
    agent = hs.learners.lin_exp3()
    tasks = [WORLD.sample(4, 2, np.random.default_rng(seed)) for seed in (0, 1)]
    start = agent.begin(3, 2)
    played = [agent.play(start, Rounds(task, np.full((2, 4, 2), 0.5))) for task in tasks]
    state = agent.learn(agent.learn(start, played[0]), played[1])
    arms = np.concatenate([task.arms.reshape(2, -1, 3) for task in tasks], axis=1)
    np.testing.assert_allclose(state["second_moment"], arms.mT @ arms)
    np.testing.assert_array_equal(state["arms_seen"], [32.0, 32.0])


@dataclass(frozen=True)
class Watched:
    """Thompson sampling that keeps what it saw: predictions and widths of every turn."""

    seen: list[tuple[Floats, Floats]] = field(default_factory=list)
    policy: hs.policies.Thompson = field(default_factory=hs.policies.Thompson)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return self.policy.n_uniforms(n_arms, dimension)

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        self.seen.append((estimates.predictions.copy(), estimates.widths.copy()))
        return self.policy.scores(estimates, uniforms)


NOISE, TASK, MEAN = 0.3, 0.6, 2.0


def _posterior(
    x: Floats, y: Floats, of: Sequence[int], task: int, n_tasks: int
) -> tuple[Floats, Floats]:
    """Mean and covariance of w of a task given rewards y of features x of tasks: all at once."""
    d = x.shape[1]
    same = np.kron(np.eye(n_tasks), np.eye(d))
    prior = TASK * same + MEAN * np.kron(np.ones((n_tasks, n_tasks)), np.eye(d))
    design = np.zeros((len(y), n_tasks * d))
    for i, j in enumerate(of):
        design[i, j * d : (j + 1) * d] = x[i]
    gain = prior @ design.T @ np.linalg.inv(design @ prior @ design.T + NOISE * np.eye(len(y)))
    mean, covariance = gain @ y, prior - gain @ design @ prior
    at = slice(task * d, (task + 1) * d)
    return mean[at], covariance[at, at]


@pytest.mark.parametrize(
    "schedule", [InParallel(3), Arrivals(2), InParallel(3, delay=2), InSequence(delay=1)], ids=repr
)
def test_hier_ts_has_the_posterior_given_all_rewards_that_have_arrived(
    schedule: Schedule,
) -> None:
    policy = Watched()
    prior = hs.priors.KnownVariances(noise_variance=NOISE, task_variance=TASK, mean_variance=MEAN)
    learner = hs.Learner("HierTS", policy, prior, joint=True)
    tasks: list[hs.Task] = []

    class Recorded:
        dimension = 3

        def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> hs.Task:
            tasks.append(WORLD.sample(horizon, replications, rng))
            return tasks[-1]

    results = hs.simulate(Recorded(), learner, n_tasks=5, horizon=4, schedule=schedule)
    choice = results["choice"].to_numpy().reshape(5, 4)
    order = checked_order(schedule, 5, 4, np.random.default_rng(0))
    if "turn" in results.coords:
        order = np.repeat(np.arange(5), 4)[np.argsort(results["turn"].to_numpy().ravel())]
    played = np.zeros(5, dtype=int)
    x: list[Floats] = []
    y: list[float] = []
    of: list[int] = []
    for turn, task in enumerate(order.tolist()):
        t = played[task]
        known = max(0, turn - schedule.delay)
        mean, covariance = _posterior(
            np.array(x[:known]).reshape(-1, 3), np.array(y[:known]), of[:known], task, 5
        )
        arms = tasks[task].arms[0, t]
        predictions, widths = policy.seen[turn]
        np.testing.assert_allclose(predictions[0], arms @ mean, atol=1e-9)
        variance = np.einsum("ka,ab,kb->k", arms, covariance, arms) / NOISE
        np.testing.assert_allclose(widths[0] ** 2, variance, rtol=1e-8)
        k = choice[task, t]
        x.append(arms[k])
        y.append(tasks[task].rewards[0, t, k])
        of.append(task)
        played[task] += 1


def test_hier_ts_in_sequence_is_ada_ts() -> None:
    agents = [hs.learners.hier_ts(name="same"), hs.learners.ada_ts(name="same")]
    one, other = (hs.simulate(WORLD, agent, **SHORT) for agent in agents)
    xr.testing.assert_identical(one, other)

    # Late rewards make play_jointly do it, one task at a time.
    def tasks() -> list[Rounds]:
        rng = np.random.default_rng(1)
        return [Rounds(WORLD.sample(6, 4, rng), rng.random((4, 6, 4))) for _ in range(2)]

    jointly, again = tasks(), tasks()
    state = agents[0].play_jointly(agents[0].begin(3, 4), Turns(jointly, np.repeat([0, 1], 6)))
    by_task = agents[1].begin(3, 4)
    for rounds in again:
        by_task = agents[1].learn(by_task, agents[1].play(by_task, rounds))
    for first, second in zip(jointly, again, strict=True):
        np.testing.assert_array_equal(first.choices, second.choices)
    for name, array in by_task.items():
        np.testing.assert_allclose(state[name], array, rtol=1e-9, atol=1e-9)


JOINT = [
    hs.learners.hier_ts(),
    hs.learners.headstart(joint=True),
    hs.Learner("RR", hs.policies.OFUL(), hs.priors.Pooled(), joint=True),
    hs.Learner("one", hs.policies.Greedy(), hs.priors.SingleModel(), joint=True),
    hs.Learner("AVG", hs.policies.OFUL(), hs.priors.Average()),
]


@pytest.mark.parametrize("learner", JOINT, ids=lambda learner: learner.name)
def test_chunks_and_threads_change_nothing(learner: hs.Learner) -> None:
    settings: Any = {**SHORT, "n_tasks": 3, "horizon": 4, "schedule": InParallel(3, delay=1)}
    whole = hs.simulate(WORLD, learner, **settings)
    with mock.patch("headstart.simulation.run.CHUNK_BYTES", 1):
        xr.testing.assert_identical(whole, hs.simulate(WORLD, learner, workers=3, **settings))


@pytest.mark.parametrize("learner", JOINT, ids=lambda learner: learner.name)
@pytest.mark.parametrize("delay", [0, 2])
def test_no_reward_is_seen_before_it_arrives(learner: hs.Learner, delay: int) -> None:
    rng = np.random.default_rng(1)
    tasks = [WORLD.sample(3, 2, rng) for _ in range(2)]
    uniforms = [rng.random((2, 3, learner.n_uniforms(4, 3) + 1)) for _ in tasks]
    order = np.array([0, 1, 1, 0, 1, 0])

    def choices(changed_from: int) -> list[list[int]]:
        given, seen = [], np.zeros(2, dtype=int)
        rewards = [task.rewards.copy() for task in tasks]
        for turn, task in enumerate(order):
            if turn >= changed_from:
                rewards[task][:, seen[task]] = 5.0 - rewards[task][:, seen[task]]
            seen[task] += 1
        for task, payoffs, numbers in zip(tasks, rewards, uniforms, strict=True):
            other = hs.Task(arms=task.arms, rewards=payoffs, means=task.means)
            given.append(Rounds(other, numbers))
        learner.play_jointly(learner.begin(3, 2), Turns(given, order, delay))
        rows, at = [], np.zeros(2, dtype=int)
        for task in order:
            rows.append(given[task].choices[:, at[task]].tolist())
            at[task] += 1
        return rows

    usual = choices(len(order))
    for turn in range(len(order)):
        assert choices(turn)[: turn + 1 + delay] == usual[: turn + 1 + delay]


def test_a_late_reward_costs_regret_and_only_joint_agents_can_wait() -> None:
    settings: Any = {"n_tasks": 6, "horizon": 20, "replications": 40, "seed": 1}
    learner = hs.learners.rr_oful()
    now, late = (
        hs.simulate(WORLD, learner, schedule=InParallel(3, delay=delay), **settings)
        for delay in (0, 30)
    )
    assert float(late["regret"].mean()) > 1.1 * float(now["regret"].mean())
    with pytest.raises(ValueError, match=r"no delay for Meta-TS, .* got a delay of 1"):
        hs.simulate(WORLD, hs.learners.meta_ts(), 2, 2, schedule=InSequence(delay=1))


def test_sharing_while_tasks_run_pays() -> None:
    world = hs.environments.Synthetic(dimension=5, reward="linear", variance=0.1)
    settings: Any = {"n_tasks": 10, "horizon": 20, "replications": 30, "schedule": InParallel(10)}
    variances: Any = {"task_variance": 0.02, "mean_variance": 1.0}
    agents = [hs.learners.hier_ts(**variances), hs.learners.ada_ts(**variances)]
    regret = hs.simulate(world, agents, **settings)["regret"].sum(["task", "round"])
    gap = regret.sel(learner="AdaTS") - regret.sel(learner="HierTS")
    assert float(gap.mean()) > 3 * float(gap.std()) / np.sqrt(30)


@dataclass(frozen=True)
class Alternating:
    """The next arm at every turn: it is no `Agent`."""

    name: str = "alternating"
    stop: int = 10**9

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 0

    def begin(self, dimension: int, replications: int) -> State:
        return {"next": np.zeros(replications, dtype=np.int64)}

    def play_jointly(self, state: State, turns: Turns) -> State:
        arm, left = state["next"], self.stop
        while not turns.over and left:
            turns.choose(arm, np.full(turns.replications, 0.5))
            arm, left = (arm + 1) % turns.n_arms, left - 1
        return {"next": arm}


def test_a_joint_agent_carries_its_state_where_no_task_is_open() -> None:
    played = hs.simulate(WORLD, Alternating(), 3, 3, schedule=InParallel(2))
    assert played["choice"].to_numpy().squeeze().tolist() == [[0, 2, 0], [1, 3, 1], [2, 3, 0]]
    assert (played["propensity"] == 0.5).all()
    tested = hs.evaluate(WORLD, Alternating(), n_training_tasks=[0, 1], n_test_tasks=2, horizon=3)[
        "choice"
    ]
    assert tested.to_numpy().squeeze().tolist() == [[[0, 1, 2]] * 2, [[3, 0, 1]] * 2]


def test_a_joint_agent_must_play_all_turns() -> None:
    with pytest.raises(ValueError, match="alternating must play all 6 turns, got 2"):
        hs.simulate(WORLD, Alternating(stop=2), 2, 3, schedule=InParallel(2))
    turns = Turns([Rounds(WORLD.sample(1, 1, np.random.default_rng(0)), np.ones((1, 1, 1)) / 2)],
                  np.array([0]))  # fmt: skip
    turns.choose([0])
    with pytest.raises(ValueError, match="no turn is left: all 1 were played"):
        _ = turns.arms


def test_a_joint_learner_needs_a_prior_that_takes_tasks_out() -> None:
    class Plain:
        empty = absorb = prior = running_bias = lambda *_: None

    wrong: Any = Plain()
    with pytest.raises(ValueError, match=r"joint learner needs a prior .* got Plain"):
        hs.Learner("x", hs.policies.OFUL(), wrong, joint=True)
