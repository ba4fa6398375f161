"""Two thousand features: the same algebra, in memory that a service has."""

import numpy as np
from tests.live.state import sizes

import headstart as hs


def test_two_thousand_features() -> None:
    """From zero with λ = 1, after one reward y of x: ŵ = xy/(1 + ‖x‖²), A = I − xxᵀ/(1 + ‖x‖²)."""
    d = 2000
    rng = np.random.default_rng(0)
    arms = rng.standard_normal((3, d)) / np.sqrt(d)
    policy = hs.policies.BayesUCB(z=1.0, noise_scale=1.0)
    bandit = hs.MetaBandit(dimension=d, policy=policy, prior=hs.priors.Fixed.zero(), seed=0)
    decision = bandit.decide("user", arms)
    x = arms[decision.arm_index]
    bandit.reward(decision.id, 2.0)
    gain = 1.0 + x @ x
    means = arms @ x * 2.0 / gain
    widths = np.sqrt((arms**2).sum(1) - (arms @ x) ** 2 / gain)
    ways = (
        bandit.decide("user", arms).scores,
        bandit.decide("user", hs.Catalogue(arms)).scores,
        bandit.decide_many(["user", "other"], arms).scores[0],
    )
    for scores in ways:
        np.testing.assert_allclose(scores, means + widths, rtol=1e-12)
    last = bandit.decide("user", arms)
    found = bandit.explain(last)
    np.testing.assert_allclose(found.mean, means[last.arm_index], rtol=1e-9)
    np.testing.assert_allclose(found.width, widths[last.arm_index], rtol=1e-9)
    # Two tasks of two squares each, and no row in reserve.
    assert sizes(bandit)["rows"] < 2.1 * 2 * 8 * d**2
