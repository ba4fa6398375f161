r"""
When a warm start helps
=======================

Tasks around a mean of length 4.5, closer together or farther apart. A warm start saves most
where their variance :math:`\mathbb{E}\|w - \bar w\|^2` is small. The learned prior notices by
itself how much to rely on the mean.
"""

import matplotlib.pyplot as plt
import numpy as np

import headstart as hs
from headstart import plotting
from headstart.plotting.curves import half_width
from headstart.plotting.style import style

variances, agents = np.logspace(-2, 3, 6), [hs.learners.itl(regularization=1.0)]
agents += [
    hs.learners.oracle(mean_parameter=np.ones(20), regularization=1.0),
    hs.learners.headstart(),
]
found = {agent.name: [] for agent in agents}
for variance in variances:
    tasks = hs.environments.Gaussian(variance=variance)
    environment = hs.environments.Synthetic(reward="linear", tasks=tasks)
    results = hs.evaluate(environment, agents, n_test_tasks=1, horizon=50, replications=40)
    regret = results.regret.sel(trained=10).sum(["task", "round"])
    for name, values in found.items():
        of_one = regret.sel(learner=name)
        values.append((float(of_one.mean()), float(half_width(of_one.to_numpy()))))
with plotting.settings():
    _, axes = plt.subplots(figsize=(5.2, 3.2), layout="constrained")
    for name, values in found.items():
        middle, half = np.array(values).T
        axes.errorbar(variances, middle, half, label=name, **style(name, list(found)))
    axes.set(xscale="log", yscale="log", xlabel="variance of tasks", ylabel="regret of 50 rounds")
    axes.legend()
