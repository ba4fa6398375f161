"""Meta-LinEXP3 is the published algorithm."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.learners import slow

import headstart as hs
from headstart.learners import MetaLinEXP3
from headstart.learners.meta_lin_exp3 import Played, SecondMoment, Start
from headstart.simulation import Rounds

REPLICATIONS, N_TASKS, HORIZON, N_ARMS, DIMENSION = 6, 4, 9, 7, 3


def _tasks(seed: int) -> list[hs.Task]:
    rng = np.random.default_rng(seed)
    made = []
    for _ in range(N_TASKS):
        # The parameter changes in every round: nothing in the algorithm may rely on one.
        w = rng.standard_normal((REPLICATIONS, HORIZON, DIMENSION))
        arms = rng.standard_normal((REPLICATIONS, HORIZON, N_ARMS, DIMENSION))
        means = (arms @ w[..., None])[..., 0]
        made.append(hs.Task(arms=arms, rewards=means, means=means))
    return made


@pytest.mark.parametrize("start", ["none", "uniform", "pcrw"])
def test_choices_and_propensities_are_those_of_the_paper(start: Start) -> None:
    agent = MetaLinEXP3(start=start, n_tasks=N_TASKS, smallest_eigenvalue=0.9)
    tasks, rng = _tasks(seed=1), np.random.default_rng(2)
    state = agent.begin(DIMENSION, REPLICATIONS)
    numbers, played = [], []
    for task in tasks:
        uniforms = rng.random((REPLICATIONS, HORIZON, 2))
        rounds = Rounds(task, uniforms)
        state = agent.learn(state, agent.play(state, rounds))
        numbers.append(uniforms[..., :1])
        played.append((rounds.choices.copy(), rounds.propensities))
    for r in range(REPLICATIONS):
        given_tasks = [
            slow.GivenTask(task.arms[r], task.rewards[r], uniforms[r])
            for task, uniforms in zip(tasks, numbers, strict=True)
        ]
        expected = slow.meta_lin_exp3(
            given_tasks, start=start, n_tasks=N_TASKS, mu=1.0846, lam=0.9, delta=0.05
        )
        for (choices, told), (theirs, p) in zip(played, expected, strict=True):
            np.testing.assert_array_equal(choices[r], theirs)
            assert told is not None
            chosen = np.take_along_axis(p, theirs[:, None], -1)[:, 0]
            np.testing.assert_allclose(told[r], chosen, rtol=1e-9)


def test_the_rates_are_the_published_ones() -> None:
    rate, exploration = MetaLinEXP3(n_tasks=20)._rates(30, 40)
    assert round(rate, 4) == 0.3507
    assert round(exploration, 4) == 0.0784


def test_one_round_by_hand() -> None:
    # Two arms in one dimension, nothing seen: S̃ = L² = 4, p = (1/2, 1/2), and the first arm pays 3.
    arms, rewards = np.array([[[[1.0], [2.0]]]]), np.array([[[3.0, 0.0]]])
    task = hs.Task(arms=arms, rewards=rewards, means=rewards)
    agent = MetaLinEXP3(rate=1.0, exploration=0.5)
    rounds = Rounds(task, np.zeros((1, 1, 2)))
    played = agent.play(agent.begin(1, 1), rounds)
    assert rounds.propensities is not None
    np.testing.assert_allclose(rounds.propensities, [[0.5]])
    np.testing.assert_allclose(played.loss, [[1.0 / 4.0 * -3.0 / (2 * 0.5)]])
    np.testing.assert_allclose(played.seen.total, [[[5.0]]])
    np.testing.assert_allclose(agent.learn(agent.begin(1, 1), played)["directions"], [[[-1.0]]])


def test_the_estimate_is_unbiased_where_the_second_moment_is_known() -> None:
    # E θ̂ = S⁻¹ E[Σ_a p_a b_a ⟨b_a, θ⟩/(K p_a)] = S⁻¹Sθ, whatever p is: here over all arms of a set.
    rng = np.random.default_rng(0)
    arms, theta = rng.standard_normal((6, 3)), rng.standard_normal(3)
    p = rng.dirichlet(np.ones(6))
    seen = SecondMoment(total=(arms.T @ arms)[None], count=np.array([6.0]), bound=np.array([9.0]))
    total = np.zeros(3)
    for a in range(6):
        weighted = (arms[a] * (arms[a] @ theta) / (6 * p[a]))[None]
        total += p[a] * seen.solve(weighted, ridge=np.zeros(1), smallest=1e-9)[0]
    np.testing.assert_allclose(total, theta, rtol=1e-10)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), scale=st.floats(1e-3, 1e3), k=st.integers(1, 6))
def test_propensities_explore_every_arm(seed: int, scale: float, k: int) -> None:
    rng = np.random.default_rng(seed)
    arms = scale * rng.standard_normal((2, 5, k, 3))
    rewards = rng.standard_normal((2, 5, k))
    rounds = Rounds(hs.Task(arms=arms, rewards=rewards, means=rewards), rng.random((2, 5, 2)))
    agent = MetaLinEXP3(exploration=0.3)
    agent.play(agent.begin(3, 2), rounds)
    told = rounds.propensities
    assert told is not None
    assert (told >= 0.3 / k - 1e-12).all()
    assert (told <= 1.0 - 0.3 * (k - 1) / k + 1e-12).all()


def test_choices_have_the_frequencies_that_are_told() -> None:
    # 4,000 replications of one first round after a start: each arm's count is binomial, and 4.5
    # standard errors for 3 arms are exceeded once in 50,000 runs.
    n, rng = 4000, np.random.default_rng(3)
    arms = np.repeat(rng.standard_normal((1, 1, 3, 2)), n, axis=0)
    zeros = np.zeros((n, 1, 3))
    agent = MetaLinEXP3(start="uniform", exploration=0.1)
    seen = SecondMoment.empty(2, n, np.ones(n))
    state = agent.learn(
        agent.begin(2, n), Played(loss=np.tile([3.0, -4.0], (n, 1)), start=seen, seen=seen)
    )
    rounds = Rounds(hs.Task(arms=arms, rewards=zeros, means=zeros), rng.random((n, 1, 2)))
    agent.play(state, rounds)
    told, chosen = rounds.propensities, rounds.choices[:, 0]
    assert told is not None
    for a in range(3):
        p = told[chosen == a, 0]
        assert np.ptp(p) < 1e-12
        assert abs((chosen == a).mean() - p[0]) < 4.5 * np.sqrt(p[0] * (1 - p[0]) / n)


def test_the_learned_start_by_hand() -> None:
    agent = MetaLinEXP3(start="pcrw")
    directions = np.array([[[1.0, 0.0], [0.0, 1.0], [0.6, 0.8]]])
    state = {**agent.begin(2, 1), "directions": directions}
    weights = np.array([0.6, 0.8, 1.0]) + 1.0 / 3.0
    expected = (weights / weights.sum()) @ directions[0]
    np.testing.assert_allclose(agent.learned_start(state), [expected])
    uniform = MetaLinEXP3(start="uniform")
    np.testing.assert_allclose(uniform.learned_start(state), directions.mean(1))


def test_a_task_without_losses_leaves_no_direction() -> None:
    agent = MetaLinEXP3(offset=0.0)
    task = hs.Task(
        arms=np.ones((1, 2, 2, 2)), rewards=np.zeros((1, 2, 2)), means=np.zeros((1, 2, 2))
    )
    state = agent.begin(2, 1)
    for _ in range(2):
        state = agent.learn(state, agent.play(state, Rounds(task, np.full((1, 2, 2), 0.5))))
    np.testing.assert_array_equal(agent.learned_start(state), [[0.0, 0.0]])


def test_a_given_bound_takes_the_place_of_the_largest_norm() -> None:
    task = _tasks(seed=4)[0]
    uniforms = np.random.default_rng(5).random((REPLICATIONS, HORIZON, 2))
    losses = {}
    for bound in (None, 50.0, np.full(REPLICATIONS, 50.0)):
        agent = MetaLinEXP3(arm_bound=bound)
        played = agent.play(agent.begin(DIMENSION, REPLICATIONS), Rounds(task, uniforms))
        losses[type(bound)] = played.loss
    np.testing.assert_array_equal(losses[float], losses[np.ndarray])
    assert (np.abs(losses[float]) < np.abs(losses[type(None)])).mean() > 0.9
    with pytest.raises(ValueError, match="arm_bound must be a number or one per replication, 2"):
        MetaLinEXP3(arm_bound=np.ones(3)).begin(DIMENSION, 2)


@pytest.mark.parametrize(
    ("settings_", "words"),
    [
        ({"start": "mean"}, "start must be one of none, pcrw, uniform, got 'mean'"),
        ({"n_tasks": 0}, "n_tasks must be an integer of at least 1, got 0"),
        ({"rate": 0.0}, "rate must be a finite number above 0"),
        ({"exploration": 1.5}, "exploration must be above 0 and at most 1, got 1.5"),
        ({"exploration": 0.0}, "exploration must be above 0 and at most 1, got 0.0"),
        ({"arm_bound": -1.0}, "arm_bound must be a number above 0, or one per replication, got -1"),
        ({"arm_bound": [[1.0]]}, r"arm_bound must be a number above 0, .* got \[\[1.0\]\]"),
        ({"failure_probability": 1.0}, "strictly between 0 and 1"),
        ({"smallest_eigenvalue": 0.0}, "smallest_eigenvalue must be a finite number above 0"),
        ({"start_rate": float("nan")}, "start_rate must be a finite number"),
    ],
)
def test_settings_are_checked(settings_: dict[str, Any], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        MetaLinEXP3(**settings_)
