"""
Tastes that change
==================

The mean task moves around a circle while 300 users come. A prior that remembers all of them lags
behind; with a half-life of 20 users it follows. The figure shows how far the learned mean is from
the true one.
"""

import matplotlib.pyplot as plt
import numpy as np

import headstart as hs
from headstart import plotting

users = np.arange(300)
angle = 2 * np.pi * users / 300
means = 1.5 * np.stack([np.cos(angle), np.sin(angle), 0.5 * np.ones(300)], axis=-1)
errors = {}
for name, half_life in {"remembers everything": None, "half-life of 20 users": 20.0}.items():
    rng = np.random.default_rng(0)
    prior = hs.priors.Hierarchical(covariance="isotropic")
    errors[name] = []
    given = {"half_life_seconds": half_life, "clock": errors[name].__len__}  # a user per second
    bandit = hs.MetaBandit(dimension=3, prior=prior, seed=0, **given)
    for user, mean in enumerate(means):
        w = rng.normal(mean, 0.2)
        for x in rng.normal(size=(10, 3)):
            bandit.observe(user, x, x @ w + rng.normal())
        bandit.finish(user)
        errors[name].append(np.linalg.norm(bandit.learned().mean - mean))
with plotting.settings():
    _, axes = plt.subplots(figsize=(5.6, 3), layout="constrained")
    for i, (name, values) in enumerate(errors.items()):
        axes.plot(users[5:], values[5:], label=name, color=("#CC79A7", "#0072B2")[i])
    axes.set(
        xlabel="users so far", ylabel="error of the learned mean", xlim=(0, 300), ylim=(0, None)
    )
    axes.legend()
