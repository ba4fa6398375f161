"""Prior revision: a task's own rewards decide between the components of its prior."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import multivariate_t
from tests.playing import play

import headstart as hs
from headstart import kernels
from headstart.arrays import Floats
from headstart.core.prior import Mixture, Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.running import RunningEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.kernels import state
from headstart.theory import running_prior, running_statistics

seeds = st.integers(0, 2**32 - 1)
DUE = (1, 2, 4, 8, 16, 32)


def _covariances(rng: np.random.Generator, shape: tuple[int, ...], d: int) -> Floats:
    root = rng.standard_normal((*shape, d, d))
    return np.asarray(root @ root.mT / d + 0.1 * np.eye(d))


def _prior(rng: np.random.Generator, lead: tuple[int, ...] = (), d: int = 3) -> Prior:
    """A prior with a mixture of three: narrow ones, wide ones, some of both. It begins at 0."""
    covariance = _covariances(rng, (*lead, 3), d)
    covariance[..., 1, :, :] *= 10 ** rng.uniform(-1.0, 1.0, (*lead, 1, 1))
    mixture = Mixture(
        bias=rng.standard_normal((*lead, 3, d)),
        covariance=covariance,
        noise_scale=rng.uniform(0.5, 2.0, (*lead, 3)),
        weights=np.array(np.broadcast_to([0.5, 0.4, 0.1], (*lead, 3))),
        components_differ=np.asarray(rng.random(lead) < 0.5),
    )
    scale = mixture.noise_scale[..., 0]
    precision = scale[..., None, None] ** 2 * np.linalg.inv(covariance[..., 0, :, :])
    return Prior(
        np.zeros((*lead, d)),
        (precision + precision.mT) / 2.0,
        noise_scale=scale,
        noise_degrees_of_freedom=np.full(lead, 7.0),
        mixture=mixture,
    )


def _likelihoods(mixture: Mixture, rounds: int, x: Floats, y: Floats) -> Floats:
    """Of the raw rewards, densely: Student's t with n degrees of freedom."""
    found = []
    for bias, covariance, scale in zip(
        mixture.bias, mixture.covariance, mixture.noise_scale, strict=True
    ):
        shape = scale**2 * np.eye(len(y)) + x @ covariance @ x.T
        found.append(multivariate_t(x @ bias, shape, df=rounds).logpdf(y))
    return np.array(found)


@given(seed=seeds, rounds=st.integers(1, 12))
def test_weights_are_those_of_the_dense_likelihood(seed: int, rounds: int) -> None:
    rng = np.random.default_rng(seed)
    mixture = _prior(rng).mixture
    assert mixture is not None
    x, y = rng.standard_normal((rounds, 3)), 3.0 * rng.standard_normal(rounds)
    data = TaskStatistics.from_data(x, y)
    scalars = np.zeros((1, state.N_SCALARS))
    scalars[:, state.COUNT], scalars[:, state.SUM_OF_SQUARES] = rounds, data.sum_of_squares
    scalars[:, state.NOISE_DEGREES_OF_FREEDOM] = 7.0
    found = kernels.component_posterior(scalars, 0, data.gram, data.moment, mixture.components(), 0)
    logs = np.log(mixture.weights) + _likelihoods(mixture, 7, x, y)
    expected = np.exp(logs - logs.max())
    np.testing.assert_allclose(found, expected / expected.sum(), rtol=1e-8, atol=1e-12)


def test_components_are_moment_matched_but_for_the_outlier_component() -> None:
    components = kernels.Components(
        biases=np.array([[[1.0], [3.0], [0.0]]]),
        covariances=np.array([[[[1.0]], [[2.0]], [[9.0]]]]),
        noise_scales=np.array([[1.0, 2.0, 1.0]]),
        weights=np.full((1, 3), 1 / 3),
    )
    bias, regularization = np.empty(1), np.empty((1, 1))

    def match(*weights: float) -> tuple[float, float]:
        return kernels.moment_match(components, 0, np.array(weights), bias, regularization)

    scale, log_determinant = match(0.3, 0.3, 0.4)
    # Half and half of the first two: mean 2, variance 1.5 within and 1 between, noise (1 + 4)/2.
    np.testing.assert_allclose(bias, 2.0)
    assert scale == pytest.approx(np.sqrt(2.5))
    np.testing.assert_allclose(regularization, 2.5 / (1.5 + 1.0))
    assert log_determinant == pytest.approx(np.log(regularization[0, 0]))
    scale, _ = match(0.2, 0.2, 0.6)
    np.testing.assert_allclose(bias, 0.0)
    np.testing.assert_allclose(regularization, 1.0 / 9.0)
    assert scale == 1.0


def test_two_standard_deviations_are_surprising() -> None:
    # A chi-square of 8 degrees has mean 8 and standard deviation 4.
    scalars = np.zeros((3, state.N_SCALARS))
    scalars[:, state.COUNT] = scalars[:, state.REWARDS] = 8.0
    scalars[:, state.PRIOR_NOISE_SCALE] = 2.0
    scalars[:, state.REVISION] = state.IF_SURPRISING
    scalars[:, state.SURPRISE] = 4.0 * np.array([15.9, 16.1, 16.1])
    scalars[:, state.NOISE_DEGREES_OF_FREEDOM] = [1.0, 1.0, 0.0]
    assert [kernels.revision_due(scalars, i) for i in range(3)] == [False, True, False]


def test_revision_is_due_at_powers_of_two() -> None:
    scalars = np.zeros((100, state.N_SCALARS))
    scalars[:, state.REWARDS] = np.arange(100)
    scalars[:, state.REVISION] = state.ALWAYS
    due = [i for i in range(100) if kernels.revision_due(scalars, i)]
    assert due == [1, 2, 4, 8, 16, 32, 64]
    scalars[:, state.REVISION] = state.NEVER
    assert not any(kernels.revision_due(scalars, i) for i in range(100))


def _slowly(prior: Prior, x: Floats, y: Floats) -> Prior:
    """The prior of one task after rewards y (t,) of features x (t, d), by the definition."""
    assert prior.mixture is not None
    now, revising = prior, bool(prior.mixture.components_differ)
    for t in DUE:
        if t > len(y):
            break
        data = TaskStatistics.from_data(x[:t], y[:t])
        surprise = float(RidgeEstimate(data, now).surprise)
        revising = revising or bool(surprise > now.noise_scale**2 * (t + 2.0 * np.sqrt(2.0 * t)))
        if revising:
            now = prior.revised(data)
    return now


@pytest.mark.parametrize("lead", [(), (4,), (2, 3)])
@settings(max_examples=25)
@given(seed=seeds, rounds=st.integers(0, 40), size=st.floats(0.3, 5.0))
def test_the_running_estimate_is_that_of_the_revised_prior(
    lead: tuple[int, ...], seed: int, rounds: int, size: float
) -> None:
    rng = np.random.default_rng(seed)
    prior = _prior(rng, lead)
    x, y = rng.standard_normal((*lead, rounds, 3)), size * rng.standard_normal((*lead, rounds))
    running = RunningEstimate(prior)
    for t in range(rounds):
        running.observe(np.ascontiguousarray(x[..., t, :]), np.ascontiguousarray(y[..., t]))
    arms = rng.standard_normal((*lead, 2, 3))
    estimates = running.prepare(2)
    running.read(arms.reshape(-1, 2, 3))
    assert prior.mixture is not None
    for i in np.ndindex(lead):
        mixture = Mixture(**{name: part[i] for name, part in vars(prior.mixture).items()})
        own = Prior(
            prior.bias[i],
            prior.regularization[i],
            noise_scale=prior.noise_scale[i],
            noise_degrees_of_freedom=prior.noise_degrees_of_freedom[i],
            mixture=mixture,
        )
        slow = _slowly(own, x[i], y[i])
        fresh = RidgeEstimate(TaskStatistics.from_data(x[i], y[i]), slow)
        np.testing.assert_allclose(running.inverse[i], fresh.inverse, rtol=1e-6, atol=1e-9)
        np.testing.assert_allclose(running.parameter[i], fresh.parameter, rtol=1e-6, atol=1e-8)
        # Before any reward it is 0, and the fresh one the difference of two equal logarithms.
        found = running.summary[i]
        np.testing.assert_allclose(
            found.log_determinant, fresh.log_determinant, rtol=1e-7, atol=1e-13
        )
        np.testing.assert_allclose(found.noise_scale, fresh.noise_scale, rtol=1e-7)
        np.testing.assert_allclose(estimates.summary.bias[i], slow.bias, rtol=1e-9, atol=1e-12)
        expected = fresh.read(arms[i])
        np.testing.assert_allclose(
            estimates.predictions[i], expected.predictions, rtol=1e-6, atol=1e-8
        )
        np.testing.assert_allclose(estimates.widths[i], expected.widths, rtol=1e-6)
        np.testing.assert_allclose(
            estimates.summary.largest_eigenvalue[i], slow.largest_eigenvalue, rtol=1e-7
        )
        assert estimates.summary.count[i] == rounds


def test_a_task_as_expected_leaves_its_prior_alone() -> None:
    rng = np.random.default_rng(1)
    lead = (400,)
    prior = _prior(rng, lead)
    assert prior.mixture is not None
    prior = replace(
        prior, mixture=replace(prior.mixture, components_differ=np.zeros(lead, dtype=np.bool_))
    )
    root = np.linalg.cholesky(np.linalg.inv(prior.regularization))
    w = prior.noise_scale[:, None] * (root @ rng.standard_normal((*lead, 3, 1)))[..., 0]
    running = RunningEstimate(prior)
    estimates = running.prepare(1)
    for _ in range(31):
        x = rng.standard_normal((*lead, 3))
        running.observe(x, (x * w).sum(-1) + prior.noise_scale * rng.standard_normal(lead))
    moved = (estimates.summary.bias != prior.bias).any(-1).mean()
    # Asked five times, each surprising with probability about 5 %, and not independent: between one
    # and five of them, with three standard errors of √(0.2 · 0.8/400) on either side.
    assert 0.05 - 0.03 < moved < 0.25 + 0.06


def _opposed(rng: np.random.Generator, size: int) -> list[hs.Task]:
    """Ten tasks around (1, …, 1), and one around its opposite."""
    environment = hs.environments.Synthetic(
        dimension=8, reward="linear", tasks=hs.environments.Gaussian(variance=0.1)
    )
    prepared = environment.prepare(size, rng)
    tasks = [prepared.sample(40, size, rng) for _ in range(11)]
    last = tasks[-1]
    turned = hs.Task(arms=last.arms, rewards=last.rewards - 2.0 * last.means, means=-last.means)
    return [*tasks[:-1], turned]


class Unrevised(hs.priors.Hierarchical):
    """Without prior revision."""

    def prior(self, memory: Memory, about: Floats | None = None) -> Prior:
        return replace(super().prior(memory, about), mixture=None)


def test_the_opposite_of_all_before_is_noticed() -> None:
    size, lost = 60, []
    tasks = _opposed(np.random.default_rng(2), size)
    for estimator in (hs.priors.Hierarchical(), Unrevised()):
        learner = hs.Learner("it", hs.policies.BayesUCB(), estimator)
        memory = learner.begin(8, size)
        for j, task in enumerate(tasks):
            episode = play(learner, memory, task, np.random.default_rng((3, j)))
            memory = learner.learn(memory, episode)
        lost.append(task.regrets(episode.choices).sum(-1))
    # A third of the regret, less four standard errors.
    gap = lost[1] - 3.0 * lost[0]
    assert gap.mean() > 4.0 * gap.std() / np.sqrt(size)


def test_a_trajectory_has_the_revisions_of_the_task() -> None:
    size, estimator = 20, hs.priors.Hierarchical()
    learner = hs.Learner("it", hs.policies.BayesUCB(), estimator)
    memory = learner.begin(8, size)
    tasks = _opposed(np.random.default_rng(4), size)
    for j, task in enumerate(tasks):
        before = memory
        episode = play(learner, memory, task, np.random.default_rng((5, j)))
        memory = learner.learn(memory, episode)
    so_far = running_statistics(task, episode.choices, episode.rewards)
    rebuilt = running_prior(estimator, before, task, episode.choices, episode.rewards)
    estimate = RidgeEstimate(so_far, rebuilt)
    start = estimator.prior(before)
    assert (rebuilt.bias[:, -1] != start.bias).any(-1).mean() > 0.9
    running = RunningEstimate(start)
    for t in range(task.horizon):
        chosen = task.arms[np.arange(size), t, episode.choices[:, t]]
        running.observe(np.ascontiguousarray(chosen), np.ascontiguousarray(episode.rewards[:, t]))
        now = estimate.parameter[:, t + 1]
        np.testing.assert_allclose(running.parameter, now, rtol=1e-6, atol=1e-8)


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"bias": np.zeros((1, 3))}, "C above 1"),
        ({"covariance": np.zeros((3, 3, 2))}, r"covariance must have shape"),
        ({"covariance": -np.tile(np.eye(3), (3, 1, 1))}, "positive definite"),
        ({"weights": np.array([0.5, 0.5, 0.0])}, "weights must be above 0, got 0.0"),
        ({"components_differ": np.ones(())}, "components_differ must be booleans"),
        ({"noise_scale": np.array([1.0, np.nan, 1.0])}, "noise_scale"),
    ],
)
def test_bad_mixtures_are_refused(changes: dict[str, Any], message: str) -> None:
    mixture = _prior(np.random.default_rng(6)).mixture
    assert mixture is not None
    with pytest.raises(ValueError, match=message):
        replace(mixture, **changes)


def test_a_mixture_needs_a_prior_that_fits() -> None:
    prior = _prior(np.random.default_rng(7))
    with pytest.raises(ValueError, match="regularization must be"):
        replace(prior, regularization=np.array(1.0))
    with pytest.raises(ValueError, match="noise_degrees_of_freedom must be finite"):
        replace(prior, noise_degrees_of_freedom=np.array(np.inf))
    with pytest.raises(ValueError, match="the mixture's bias must have shape"):
        Prior(np.zeros(2), np.eye(2), noise_degrees_of_freedom=np.ones(()), mixture=prior.mixture)


class Moving(hs.priors.Average):
    """A prior whose bias moves, with a mixture: not defined."""

    def prior(self, memory: Memory, about: Floats | None = None) -> Prior:
        return hs.priors.Hierarchical().prior(hs.priors.Hierarchical().empty(3, (1,)))


def test_a_bias_that_moves_excludes_a_mixture() -> None:
    environment = hs.environments.Synthetic(dimension=3, n_arms=2)
    learner = hs.Learner("it", hs.policies.BayesUCB(), Moving())
    with pytest.raises(ValueError, match="must not have a mixture"):
        hs.simulate(environment, [learner], n_tasks=1, horizon=2)
    with pytest.raises(ValueError, match="must not have a mixture"):
        hs.MetaBandit(dimension=3, prior=Moving()).next_prior()


def test_without_noise_known_beforehand_the_better_fit_wins() -> None:
    prior = _prior(np.random.default_rng(8))
    assert prior.mixture is not None
    x = np.random.default_rng(9).standard_normal((8, 3))
    for c in range(2):
        data = TaskStatistics.from_data(x, x @ prior.mixture.bias[c])
        blind = replace(prior, noise_degrees_of_freedom=np.zeros(()))
        found = blind.revised(data)
        np.testing.assert_allclose(found.bias, prior.mixture.bias[c], atol=1e-9)


def test_a_prior_without_a_mixture_is_not_revised() -> None:
    prior = Prior(np.zeros(2), np.array(1.0))
    assert prior.revised(TaskStatistics.zeros(2)) is prior
