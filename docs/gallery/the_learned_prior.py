"""
What is known of the next task
==============================

After every task the prior says where the next one will be: the mean of each coefficient, and
the interval that has 95 % of new tasks. Dotted lines show the same interval of the true
distribution.
"""

import matplotlib.pyplot as plt
import numpy as np

import headstart as hs
from headstart import plotting

rng, mean, spread = np.random.default_rng(2), np.array([1.5, 0.3, -1.0]), 0.2
prior = hs.priors.Hierarchical()
memory, found = prior.empty(3), []
for _ in range(41):
    start = prior.prior(memory)
    deviation = start.noise_scale * np.sqrt(np.diagonal(np.linalg.inv(start.regularization)))
    found.append((start.bias, deviation))
    x, w = rng.normal(size=(20, 3)), rng.normal(mean, spread)
    memory = prior.absorb(memory, hs.TaskStatistics.from_data(x, x @ w + rng.normal(size=20)))
centre, deviation = (np.array(part)[1:] for part in zip(*found, strict=True))
with plotting.settings():
    _, axes = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
    for i, colour in enumerate(("#0072B2", "#D55E00", "#009E73")):
        band = centre[:, i] + np.multiply.outer((-1.96, 1.96), deviation[:, i])
        axes.fill_between(range(1, 41), *band, color=colour, alpha=0.2, linewidth=0)
        axes.plot(range(1, 41), centre[:, i], color=colour, label=f"coefficient {i + 1}")
        axes.hlines(mean[i] + np.array([-1.96, 1.96]) * spread, 1, 40, color=colour, ls=":", lw=1)
    axes.set(
        xlabel="completed tasks", ylabel="a new task's coefficient", xlim=(1, 40), ylim=(-3.5, 4)
    )
    axes.legend(ncols=3, loc="lower center")
