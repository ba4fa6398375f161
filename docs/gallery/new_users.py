"""
New users in an application
===========================

A `MetaBandit` serves one user after another. The reward per round of the last 150 of 250 users,
by how long each has been there: with a bandit per user from zero, and with one that learns
across users.
"""

import matplotlib.pyplot as plt
import numpy as np

import headstart as hs
from headstart import plotting

fixed = hs.priors.Fixed.zero(regularization=1.0)
bandits = {
    "each user from zero": hs.MetaBandit(dimension=8, prior=fixed, seed=0),
    "learning across users": hs.MetaBandit(dimension=8, seed=0),
}
rewards, common = {}, np.random.default_rng(1).normal(0, 0.4, 8)
for name, bandit in bandits.items():
    rng, rewards[name] = np.random.default_rng(0), np.empty((250, 20))
    for user in range(250):
        w = rng.normal(common, 0.15)
        for age in range(20):
            arms, noise = rng.normal(size=(10, 8)), rng.normal(0, 0.5)
            decision = bandit.decide(user, arms)
            rewards[name][user, age] = arms[decision.arm_index] @ w + noise
            bandit.reward(decision.id, rewards[name][user, age])
        bandit.finish(user)
with plotting.settings():
    _, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
    plotting.plot_reward_by_age(axes, {name: found[100:] for name, found in rewards.items()})
    axes.legend(loc="lower right")
