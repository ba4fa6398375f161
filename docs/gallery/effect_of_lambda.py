r"""
The effect of λ
===============

The ridge :math:`\lambda` holds a task to its starting point, :math:`\hat w = (V + \lambda I)^{-1}(b
+ \lambda h)`. From zero, a large one is ruinous; from a good bias, it saves exploration.
Hierarchical learns its own, so it has one value.
"""

import matplotlib.pyplot as plt
import numpy as np
import xarray as xr

import headstart as hs
from headstart import plotting

environment, grid = hs.environments.Synthetic(reward="linear"), [0.1, 1.0, 10.0, 100.0, 1000.0]


def regret(agents):
    results = hs.evaluate(environment, agents, n_test_tasks=1, horizon=50, replications=40)
    return results.regret.sel(trained=10).sum(["task", "round"])


def learners(ridge):
    named = hs.learners.itl, hs.learners.avg_oful, hs.learners.rr_oful
    oracle = hs.learners.oracle(mean_parameter=np.ones(20), regularization=ridge)
    return [*(method(regularization=ridge) for method in named), oracle, hs.learners.headstart()]


totals = xr.concat([regret(learners(ridge)) for ridge in grid], "regularization")
with plotting.settings():
    _, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
    totals = totals.assign_coords(regularization=grid)
    plotting.plot(axes, totals, "regularization", label="regret of 50 rounds")
    axes.legend()
