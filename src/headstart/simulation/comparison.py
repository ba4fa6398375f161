"""Simulated comparisons: many agents, the same tasks, thousands of replications."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from headstart import checks
from headstart.arrays import Integers
from headstart.habits import hints
from headstart.interfaces import Environment
from headstart.progress import Progress
from headstart.simulation.agent import Agents
from headstart.simulation.results import Results
from headstart.simulation.run import Run


@hints()
def simulate(
    environment: Environment,
    agents: Agents,
    n_tasks: int,
    horizon: int,
    *,
    replications: int = 1,
    seed: int | np.random.Generator | None = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """Play tasks one after another; every agent carries its state from one to the next.

    All agents play the same arms with the same noise. An agent's own random numbers depend on the
    seed and on its name alone, so that adding or removing an agent changes no other's results.

    Parameters
    ----------
    environment : Environment
        Where tasks come from.
    agents : Agent, sequence of Agent, mapping of str to Agent, or callable
        The agents to compare: one or several, or a function that makes them from the prepared
        environment.
    n_tasks : int
        The number of tasks.
    horizon : int
        The number of rounds of a task, T.
    replications : int, default 1
        The number of independent repetitions, R.
    seed : int, numpy.random.Generator or None, default 0
        The seed; a generator draws one, and None takes a fresh one. The results keep it as their
        attribute `seed`.
    workers : int, optional
        The number of threads, one per core by default. The results do not depend on it.
    progress : callable, optional
        Called with how much is done, and with the total.

    Returns
    -------
    Results
        An `xarray.Dataset` with choice, reward and regret over (learner, replication, task, round).

    Examples
    --------
    >>> results = hs.simulate(
    ...     hs.environments.Synthetic(reward="linear"),
    ...     [hs.learners.itl(regularization=1.0), hs.learners.headstart()],
    ...     n_tasks=5,
    ...     horizon=20,
    ...     replications=10,
    ... )
    >>> dict(results.regret.sizes)
    {'learner': 2, 'replication': 10, 'task': 5, 'round': 20}
    >>> regret = results.regret.sum("round").mean("replication").sel(task=5)
    >>> bool(regret.sel(learner="headstart") < regret.sel(learner="ITL"))
    True
    """
    n = checks.count("n_tasks", n_tasks)
    run = Run(
        environment,
        agents,
        horizon=horizon,
        replications=replications,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    return run.sequence(n).isel(trained=0)


@hints()
def evaluate(
    environment: Environment,
    agents: Agents,
    *,
    n_training_tasks: int | Sequence[int] | Integers = 10,
    n_test_tasks: int = 10,
    horizon: int,
    replications: int = 1,
    seed: int | np.random.Generator | None = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> Results:
    """The paper's protocol: train on N tasks, then play M test tasks, each from the same state.

    The test tasks are the same at every N, no test task learns from another, and the numbers at
    one N do not depend on the others.

    Parameters
    ----------
    environment, agents
        As for `simulate`.
    n_training_tasks : int or sequence of int, default 10
        N, one or several.
    n_test_tasks : int, default 10
        M.
    horizon : int
        The number of rounds of a task, T.
    replications, seed, workers, progress
        As for `simulate`.

    Returns
    -------
    Results
        An `xarray.Dataset` with choice, reward and regret of the test tasks over (learner, trained,
        replication, task, round): `trained` holds each N, and tasks are numbered 1…M.

    Examples
    --------
    >>> results = hs.evaluate(
    ...     hs.environments.Synthetic(reward="linear"),
    ...     [hs.learners.avg_oful(regularization=1.0)],
    ...     n_training_tasks=[0, 5],
    ...     n_test_tasks=2,
    ...     horizon=20,
    ...     replications=10,
    ... )
    >>> regret = results.regret.sum("round").mean(["replication", "task"])
    >>> bool(regret.sel(trained=5) < regret.sel(trained=0))
    True
    """
    given = np.ravel(n_training_tasks).tolist()
    sizes = [checks.count("n_training_tasks", n, least=0) for n in given]
    if len(set(sizes)) < max(len(sizes), 1):
        raise ValueError(f"n_training_tasks must be one or more different numbers, got {sizes}")
    m = checks.count("n_test_tasks", n_test_tasks)
    run = Run(
        environment,
        agents,
        horizon=horizon,
        replications=replications,
        seed=seed,
        workers=workers,
        progress=progress,
    )
    return run.tests(sizes, m).assign_coords(trained=sizes)
