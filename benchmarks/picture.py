"""The figure of the page on the learned prior: what AVG and ours divide by.

Run with `python -m benchmarks.picture`.
"""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
from matplotlib.axes import Axes

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import PriorEstimator
from headstart.plotting import style as plots
from headstart.priors import Average, Hierarchical, Pooled

SEED = 4
MEAN, TASK_SCALE, NOISE = 1.0, 0.4, 0.3
SHORT, LONG = 3, 60
ESTIMATORS: dict[str, PriorEstimator] = {
    "AVG": Average(within_task=False),
    "RR": Pooled(within_task=False),
    "Hierarchical": Hierarchical(),
}


def _tasks(
    rng: np.random.Generator, horizons: Sequence[int], lead: tuple[int, ...]
) -> tuple[Floats, list[TaskStatistics]]:
    """Tasks in the plane, each observed along nearly one direction only."""
    parameters, tasks = [], []
    for horizon in horizons:
        w = MEAN + TASK_SCALE * rng.standard_normal((*lead, 2))
        angle = rng.uniform(0, np.pi, (*lead, 1)) + 0.15 * rng.standard_normal((*lead, horizon))
        x = np.stack([np.cos(angle), np.sin(angle)], -1)
        y = (x @ w[..., None])[..., 0] + NOISE * rng.standard_normal((*lead, horizon))
        parameters.append(w)
        tasks.append(TaskStatistics.from_data(x, y))
    return np.stack(parameters), tasks


def _biases(estimator: PriorEstimator, tasks: list[TaskStatistics]) -> list[Floats]:
    """The bias after every task."""
    memory, found = estimator.empty(2, tasks[0].lead), []
    for task in tasks:
        memory = estimator.absorb(memory, task)
        found.append(estimator.prior(memory).bias)
    return found


def _plane(axes: Axes) -> None:
    parameters, tasks = _tasks(np.random.default_rng(SEED), [SHORT] * 12, ())
    zero = Prior.zero(2, regularization=1.0)
    ridges = np.stack([RidgeEstimate(task, zero).parameter for task in tasks])
    for w, ridge in zip(parameters, ridges, strict=True):
        axes.plot(*np.stack([w, ridge]).T, color="#BBBBBB", linewidth=0.7, zorder=1)
    one, two = parameters.T
    axes.scatter(one, two, s=10, color="#555555", label="tasks, unseen")
    one, two = ridges.T
    axes.scatter(one, two, s=14, marker="x", linewidth=0.8, color="#999999", label="their ridges")
    axes.scatter(MEAN, MEAN, s=90, marker="*", color="black", label="mean task", zorder=3)
    for name in ("AVG", "Hierarchical"):
        one, two = _biases(ESTIMATORS[name], tasks)[-1]
        axes.scatter(one, two, s=45, marker="D", color=_color(name), label=name, zorder=4)
    axes.set_title("sum of ridges, divided")
    axes.set_xlabel("first feature's weight")
    axes.set_ylabel("second feature's weight")
    axes.set_xlim(-0.6, 1.8)
    axes.set_ylim(-0.6, 1.8)


def _errors(axes: Axes) -> None:
    _, tasks = _tasks(np.random.default_rng(SEED + 1), ([SHORT] * 4 + [LONG]) * 20, (300,))
    number = np.arange(1, len(tasks) + 1)
    for name, estimator in ESTIMATORS.items():
        errors = [((bias - MEAN) ** 2).sum(-1).mean() for bias in _biases(estimator, tasks)]
        axes.loglog(number, errors, label=name, **plots.style(name, list(ESTIMATORS)))
    axes.set_title("error, every fifth task twenty times as long")
    axes.set_xlabel("completed tasks")
    axes.set_ylabel("‖h − w̄‖², 300 runs")


def _color(name: str) -> str:
    return str(plots.style(name, list(ESTIMATORS))["color"])


def main() -> None:
    """Write the figure."""
    path = Path(__file__).parent.parent / "docs" / "figures" / "hierarchical.png"
    with plots.figure(path, columns=2, height=3.0, legend=True) as (left, right):
        _plane(left)
        _errors(right)


if __name__ == "__main__":
    main()
