"""
Calibration
===========

How often an interval of an arm's mean reward contains the true mean, against how often it should:
above the diagonal intervals are too wide, below it too narrow. After 20 tasks, in round 10 of a new
one.
"""

import matplotlib.pyplot as plt
import numpy as np
from scipy.stats import norm

import headstart as hs
from headstart import plotting
from headstart.plotting.style import style

rng, levels = np.random.default_rng(0), np.linspace(0.02, 0.98, 25)[:, None, None]
priors = {"Hierarchical": hs.priors.Hierarchical(), "RR-OFUL": hs.priors.Pooled()}
priors |= {"AVG-OFUL": hs.priors.Average(), "one model for all": hs.priors.SingleModel()}
w = rng.normal(1.0, 0.5, size=(21, 200, 5))  # 20 completed tasks and a new one, 200 replications
x = rng.normal(size=(21, 200, 20, 5)) / 2
y = (x @ w[..., None])[..., 0] + rng.normal(size=(21, 200, 20))
new = hs.TaskStatistics.from_data(x[20, :, :10], y[20, :, :10])
arms = rng.normal(size=(200, 9, 5))
with plotting.settings():
    _, axes = plt.subplots(figsize=(4.2, 3.6), layout="constrained")
    axes.plot([0, 1], [0, 1], color="black", linewidth=0.8)
    for name, prior in priors.items():
        memory = prior.empty(5, (200,))
        for j in range(20):
            memory = prior.absorb(memory, hs.TaskStatistics.from_data(x[j], y[j]))
        estimate = hs.RidgeEstimate(new, prior.prior(memory))
        error = np.abs((arms @ w[20, ..., None])[..., 0] - estimate.predict(arms))
        z = error / (estimate.noise_scale[:, None] * estimate.widths(arms))
        inside = (z < norm.ppf((1 + levels) / 2)).mean((1, 2))
        axes.plot(levels.ravel(), inside, label=name, **style(name, list(priors)))
    axes.set(xlabel="nominal probability", ylabel="share inside", xlim=(0, 1), ylim=(0, 1))
    axes.legend()
