"""
A study
=======

An experiment as data: three learners over a grid of λ, tested after 1 to 30 completed tasks. Played
in shards, it resumes after an interruption, and extending it plays only what is new.
"""

from pathlib import Path
from tempfile import mkdtemp

import matplotlib.pyplot as plt

from headstart import plotting, studies

study = studies.from_toml("""
name = "small"
environment = {class = "Synthetic", reward = "linear"}
learners = [
  {name = "ITL", policy.class = "OFUL", prior = {class = "Fixed", regularization = "@regularization"}},
  {name = "AVG", policy.class = "OFUL", prior = {class = "Average", regularization = "@regularization"}},
  {name = "RR", policy.class = "OFUL", prior = {class = "Pooled", regularization = "@regularization"}},
]
horizon = 50
protocol = "train-then-test"
training_tasks = [1, 3, 10, 30]
regularization = [0.1, 1.0, 10.0]
replications = 40
test_tasks = 2
""")  # noqa: E501
results = studies.run(study, Path(mkdtemp()), workers=1)
totals = results.regret.sum(["task", "round"])
with plotting.settings():
    _, (left, right) = plt.subplots(1, 2, figsize=(7.6, 3), layout="constrained")
    plotting.plot(left, totals.sel(trained=30), "regularization", label="regret of 50 rounds")
    left.legend(title="after 30 tasks")
    at_one = totals.sel(regularization=1.0)
    plotting.plot(right, at_one, "trained", label="regret minus ITL's, λ = 1", reference="ITL")
