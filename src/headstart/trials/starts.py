"""Starts: where a new task's parameter begins and how far its own rewards may move it.

Every method that is compared is a start: the reward of x is N(xᵀw + u, s²), with u the effect of
the item and w ~ N(h, s²S). One model for all has S = 0; a task alone has h = 0 and S = I/λ.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.core.statistics import TaskStatistics
from headstart.priors import Hierarchical
from headstart.trials.log import MOST_REWARDS, CannotTell
from headstart.trials.rows import Rows

MEAN, ALONE, ONE, TWO, OURS = (
    "the mean", "each task alone", "one model for all", "two-level ridge", "headstart",
)  # fmt: skip
METHODS = (MEAN, ALONE, ONE, TWO, OURS)
# What a task's own level tells, which no choice can change: for the verdict.
MEAN_AND_LEVEL, ONE_AND_LEVEL = "the mean and a level", "one model and a level"

# What the penalties are chosen from: of the shared parameter, of items, of a task's own part.
_SHARED, _ITEM = (1.0, 10.0, 100.0), (3.0, 10.0, 30.0, 100.0, np.inf)
_OWN = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1000.0)
# How many parts the tasks are cut into, each predicted from others, and how many of the others
# teach headstart's prior at most.
_PARTS, _MOST_TAUGHT = 5, 1000
# No prediction is made from fewer tasks.
_LEAST_TASKS = 10
# How many numbers of tasks headstart's prior learns at once.
_AT_ONCE = 1 << 21


@dataclass(frozen=True, kw_only=True)
class Start:
    """h (d,), the effects of items (I,), and S (d, d), or None for 0."""

    bias: Floats
    effects: Floats
    spread: Floats | None = None

    def rest(self, rows: Rows) -> Floats:
        """What the start leaves of the rewards, (n,)."""
        return rows.rewards - rows.x @ self.bias - self.effects[rows.items]


@dataclass(frozen=True, kw_only=True, eq=False)
class Shared:
    """The sums of rows from which models of all tasks are solved, for any penalties."""

    gram: Floats  # XᵀX
    moment: Floats  # Xᵀy
    by_item: Floats  # ZᵀX, (I, d)
    totals: Floats  # Zᵀy
    counts: Floats
    constant: int  # which column is not penalised

    @classmethod
    def of(cls, rows: Rows, mask: Booleans) -> Shared:
        """The sums over some rows."""
        x, y, items = rows.x[mask], rows.rewards[mask], rows.items[mask]
        by_item = np.zeros((rows.n_items, x.shape[1]))
        order = np.argsort(items, kind="stable")
        if len(order):
            first = np.flatnonzero(np.append(True, np.diff(items[order]) > 0))
            by_item[items[order][first]] = np.add.reduceat(x[order], first, axis=0)
        size = rows.n_items
        return cls(
            gram=x.T @ x,
            moment=x.T @ y,
            by_item=by_item,
            totals=np.asarray(np.bincount(items, y, size), dtype=np.float64),
            counts=np.bincount(items, minlength=size).astype(np.float64),
            constant=rows.constant,
        )

    def solved(self, shared: float, item: float) -> Start:
        """A ridge regression with these penalties of attributes and items, ∞ for no effects."""
        weights = 1.0 / (self.counts + item) if np.isfinite(item) else np.zeros_like(self.counts)
        gram = self.gram - (self.by_item * weights[:, None]).T @ self.by_item
        moment = self.moment - self.by_item.T @ (weights * self.totals)
        penalties = np.full(len(gram), shared)
        penalties[self.constant] = 1e-6 * shared
        h = np.asarray(np.linalg.solve(gram + np.diag(penalties), moment))
        return Start(bias=h, effects=weights * (self.totals - self.by_item @ h))


@dataclass(frozen=True, kw_only=True, eq=False)
class Blocks:
    """Rows as tasks × rewards, with zeros where a task has no more: x (J, T, d)."""

    x: Floats
    here: Booleans  # (J, T)
    rows: Integers  # (J, T), 0 where nothing is

    @classmethod
    def of(cls, rows: Rows, tasks: Integers) -> Blocks:
        """The blocks of some tasks."""
        starts = rows.starts
        counts = np.diff(starts)[tasks]
        t = np.arange(int(counts.max()))
        here = t < counts[:, None]
        places = np.where(here, starts[tasks][:, None] + t, 0)
        return cls(x=rows.x[places] * here[..., None], here=here, rows=places)

    def errors(self, rows: Rows, start: Start, kernel: Floats | None = None) -> Floats:
        """The errors of predicting each reward from the task's earlier ones, (J, T); NaN: none.

        With K = XSXᵀ + I = LLᵀ they are L_tt·(L⁻¹r)_t. `kernel` is XSXᵀ, if it is known.
        """
        rest = np.where(self.here, start.rest(rows)[self.rows], 0.0)
        if kernel is None and start.spread is not None:
            kernel = self.x @ start.spread @ self.x.mT
        if kernel is not None:
            root = np.linalg.cholesky(kernel + np.eye(kernel.shape[1]))
            rest = np.linalg.solve(root, rest[..., None])[..., 0]
            rest *= np.diagonal(root, axis1=1, axis2=2)
        return np.where(self.here, rest, np.nan)


def starts_from(rows: Rows, mask: Booleans, rng: np.random.Generator) -> dict[str, Start]:
    """Every method's start, from some rows; penalties are chosen on half of their tasks."""
    learn, choose = _halves(rows, mask, rng)
    penalties, one = _penalties(rows, learn, choose)
    kept = rows.only(choose)
    blocks = Blocks.of(kept, np.arange(min(kept.n_tasks, _MOST_TAUGHT)))
    mean = Start(bias=_mean(rows, learn), effects=np.zeros(rows.n_items))
    level = np.where(rows.choice, 0.0, 1.0)
    everything = np.ones(len(level))
    own = {
        name: _chosen(kept, blocks, start, columns)
        for name, start, columns in (
            (ALONE, mean, everything),
            (TWO, one, everything),
            (MEAN_AND_LEVEL, mean, level),
            (ONE_AND_LEVEL, one, level),
        )
    }
    every = Shared.of(rows, mask).solved(*penalties)
    mean = Start(bias=_mean(rows, mask), effects=np.zeros(rows.n_items))
    return {
        MEAN: mean,
        ALONE: _with(mean, own[ALONE]),
        ONE: every,
        TWO: _with(every, own[TWO]),
        MEAN_AND_LEVEL: _with(mean, own[MEAN_AND_LEVEL]),
        ONE_AND_LEVEL: _with(every, own[ONE_AND_LEVEL]),
        OURS: _learned(rows, mask, every.effects, rng),
    }


def cross_fitted(rows: Rows, seed: int) -> tuple[Floats, Floats]:
    """What attributes alone, and with items, predict of rewards from other tasks, (n,) each."""
    rng = np.random.default_rng(seed)
    penalties, _ = _penalties(rows, *_halves(rows, np.ones(len(rows.tasks), dtype=bool), rng))
    alone, both = np.zeros(len(rows.tasks)), np.zeros(len(rows.tasks))
    part = (rng.permutation(rows.n_tasks) % _PARTS)[rows.tasks]
    for p in range(_PARTS):
        own, sums = part == p, Shared.of(rows, part != p)
        start = sums.solved(*penalties)
        alone[own] = rows.x[own] @ sums.solved(penalties[0], np.inf).bias
        both[own] = rows.x[own] @ start.bias + start.effects[rows.items[own]]
    return alone, both


def _halves(rows: Rows, mask: Booleans, rng: np.random.Generator) -> tuple[Booleans, Booleans]:
    """The rows of one half of the tasks, and of the other."""
    tasks = np.unique(rows.tasks[mask])
    half = np.zeros(rows.n_tasks, dtype=bool)
    half[rng.permutation(tasks)[: len(tasks) // 2]] = True
    return mask & half[rows.tasks], mask & ~half[rows.tasks]


def _penalties(rows: Rows, learn: Booleans, choose: Booleans) -> tuple[tuple[float, float], Start]:
    """The penalties of attributes and items that predict best, and the model that has them."""
    sums = Shared.of(rows, learn)
    best = min(
        itertools.product(_SHARED, _ITEM if rows.n_items > 1 else (np.inf,)),
        key=lambda pair: float((sums.solved(*pair).rest(rows)[choose] ** 2).mean()),
    )
    return best, sums.solved(*best)


def _with(start: Start, variances: Floats | None) -> Start:
    spread = None if variances is None else np.diag(variances)
    return Start(bias=start.bias, effects=start.effects, spread=spread)


def _mean(rows: Rows, mask: Booleans) -> Floats:
    """The parameter of a constant prediction."""
    constant = np.zeros(rows.x.shape[1])
    constant[rows.constant] = rows.rewards[mask].mean()
    return constant


def _chosen(rows: Rows, blocks: Blocks, start: Start, columns: Floats) -> Floats | None:
    """The variances of a task's own part that predict best; None: it has none."""
    kernel = (blocks.x * columns) @ blocks.x.mT
    losses: dict[float | None, float] = {None: float(np.nanmean(blocks.errors(rows, start) ** 2))}
    for penalty in _OWN:
        errors = blocks.errors(rows, start, kernel / penalty)
        losses[penalty] = float(np.nanmean(errors**2))
    best = min(losses, key=lambda penalty: losses[penalty])
    return None if best is None else columns / best


def _learned(rows: Rows, mask: Booleans, effects: Floats, rng: np.random.Generator) -> Start:
    """Headstart's prior, from rewards without the effects of items."""
    estimator = Hierarchical()
    memory = estimator.empty(rows.x.shape[1])
    kept = rows.only(mask)
    y = kept.rewards - effects[kept.items]
    starts = kept.starts
    tasks = np.arange(kept.n_tasks)
    if kept.n_tasks > _MOST_TAUGHT:
        tasks = np.sort(rng.choice(tasks, _MOST_TAUGHT, replace=False))
    taught = []
    for first, end in zip(starts[tasks], starts[tasks + 1], strict=True):
        taught.append(TaskStatistics.from_data(kept.x[first:end], y[first:end]))
    nothing = TaskStatistics.stack([], rows.x.shape[1])
    at_once = max(_AT_ONCE // rows.x.shape[1] ** 2, 1)
    for begin in range(0, len(taught), at_once):
        after = TaskStatistics.stack(taught[begin : begin + at_once], rows.x.shape[1])
        memory = estimator.recount(memory, nothing, after)
    prior = estimator.prior(memory)
    spread = np.asarray(np.linalg.inv(prior.regularization))
    return Start(bias=prior.bias, effects=effects, spread=spread)


def parts(rows: Rows, rng: np.random.Generator) -> Iterator[tuple[Integers, Booleans]]:
    """Tasks to predict, and the rows to predict them from.

    With times, the rows are from before the first reward of these tasks, and the earlier half of
    the tasks is not predicted; without, they are of all other tasks.
    """
    n = rows.n_tasks
    if rows.times is None:
        for tasks in np.array_split(rng.permutation(n), _PARTS):
            chosen = np.zeros(n, dtype=bool)
            chosen[tasks] = True
            yield np.sort(tasks), ~chosen[rows.tasks]
        return
    first = rows.times[rows.starts[:-1]]
    for tasks in np.array_split(np.arange(n // 2, n), _PARTS):
        before = (rows.times < first[tasks].min()) & (rows.tasks < tasks[0])
        if len(np.unique(rows.tasks[before])) >= _LEAST_TASKS:
            yield tasks, before


def predicted(
    rows: Rows, seed: int
) -> tuple[Mapping[str, Floats], Sequence[tuple[Integers, Mapping[str, Start]]]]:
    """Errors by method, (J, T) for every task, NaN where nothing is predicted; and the starts."""
    rng = np.random.default_rng(seed)
    names = (*METHODS, MEAN_AND_LEVEL, ONE_AND_LEVEL)
    errors = {name: np.full((rows.n_tasks, MOST_REWARDS), np.nan) for name in names}
    found = []
    for tasks, before in parts(rows, rng):
        starts = starts_from(rows, before, rng)
        blocks = Blocks.of(rows, tasks)
        for name, start in starts.items():
            errors[name][tasks, : blocks.here.shape[1]] = blocks.errors(rows, start)
        found.append((tasks, starts))
    if not found:
        raise CannotTell("too few tasks have rewards before the later half of the tasks begins")
    return errors, found
