"""The two loops: laws that hold whatever is played."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.playing import play, uniforms_for

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Episode, Task
from headstart.interfaces import Policy, PriorEstimator
from headstart.policies import OFUL, Greedy, NormBound, Thompson, Uniform
from headstart.priors import Average, Fixed, Pooled
from headstart.simulation import Learner, Optimal

pytestmark = pytest.mark.slow

seeds = st.integers(0, 2**32 - 1)

POLICIES: list[Policy] = [
    OFUL(),
    OFUL(bias_error=NormBound(parameter_bound=1.0)),
    Thompson(),
    Greedy(),
    Uniform(),
]
PRIORS: list[PriorEstimator] = [
    Fixed.zero(),
    Average(regularization=1e-6, estimation_regularization="same"),
    Pooled(regularization=1e-6, estimation_regularization="same"),
    Pooled(regularization=10.0, within_task=False),
]


def _task(
    seed: int, lead: tuple[int, ...], horizon: int = 12, n_arms: int = 3, dimension: int = 4
) -> Task:
    rng = np.random.default_rng(seed)
    arms = rng.standard_normal((*lead, horizon, n_arms, dimension))
    # Sizes that differ between replications make each refactorise at different rounds.
    arms *= rng.uniform(0.1, 3, (*lead, 1, 1, 1))
    parameter = 1 + 0.5 * rng.standard_normal((*lead, dimension))
    means = (arms @ parameter[..., None, :, None])[..., 0]
    rewards = means + 0.5 * rng.standard_normal(means.shape)
    return Task(arms=arms, rewards=rewards, means=means, parameter=parameter)


def _play(
    learner: Learner, tasks: list[Task], uniforms: list[Floats], replications: int
) -> list[Episode]:
    memory = learner.begin(tasks[0].dimension, replications)
    episodes = []
    for task, numbers in zip(tasks, uniforms, strict=True):
        episodes.append(play(learner, memory, task, numbers))
        memory = learner.learn(memory, episodes[-1])
    return episodes


@pytest.mark.parametrize("prior", PRIORS, ids=lambda prior: type(prior).__name__)
@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
@settings(max_examples=5)
@given(seed=seeds, horizon=st.sampled_from([1, 7, 80]))
def test_a_batch_is_its_replications_one_by_one(
    policy: Policy, prior: PriorEstimator, seed: int, horizon: int
) -> None:
    learner, rng = Learner("it", policy, prior), np.random.default_rng(seed)
    tasks = [_task(seed + j, (4,), horizon) for j in range(3)]
    uniforms = [uniforms_for(learner, task, rng) for task in tasks]
    together = _play(learner, tasks, uniforms, 4)
    for i in range(4):
        part = slice(i, i + 1)
        alone = _play(learner, [t[part] for t in tasks], [u[part] for u in uniforms], 1)
        for one, two in zip(together, alone, strict=True):
            np.testing.assert_array_equal(one.choices[part], two.choices)
            np.testing.assert_array_equal(one.rewards[part], two.rewards)
            for name in ("gram", "moment", "count", "sum_of_squares"):
                np.testing.assert_array_equal(
                    getattr(one.statistics, name)[part], getattr(two.statistics, name)
                )


@pytest.mark.parametrize("policy", POLICIES, ids=lambda policy: type(policy).__name__)
def test_a_task_may_have_no_leading_axis_or_two(policy: Policy) -> None:
    learner = Learner("it", policy, Average())
    whole = _task(0, (2, 3))
    uniforms = uniforms_for(learner, whole, np.random.default_rng(0))
    together = play(learner, learner.prior.empty(4, (2, 3)), whole, uniforms)
    assert together.choices.shape == (2, 3, 12)
    for i in np.ndindex(2, 3):
        single = Task(arms=whole.arms[i], rewards=whole.rewards[i], means=whole.means[i])
        alone = play(learner, learner.prior.empty(4), single, uniforms[i])
        np.testing.assert_array_equal(together.choices[i], alone.choices)
        np.testing.assert_array_equal(together.statistics.gram[i], alone.statistics.gram)


@given(seed=seeds)
def test_statistics_are_those_of_what_was_chosen(seed: int) -> None:
    task = _task(seed, (2,))
    for learner in (Optimal(), Learner("it", OFUL(), Pooled())):
        episode = play(learner, learner.begin(4, 2), task, np.random.default_rng(seed))
        chosen = np.take_along_axis(task.arms, episode.choices[..., None, None], -2)[..., 0, :]
        expected = TaskStatistics.from_data(chosen, episode.rewards)
        for name in ("gram", "moment", "count", "sum_of_squares"):
            np.testing.assert_allclose(
                getattr(episode.statistics, name), getattr(expected, name), rtol=1e-12, atol=1e-12
            )


@given(seed=seeds, largest_eigenvalue=st.floats(1e-3, 1e3))
def test_zero_bias_is_oful(seed: int, largest_eigenvalue: float) -> None:
    # With nothing learned yet, and h held within the task, AVG and RR are OFUL; so is a bias of 0.
    task = _task(seed, (3,))
    uniforms = np.random.default_rng(seed).random((3, 12, 1))
    starts: list[PriorEstimator] = [
        Fixed.zero(regularization=largest_eigenvalue),
        Fixed(bias=np.zeros(4), regularization=largest_eigenvalue),
        Average(regularization=largest_eigenvalue, within_task=False),
        Pooled(regularization=largest_eigenvalue, within_task=False),
    ]
    oful, *others = (
        play(learner, learner.begin(4, 3), task, uniforms)
        for learner in (Learner("it", OFUL(), start) for start in starts)
    )
    for other in others:
        np.testing.assert_array_equal(oful.choices, other.choices)


@given(seed=seeds)
def test_oracle_with_infinite_regularization_is_optimal(seed: int) -> None:
    # Held firmly at the task's own parameter, the estimate is the truth and the widths vanish.
    task = _task(seed, (3,))
    assert task.parameter is not None
    oracle = Learner("Oracle", OFUL(), Fixed(bias=task.parameter, regularization=1e16))
    uniforms = np.random.default_rng(seed).random((3, 12, 1))
    held = play(oracle, oracle.begin(4, 3), task, uniforms)
    best = play(Optimal(), {}, task, uniforms)
    np.testing.assert_array_equal(held.choices, best.choices)
    assert (task.regrets(held.choices) == 0).all()


@given(seed=seeds)
def test_optimal_has_no_regret_and_no_choice_less(seed: int) -> None:
    task = _task(seed, (3,))
    rng = np.random.default_rng(seed)
    best = play(Optimal(), {}, task, rng)
    assert (task.regrets(best.choices) == 0).all()
    anything = rng.integers(0, 3, (3, 12))
    assert (task.regrets(anything) >= 0).all()
    chosen = np.take_along_axis(task.means, anything[..., None], -1)[..., 0]
    np.testing.assert_array_equal(task.regrets(anything), task.means.max(-1) - chosen)


@given(seed=seeds, largest_eigenvalue=st.floats(1e-3, 1e3))
def test_pooling_equals_concatenation(seed: int, largest_eigenvalue: float) -> None:
    rng = np.random.default_rng(seed)
    x, y = rng.standard_normal((3, 5, 4)), rng.standard_normal((3, 5))
    pool = Pooled(estimation_regularization=largest_eigenvalue)
    many = pool.empty(4)
    for j in range(3):
        many = pool.absorb(many, TaskStatistics.from_data(x[j], y[j]))
    one = pool.absorb(pool.empty(4), TaskStatistics.from_data(x.reshape(15, 4), y.reshape(15)))
    np.testing.assert_allclose(pool.prior(many).bias, pool.prior(one).bias, rtol=1e-7, atol=1e-9)


@given(seed=seeds)
def test_order_of_tasks_does_not_matter_to_the_papers_priors(seed: int) -> None:
    rng = np.random.default_rng(seed)
    tasks = [
        TaskStatistics.from_data(rng.standard_normal((t, 3)), rng.standard_normal(t))
        for t in (1, 4, 6)
    ]
    for prior in (Average(), Pooled()):
        memories = []
        for order in (tasks, tasks[::-1]):
            memory = prior.empty(3)
            for task in order:
                memory = prior.absorb(memory, task)
            memories.append(prior.prior(memory).bias)
        np.testing.assert_allclose(memories[0], memories[1], rtol=1e-9, atol=1e-12)


def test_a_learner_sees_no_reward_of_arms_not_chosen() -> None:
    # Rewards of arms not chosen, and of later rounds, may be anything.
    task = _task(5, (2,))
    for prior in PRIORS:
        learner = Learner("it", Thompson(), prior)
        first = play(learner, learner.begin(4, 2), task, np.random.default_rng(5))
        other = task.rewards + 100.0
        np.put_along_axis(other, first.choices[..., None], first.rewards[..., None], -1)
        changed = Task(arms=task.arms, rewards=other, means=task.means)
        second = play(learner, learner.begin(4, 2), changed, np.random.default_rng(5))
        np.testing.assert_array_equal(first.choices, second.choices)
