"""The paper's synthetic comparison in seconds."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from headstart.environments import Synthetic
from headstart.intervals import Interval, interval
from headstart.learners import headstart
from headstart.learners.oful import OPT, paper_learners
from headstart.plotting.curves import plot
from headstart.plotting.style import figure
from headstart.policies import OFUL
from headstart.progress import Progress
from headstart.simulation import evaluate

HORIZON = 50
TRAINING_TASKS = 10

# The paper's environment under its two rewards: the 0/1 reward of its plots, with noise scale ½,
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
    """Ten training tasks, then ten test tasks each from the same memory, for both rewards.

    The two rewards are played at the same time, since each uses one core at this size.
    """
    told = {name: None if progress is None else progress(name) for name in SETTINGS}

    def play(name: str) -> xr.Dataset:
        environment, policy = SETTINGS[name]
        learners = paper_learners(policy=policy, mean_parameter=environment.mean_parameter)
        return evaluate(
            environment,
            [*learners, headstart()],
            n_training_tasks=[TRAINING_TASKS],
            n_test_tasks=10,
            horizon=HORIZON,
            replications=replications,
            seed=seed,
            progress=told[name],
        ).sel(trained=TRAINING_TASKS)

    with ThreadPoolExecutor() as threads:
        return dict(zip(SETTINGS, threads.map(play, SETTINGS), strict=True))


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
    """Cumulative 0/1 reward, and cumulative regret under the theory's linear reward."""
    panels = (
        ("winner", "reward", "wins", "0/1 reward to the winner"),
        ("linear", "regret", "units of reward", "linear reward"),
    )
    with figure(path, columns=2, height=2.8, legend=True) as axes:
        for axis, (setting, variable, unit, title) in zip(axes, panels, strict=True):
            values = results[setting][variable].mean("task").expand_dims("task")
            if variable == "regret":
                values = values.drop_sel(learner=OPT)  # always 0
            plot(axis, values, "round", label=f"cumulative {variable} ({unit})")
            axis.set_title(title)
