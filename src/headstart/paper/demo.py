"""The paper's synthetic comparison in seconds."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from headstart.environments import Synthetic
from headstart.intervals import Interval, interval
from headstart.paper.learners import paper_learners
from headstart.plotting.curves import plot_cumulative
from headstart.plotting.style import figure
from headstart.policies import OFUL
from headstart.progress import Progress
from headstart.simulation import evaluate

HORIZON = 50
TRAINING_TASKS = 10

# The paper's environment under its two rewards: the 0/1 reward of its plots, of noise scale ½,
# and the linear reward of its theory.
SETTINGS = {
    "winner": (Synthetic(reward="winner"), OFUL(noise_scale=0.5, failure_probability=1 / HORIZON)),
    "linear": (Synthetic(reward="linear"), OFUL(noise_scale=1.0, failure_probability=1 / HORIZON)),
}


@dataclass(frozen=True)
class LearnerTotals:
    """One learner's reward and regret over a test task."""

    learner: str
    reward: Interval
    regret: Interval


def play_demo(
    *, replications: int, seed: int, progress: Callable[[str], Progress] | None = None
) -> dict[str, xr.Dataset]:
    """Ten training tasks, then ten test tasks each from the same memory, for both rewards."""
    results = {}
    for name, (environment, policy) in SETTINGS.items():
        results[name] = evaluate(
            environment,
            paper_learners(policy=policy, mean_parameter=environment.mean_parameter),
            n_training_tasks=[TRAINING_TASKS],
            n_test_tasks=10,
            horizon=HORIZON,
            replications=replications,
            seed=seed,
            progress=None if progress is None else progress(name),
        ).sel(trained=TRAINING_TASKS)
    return results


def learner_totals(results: xr.Dataset) -> Iterator[LearnerTotals]:
    """The totals of every learner over a test task."""
    totals = results[["reward", "regret"]].sum("round").mean("task")
    for name in results["learner"].to_numpy():
        of = totals.sel(learner=name)
        yield LearnerTotals(
            learner=str(name),
            reward=interval(of["reward"].to_numpy()),
            regret=interval(of["regret"].to_numpy()),
        )


def plot_demo(results: dict[str, xr.Dataset], path: Path) -> None:
    """Cumulative reward as in the paper's Figure 1, and cumulative regret under its theory."""
    panels = (
        ("winner", "reward", "0/1 reward to the winner"),
        ("linear", "regret", "linear reward"),
    )
    with figure(path, columns=2) as axes:
        for axis, (setting, variable, title) in zip(axes, panels, strict=True):
            values = results[setting][variable].mean("task").expand_dims("task")
            plot_cumulative(axis, values, label=f"cumulative {variable}")
            axis.set_title(title)
        axes[0].legend(loc="upper left")
