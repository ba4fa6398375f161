"""Compiling: what requests need is compiled, or read from the cache, before the first of them."""

import numpy as np

from headstart.live.stored import StoredMemory, StoredTask, StoredTasks, decision_set, recount
from headstart.service.engine.configuration import model_of
from headstart.service.messages import BanditConfiguration


def compile_kernels() -> None:
    """Decide, learn and compute a prior, for tasks of two features."""
    model = model_of(BanditConfiguration(dimension=2), lambda: 0.0)
    rows = StoredTasks(model)
    arms = decision_set({"a": [1.0, 0.0], "b": [0.0, 1.0]}, model.feature_names)
    for task in range(2):
        rows.open(task)
    rows.choose([0, 1], [arms, arms])
    rows.choose_ranked(0, arms, 2)
    for reward in range(4):
        rows.learn(0, np.array([1.0, 0.0]), float(reward), 1.0)
    rows.load(0, rows.state(0))
    states = [StoredTask(task=task, state=rows.state(0), contribution=None) for task in range(3)]
    memory = recount(model, StoredMemory.empty(model), states).memory
    rows.install(memory)
    rows.open(2)
