"""Every named learner chooses what an independent implementation of its paper chooses."""

from typing import Any

import numpy as np
import pytest
from tests.learners import slow
from tests.learners.slow import GivenTask, Variances

import headstart as hs
from headstart.arrays import Floats, Integers
from headstart.learners.oful import paper_learners
from headstart.simulation import Agent, Rounds
from headstart.specs import Spec
from headstart.studies import LearnerSpec

V = Variances(noise=0.3, task=0.6, mean=2.0)
KNOWN: dict[str, Any] = {
    "noise_variance": V.noise,
    "task_variance": V.task,
    "mean_variance": V.mean,
}
REPLICATIONS, N_TASKS, HORIZON, N_ARMS, DIMENSION = 12, 4, 7, 5, 3


def _tasks(seed: int) -> list[hs.Task]:
    rng = np.random.default_rng(seed)
    mean = rng.standard_normal((REPLICATIONS, 1, DIMENSION))
    made = []
    for _ in range(N_TASKS):
        w = mean + 0.7 * rng.standard_normal(mean.shape)
        arms = rng.standard_normal((REPLICATIONS, HORIZON, N_ARMS, DIMENSION))
        means = (arms @ w[..., None])[..., 0]
        rewards = means + 0.5 * rng.standard_normal(means.shape)
        made.append(hs.Task(arms=arms, rewards=rewards, means=means))
    return made


def _play(agent: Agent, tasks: list[hs.Task], seed: int) -> tuple[list[Integers], list[Floats]]:
    """Choices (R, T) and uniform numbers (R, T, n) per task."""
    rng = np.random.default_rng(seed)
    state = agent.begin(DIMENSION, REPLICATIONS)
    choices, numbers = [], []
    for task in tasks:
        n = agent.n_uniforms(task.n_arms, task.dimension)
        uniforms = rng.random((REPLICATIONS, HORIZON, n + 1))
        rounds = Rounds(task, uniforms)
        state = agent.learn(state, agent.play(state, rounds))
        choices.append(rounds.choices.copy())
        numbers.append(uniforms[..., :-1])
    return choices, numbers


def given(tasks: list[hs.Task], numbers: list[Floats], r: int) -> list[GivenTask]:
    """One replication of the tasks."""
    return [
        GivenTask(task.arms[r], task.rewards[r], uniforms[r])
        for task, uniforms in zip(tasks, numbers, strict=True)
    ]


@pytest.mark.parametrize(
    ("agent", "choose"),
    [
        (hs.learners.lin_ts(noise_variance=0.3, prior_variance=2.0), slow.lin_ts(0.3, 2.0)),
        (hs.learners.meta_ts(**KNOWN), slow.meta_ts(V)),
        (hs.learners.ada_ts(**KNOWN), slow.ada_ts(V)),
        (
            hs.learners.hier_bayes_ucb(**KNOWN, failure_probability=0.1),
            slow.hier_bayes_ucb(V, 0.1),
        ),
        (
            hs.learners.bayes_oracle(
                mean_parameter=np.ones(3), noise_variance=0.3, task_variance=0.6, z=1.5
            ),
            slow.bayes_oracle(V, np.ones(3), 1.5),
        ),
    ],
    ids=[
        "LinTS",
        "Meta-TS",
        "AdaTS",
        "HierBayesUCB",
        "Bayes oracle",
    ],
)
def test_choices_are_those_of_the_paper(agent: Agent, choose: slow.Choose) -> None:
    tasks = _tasks(seed=3)
    choices, numbers = _play(agent, tasks, seed=4)
    for r in range(REPLICATIONS):
        expected = slow.play(given(tasks, numbers, r), choose)
        for j, chosen in enumerate(expected):
            np.testing.assert_array_equal(choices[j][r], chosen, err_msg=f"task {j} of {r}")


def test_the_methods_differ() -> None:
    # Otherwise the test above could not tell them apart.
    tasks = _tasks(seed=3)
    agents = [
        hs.learners.lin_ts(noise_variance=0.3, prior_variance=2.0),
        hs.learners.ada_ts(**KNOWN),
        hs.learners.hier_bayes_ucb(**KNOWN),
    ]
    played = [np.stack(_play(agent, tasks, seed=4)[0]) for agent in agents]
    for i in range(len(agents)):
        for j in range(i):
            assert (played[i] != played[j]).mean() > 0.05


def test_meta_ts_samples_the_mean_task_from_its_posterior() -> None:
    agent = hs.learners.meta_ts(**KNOWN)
    tasks = _tasks(seed=5)
    state = agent.begin(DIMENSION, REPLICATIONS)
    data = []
    for task in tasks:
        rounds = Rounds(task, np.random.default_rng(6).random((REPLICATIONS, HORIZON, 7)))
        state = agent.learn(state, agent.play(state, rounds))
        x = np.take_along_axis(task.arms, rounds.choices[..., None, None], -2)[0, :, 0]
        data.append((x, rounds.rewards[0]))
    mean, covariance = slow.mean_posterior(data, V, DIMENSION)
    # At the medians of all coordinates the draw is the mean; a unit normal moves it by L's column.
    half = np.full((REPLICATIONS, DIMENSION), 0.5)
    np.testing.assert_allclose(agent.sampled_mean(state, half)[0], mean, rtol=1e-9)
    up = half.copy()
    up[:, 1] = 0.8413447460685429
    moved = agent.sampled_mean(state, up)[0] - mean
    np.testing.assert_allclose(moved, np.linalg.cholesky(covariance)[:, 1], atol=1e-12)


def test_a_study_of_named_learners_plays_them() -> None:
    settings: Any = {"mean_parameter": [1.0, 2.0], "regularization": 3.0}
    named = paper_learners(policy=hs.policies.OFUL(noise_scale=0.5), **settings)
    agents = [*named, hs.learners.headstart(), hs.learners.meta_ts(task_variance=0.1)]
    specs = [LearnerSpec.of(agent) for agent in agents]
    built = [spec.build(spec.name, lambda name: None) for spec in specs]
    environment = hs.environments.Synthetic(dimension=2)
    one, two = (
        hs.simulate(environment, every, n_tasks=2, horizon=8, replications=3)
        for every in (agents, built)
    )
    assert one.identical(two)


def test_placeholders_replace_settings_of_the_prior() -> None:
    oful = Spec(kind="OFUL", settings={"noise_scale": 0.5})
    spec = LearnerSpec.of(
        hs.learners.rr_oful(estimation_regularization="same"),
        policy=oful,
        regularization="@regularization",
    )
    assert spec.plain() == {
        "name": "RR-OFUL",
        "policy": {"class": "OFUL", "noise_scale": 0.5},
        "prior": {
            "class": "Pooled",
            "estimation_regularization": "same",
            "regularization": "@regularization",
        },
    }


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda: hs.learners.lin_ts(noise_variance=0.0), "noise_variance must be a finite number"),
        (
            lambda: hs.learners.bayes_oracle(mean_parameter=[1.0], task_variance=-1.0),
            "task_variance",
        ),
        (lambda: hs.learners.hier_bayes_ucb(failure_probability=1.0), "strictly between 0 and 1"),
        (lambda: hs.learners.meta_ts(mean_variance=float("nan")), "mean_variance"),
    ],
)
def test_settings_are_checked(make: object, words: str) -> None:
    assert callable(make)
    with pytest.raises(ValueError, match=words):
        make()
