"""The paper's synthetic comparison in seconds: what a first visitor sees."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import xarray as xr

from headstart.environments import Synthetic
from headstart.paper.learners import paper_learners
from headstart.plotting import style as plots
from headstart.policies import OFUL
from headstart.simulation import Progress, evaluate

HORIZON = 50

# The paper's environment under its two readings: the 0/1 reward of its plots, of noise scale ½,
# and the linear reward of its theory.
SETTINGS = {
    "winner": (Synthetic(reward="winner"), OFUL(noise_scale=0.5, failure_probability=1 / HORIZON)),
    "linear": (Synthetic(reward="linear"), OFUL(noise_scale=1.0, failure_probability=1 / HORIZON)),
}


@dataclass(frozen=True)
class Row:
    """One learner's totals over a test task: means over replications, with standard errors."""

    learner: str
    reward: float
    reward_error: float
    regret: float
    regret_error: float


def play(
    *, replications: int, seed: int, progress: Callable[[str], Progress] | None = None
) -> dict[str, xr.Dataset]:
    """Ten training tasks, then ten test tasks each from the same memory, for both rewards."""
    results = {}
    for name, (environment, policy) in SETTINGS.items():
        results[name] = evaluate(
            environment,
            paper_learners(policy=policy, mean_parameter=environment.mean_parameter),
            n_training_tasks=10,
            n_test_tasks=10,
            horizon=HORIZON,
            replications=replications,
            seed=seed,
            progress=None if progress is None else progress(name),
        ).sel(trained=10)
    return results


def table(results: xr.Dataset) -> Iterator[Row]:
    """The totals of every learner over a test task."""
    totals = results[["reward", "regret"]].sum("round").mean("task")
    mean = totals.mean("replication")
    error = totals.std("replication", ddof=1) / np.sqrt(totals.sizes["replication"])
    for name in results["learner"].to_numpy():
        at, off = mean.sel(learner=name), error.sel(learner=name)
        yield Row(
            learner=str(name),
            reward=float(at["reward"]),
            reward_error=float(off["reward"]),
            regret=float(at["regret"]),
            regret_error=float(off["regret"]),
        )


def draw(results: dict[str, xr.Dataset], path: Path) -> None:
    """Cumulative reward as in the paper's Figure 1, and cumulative regret under its theory."""
    with plots.figure(path, columns=2) as (left, right):
        plots.cumulative(left, results["winner"]["reward"].mean("task"), label="cumulative reward")
        left.set_title("0/1 reward to the winner")
        left.legend(loc="upper left")
        plots.cumulative(right, results["linear"]["regret"].mean("task"), label="cumulative regret")
        right.set_title("linear reward")
