"""Rows: a log as numbers, and the check that no column gives its rewards away."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from headstart.arrays import Booleans, Floats, Integers
from headstart.features import Category, Features
from headstart.trials.log import CannotTell, Log, Names

# What is known before a reward explains less than this share of its variance.
_LEAK = 0.95
# Items without attributes are attributes themselves, if they are at most this many.
MOST_LEVELS = 30
# With fewer rows, or fewer tasks with at least two, every interval would be too wide.
_LEAST_ROWS, _LEAST_TASKS = 100, 20


@dataclass(frozen=True, kw_only=True, eq=False)
class Rows:
    """n rewards: features x (n, d), what is known of tasks, items and tasks.

    `choice` says which columns differ between the arms of a decision; the others cannot change
    what is best.
    """

    x: Floats
    choice: Booleans
    groups: Integers  # (d,), of each column, −1 for what is not a task's own
    group_names: Sequence[str]
    rewards: Floats
    tasks: Integers
    constant: int  # which column is 1
    items: Integers  # (n,), all 0 if no column names items
    n_items: int
    times: Floats | None

    @property
    def n_tasks(self) -> int:
        """The number of tasks."""
        return int(self.tasks[-1]) + 1

    def only(self, mask: Booleans) -> Rows:
        """Some of the rows, with tasks numbered from 0 again."""
        return replace(
            self,
            x=self.x[mask],
            rewards=self.rewards[mask],
            tasks=np.unique(self.tasks[mask], return_inverse=True)[1],
            items=self.items[mask],
            times=None if self.times is None else self.times[mask],
        )

    @property
    def starts(self) -> Integers:
        """The first row of every task, and the number of rows."""
        return np.searchsorted(self.tasks, np.arange(self.n_tasks + 1))


def check(log: Log, names: Names, leave_out: Collection[str]) -> None:
    """Raise `CannotTell` for a log from which nothing follows."""
    repeated = int((np.bincount(log.tasks) >= 2).sum()) if log.kept else 0
    n = log.n_rows - log.left_out if log.kept else 0
    if n < _LEAST_ROWS:
        raise CannotTell(f"it has {n:,} rewards, and at least {_LEAST_ROWS} are needed")
    if log.rewards.min() == log.rewards.max():
        raise CannotTell(f"every reward is {log.rewards[0]:g}")
    if repeated < _LEAST_TASKS:
        raise CannotTell(
            f"{repeated:,} of its {log.kept:,} tasks have two rewards or more, and at least "
            f"{_LEAST_TASKS} are needed: is {names.task!r} the column that comes back?"
        )
    for name in log.frame.columns:
        if name in leave_out or name in (names.task, names.reward, names.item, names.time):
            continue
        if name == names.propensity:
            continue
        share = _explained(log, names, str(name))
        if share >= _LEAK:
            raise CannotTell(
                f"column {name!r} explains {share:.0%} of the reward's variance, so it seems to "
                f"be known only after the reward; if so, leave it out (--leave-out {name})"
            )


def _explained(log: Log, names: Names, name: str) -> float:
    """The share of the reward's variance that a column explains, unless an item or task fixes it.

    By its levels, in a line, or by whether it is missing or has its most frequent value.
    """
    codes, levels = pd.factorize(log.frame[name].map(_hashable), use_na_sentinel=True)
    codes = np.asarray(codes, dtype=np.int64)
    y = log.rewards
    whole = float(((y - y.mean()) ** 2).sum())
    fixed_by = [log.tasks]
    if names.item is not None:
        fixed_by.append(pd.factorize(log.frame[names.item])[0])
    for others in fixed_by:
        if len(np.unique(np.stack([codes, others]), axis=1).T) == len(np.unique(others)):
            return 0.0
    shares = [0.0]
    counts = np.bincount(codes + 1)
    if (counts > 0).sum() <= len(y) / 4:
        shares.append(_between(codes + 1, y) / whole)
    usual = int(counts[1:].argmax()) if len(levels) else -2
    shares += [_between((codes == one).astype(np.int64), y) / whole for one in (-1, usual)]
    if pd.api.types.is_numeric_dtype(log.frame[name]):
        numbers = log.frame[name].to_numpy(dtype=np.float64, na_value=np.nan)
        here = np.isfinite(numbers)
        if here.sum() > 2 and numbers[here].std() > 0.0 and y[here].std() > 0.0:
            shares.append(float(np.corrcoef(numbers[here], y[here])[0, 1]) ** 2 * here.mean())
    return max(shares)


def _hashable(value: object) -> object:
    return value if isinstance(value, str | int | float | bool) else repr(value)


def _between(codes: Integers, y: Floats) -> float:
    """The sum of squares between the means of codes."""
    counts = np.bincount(codes)
    means = np.bincount(codes, y) / np.maximum(counts, 1)
    return float((counts * (means - y.mean()) ** 2).sum())


def schema(log: Log, names: Names, context: Sequence[str], leave_out: Collection[str]) -> Features:
    """The schema that is inferred; items are attributes themselves if nothing else is known."""
    out = [name for name in (names.time, names.propensity) if name is not None]
    try:
        found = Features.infer(
            log.frame,
            reward=names.reward,
            task=names.task,
            item=names.item,
            leave_out=tuple(dict.fromkeys([*out, *leave_out])),
        )
    except ValueError as error:
        if "that can be a feature" not in str(error):
            raise
        found = None
    if found is not None and context:
        moved = [one for one in found.item if one.name in context]
        found = replace(
            found,
            item=tuple(one for one in found.item if one.name not in context),
            context=(*found.context, *moved),
            cross=tuple(pair for pair in found.cross if not {*pair} <= {*context}),
        )
    if found is not None and found.item:
        return found
    if names.item is None:
        raise CannotTell(
            "it does not say what was chosen: name the column of items (--item), or add columns "
            "that describe what was shown"
        )
    levels = log.frame[names.item].astype(str).value_counts().index
    if len(levels) > MOST_LEVELS:
        if found is not None:
            return found
        return Features(context=[], item=[Category(names.item, buckets=1)])
    item = Category(names.item, levels=tuple(levels))
    if found is None:
        return Features(item=[item])
    return replace(found, item=(item,))


def rows_of(log: Log, names: Names, features: Features) -> Rows:
    """The log as numbers."""
    frame = log.frame
    x = encoded(frame, names, features)
    constant, n_about = features.dimension - 1, features.n_about
    place = np.arange(x.shape[1])
    choice = (place < features.n_item) | (place >= features.n_item + features.n_context)
    choice[constant:] = False
    items = np.zeros(len(x), dtype=np.int64)
    if names.item is not None:
        items = pd.factorize(frame[names.item].astype(str))[0].astype(np.int64)
    return Rows(
        x=x,
        choice=choice,
        groups=np.append(features.groups, np.full(n_about, -1)).astype(np.int64),
        group_names=features.group_names,
        constant=constant,
        rewards=log.rewards,
        tasks=log.tasks,
        items=items,
        n_items=int(items.max()) + 1,
        times=log.times,
    )


def encoded(frame: pd.DataFrame, names: Names, features: Features) -> Floats:
    """The features of rows and what is known of their tasks, (n, d + p)."""
    if names.item is not None and names.item in features.attributes:
        frame = frame.assign(**{names.item: frame[names.item].astype(str)})
    return np.concatenate(features.encode_log({str(c): frame[c] for c in frame.columns}), 1)
