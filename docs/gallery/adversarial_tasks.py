"""
Tasks against an adversary
==========================

The adversary pays for arms that the agent believes to be bad. A learned prior explores little: it
stops playing arms that look bad, and its regret grows linearly. OFUL's wider intervals and
exponential weights keep playing them. No prior is best for every kind of task.
"""

import matplotlib.pyplot as plt

import headstart as hs
from headstart import plotting

agents = [
    hs.learners.headstart(),
    hs.learners.itl(regularization=1.0),
    hs.learners.lin_exp3(),
    hs.learners.meta_lin_exp3(),
]
environment = hs.environments.NonStochastic(adversary="reacting")
results = hs.simulate(environment, agents, n_tasks=3, horizon=500, replications=20)
with plotting.settings():
    _, axes = plt.subplots(figsize=(5.6, 3.2), layout="constrained")
    plotting.plot(axes, results.regret, "round", label="cumulative regret")
    axes.legend()
