"""Off-policy estimates against truths that are known."""

import dataclasses
from typing import Any

import numpy as np
import pytest

import headstart as hs
from headstart.live.off_policy import evaluate_logged
from headstart.logs import LoggedDecisions

pytestmark = pytest.mark.slow

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


def without_overlap(n: int = 2000, explored: float = 0.0) -> tuple[LoggedDecisions, hs.MetaBandit]:
    """A log that plays the first of two arms, and a bandit that plays the second.

    The first arm's features are (1, 0) with a mean reward of 3, the second's (1, 1) with a mean of
    0: a regression on the log alone would predict 3 for both.
    """
    rng = np.random.default_rng(0)
    second = rng.random(n) < explored
    arms = np.tile([[1.0, 0.0], [1.0, 1.0]], (n, 1, 1))
    everything = np.tile([1.0 - explored, explored], (n, 1))
    choices = second.astype(int)
    logged = LoggedDecisions(
        tasks=[f"user-{i // 20}" for i in range(n)],
        arms=arms,
        choices=choices,
        rewards=np.where(second, 0.0, 3.0) + 0.1 * rng.standard_normal(n),
        propensities=everything[np.arange(n), choices],
        propensities_of_all=everything,
    )
    prior = hs.priors.Fixed(bias=[0.0, 1.0], regularization=1e9)
    return logged, hs.MetaBandit(dimension=2, policy=hs.policies.Greedy(), prior=prior, seed=0)


def _without_all(logged: LoggedDecisions) -> LoggedDecisions:
    return dataclasses.replace(logged, propensities_of_all=None)


def test_a_log_without_overlap_is_refused() -> None:
    """A policy of value 0 was rated at 2.95: by the regression alone, at arms never chosen."""
    logged, bandit = without_overlap()
    with pytest.raises(ValueError, match=r"100.0% of the bandit's choices are of arms"):
        evaluate_logged(bandit, logged)
    _, bandit = without_overlap()
    with pytest.raises(ValueError, match=r"the mean weight π/p is 0 ± 0 and should be 1"):
        evaluate_logged(bandit, _without_all(logged))


def test_a_log_that_explores_has_overlap() -> None:
    logged, bandit = without_overlap(explored=0.1)
    found = evaluate_logged(bandit, logged)
    assert found.overlap == 1.0
    assert abs(found.mean_weight.mean - 1.0) < 4 * found.mean_weight.error
    # 2,000 rounds, of which a tenth have a weight of 10 and the others none.
    assert found.effective_sample_size == np.count_nonzero(found.weights)
    for estimate in (found.inverse_propensity, found.self_normalised, found.doubly_robust):
        assert abs(estimate.mean) < 4 * estimate.error + 0.01
    assert evaluate_logged(without_overlap()[1], _without_all(logged)).overlap is None


def test_half_of_an_overlap_is_refused() -> None:
    """A bandit that is indifferent gives half of its probability to the arm never chosen."""
    logged, _ = without_overlap()
    for given in (logged, _without_all(logged)):
        uniform = hs.MetaBandit(dimension=2, policy=hs.policies.Uniform(), seed=0)
        with pytest.raises(ValueError, match=r"the log cannot tell the bandit's value"):
            evaluate_logged(uniform, given)


def test_wrong_propensities_are_refused() -> None:
    logged, _ = log()
    wrong = dataclasses.replace(logged, propensities=np.full(4000, 0.1))
    uniform = hs.MetaBandit(dimension=3, policy=hs.policies.Uniform(), seed=0)
    with pytest.raises(ValueError, match=r"log's propensities are wrong"):
        evaluate_logged(uniform, wrong)


def test_a_single_rare_choice_does_not_stop_learning() -> None:
    """The smallest propensity set the rate of acceptance: with one of 1e-6 nothing was learned."""
    logged, means = log()
    choices, propensities = logged.choices.copy(), logged.propensities.copy()
    choices[3999], propensities[3999] = means[3999].argmin(), 1e-6
    logged = dataclasses.replace(logged, choices=choices)
    rare = dataclasses.replace(logged, propensities=propensities)
    bandits = [hs.MetaBandit(dimension=3, seed=0) for _ in range(2)]
    usual, found = (evaluate_logged(*pair) for pair in zip(bandits, (logged, rare), strict=True))
    assert found.accepted.sum() > 0.9 * usual.accepted.sum()


def test_an_evaluation_that_accepts_nothing_is_refused() -> None:
    """Without accepted rounds the estimates were of a bandit that knows nothing: 0 [0, 0]."""
    rare = np.arange(30) < 3
    logged = LoggedDecisions(
        tasks=(np.arange(30) // 5).tolist(),
        arms=np.eye(2),
        choices=rare.astype(int),
        rewards=np.zeros(30),
        propensities=np.where(rare, 1e-9, 1.0),
    )
    prior = hs.priors.Fixed(bias=[1.0, 0.0], regularization=1e9)
    settings: dict[str, Any] = {"policy": hs.policies.Greedy(), "prior": prior, "seed": 0}
    with pytest.raises(ValueError, match="accepted none of its 30 rounds"):
        evaluate_logged(hs.MetaBandit(dimension=2, **settings), logged)
    found = evaluate_logged(hs.MetaBandit(dimension=2, **settings), logged, learn="all")
    assert found.replay.replications == 0
    assert "not known" in str(found)


def test_rounds_of_a_task_are_not_independent() -> None:
    """Rewards that all rounds of a task share: only the number of tasks narrows the intervals."""
    rng = np.random.default_rng(3)
    n, per_task = 2000, 100
    shared = np.repeat(rng.standard_normal(n // per_task), per_task)
    logged = LoggedDecisions(
        tasks=np.repeat(np.arange(n // per_task), per_task).tolist(),
        arms=np.ones((n, 2, 1)),
        choices=rng.integers(2, size=n),
        rewards=shared,
        propensities=np.full(n, 0.5),
    )
    uniform = hs.MetaBandit(dimension=1, policy=hs.policies.Uniform(), seed=0)
    found = evaluate_logged(uniform, logged).inverse_propensity
    assert found.replications == n // per_task
    expected = shared[::per_task].std(ddof=1) / np.sqrt(n // per_task)
    assert found.error == pytest.approx(expected)


def test_items_have_effects_in_an_evaluation() -> None:
    """Two items with the same features: only their ids tell them apart."""
    rng = np.random.default_rng(1)
    n = 2000
    choices = rng.integers(2, size=n)
    settings: dict[str, Any] = {
        "tasks": (np.arange(n) // 20).tolist(),
        "arms": np.ones((2, 1)),
        "choices": choices,
        "rewards": choices + 0.5 * rng.standard_normal(n),
        "propensities": np.full(n, 0.5),
    }
    without, known = LoggedDecisions(**settings), LoggedDecisions(**settings, ids=["tea", "rum"])
    found = [evaluate_logged(hs.MetaBandit(dimension=1, seed=0), one) for one in (without, known)]
    assert found[0].doubly_robust.mean < 0.6
    assert found[1].doubly_robust.mean > 0.9


def test_a_handful_of_rounds_is_refused() -> None:
    logged, _ = log(n=8)
    uniform = hs.MetaBandit(dimension=3, policy=hs.policies.Uniform(), seed=0)
    with pytest.raises(ValueError, match=r"its 8 rounds are worth 8\.0"):
        evaluate_logged(uniform, logged)


def test_sound_logs_are_hardly_ever_refused() -> None:
    """Greedy against 20 arms at random: 30 of 600 rounds agree. One in a thousand is refused."""
    rng = np.random.default_rng(5)
    for _ in range(40):
        arms = rng.standard_normal((600, 20, 3))
        logged = LoggedDecisions(
            tasks=[0] * 600,
            arms=arms,
            choices=rng.integers(20, size=600),
            rewards=rng.standard_normal(600),
            propensities=np.full(600, 0.05),
        )
        assert evaluate_logged(knowing(), logged).effective_sample_size >= 10


def test_the_bandit_s_own_log_with_exploration_passes() -> None:
    rng = np.random.default_rng(2)
    n, n_arms = 600, 5
    bandit = hs.MetaBandit(dimension=3, exploration=0.2, seed=0)
    arms = rng.standard_normal((n, n_arms, 3))
    names = [f"user-{i // 30}" for i in range(n)]
    rows = []
    for name, offered in zip(names, arms, strict=True):
        of_all = bandit.propensities(name, offered)
        decision = bandit.decide(name, offered)
        value = float(offered[decision.arm_index] @ W + 0.5 * rng.standard_normal())
        bandit.reward(decision.id, value)
        rows.append((decision.arm_index, value, decision.propensity, of_all))
    choices, rewards, propensities, everything = (list(each) for each in zip(*rows, strict=True))
    logged = LoggedDecisions(
        tasks=names,
        arms=arms,
        choices=choices,
        rewards=rewards,
        propensities=propensities,
        propensities_of_all=everything,
    )
    assert min(propensities) >= 0.2 / n_arms * (1 - 1e-9)
    found = evaluate_logged(knowing(), logged)
    assert found.overlap == pytest.approx(1.0)
    truth = float((arms @ W).max(1).mean())
    for estimate in (found.inverse_propensity, found.self_normalised, found.doubly_robust):
        assert abs(estimate.mean - truth) < 4 * estimate.error
    text = str(found)
    assert "600 rounds, an effective" in text
    assert "overlap 1" in text


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
        {"arms": np.ones(3)},
        {"ids": ["only one"]},
        {"propensities_of_all": [[0.5, 0.4]]},
        {"propensities_of_all": [[0.4, 0.6]]},
        {"propensities_of_all": [[1.5, -0.5]]},
        {"propensities_of_all": [[0.5, 0.25, 0.25]]},
    ):
        with pytest.raises(ValueError, match="must"):
            LoggedDecisions(**{**settings, **change})


def test_rounds_with_another_number_of_arms_are_named() -> None:
    arms = [np.ones((3, 2))] * 7 + [np.ones((5, 2))]
    for given in (arms, tuple(each.tolist() for each in arms), np.array(arms, dtype=object)):
        with pytest.raises(
            ValueError,
            match="same number of arms in every round, got 3 and 5 in rounds 0 and 7",
        ):
            LoggedDecisions(
                tasks=["a"] * 8,
                arms=given,
                choices=[0] * 8,
                rewards=[1.0] * 8,
                propensities=[0.5] * 8,
            )
