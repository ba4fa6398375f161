"""The four figures of a diagnosis."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from headstart import theory
from headstart.diagnosis.diagnosis import Diagnosis
from headstart.plotting import style as plots
from headstart.plotting.curves import band

_KNOWN: dict[str, Any] = {"color": "black", "linestyle": (0, (4, 2)), "linewidth": 1.0}

_SET_STYLES: dict[str, dict[str, Any]] = {
    "Theorem 1": {"color": "black", "linestyle": "-", "linewidth": 1.0},
    "fixed bias": {"color": plots.GREY, "linestyle": (0, (3, 1.5)), "linewidth": 1.0},
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
    horizon = diagnosis.horizon
    rounds = np.arange(1, horizon + 1)
    for name in (*diagnosis.learners, *diagnosis.agents):
        band(axes, rounds, diagnosis.cumulative(name), name, _style(diagnosis, name), least=1e-3)
    every = [[diagnosis.bound(name, int(t)) for t in rounds] for name in diagnosis.learners]
    totals = [[bound.total for bound in one if bound is not None] for one in every if one[0]]
    if totals:
        # On this axis the bounds of several learners look like one line, so they are shown as a
        # range.
        ends = np.min(totals, axis=0), np.max(totals, axis=0)
        axes.fill_between(rounds, *ends, color=plots.GREY, alpha=0.35, linewidth=0)
        for end, label in zip(ends, ("Lemma 2's bounds, least to largest", None), strict=True):
            axes.plot(rounds, end, color=plots.GREY, linewidth=0.8, label=label)
    trivial = diagnosis.trivial_bound * rounds / horizon
    dots: dict[str, Any] = {"color": "black", "linestyle": (0, (1, 1.5)), "linewidth": 1.0}
    axes.plot(rounds, trivial, label="2B per round: no theorem", **dots)
    axes.set_yscale("log")
    axes.set_xlim(1, rounds[-1])
    axes.set_xlabel("round")
    axes.set_ylabel(plots.wrapped("cumulative regret (units of reward)"))
    axes.set_title("Regret and Lemma 2's bounds")


def _style(diagnosis: Diagnosis, name: str) -> Mapping[str, Any]:
    """A learner's colour and dashes, the same in all figures of its study."""
    return plots.style(name, diagnosis.study_learners)


def plot_error(axes: Axes, diagnosis: Diagnosis) -> None:
    """ε_N against the number of completed tasks, also if tasks were known exactly."""
    n_tasks = diagnosis.n_tasks
    completed = np.arange(n_tasks)
    # An Oracle has no error, and without a role a bias changes nothing; but the panel of regrets
    # shares this legend.
    with_error = {*diagnosis.from_zero, *diagnosis.learned}
    for name in diagnosis.learners:
        error = np.full((1, n_tasks), np.nan)
        if name in with_error:
            error = diagnosis.independent(diagnosis.error(name))
        band(axes, completed, error, name, _style(diagnosis, name), least=0.0)
    sampling = diagnosis.sampling_error.mean(0)
    if sampling.max() > 0:
        axes.plot(completed[1:], sampling[:-1], label="error if tasks were known exactly", **_KNOWN)
    axes.set_yscale("log")
    axes.set_xlim(0, n_tasks - 1)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("completed tasks N")
    axes.set_ylabel("ε = ‖w̄ − h‖²")
    axes.set_title("Error of the bias")


def plot_alignment(axes: Axes, diagnosis: Diagnosis) -> None:
    """The mean of σ_max(V_j Ṽ⁺) for every task."""
    tasks = np.arange(1, diagnosis.n_tasks + 1)
    for name in diagnosis.learners:
        misalignment = theory.misalignment(diagnosis.of(name, "gram"))
        band(axes, tasks, diagnosis.independent(misalignment), name, _style(diagnosis, name))
    axes.axhline(1.0 / len(tasks), color=plots.GREY, linewidth=0.8)
    axes.annotate(
        "1/n: aligned",
        (tasks[-1], 1.0 / len(tasks)),
        (-2, 3),
        textcoords="offset points",
        ha="right",
        color=plots.GREY,
    )
    axes.set_ylim(bottom=0)
    axes.set_xlim(1, max(2, len(tasks)))
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.set_xlabel("task j")
    axes.set_ylabel("σ_max($V_j$ Ṽ⁺)")
    axes.set_title("Misalignment by task")


def plot_coverage(axes: Axes, diagnosis: Diagnosis) -> None:
    """The share of tasks whose parameter was outside a confidence set, up to each round."""
    names = diagnosis.learners
    rounds = np.arange(diagnosis.horizon + 1)
    # A share is a step function, and visible at 0.
    steps: dict[str, Any] = {"drawstyle": "steps-post", "clip_on": False}
    for name in names:
        share = diagnosis.share_outside(name, "as played")
        if share is not None:
            axes.plot(rounds, share, label=name, **_style(diagnosis, name), **steps)
    for confidence_set, style in _SET_STYLES.items():
        of_learners = [diagnosis.share_outside(name, confidence_set) for name in names]
        shares = [share for share in of_learners if share is not None]
        if shares:
            label = f"{confidence_set}, worst learner"
            axes.plot(rounds, np.max(shares, axis=0), label=label, **style, **steps)
    delta = float(diagnosis.dataset.attrs["failure_probability"])
    axes.axhline(delta, color="black", linestyle=(0, (1, 1.5)), linewidth=0.8)
    axes.annotate(
        f"δ = {delta:.3g}", (rounds[-1], delta), (-2, 3), textcoords="offset points", ha="right"
    )
    # Shares cover three orders of magnitude, and 0.
    axes.set_yscale("symlog", linthresh=0.01)
    axes.set_ylim(0, 1.3)
    axes.set_yticks([0, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
    axes.set_xlim(0, rounds[-1])
    axes.set_xlabel("round")
    axes.set_ylabel("share of tasks ever outside")
    axes.set_title("Confidence sets, of learners as played")
