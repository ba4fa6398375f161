"""Compare the paper's learners and headstart's on the same tasks, with a figure."""

from pathlib import Path

import headstart as hs
from headstart import plotting

learners = [
    hs.learners.itl(regularization=1.0),
    hs.learners.rr_oful(regularization=1.0),
    hs.learners.avg_oful(regularization=1.0),
    hs.learners.headstart(),
]
world = hs.environments.Synthetic(reward="linear")
results = hs.simulate(world, learners, n_tasks=10, horizon=50, replications=50, seed=0)
print(results.regret.sum("round").mean("replication").sel(task=10).to_series().round(2))

with plotting.figure(Path("regret.png"), legend=True) as (axes,):
    plotting.plot(axes, results.regret, "task", label="regret per task")
