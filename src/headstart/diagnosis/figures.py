"""The four figures of a diagnosis."""

from pathlib import Path
from typing import Any

import numpy as np
from matplotlib.axes import Axes

from headstart.diagnosis.diagnosis import Diagnosis
from headstart.plotting import style as plots

_GREY = "#7F7F7F"


def draw(diagnosis: Diagnosis, folder: Path) -> None:
    """Regret and error in one file, misalignment and coverage in another."""
    with plots.figure(folder / "regret-and-error.png", columns=2, width=3.9) as (left, right):
        regret(left, diagnosis)
        error(right, diagnosis)
    with plots.figure(folder / "alignment-and-coverage.png", columns=2, width=3.9) as (
        left,
        right,
    ):
        alignment(left, diagnosis)
        coverage(right, diagnosis)


def regret(axes: Axes, diagnosis: Diagnosis) -> None:
    """Cumulative regret on late tasks under Lemma 2's bound, on a logarithmic scale."""
    rounds = np.arange(1, diagnosis.horizon + 1)
    for i, name in enumerate(diagnosis.names):
        style = plots.style(name, i)
        played = diagnosis.recording["regret"].sel(learner=name).isel(task=diagnosis.late)
        total = played.mean(["replication", "task"]).cumsum("round").to_numpy()
        axes.plot(rounds, np.maximum(total, 1e-3), label=name, **style)
        bound = [diagnosis.bound(name, int(t))[0] for t in rounds]
        axes.plot(rounds, bound, color=style["color"], linewidth=0.8, alpha=0.7)
    trivial = diagnosis.trivial_bound * rounds / diagnosis.horizon
    axes.plot(rounds, trivial, color="black", linestyle=(0, (1, 1.5)), linewidth=1.0)
    axes.annotate(
        "2B a round",
        (rounds[-1], trivial[-1]),
        (-2, -14),
        textcoords="offset points",
        ha="right",
    )
    axes.set_yscale("log")
    axes.set_xlim(1, rounds[-1])
    axes.set_xlabel("round")
    axes.set_ylabel("cumulative regret")
    axes.set_title("Regret (thick) under its bound (thin)")


def error(axes: Axes, diagnosis: Diagnosis) -> None:
    """ε_N against the number of completed tasks, beside that of exactly known tasks."""
    completed = np.arange(diagnosis.n_tasks)
    for i, name in enumerate(diagnosis.names):
        if name != diagnosis.oracle:
            axes.plot(completed, diagnosis.error(name).mean(0), label=name, **plots.style(name, i))
    truth = diagnosis.sampling_error.mean(0)
    if truth.max() > 0:
        axes.plot(
            completed[1:], truth[:-1], color=_GREY, linewidth=1.0, label="tasks known exactly"
        )
    axes.set_yscale("log")
    axes.set_xlim(0, diagnosis.n_tasks - 1)
    axes.set_xlabel("completed tasks N")
    axes.set_ylabel("ε = ‖w̄ − h‖²")
    axes.set_title("Error of the bias")
    # The Oracle has no error to draw, but its regret stands beside.
    if diagnosis.oracle is not None:
        place = diagnosis.names.index(diagnosis.oracle)
        axes.plot([], [], label=diagnosis.oracle, **plots.style(diagnosis.oracle, place))
    _legend(axes)


def alignment(axes: Axes, diagnosis: Diagnosis) -> None:
    """The mean of σ_max(V_j Ṽ⁺) for every task."""
    tasks = np.arange(1, diagnosis.n_tasks + 1)
    for i, name in enumerate(diagnosis.names):
        axes.plot(tasks, diagnosis.misalignment(name).mean(0), **plots.style(name, i))
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
    axes.set_xlabel("task j")
    axes.set_ylabel("σ_max($V_j$ Ṽ⁺)")
    axes.set_title("Misalignment by task")


def coverage(axes: Axes, diagnosis: Diagnosis) -> None:
    """The share of tasks whose parameter has left a confidence set, by round."""
    rounds = np.arange(diagnosis.horizon + 1)
    for i, name in enumerate(diagnosis.names):
        left = diagnosis.left(name, "as played")
        if left is not None:
            axes.plot(rounds, left, label=f"{name}, as played", **_steps(name, i))
    looks = {"Theorem 1": ("black", "-"), "mixture": (_GREY, (0, (3, 1.5)))}
    for confidence_set, (colour, dashes) in looks.items():
        shares = [
            s for s in (diagnosis.left(n, confidence_set) for n in diagnosis.names) if s is not None
        ]
        if shares:
            worst = np.max(shares, axis=0)
            axes.plot(
                rounds,
                worst,
                color=colour,
                linestyle=dashes,
                linewidth=1.0,
                label=f"{confidence_set}, worst",
                drawstyle="steps-post",
                clip_on=False,
            )
    delta = float(diagnosis.recording.attrs["failure_probability"])
    axes.axhline(delta, color="black", linestyle=(0, (1, 1.5)), linewidth=0.8)
    axes.annotate(
        f"δ = {delta:g}", (rounds[-1], delta), (-2, 3), textcoords="offset points", ha="right"
    )
    # Shares span three decades, and 0 must show too.
    axes.set_yscale("symlog", linthresh=0.01)
    axes.set_ylim(0, 1.3)
    axes.set_yticks([0, 0.01, 0.1, 1], ["0", "0.01", "0.1", "1"])
    axes.set_xlim(0, rounds[-1])
    axes.set_xlabel("round")
    axes.set_ylabel("share of tasks that left the set")
    axes.set_title("Confidence sets")
    _legend(axes)


def _steps(name: str, place: int) -> dict[str, Any]:
    """A learner's look for a share that jumps, drawn whole even where it lies on the axis."""
    return {**plots.style(name, place), "drawstyle": "steps-post", "clip_on": False}


def _legend(axes: Axes) -> None:
    """A legend beside the axes, where it hides nothing."""
    axes.legend(loc="upper left", bbox_to_anchor=(1.0, 1.0))
