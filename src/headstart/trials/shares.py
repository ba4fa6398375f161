"""Shares: how much of the variance of rewards is of attributes, items, tasks and noise.

Residuals r of rewards from models of other tasks have products whose means are variances: within a
task, E[r_t r_s] = Σ_g τ_g² x_tg·x_sg for groups g of columns; between tasks, E[r_it r_js] = σ² for
one item. So the variances are least squares of products, and the intervals are a bootstrap over
tasks.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.optimize import nnls
from scipy.sparse import csr_array

from headstart.arrays import Floats
from headstart.intervals import CONFIDENCE, Interval
from headstart.trials.rows import Rows
from headstart.trials.starts import cross_fitted

ATTRIBUTES, ITEMS, LEVEL, TASTES, NOISE = (
    "attributes, the same for all tasks",
    "items, beyond their attributes",
    "tasks: their level, whatever is chosen",
    "tasks: what they prefer",
    "noise, and what no model here has",
)
_DRAWS = 400


@dataclass(frozen=True, kw_only=True)
class Shares:
    """Shares of the variance by name, and which attributes tasks differ along, of all of that."""

    of: dict[str, Interval]
    along: dict[str, Interval]


def shares(rows: Rows, seed: int) -> Shares:
    """The shares of these rows, with intervals over tasks."""
    shared, both = cross_fitted(rows, seed)
    y = rows.rewards
    n = rows.n_tasks
    sums = np.stack([
        np.bincount(rows.tasks, values, n)
        for values in (np.ones_like(y), y, y**2, (y - shared) ** 2)
    ])  # fmt: skip
    groups, sizes = _groups(rows)
    products, moments = _within(rows, y - both, groups)
    by_item = _by_item(rows, y - shared) if rows.n_items > 1 else None
    rng = np.random.default_rng(seed)
    weights = rng.multinomial(n, np.full(n, 1.0 / n), _DRAWS).astype(np.float64)
    weights = np.concatenate([np.ones((1, n)), weights])

    count, total, squares, rest = sums @ weights.T
    variance = squares / count - (total / count) ** 2
    attributes = 1.0 - rest / count / variance
    items = np.zeros(len(weights)) if by_item is None else _of_items(by_item, weights) / variance
    solved = np.zeros((len(weights), len(groups)))
    bounded = np.zeros_like(solved)
    for draw, weight in enumerate(weights):
        gram = np.tensordot(weight, products, 1)
        gram = gram + 1e-9 * np.trace(gram) * np.eye(len(groups)) + 1e-300 * np.eye(len(groups))
        moment = weight @ moments
        solved[draw] = np.linalg.solve(gram, moment)
        bounded[draw] = nnls(gram, moment)[0]
    parts = solved * sizes / variance[:, None]
    level = parts[:, 0]
    tastes = parts[:, 1:].sum(1)
    noise = 1.0 - attributes - items - level - tastes
    names = list(groups)[1:]
    positive = bounded[:, 1:] * sizes[1:]
    whole = np.maximum(positive.sum(1), 1e-300)[:, None]
    along = positive / whole
    found = {ATTRIBUTES: attributes, LEVEL: level, TASTES: tastes, NOISE: noise}
    if by_item is not None:
        found[ITEMS] = items
    order = [name for name in (ATTRIBUTES, ITEMS, LEVEL, TASTES, NOISE) if name in found]
    main = np.argsort(-along[0], kind="stable")
    return Shares(
        of={name: _interval(found[name], n) for name in order},
        along={names[i]: _interval(along[:, i], n) for i in main},
    )


def _interval(draws: Floats, n: int) -> Interval:
    """The estimate, which comes first, with the ends of its bootstrap."""
    tail = (1.0 - CONFIDENCE) / 2.0
    low, high = np.quantile(draws[1:], (tail, 1.0 - tail))
    return Interval(float(draws[0]), float(draws[1:].std(ddof=1)), float(low), float(high), n)


def _groups(rows: Rows) -> tuple[dict[str, Floats], Floats]:
    """The columns of every group, the level first, without columns that never differ; and x_g²."""
    found: dict[str, Floats] = {"": np.ones((len(rows.rewards), 1))}
    for i, name in enumerate(rows.group_names):
        columns = rows.x[:, (rows.groups == i) & rows.choice]
        # Without its mean, so that a level is not counted twice.
        columns = columns - columns.mean(0)
        columns = columns[:, (columns != 0.0).any(0)]
        if columns.shape[1]:
            found[name] = columns
    return found, np.array([float((x**2).sum(1).mean()) for x in found.values()])


def _within(rows: Rows, rest: Floats, groups: dict[str, Floats]) -> tuple[Floats, Floats]:
    """Of every task, Σ k_g k_h (J, G, G) and Σ r r k_g (J, G) over its pairs of rewards.

    A task with T rewards weighs as T, not as its T(T − 1) pairs.
    """
    n, size, starts = rows.n_tasks, len(groups), rows.starts
    products, moments = np.zeros((n, size, size)), np.zeros((n, size))
    for task in range(n):
        own = slice(starts[task], starts[task + 1])
        length = starts[task + 1] - starts[task]
        if length < 2:
            continue
        pairs = np.triu_indices(length, 1)
        kernels = np.stack([(x[own] @ x[own].T)[pairs] for x in groups.values()])
        both = (rest[own][:, None] * rest[own])[pairs]
        products[task] = kernels @ kernels.T / (length - 1)
        moments[task] = kernels @ both / (length - 1)
    return products, moments


def _by_item(rows: Rows, rest: Floats) -> tuple[csr_array, csr_array]:
    """Sums and counts of residuals by task and item."""
    shape = rows.n_tasks, rows.n_items
    places = rows.tasks, rows.items
    return csr_array((rest, places), shape), csr_array((np.ones_like(rest), places), shape)


def _of_items(by_item: tuple[csr_array, csr_array], weights: Floats) -> Floats:
    """The variance between items, from pairs of rewards of one item in two tasks."""
    sums, counts = by_item
    squares = [matrix.multiply(matrix).tocsr() for matrix in by_item]
    total, n = weights @ sums, weights @ counts
    pairs = n**2 - (weights**2) @ squares[1]
    both = total**2 - (weights**2) @ squares[0]
    # As many pairs as rewards, so that an item counts as often as it is chosen.
    scale = np.where(pairs > 0.0, n / np.maximum(pairs, 1.0), 0.0)
    found = (both * scale).sum(1) / np.maximum((pairs * scale).sum(1), 1e-300)
    return np.asarray(found, dtype=np.float64)
