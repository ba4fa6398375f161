"""
Directions along which tasks differ
===================================

Tasks of twelve features differ along two directions. The learned prior finds how many there are and
which: left the true covariance of tasks, right the one learned from 100 tasks.
"""

import matplotlib.pyplot as plt
import numpy as np

import headstart as hs
from headstart import plotting

rng, d = np.random.default_rng(0), 12
loadings = np.zeros((d, 2))
loadings[:4, 0], loadings[6:9, 1] = 0.8, (0.7, -0.7, 0.7)
prior = hs.priors.Hierarchical()
memory = prior.empty(d)
for _ in range(100):
    x, w = rng.normal(size=(30, d)), 0.5 + loadings @ rng.normal(size=2) + rng.normal(0, 0.1, d)
    memory = prior.absorb(memory, hs.TaskStatistics.from_data(x, x @ w + rng.normal(size=30)))
learned = prior.directions(memory).loadings
with plotting.settings():
    figure, panels = plt.subplots(1, 2, figsize=(6.4, 3), layout="constrained")
    for axes, found, title in zip(panels, (loadings, learned), ("true", "learned"), strict=True):
        image = axes.imshow(found @ found.T, cmap="RdBu_r", vmin=-0.7, vmax=0.7)
        axes.set(title=title, xlabel="feature", xticks=range(0, d, 2), yticks=range(0, d, 2))
        axes.grid(False)
    panels[0].set_ylabel("feature")
    figure.colorbar(image, ax=panels, label="covariance of tasks", shrink=0.8)
