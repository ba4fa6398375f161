"""Against an adversary stochastic learners have linear regret, and LinEXP3 has not."""

from typing import Literal

import numpy as np
import pytest

import headstart as hs
from headstart import testing
from headstart.arrays import Floats
from headstart.environments import BeliefAdversary, NonStochastic
from headstart.simulation import Agent

pytestmark = pytest.mark.slow

Adversary = Literal["switching", "reacting"]
NOISE = 0.1
# Developed on seeds below 100.
SEED, HORIZON, REPLICATIONS = 1000, 300, 16


def _stochastic() -> list[Agent]:
    named = hs.learners
    policy = hs.policies.OFUL(noise_scale=NOISE, failure_probability=0.01)
    return [
        named.itl(policy=policy),
        named.avg_oful(policy=policy),
        named.rr_oful(policy=policy),
        named.lin_ts(noise_variance=NOISE**2),
        named.meta_ts(noise_variance=NOISE**2),
        named.ada_ts(noise_variance=NOISE**2),
        named.hier_bayes_ucb(noise_variance=NOISE**2),
        named.headstart(),
    ]


def _regrets(adversary: Adversary, horizon: int) -> dict[str, float]:
    """Mean regret of one task, the first, by learner."""
    results = hs.simulate(
        NonStochastic(adversary=adversary),
        [*_stochastic(), hs.learners.lin_exp3(n_tasks=1)],
        n_tasks=1,
        horizon=horizon,
        replications=REPLICATIONS,
        seed=SEED,
    )
    means = results.regret.sum("round").mean(["replication", "task"])
    return {str(name): float(means.sel(learner=name)) for name in results["learner"].to_numpy()}


@pytest.mark.parametrize("adversary", ["switching", "reacting"])
def test_stochastic_learners_have_linear_regret_and_lin_exp3_has_not(
    adversary: Adversary,
) -> None:
    one, two, four = (_regrets(adversary, n * HORIZON) for n in (1, 2, 4))
    robust = "LinEXP3"
    # From T to 4T, linear growth is a factor of 4 and √T one of 2: 3 is between them.
    assert four[robust] < 3.0 * one[robust]
    for name in one:
        if name != robust:
            assert four[name] > 3.0 * one[name], name
            # Half a unit per round, where the comparator earns about 0.8, at every horizon.
            for n, regrets in ((1, one), (2, two), (4, four)):
                assert regrets[name] > 0.5 * n * HORIZON, name
            assert four[name] > 3.0 * four[robust], name


def test_a_learned_start_saves_regret_in_later_tasks() -> None:
    found = hs.simulate(
        NonStochastic(),
        [hs.learners.lin_exp3(n_tasks=5), hs.learners.meta_lin_exp3(n_tasks=5)],
        n_tasks=5,
        horizon=HORIZON,
        replications=REPLICATIONS,
        seed=SEED,
    ).regret.sum("round")
    later = found.sel(task=slice(2, 5)).mean(["replication", "task"])
    assert later.sel(learner="Meta-LinEXP3") < later.sel(learner="LinEXP3")


def test_the_switch_by_hand() -> None:
    task = NonStochastic(dimension=3, share=0.3, spread=0.0, noise_scale=0.0).sample(
        10, 2, np.random.default_rng(0)
    )
    axes = task.arms.argmax(-1)
    assert (task.arms.sum(-1) == 1.0).all()
    assert (np.sort(axes, -1) == [0, 1, 2]).all()
    late = (np.arange(10) >= 3)[:, None]
    expected = np.where(axes == 0, 0.0, np.where(late, 1.0, -1.0))
    np.testing.assert_array_equal(task.means, expected)
    np.testing.assert_array_equal(task.rewards, expected)
    np.testing.assert_array_equal(task.comparator, [[0.0, 4.0, 4.0]] * 2)


def _played(features: Floats, rewards: Floats) -> hs.TaskStatistics:
    return hs.TaskStatistics.from_data(features[None], rewards[None])


def test_the_belief_adversary_by_hand() -> None:
    adversary = BeliefAdversary(size=2.0, margin=0.5)
    nothing = hs.TaskStatistics.zeros(3, (1,))
    np.testing.assert_array_equal(adversary.parameter(nothing), [[0.0, 2.0, 2.0]])
    # The second axis paid 2 once: (2 − 1)/(1 + 1) = 0.5 is not 0.5 below 0, the third is still.
    once = _played(np.array([[0.0, 1.0, 0.0]]), np.array([2.0]))
    np.testing.assert_array_equal(adversary.parameter(once), [[0.0, -2.0, 2.0]])
    # It then paid −2, twice: (2 − 4 − 1)/(3 + 1) = −0.75 is.
    thrice = _played(np.tile([0.0, 1.0, 0.0], (3, 1)), np.array([2.0, -2.0, -2.0]))
    np.testing.assert_array_equal(adversary.parameter(thrice), [[0.0, 2.0, 2.0]])


@pytest.mark.parametrize(
    "law",
    [
        testing.same_seed_same_numbers,
        testing.chunks_and_threads_change_nothing,
        testing.other_agents_change_nothing,
    ],
    ids=lambda law: law.__name__,
)
@pytest.mark.parametrize(
    "agent", [hs.learners.lin_exp3(), hs.learners.headstart()], ids=["exp3", "ours"]
)
def test_a_reacting_adversary_keeps_comparisons_reproducible(
    agent: Agent, law: testing.Law
) -> None:
    law(agent, NonStochastic(adversary="reacting"))


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"adversary": "none"}, "adversary must be one of reacting, switching, got 'none'"),
        ({"dimension": 1}, "dimension must be an integer of at least 2, got 1"),
        ({"margin": 1.0}, "margin must be above 0 and below size, got 1.0"),
        ({"spread": 1.0}, "spread must be at least 0 and below 1, got 1.0"),
        ({"share": 0.0}, "share must be strictly between 0 and 1"),
        ({"size": float("inf")}, "size must be a finite number above 0"),
    ],
)
def test_settings_are_checked(settings: dict[str, object], words: str) -> None:
    with pytest.raises(ValueError, match=words):
        NonStochastic(**settings)  # type: ignore[arg-type]
