"""What every policy must do."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pytest
from tests.contracts.finding import implementing, instances
from tests.playing import play

from headstart import policies
from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Task
from headstart.interfaces import IndexPolicy, Policy
from headstart.priors import Average
from headstart.simulation import Learner

SETTINGS: Mapping[str, Sequence[Mapping[str, Any]]] = {
    "OFUL": [
        {"noise_scale": 0.0},
        {"bias_error": 2.0, "scale": 0.5},
        {"bias_error": policies.NormBound(parameter_bound=3.0), "failure_probability": 0.01},
    ],
    "Thompson": [{"scale": 0.0}, {"noise_scale": 0.3, "scale": 2.0}],
}
POLICIES: dict[str, Policy] = instances(policies, Policy, SETTINGS)

every_policy = pytest.mark.parametrize("policy", POLICIES.values(), ids=POLICIES.keys())


def _estimate(
    rng: np.random.Generator, lead: tuple[int, ...], d: int, *, matrix: bool = False
) -> RidgeEstimate:
    statistics = TaskStatistics.from_data(
        rng.standard_normal((*lead, 7, d)), rng.standard_normal((*lead, 7))
    )
    regularization: Floats = np.asarray(10 ** rng.uniform(-2, 2, lead))
    if matrix:
        root = rng.standard_normal((*lead, d, d))
        regularization = root @ root.mT + np.eye(d)
        regularization = (regularization + regularization.mT) / 2
    return RidgeEstimate(statistics, Prior(rng.standard_normal((*lead, d)), regularization))


def _scores(policy: Policy, estimates: ArmEstimates, uniforms: Floats) -> Floats:
    # A policy may write into nothing that it is shown.
    before = {name: np.array(value) for name, value in vars(estimates).items()}
    given = uniforms.copy()
    scores = policy.scores(estimates, uniforms)
    for name, value in before.items():
        np.testing.assert_array_equal(getattr(estimates, name), value, err_msg=name)
    np.testing.assert_array_equal(uniforms, given)
    return np.array(scores)


def _uniforms(policy: Policy, rng: np.random.Generator, shape: tuple[int, ...], d: int) -> Floats:
    return rng.random((*shape[:-1], policy.n_uniforms(shape[-1], d)))


def test_policies_are_found() -> None:
    names = {kind.__name__ for kind in implementing(policies, Policy)}
    assert {"OFUL", "Thompson", "Greedy", "Uniform"} <= names
    # `NormBound` is public there and no policy: it is told apart by what it can do.
    assert "NormBound" not in names


@every_policy
@pytest.mark.parametrize("matrix", [False, True])
@pytest.mark.parametrize("lead", [(), (3,), (2, 3)])
@pytest.mark.parametrize(("n_arms", "dimension"), [(1, 1), (4, 3), (3, 6)])
def test_scores_are_finite_for_every_arm(
    policy: Policy, lead: tuple[int, ...], n_arms: int, dimension: int, matrix: bool
) -> None:
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((*lead, n_arms, dimension))
    arms[..., 0, :] = 0.0
    estimates = _estimate(rng, lead, dimension, matrix=matrix).read(arms)
    scores = _scores(policy, estimates, _uniforms(policy, rng, (*lead, n_arms), dimension))
    assert scores.shape == (*lead, n_arms)
    assert np.isfinite(scores).all()


@every_policy
def test_extreme_uniforms_keep_scores_finite(policy: Policy) -> None:
    rng = np.random.default_rng(1)
    estimates = _estimate(rng, (2,), 4).read(rng.standard_normal((2, 3, 4)))
    for extreme in (0.0, np.nextafter(1.0, 0.0)):
        uniforms = np.full((2, policy.n_uniforms(3, 4)), extreme)
        assert np.isfinite(_scores(policy, estimates, uniforms)).all()


@every_policy
def test_scores_before_any_data_are_finite(policy: Policy) -> None:
    rng = np.random.default_rng(2)
    for ridge in (1e-6, 1.0, 1e6):
        prior = Prior.zero(4, regularization=ridge)
        estimates = RidgeEstimate(TaskStatistics.zeros(4), prior).read(rng.standard_normal((3, 4)))
        uniforms = _uniforms(policy, rng, (3,), 4)
        assert np.isfinite(_scores(policy, estimates, uniforms)).all()


@every_policy
@pytest.mark.parametrize("matrix", [False, True])
def test_leading_axes_are_independent(policy: Policy, matrix: bool) -> None:
    rng = np.random.default_rng(3)
    lead, n_arms, dimension = (2, 3), 4, 5
    whole = _estimate(rng, lead, dimension, matrix=matrix)
    arms = rng.standard_normal((*lead, n_arms, dimension))
    uniforms = _uniforms(policy, rng, (*lead, n_arms), dimension)
    estimates = whole.read(arms)
    scores = _scores(policy, estimates, uniforms)
    for i in np.ndindex(lead):
        alone = _scores(policy, estimates[i], uniforms[i])
        np.testing.assert_allclose(scores[i], alone, rtol=1e-12, atol=1e-12)


@every_policy
def test_the_same_uniforms_give_the_same_scores(policy: Policy) -> None:
    rng = np.random.default_rng(4)
    estimates = _estimate(rng, (3,), 5).read(rng.standard_normal((3, 4, 5)))
    uniforms = _uniforms(policy, rng, (3, 4), 5)
    np.testing.assert_array_equal(
        _scores(policy, estimates, uniforms), _scores(policy, estimates, uniforms.copy())
    )


@every_policy
def test_order_of_rewards_does_not_matter(policy: Policy) -> None:
    rng = np.random.default_rng(5)
    x, y = rng.standard_normal((9, 4)), rng.standard_normal(9)
    arms, order = rng.standard_normal((5, 4)), rng.permutation(9)
    prior = Prior(rng.standard_normal(4), np.array(0.7))
    uniforms = _uniforms(policy, rng, (5,), 4)
    one, two = (
        _scores(policy, RidgeEstimate(TaskStatistics.from_data(*data), prior).read(arms), uniforms)
        for data in ((x, y), (x[order], y[order]))
    )
    np.testing.assert_allclose(one, two, rtol=1e-10, atol=1e-10)


@every_policy
@pytest.mark.parametrize("n_arms", [1, 4])
def test_choices_are_in_range(policy: Policy, n_arms: int) -> None:
    rng = np.random.default_rng(6)
    arms = rng.standard_normal((5, 12, n_arms, 3))
    means = arms.sum(-1)
    task = Task(arms=arms, rewards=means + rng.standard_normal(means.shape), means=means)
    learner = Learner("it", policy, Average())
    episode = play(learner, learner.begin(3, 5), task, rng)
    assert episode.choices.shape == (5, 12)
    assert episode.choices.min() >= 0
    assert episode.choices.max() < n_arms
    paid = np.take_along_axis(task.rewards, episode.choices[..., None], -1)[..., 0]
    np.testing.assert_array_equal(episode.rewards, paid)


@pytest.mark.parametrize("lead", [(), (3,)])
@every_policy
def test_an_index_is_prediction_plus_radius_times_width(
    policy: Policy, lead: tuple[int, ...]
) -> None:
    if not isinstance(policy, IndexPolicy):
        return
    rng = np.random.default_rng(11)
    estimates = _estimate(rng, lead, 3, matrix=True).read(rng.standard_normal((*lead, 4, 3)))
    radius = np.broadcast_to(policy.radius(estimates.summary), lead)
    expected = estimates.predictions + radius[..., None] * estimates.widths
    np.testing.assert_allclose(
        _scores(policy, estimates, np.empty((*lead, 0))), expected, rtol=1e-12
    )


def test_index_policies_are_found() -> None:
    assert {type(p).__name__ for p in POLICIES.values() if isinstance(p, IndexPolicy)} >= {
        "OFUL",
        "BayesUCB",
        "Greedy",
    }
