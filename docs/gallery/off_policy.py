"""
What another policy would have earned
=====================================

A log of random choices for 200 users is enough to estimate the reward per round of bandits that
never ran. Dots with 95 % intervals are doubly robust estimates. A bandit learns only from rounds in
which the log chose as it would have; crosses show what it earned when it did run for as many
rounds.
"""

import matplotlib.pyplot as plt
import numpy as np

import headstart as hs
from headstart import plotting

rng, n = np.random.default_rng(0), 2000
users, arms, choices = np.arange(n) // 10, rng.normal(size=(n, 4, 3)), rng.integers(4, size=n)
tastes = rng.normal([0.6, -0.4, 0.3], 0.2, size=(200, 3))[users]
pays = (arms @ tastes[..., None])[..., 0] + rng.normal(0, 0.3, size=(n, 4))
seen = {"rewards": pays[np.arange(n), choices], "propensities": np.full(n, 0.25)}
log = hs.LoggedDecisions(tasks=users.tolist(), arms=arms, choices=choices, **seen)
kinds = {
    "random": {"policy": hs.policies.Uniform()},
    "from zero": {"prior": hs.priors.Fixed.zero()},
}
kinds |= {"warm, greedy": {"policy": hs.policies.Greedy()}, "warm": {}}
with plotting.settings():
    _, axes = plt.subplots(figsize=(5.2, 2.6), layout="constrained")
    for i, settings in enumerate(kinds.values()):
        logged, live = (hs.MetaBandit(dimension=3, seed=0, **settings) for _ in range(2))
        found, earned = hs.evaluate_logged(logged, log), []
        value = found.doubly_robust
        axes.errorbar(value.mean, i, xerr=value.high - value.mean, fmt="o", color="#0072B2")
        for t in np.flatnonzero(found.accepted):
            decision = live.decide(int(users[t]), arms[t])
            earned.append(pays[t, decision.arm_index])
            live.reward(decision.id, earned[-1])
        axes.plot(np.mean(earned), i, "x", color="#D55E00")
    axes.set(yticks=range(4), yticklabels=kinds, xlabel="reward per round", ylim=(-0.5, 3.5))
