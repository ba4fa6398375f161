"""Off-policy estimates against truths that are known."""

from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.live.off_policy import LoggedDecisions, evaluate_logged

W = np.array([1.0, -0.5, 0.25])


def log(n: int = 4000, n_arms: int = 4, skewed: bool = False) -> tuple[LoggedDecisions, Any]:
    """Decisions at random, 20 rounds a task, and the means of all arms."""
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((n, n_arms, 3))
    chances = np.tile([0.4, 0.3, 0.2, 0.1] if skewed else [0.25] * 4, (n, 1))
    choices = np.array([rng.choice(n_arms, p=p) for p in chances])
    means = arms @ W
    rows = np.arange(n)
    logged = LoggedDecisions(
        tasks=[f"user-{i // 20}" for i in range(n)],
        arms=arms,
        choices=choices,
        rewards=means[rows, choices] + 0.5 * rng.standard_normal(n),
        propensities=chances[rows, choices],
    )
    return logged, means


def knowing() -> hs.MetaBandit:
    """Plays the best arm from the start, and nothing can move it."""
    prior = hs.priors.Fixed(bias=W, regularization=1e9)
    return hs.MetaBandit(dimension=3, policy=hs.policies.Greedy(), prior=prior, seed=0)


@pytest.mark.parametrize("skewed", [False, True])
def test_estimates_find_the_value_of_a_known_policy(skewed: bool) -> None:
    logged, means = log(skewed=skewed)
    truth = float(means.max(1).mean())
    found = evaluate_logged(knowing(), logged)
    for name in ("replay", "inverse_propensity", "self_normalised", "doubly_robust"):
        estimate = getattr(found, name)
        # Four standard errors, and that of the truth's own sample is far smaller.
        assert abs(estimate.mean - truth) < 4 * estimate.error, name
    # Half of the variance is that of weights that are 0 or 4; the model explains most of it.
    assert found.doubly_robust.error < 0.6 * found.inverse_propensity.error


def test_the_log_s_own_policy_has_the_log_s_mean_reward() -> None:
    logged, _ = log()
    uniform = hs.MetaBandit(dimension=3, policy=hs.policies.Uniform(), seed=0)
    found = evaluate_logged(uniform, logged)
    mean = float(np.asarray(logged.rewards).mean())
    np.testing.assert_allclose(found.weights, 1.0)
    np.testing.assert_allclose(found.inverse_propensity.mean, mean)
    np.testing.assert_allclose(found.self_normalised.mean, mean)


def test_a_warm_start_raises_the_mean_reward() -> None:
    """With all tasks alike, 100 finished tasks determine the prior of the next ones."""
    logged, _ = log()
    warm = hs.MetaBandit(dimension=3, seed=0)
    rng = np.random.default_rng(1)
    for user in range(100):
        for x in rng.standard_normal((10, 3)):
            warm.observe(user, x, float(x @ W + 0.5 * rng.standard_normal()))
        warm.finish(user)
    cold = hs.MetaBandit(dimension=3, prior=hs.priors.Fixed.zero(), seed=0)
    ours, theirs = (evaluate_logged(b, logged).doubly_robust for b in (warm, cold))
    assert ours.mean > theirs.mean + 2 * np.hypot(ours.error, theirs.error)


def test_logs_are_checked() -> None:
    settings: dict[str, Any] = {
        "tasks": ["a"], "arms": np.ones((1, 2, 3)), "choices": [0], "rewards": [1.0],
        "propensities": [0.5],
    }  # fmt: skip
    LoggedDecisions(**settings)
    for change in (
        {"choices": [2]},
        {"propensities": [0.0]},
        {"propensities": [1.5]},
        {"rewards": [np.nan]},
        {"tasks": ["a", "b"]},
        {"arms": np.ones((1, 3))},
    ):
        with pytest.raises(ValueError, match="must"):
            LoggedDecisions(**{**settings, **change})
