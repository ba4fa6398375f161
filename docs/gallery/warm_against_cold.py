"""
Warm against cold
=================

Regret with and without a prior learned from earlier tasks.
"""

import matplotlib.pyplot as plt

import headstart as hs
from headstart import plotting

results = hs.evaluate(
    hs.environments.Synthetic(reward="linear"),
    [hs.learners.itl(regularization=1.0), hs.learners.ours()],
    n_training_tasks=10,
    n_test_tasks=1,
    horizon=50,
    replications=100,
)
with plotting.settings():
    _, axes = plt.subplots(figsize=(5, 3.2), layout="constrained")
    plotting.plot_cumulative(axes, results.regret.sel(trained=10), label="cumulative regret")
    axes.legend()
