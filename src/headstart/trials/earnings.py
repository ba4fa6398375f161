"""Earnings: what each method's choices would have earned, from a log with known propensities.

A method chooses the item with the best prediction, for tasks that taught it nothing but their own
earlier rewards. Its value is doubly robust: the guess q of one model for all at what it chooses,
and π/p·(y − q) for what the log chose (Dudík et al. 2011).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from headstart.arrays import Floats, Integers
from headstart.features import Features
from headstart.intervals import Interval, interval_around
from headstart.trials.log import Log, Names
from headstart.trials.rows import Rows, encoded
from headstart.trials.starts import METHODS, ONE, Start

# How many items and rows are looked at, and how many rewards of a task.
_MOST_ITEMS, _MOST_ROWS, _MOST_REWARDS = 500, 4000, 20
# With fewer rows, by (Σw)²/Σw², the value of a method is not given.
_LEAST_SIZE = 50.0
# By how many standard errors the mean weight may miss 1.
_STANDARD_ERRORS = 3.3
# Numbers of arms that are encoded at once.
_AT_ONCE = 1 << 22


@dataclass(frozen=True, kw_only=True)
class Earnings:
    """The reward per decision by method, and of the log; `refused` says why a method has none."""

    logged: Interval
    values: Mapping[str, Interval]
    sizes: Mapping[str, float]  # effective sample sizes
    refused: Mapping[str, str]
    n_rows: int


def earnings(
    log: Log,
    names: Names,
    features: Features,
    rows: Rows,
    found: Sequence[tuple[Integers, Mapping[str, Start]]],
    seed: int,
) -> Earnings | str | None:
    """The earnings; a sentence why there are none; None for a log without propensities."""
    if names.propensity is None:
        return None
    if names.item is None:
        return "What each method would have earned needs the column of items."
    p = pd.to_numeric(log.frame[names.propensity], errors="coerce").to_numpy(dtype=np.float64)
    if not ((p > 0.0) & (p <= 1.0)).all():
        wrong = p[~((p > 0.0) & (p <= 1.0))][0]
        return f"Propensities must be above 0 and at most 1, but one is {wrong:g}."
    if rows.n_items > _MOST_ITEMS:
        return (
            f"It has {rows.n_items:,} items; what methods would have earned is for {_MOST_ITEMS}."
        )
    chosen = _drawn(rows, found, seed)
    if not len(chosen):
        return "No task was left to play."
    weights = {name: np.full(len(p), np.nan) for name in METHODS}
    robust = {name: np.full(len(p), np.nan) for name in METHODS}
    wanted = np.zeros(rows.n_tasks, dtype=bool)
    wanted[chosen] = True
    items = log.frame.iloc[np.unique(rows.items, return_index=True)[1]]
    for tasks, starts in found:
        for task in tasks[wanted[tasks]]:
            own = np.arange(*rows.starts[task : task + 2])[:_MOST_REWARDS]
            arms = _arms(log.frame.iloc[own], items, names, features)
            guess = arms @ starts[ONE].bias + starts[ONE].effects
            for name in METHODS:
                pi = _policy(rows, own, arms, starts[name])
                shown = np.arange(len(own)), rows.items[own]
                weights[name][own] = w = pi[shown] / p[own]
                robust[name][own] = (pi * guess).sum(1) + w * (rows.rewards[own] - guess[shown])
    played = np.flatnonzero(np.isfinite(weights[ONE]))
    return _summary(rows, played, weights, robust)


def _drawn(rows: Rows, found: Sequence[tuple[Integers, object]], seed: int) -> Integers:
    """Tasks to play, as many as fit."""
    tasks = np.random.default_rng(seed).permutation(np.concatenate([part for part, _ in found]))
    counts = np.minimum(np.diff(rows.starts)[tasks], _MOST_REWARDS)
    return np.asarray(tasks[: max(np.searchsorted(np.cumsum(counts), _MOST_ROWS), 1)])


def _arms(own: pd.DataFrame, items: pd.DataFrame, names: Names, features: Features) -> Floats:
    """All items as the arms of some rows, (n, I, d)."""
    n, size = len(own), len(items)
    of_items = {*(one.name for one in features.item), names.item}
    columns = {
        str(name): (
            pd.concat([items[name]] * n, ignore_index=True)
            if name in of_items
            else own[name].repeat(size).reset_index(drop=True)
        )
        for name in own.columns
    }
    return encoded(pd.DataFrame(columns), names, features).reshape(n, size, -1)


def _policy(rows: Rows, own: Integers, arms: Floats, start: Start) -> Floats:
    """The probability of every item in every round of a task, (T, I); ties are shared."""
    w = np.tile(start.bias, (len(own), 1))
    if start.spread is not None:
        x = rows.x[own]
        rest = start.rest(rows)[own]
        moved = x @ start.spread
        kernel = moved @ x.T + np.eye(len(own))
        for t in range(1, len(own)):
            w[t] += np.linalg.solve(kernel[:t, :t], rest[:t]) @ moved[:t]
    scores = (arms @ w[..., None])[..., 0] + start.effects
    best = scores >= scores.max(1, keepdims=True) - 1e-9 * (1.0 + np.abs(scores).max())
    return np.asarray(best / best.sum(1, keepdims=True))


def _summary(
    rows: Rows, played: Integers, weights: Mapping[str, Floats], robust: Mapping[str, Floats]
) -> Earnings:
    tasks = np.unique(rows.tasks[played], return_inverse=True)[1]
    values: dict[str, Interval] = {}
    sizes: dict[str, float] = {}
    refused: dict[str, str] = {}
    for name in METHODS:
        w = weights[name][played]
        sizes[name] = float(w.sum()) ** 2 / max(float(w @ w), 1e-300)
        mean = over_tasks(w, tasks)
        if sizes[name] < _LEAST_SIZE:
            refused[name] = f"its {len(played):,} rows are worth {sizes[name]:.0f}"
        elif abs(mean.mean - 1.0) > _STANDARD_ERRORS * mean.error + 0.02:
            refused[name] = (
                f"the mean weight is {mean.mean:.2f} and should be 1: the propensities are wrong, "
                "or items were not always on offer"
            )
        else:
            values[name] = over_tasks(robust[name][played], tasks)
    return Earnings(
        logged=over_tasks(rows.rewards[played], tasks),
        values=values,
        sizes=sizes,
        refused=refused,
        n_rows=len(played),
    )


def over_tasks(values: Floats, tasks: Integers, weights: Floats | None = None) -> Interval:
    """The mean of values with an interval over tasks, which are independent."""
    counts = np.bincount(tasks, weights)
    sums = np.bincount(tasks, values if weights is None else values * weights)
    mean = float(sums.sum() / counts.sum())
    return interval_around(mean, mean + (sums - mean * counts) / counts.mean())
