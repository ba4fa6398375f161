"""
The paper's learners
====================

Ten completed tasks, then a new one, on the synthetic data of Cella, Lazaric and Pontil (2020):
left the cumulative regret, right its paired difference from ITL, which starts every task from
zero.
"""

import matplotlib.pyplot as plt
import numpy as np

import headstart as hs
from headstart import plotting

agents = [
    hs.learners.itl(regularization=1.0),
    hs.learners.avg_oful(regularization=1.0),
    hs.learners.rr_oful(regularization=1.0),
    hs.learners.oracle(mean_parameter=np.ones(20), regularization=1.0),
    hs.learners.headstart(),
]
environment = hs.environments.Synthetic(reward="linear")
results = hs.evaluate(environment, agents, n_test_tasks=1, horizon=50, replications=100)
regret = results.regret.sel(trained=10)
with plotting.settings():
    _, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3), layout="constrained")
    plotting.plot(left, regret, "round", label="cumulative regret")
    plotting.plot(right, regret, "round", label="regret minus ITL's", reference="ITL")
    left.legend()
