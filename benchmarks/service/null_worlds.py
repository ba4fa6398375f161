"""Simulated experiments that are looked at after every task: what the interval of the gain says.

In a null world warm tasks earn as much as the control; an interval that ever excludes 0 is wrong
there. In a world with a gain, the tasks until it does are compared with a fixed test.
"""

import math
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
from scipy.special import ndtri

from headstart.arrays import Booleans, Floats
from headstart.intervals import PLANNED, quantile, watched_margin

Draw = Callable[[np.random.Generator, tuple[int, int]], Floats]
N_WORLDS = 1_000
# The gain, relative to the control, and the power with which a fixed test finds it.
GAIN, POWER = 0.05, 0.8

_AT_ONCE = 100  # worlds in memory


def clicks(share: float, rounds: int) -> Draw:
    """The mean of so many clicks."""
    return lambda rng, shape: rng.binomial(rounds, share, shape) / rounds


# The mean rewards of tasks.
KINDS: dict[str, Draw] = {
    "normal": lambda rng, shape: rng.standard_normal(shape),
    "clicks": clicks(0.02, 20),
    "rare": clicks(0.001, 20),
}
SHARES = (0.05, 0.5)


def looks(control: Booleans, values: Floats) -> tuple[Floats, Floats, Floats]:
    """Gains, half widths and Welch's half widths after every task, each (worlds, tasks).

    A half width is ∞ until both groups have two tasks.
    """
    groups = np.stack([~control, control])
    n = np.cumsum(groups, axis=2, dtype=np.float64)
    totals = np.cumsum(groups * values, axis=2)
    squares = np.cumsum(groups * values**2, axis=2)
    with np.errstate(invalid="ignore", divide="ignore"):
        means = totals / n
        variances = np.maximum(squares - totals * means, 0.0) / (n - 1.0)
        half = np.where(n.min(0) >= 2, watched_margin(n, means, variances)[1], np.inf)
        welch = quantile(math.inf) * np.sqrt((variances / n).sum(0))
        return means[0] - means[1], half, welch


def null_worlds(
    draw: Draw, share: float, *, n_tasks: int, n_worlds: int = N_WORLDS, seed: int = 22
) -> tuple[float, float]:
    """The share of worlds that ever exclude 0, and the width by Welch's at the planned size."""
    rng = np.random.default_rng(seed)
    wrong, ratios = 0, []
    for n in _pieces(n_worlds):
        control = rng.random((n, n_tasks)) < share
        gain, half, welch = looks(control, draw(rng, (n, n_tasks)))
        wrong += int((np.abs(gain) > half).any(axis=1).sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios.append(half[:, PLANNED - 1] / welch[:, PLANNED - 1])
    return wrong / n_worlds, float(np.nanmedian(np.concatenate(ratios)))


def worlds_with_a_gain(size: int, *, n_worlds: int = N_WORLDS, seed: int = 22) -> dict[str, float]:
    """Tasks until a gain of 5 % is found, where a fixed test needs so many with power 80 %.

    Half of the tasks are control. The noise is such that the fixed test, Welch's at one look, finds
    the gain with this power at `size` tasks.
    """
    rng = np.random.default_rng(seed)
    noise = GAIN * math.sqrt(size) / (2.0 * (quantile(math.inf) + float(ndtri(POWER))))
    n_tasks, found = 5 * size, []
    for n in _pieces(n_worlds, 5_000_000 // n_tasks):
        control = rng.random((n, n_tasks)) < 0.5
        values = rng.normal(1.0, noise, (n, n_tasks)) + GAIN * ~control
        gain, half, _ = looks(control, values)
        seen = gain > half
        found.append(np.where(seen.any(axis=1), seen.argmax(axis=1) + 1.0, np.inf))
    tasks = np.concatenate(found)
    return {
        "size": size,
        "median": float(np.median(tasks)) / size,
        "found_80": float(np.quantile(tasks, POWER, method="higher")) / size,
        "found_by_bar": float((tasks <= 1.6**2 * size).mean()),
    }


def _pieces(n_worlds: int, at_once: int = _AT_ONCE) -> Iterator[int]:
    at_once = min(max(at_once, 1), _AT_ONCE)
    for begin in range(0, n_worlds, at_once):
        yield min(at_once, n_worlds - begin)


def figures() -> dict[str, Any]:
    """The whole study: null worlds of 20,000 tasks, and gains of several sizes."""
    null = []
    for kind, draw in KINDS.items():
        for share in SHARES:
            ever, ratio = null_worlds(draw, share, n_tasks=20 * PLANNED)
            null.append({"kind": kind, "share": share, "ever": ever, "width": ratio})
    gains = [worlds_with_a_gain(size) for size in (200, PLANNED, 5_000)]
    return {"worlds": N_WORLDS, "tasks": 20 * PLANNED, "null": null, "gains": gains}
