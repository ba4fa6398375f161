"""The four figures of a diagnosis."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from headstart.diagnosis.diagnosis import Diagnosis
from headstart.plotting import style as plots

_GREY = "#7F7F7F"

_SET_STYLES: dict[str, dict[str, Any]] = {
    "Theorem 1": {"color": "black", "linestyle": "-", "linewidth": 1.0},
    "fixed bias": {"color": _GREY, "linestyle": (0, (3, 1.5)), "linewidth": 1.0},
}


def plot(diagnosis: Diagnosis, folder: Path) -> None:
    """Regret and error in one file, misalignment and coverage in another."""
    size: dict[str, Any] = {"columns": 2, "height": 2.9, "legend": True}
    with plots.figure(folder / "regret-and-error.png", **size) as (left, right):
        plot_regret(left, diagnosis)
        plot_error(right, diagnosis)
    with plots.figure(folder / "alignment-and-coverage.png", **size) as (left, right):
        plot_alignment(left, diagnosis)
        plot_coverage(right, diagnosis)


def plot_regret(axes: Axes, diagnosis: Diagnosis) -> None:
    """Cumulative regret on late tasks and Lemma 2's bound, on a logarithmic scale."""
    horizon, regret = diagnosis.recording.horizon, diagnosis.regret
    rounds = np.arange(1, horizon + 1)
    for i, name in enumerate(diagnosis.learners.names):
        style = plots.style(name, i)
        axes.plot(rounds, np.maximum(regret.cumulative(name), 1e-3), label=name, **style)
        bounds = [regret.bound(name, int(t)) for t in rounds]
        totals = [bound.total for bound in bounds if bound is not None]
        if totals:
            axes.plot(rounds, totals, color=style["color"], linewidth=0.8, alpha=0.7)
    trivial = regret.trivial_bound * rounds / horizon
    axes.plot(rounds, trivial, color="black", linestyle=(0, (1, 1.5)), linewidth=1.0)
    axes.annotate(
        "2B per round",
        (rounds[-1], trivial[-1]),
        (-2, -14),
        textcoords="offset points",
        ha="right",
    )
    axes.set_yscale("log")
    axes.set_xlim(1, rounds[-1])
    axes.set_xlabel("round")
    axes.set_ylabel("cumulative regret (units of reward)")
    axes.set_title("Regret (thick) and Lemma 2's bound (thin)")


def plot_error(axes: Axes, diagnosis: Diagnosis) -> None:
    """ε_N against the number of completed tasks, and that of tasks known exactly."""
    learners, n_tasks = diagnosis.learners, diagnosis.recording.n_tasks
    completed = np.arange(n_tasks)
    # An Oracle has no error, and without a role a bias changes nothing; but the legend is also that
    # of the panel of regrets.
    shown = {*learners.from_zero, *learners.learned}
    for i, name in enumerate(learners.names):
        error = diagnosis.bias.of(name).mean(0) if name in shown else np.full(n_tasks, np.nan)
        axes.plot(completed, error, label=name, **plots.style(name, i))
    sampling = diagnosis.bias.sampling.mean(0)
    if sampling.max() > 0:
        axes.plot(
            completed[1:], sampling[:-1], color=_GREY, linewidth=1.0, label="tasks known exactly"
        )
    axes.set_yscale("log")
    axes.set_xlim(0, n_tasks - 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("completed tasks N")
    axes.set_ylabel("ε = ‖w̄ − h‖²")
    axes.set_title("Error of the bias")


def plot_alignment(axes: Axes, diagnosis: Diagnosis) -> None:
    """The mean of σ_max(V_j Ṽ⁺) for every task."""
    tasks = np.arange(1, diagnosis.recording.n_tasks + 1)
    for i, name in enumerate(diagnosis.learners.names):
        misalignment = diagnosis.alignment.misalignment(name).mean(0)
        axes.plot(tasks, misalignment, label=name, **plots.style(name, i))
    axes.axhline(1.0 / len(tasks), color=_GREY, linewidth=0.8)
    axes.annotate(
        "1/n: aligned",
        (tasks[-1], 1.0 / len(tasks)),
        (-2, 3),
        textcoords="offset points",
        ha="right",
        color=_GREY,
    )
    axes.set_ylim(bottom=0)
    axes.set_xlim(1, max(2, len(tasks)))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("task j")
    axes.set_ylabel("σ_max($V_j$ Ṽ⁺)")
    axes.set_title("Misalignment by task")


def plot_coverage(axes: Axes, diagnosis: Diagnosis) -> None:
    """The share of tasks whose parameter was outside of a confidence set, up to each round."""
    sets, names = diagnosis.confidence_sets, diagnosis.learners.names
    rounds = np.arange(diagnosis.recording.horizon + 1)
    # A share is a step function, and visible where it is 0.
    steps: dict[str, Any] = {"drawstyle": "steps-post", "clip_on": False}
    for i, name in enumerate(names):
        share = sets.share_outside(name, "as played")
        if share is not None:
            axes.plot(rounds, share, label=name, **plots.style(name, i), **steps)
    for confidence_set, style in _SET_STYLES.items():
        of_learners = [sets.share_outside(name, confidence_set) for name in names]
        shares = [share for share in of_learners if share is not None]
        if shares:
            label = f"{confidence_set}, worst learner"
            axes.plot(rounds, np.max(shares, axis=0), label=label, **style, **steps)
    delta = sets.failure_probability
    axes.axhline(delta, color="black", linestyle=(0, (1, 1.5)), linewidth=0.8)
    axes.annotate(
        f"δ = {delta:g}", (rounds[-1], delta), (-2, 3), textcoords="offset points", ha="right"
    )
    # Shares cover three orders of magnitude, and 0.
    axes.set_yscale("symlog", linthresh=0.01)
    axes.set_ylim(0, 1.3)
    axes.set_yticks([0, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
    axes.set_xlim(0, rounds[-1])
    axes.set_xlabel("round")
    axes.set_ylabel("share of tasks ever outside")
    axes.set_title("Confidence sets, of learners as played")
