"""Plots of live use: a task's estimate, the prior after every task, and reward by task age."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.live import TaskView
from headstart.plotting.curves import band
from headstart.plotting.style import COLD, GREEN, ORANGE, PALETTE, PURPLE, WARM

_DASHES: tuple[Any, ...] = ("-", (0, (5, 1.5)), (0, (2, 1)), (0, (4, 1, 1, 1)), (0, (1, 1)))

# Swings in this share of tasks, the first ones, do not set the scale of the prior's axis.
_SETTLING = 0.05


def plot_estimate(axes: Axes, view: TaskView, *, names: Sequence[str] | None = None) -> None:
    """A task's parameter with 95 % intervals, feature by feature, and its prior's bias.

    Parameters
    ----------
    axes : Axes
        The panel.
    view : TaskView
        From `MetaBandit.task`.
    names : sequence of str, optional
        The names of the features; their numbers by default.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> bandit = hs.MetaBandit(dimension=2, seed=0)
    >>> _ = bandit.observe("ann", [1.0, 0.5], 1.0)
    >>> with plotting.figure(Path("ann.png")) as (axes,):
    ...     plotting.plot_estimate(axes, bandit.task("ann"), names=["sweet", "price"])
    """
    dimension = view.estimate.prior.dimension
    rows = np.arange(dimension)
    low, high = view.interval(np.eye(dimension))
    w = view.estimate.parameter
    axes.errorbar(
        w, rows, xerr=(w - low, high - w), fmt="o", color=PALETTE[0], markersize=3,
        linewidth=1.2, label=f"{view.task} after {view.n_rewards} rewards",
    )  # fmt: skip
    bias = view.estimate.prior.bias
    axes.plot(bias, rows, "|", color="black", markersize=8, label="the prior's bias")
    axes.set_yticks(rows, names if names is not None else [f"{a + 1}" for a in rows])
    axes.set_xlabel("coefficient")
    axes.set_ylabel("feature")
    axes.invert_yaxis()
    axes.legend(fontsize=7)


def plot_prior(axes: Axes, biases: ArrayLike, *, names: Sequence[str] | None = None) -> None:
    """The biases (N, d) of the prior after 0, 1, … finished tasks.

    In the first twentieth of the tasks, few rewards still move the bias far. The axis fits the
    rest; a note says how far the bias was outside.

    Parameters
    ----------
    axes : Axes
        The panel.
    biases : array_like of shape (N, d)
        The bias after 0, 1, … finished tasks.
    names : sequence of str, optional
        The names of the features, for a legend.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> biases = np.cumsum(np.random.default_rng(0).normal(0, 0.1, (30, 3)), axis=0)
    >>> with plotting.figure(Path("prior.png")) as (axes,):
    ...     plotting.plot_prior(axes, biases)
    """
    history = checks.floats("biases", biases)
    for a in range(history.shape[1]):
        label = None if names is None else names[a]
        axes.plot(history[:, a], label=label, linewidth=1, **_look(a))
    axes.set_xlabel("finished tasks")
    axes.set_ylabel("prior's bias (reward / feature)")
    axes.set_xlim(0, max(len(history) - 1, 1))
    _fit_settled(axes, history)
    if names is not None:
        axes.legend(fontsize=7, ncols=3, loc="upper right")


def _fit_settled(axes: Axes, history: Floats) -> None:
    settled = history[int(_SETTLING * len(history)) :]
    low, high = min(0.0, float(settled.min())), max(0.0, float(settled.max()))
    room = 0.25 * (high - low)
    low, high = low - room, high + 2 * room
    if room == 0.0 or (history.min() >= low and history.max() <= high):
        return
    axes.set_ylim(low, high)
    axes.annotate(
        f"first tasks: {history.min():.2g} to {history.max():.2g}",
        (0.01, 0.01), xycoords="axes fraction", fontsize=6.5, color="#555555",
    )  # fmt: skip


def plot_reward_by_age(axes: Axes, rewards: Mapping[str, ArrayLike]) -> None:
    """The mean reward at each age of a task, with 95 % bands, from rewards (tasks, rounds).

    Parameters
    ----------
    axes : Axes
        The panel.
    rewards : mapping of str to array_like of shape (tasks, rounds)
        The rewards of each group of tasks, by its label: the first in the colour of a cold start,
        the last in that of a warm one.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import plotting
    >>> rewards = np.random.default_rng(0).normal(size=(100, 20))
    >>> with plotting.figure(Path("age.png")) as (axes,):
    ...     plotting.plot_reward_by_age(axes, {"from zero": rewards, "warm": rewards + 0.5})
    """
    longest = 1
    others = (COLD, GREEN, PURPLE, ORANGE)
    for i, (name, values) in enumerate(rewards.items()):
        array = checks.floats(name, values)
        age = np.arange(1, array.shape[1] + 1)
        if i == len(rewards) - 1:
            look = {"color": WARM, "linestyle": "-"}
        else:
            look = {"color": others[i % 4], "linestyle": _DASHES[1 + i % 4]}
        band(axes, age, array, name, look)
        longest = max(longest, array.shape[1])
    axes.set_xlabel("age of the task (rounds)")
    axes.set_ylabel("mean reward per round")
    axes.set_xlim(1, longest)
    axes.xaxis.set_major_locator(MaxNLocator(integer=True))
    axes.legend(fontsize=7)


def _look(position: int) -> dict[str, Any]:
    return {
        "color": PALETTE[position % len(PALETTE)],
        "linestyle": _DASHES[position % len(_DASHES)],
    }
