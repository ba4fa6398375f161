"""Inference: a first proposal of a schema from a log, and why each column is in it or not."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from headstart.arrays import Booleans, Floats, Integers
from headstart.features import values
from headstart.features.attributes import Attribute, Category, Date, Flag, Number, Tags, Vector
from headstart.features.encoding import Side
from headstart.features.evidence import (
    OFTEN,
    Evidence,
    are_dates,
    are_divided,
    read_columns,
    words_of,
)

# How many levels get a column each, and the share of rows that they must cover.
_MOST_LEVELS, _COVERED = 30, 0.95
# Whole numbers with at most this many different values are levels.
_FEW_NUMBERS = 7
# How many columns a cross may have, and all crosses together.
_CROSS_COLUMNS, _ALL_CROSSES = 64, 256
# A cross must reduce the squared error of tasks that it was not fitted to by this many standard
# errors: among ten crosses of noise, one in twenty logs has one that does.
_SUPPORTED = 2.6
_ROWS_FOR_CROSSES = 20_000
# The coefficients of a cross are fitted with this ridge, since many levels are rare.
_RIDGE = 1.0
# The default prior of a bandit learns p·d coefficients from p numbers about a task, if these are no
# more: a fit takes (pd)³ steps.
MOST_ABOUT_COEFFICIENTS = 250
# From this many columns on, the report says what a decision costs.
_MANY_COLUMNS = 100
_SKEWED = 1.0
_PERIODS = {"hour": 24.0, "hr": 24.0, "minute": 60.0, "weekday": 7.0, "dow": 7.0, "month": 12.0}


@dataclass(frozen=True, kw_only=True)
class Report:
    """Why columns of a log are not in a schema, and notes about the schema.

    Attributes
    ----------
    left_out : mapping of str to str
        The reason by column.
    notes : sequence of str
        What is worth knowing, one sentence each.

    Examples
    --------
    >>> import pandas as pd
    >>> log = pd.DataFrame({"user": list("aabb"), "price": [1.0, 2.0, 4.0, 2.5], "click": 1.0})
    >>> log["shop"] = "the only one"
    >>> hs.Features.infer(log, reward="click", task="user").report.left_out["shop"]
    'it has one value'
    """

    left_out: Mapping[str, str]
    notes: Sequence[str] = ()

    def __str__(self) -> str:
        out = [f"# left out: {name}: {reason}" for name, reason in self.left_out.items()]
        return "\n".join([*(f"# {note}" for note in self.notes), *out])


# Columns of logs that are not attributes, by the names that `evaluate_logged` takes.
_OF_THE_CHOICE = {"propensity"}


@dataclass(frozen=True, kw_only=True)
class Proposal:
    """The parts of a schema, and the report."""

    item: Sequence[Attribute]
    context: Sequence[Attribute]
    about: Sequence[Attribute]
    cross: Sequence[tuple[str, str]]
    report: Report


def propose(
    log: Any, *, reward: str, task: str, item: str | None, leave_out: Collection[str]
) -> Proposal:
    """A proposal from the first rows of a log."""
    columns, more = read_columns(log)
    for name in (reward, task, *(() if item is None else (item,)), *leave_out):
        if name not in columns:
            raise ValueError(f"the log must have a column {name!r}, got {list(columns)}")
    found = Evidence(columns, reward, task, item)
    sides: dict[str, list[Attribute]] = {"item": [], "context": [], "about": []}
    out = {reward: "it is the reward", task: "it names the task"}
    if found.item is not None:
        out[found.item] = "it names the item"
    out |= {name: "it says how the item was chosen" for name in columns if name in _OF_THE_CHOICE}
    out |= dict.fromkeys(leave_out, "as asked")
    for name in columns:
        if name in out:
            continue
        reason = next(found.reasons_against(name), None)
        attribute = None if reason else _attribute(name, found)
        if attribute is None:
            out[name] = reason or "it holds neither numbers, text, dates nor lists of one kind"
        else:
            sides[found.side(name)].append(attribute)
    if not any(sides.values()):
        reasons = "; ".join(f"{name}: {reason}" for name, reason in out.items())
        raise ValueError(f"the log must have a column that can be a feature, got none ({reasons})")
    notes = [f"from the first {found.n_rows:,} rows"] if more else []
    if found.item is None:
        notes.append(
            "no column names the item: what is of items and what of the context is a guess"
        )
    elif item is None:
        notes.append(f"column {found.item!r} seems to name the item")
    crosses, dimension = _crosses(sides, found)
    for attribute in _too_many(sides["about"], crosses, dimension):
        sides["about"].remove(attribute)
        out[attribute.name] = (
            "a bandit would not use it: the log supports no cross with it, and it would need "
            f"more than {MOST_ABOUT_COEFFICIENTS} coefficients"
        )
    if dimension > _MANY_COLUMNS:
        notes.append(f"d = {dimension:,} columns, and a decision takes time of order d²")
    return Proposal(
        **{side: tuple(attributes) for side, attributes in sides.items()},
        cross=crosses,
        report=Report(left_out=out, notes=tuple(notes)),
    )


def _crosses(
    sides: Mapping[str, Sequence[Attribute]], log: Evidence
) -> tuple[tuple[tuple[str, str], ...], int]:
    """Crosses of categories of tasks and context with those of items, best first; and d."""
    dimension = 1 + sum(len(one.columns) for side in ("item", "context") for one in sides[side])
    pairs = [
        (one, other)
        for side in ("about", "context")
        for one in sides[side]
        for other in sides["item"]
        if isinstance(one, Category | Flag) and isinstance(other, Category | Tags)
        if len(one.columns) * len(other.columns) <= _CROSS_COLUMNS
    ]
    used = {attribute.name: attribute for pair in pairs for attribute in pair}
    encoded = {name: _encoded(attribute, log) for name, attribute in used.items()}
    supports = [_support(encoded[one.name], encoded[other.name], log) for one, other in pairs]
    crosses, total = [], 0
    for i in np.argsort(supports)[::-1].tolist():
        one, other = pairs[i]
        size = len(one.columns) * len(other.columns)
        if supports[i] > _SUPPORTED and total + size <= _ALL_CROSSES:
            crosses.append((one.name, other.name))
            total += size
    return tuple(crosses), dimension + total


def _encoded(attribute: Attribute, log: Evidence) -> Floats:
    """The columns of an attribute in the first rows."""
    side = Side([attribute], attribute.name)
    return side.matrix({attribute.name: log.columns[attribute.name]}, log.n_rows)[
        :_ROWS_FOR_CROSSES
    ]


def _support(left: Floats, right: Floats, log: Evidence) -> float:
    """By how many standard errors a cross improves predictions for tasks it was not fitted to."""
    n = len(left)
    reward, tasks = log.reward[:n], log.levels(log.task)[1][:n] + 1
    products = (left[:, :, None] * right[:, None, :]).reshape(n, -1)
    alone = np.column_stack([np.ones(n), left, right])
    gains = np.zeros(n)
    for half in (0, 1):
        held = tasks % 2 == half
        gains[held] = _errors(alone, reward, held)
        gains[held] -= _errors(np.column_stack([alone, products]), reward, held)
    by_task = np.bincount(tasks, gains)[np.unique(tasks)]
    if len(by_task) < 2 or not by_task.std() > 0.0:
        return 0.0
    return float(by_task.mean() / by_task.std(ddof=1) * np.sqrt(len(by_task)))


def _errors(columns: Floats, reward: Floats, held: Booleans) -> Floats:
    """The squared errors of held rows, predicted by a regression on the others."""
    x, y = columns[~held], reward[~held]
    fitted = np.linalg.solve(x.T @ x + _RIDGE * np.eye(x.shape[1]), x.T @ y)
    return np.asarray((reward[held] - columns[held] @ fitted) ** 2)


def _too_many(
    about: Sequence[Attribute], crosses: Sequence[tuple[str, str]], dimension: int
) -> list[Attribute]:
    """Attributes of tasks in no cross, the largest first, that a bandit would not use."""
    crossed = {name for pair in crosses for name in pair}
    size = sum(len(one.columns) for one in about)
    alone = sorted((one for one in about if one.name not in crossed), key=lambda a: -len(a.columns))
    out = []
    for attribute in alone:
        if size * dimension <= MOST_ABOUT_COEFFICIENTS:
            break
        size -= len(attribute.columns)
        out.append(attribute)
    return out


def _attribute(name: str, log: Evidence) -> Attribute | None:
    """The attribute of a column; None if no kind takes it."""
    levels = log.levels(name)[0]
    missing = log.missing(name) >= OFTEN
    kinds = {type(level) for level in levels}
    numbers = log.numbers(name)
    if kinds <= {bool}:
        return Flag(name, missing=missing)
    if numbers is not None:
        return _number(name, numbers, levels, missing=missing)
    if kinds <= {list, tuple, np.ndarray}:
        return _of_lists(name, [list(level) for level in levels], missing=missing)  # type: ignore[call-overload]
    if are_dates(levels):
        return Date(name, missing=missing)
    return _of_levels(name, log, missing=missing) if kinds <= {str, int, float, bool} else None


def _of_levels(name: str, log: Evidence, *, missing: bool) -> Category | Tags:
    """Text: tags if texts are lists with common members, else a category."""
    levels, codes = log.levels(name)
    counts = np.bincount(codes[codes >= 0], minlength=len(levels))
    if are_divided(levels):
        lists = [values.divided(str(level)) for level in levels]
        found = _tags(name, lists, counts, missing=missing)
        if found is not None:
            return found
    return Category(name, levels=_own_levels(name, levels, counts), missing=missing)


def _number(name: str, numbers: Floats, levels: Sequence[object], *, missing: bool) -> Attribute:
    there = numbers[np.isfinite(numbers) & (np.abs(numbers) <= values.LARGEST)]
    low, high = (float(there.min()), float(there.max())) if len(there) else (0.0, 0.0)
    whole = bool((there == np.floor(there)).all())
    if set(np.unique(there).tolist()) <= {0.0, 1.0}:
        return Flag(name, missing=missing)
    for word, period in _PERIODS.items():
        if word in words_of(name) and low >= 0 and high <= period and high - low > period / 4:
            return Number(name, period=period, missing=missing)
    if whole and len(levels) <= _FEW_NUMBERS:
        counts = np.array([(there == float(str(level))).sum() for level in levels])
        return Category(name, levels=_own_levels(name, levels, counts), missing=missing)
    plain = Number(name, missing=missing).settled(there)
    if low >= 0 and _skewness(there) > _SKEWED:
        log = Number(name, log=True, missing=missing).settled(there)
        rows = np.zeros((len(there), len(log.columns)))
        log.fill(there, rows, 0)
        if abs(_skewness(rows[:, 0])) < _skewness(there):
            plain = log
    return _rounded(plain)


def _rounded(number: Number) -> Number:
    """With mean and scale rounded to four digits, as one would write them."""
    mean, scale = (
        None if value is None else float(f"{value:.4g}") for value in (number.mean, number.scale)
    )
    return replace(number, mean=mean, scale=scale)


def _skewness(numbers: Floats) -> float:
    deviations = numbers - numbers.mean()
    scale = float(np.sqrt((deviations**2).mean()))
    return float((deviations**3).mean()) / scale**3 if scale > 0.0 else 0.0


def _own_levels(
    name: str, levels: Sequence[object], counts: Integers | Floats
) -> tuple[str, ...] | None:
    """The levels that get a column each, most frequent first; None to hash them."""
    order = np.argsort(-np.asarray(counts), kind="stable")[:_MOST_LEVELS]
    if np.asarray(counts)[order].sum() < _COVERED * np.asarray(counts).sum():
        return None
    texts = (values.level(name, levels[i]) for i in order.tolist() if _is_level(levels[i]))
    return tuple(dict.fromkeys(texts)) or None


def _is_level(value: object) -> bool:
    return not isinstance(value, str) or len(value) <= values.MOST_CHARACTERS


def _tags(
    name: str, lists: Sequence[Sequence[str]], rows: Integers, *, missing: bool
) -> Tags | None:
    counts: dict[str, int] = {}
    for tags, n in zip(lists, rows.tolist(), strict=True):
        for tag in filter(None, tags):
            counts[tag] = counts.get(tag, 0) + n
    if len(counts) >= len(lists) and len(lists) > _MOST_LEVELS:
        return None  # nothing is shared: plain text that contains separators
    own = _own_levels(name, list(counts), np.array(list(counts.values())))
    return Tags(name, levels=own, missing=missing)


def _of_lists(name: str, lists: Sequence[list[object]], *, missing: bool) -> Attribute | None:
    flat = [value for one in lists for value in one]
    if flat and all(isinstance(value, str) for value in flat):
        texts = [[str(value) for value in one] for one in lists]
        return _tags(name, texts, np.ones(len(lists), np.int64), missing=missing)
    sizes = {len(one) for one in lists}
    if len(sizes) == 1 and all(isinstance(value, int | float) for value in flat) and flat:
        return Vector(name, sizes.pop(), missing=missing)
    return None
