"""
A warm start against a cold one
===============================

Regret of a new task, from zero (ITL) and from a prior learned on earlier tasks: by round after
20 of them, and in total against the number of them. Bands are 95 % intervals over 100
replications.
"""

import matplotlib.pyplot as plt

import headstart as hs
from headstart import plotting

results = hs.evaluate(
    hs.environments.Synthetic(reward="linear"),
    [hs.learners.itl(regularization=1.0), hs.learners.ours()],
    n_training_tasks=[0, 1, 2, 5, 10, 20],
    n_test_tasks=1,
    horizon=50,
    replications=100,
)
totals = results.regret.sum(["task", "round"])
with plotting.settings():
    _, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3), layout="constrained")
    plotting.plot_cumulative(left, results.regret.sel(trained=20), label="cumulative regret")
    plotting.plot_against_tasks(right, totals, label="regret of 50 rounds")
    left.set(yscale="linear", ylim=(0, None))
    left.legend()
