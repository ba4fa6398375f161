"""Item effects: what items earn beyond what their features explain, learned over all tasks.

One model for the rewards of all tasks: y = xᵀw + b + noise of variance s², with w ~ N(0, s²/κ·I)
and an effect b ~ N(0, s²/ρ) of each item. An item enters by three sums over its rewards: their
number n, Σy and g = Σx. Given ρ, the effects are eliminated,

    M = V + κI − Σ ggᵀ/(n + ρ),   w = M⁻¹(Σyx − Σ g Σy/(n + ρ)),   b = (Σy − gᵀw)/(n + ρ),

κ maximises the likelihood without effects, so that features explain what they can; then ρ is the
most probable value, and ρ = ∞ means no effects. The prior of 1/√ρ is a half Cauchy distribution. A
decision uses the difference to the same model without effects, in the mean of an arm and in its
variance. So item effects change neither tasks nor their prior, and nothing at all if ρ = ∞.
"""

import json
import math
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import NamedTuple

import numpy as np
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from headstart import checks
from headstart.arrays import Floats, Integers, floats, packed
from headstart.core.statistics import TaskStatistics
from headstart.kernels.compilation import compiled

# The values of κ and ρ to compare. An item's features count as much as ρ of its rewards.
_PRECISIONS = (0.1, 1.0, 10.0, 100.0, 1e3)
_USUAL_RATIO = 30.0
_RATIOS = (0.3, 1.0, 3.0, 10.0, 30.0, 100.0, 300.0, 1e3, 3e3, 1e4)
# After rewards are subtracted from a sum, a remainder below this share of it counts as 0.
_ROUNDING = 1e-9
# The places of effects are cached for this many lists of ids.
_LISTS = 16

# By item, the sums of its rewards: n, Σy and Σx, (d + 2,). The arrays are never changed.
ItemRows = Mapping[Hashable, Floats]
NUMBER, TOTAL, FIRST = 0, 1, 2


@dataclass(frozen=True, eq=False)
class ItemizedStatistics(TaskStatistics):
    """The statistics of a task, and the sums of its rewards by item."""

    items: ItemRows = field(default_factory=dict)


def itemized(task: TaskStatistics, items: ItemRows) -> TaskStatistics:
    """The statistics of a task with the sums of its rewards by item, if there are any."""
    if not items:
        return task
    return checks.trusted(ItemizedStatistics, **vars(task) | {"items": items})


def items_of(task: TaskStatistics) -> ItemRows:
    """The sums of a task's rewards by item."""
    return task.items if isinstance(task, ItemizedStatistics) else {}


def is_kept(item: object) -> bool:
    """Whether rewards are counted by this id: a text, a number, or a tuple of these."""
    if isinstance(item, tuple):
        return all(map(is_kept, item))
    if isinstance(item, float):
        return math.isfinite(item)
    return isinstance(item, str | int | np.integer)


def check_item(item: Hashable) -> None:
    """Raise for an id by which rewards are not counted."""
    if not is_kept(item):
        raise ValueError(
            f"item must be text, a number or a tuple of these, got {checks.short(item)}"
        )


def _add(rows: dict[Hashable, Floats], more: ItemRows, weight: float) -> None:
    """Add to sums, or with a negative weight subtract from them."""
    for item, row in more.items():
        old = rows.get(item)
        new = weight * row if old is None else old + weight * row
        if new[NUMBER] > (0.0 if old is None else _ROUNDING * old[NUMBER]):
            rows[item] = new
        else:
            rows.pop(item, None)


def both(rows: ItemRows, more: ItemRows) -> ItemRows:
    """The sums of both."""
    added = dict(rows)
    _add(added, more, 1.0)
    return added


class ItemCounts:
    """The sums of rewards by task and item, in memory."""

    def __init__(self) -> None:
        self._rows: dict[object, dict[Hashable, Floats]] = {}

    def of(self, task: object) -> ItemRows:
        """The present sums of a task; later rewards do not change them."""
        rows = self._rows.get(task)
        return {} if rows is None else dict(rows)

    def __contains__(self, task: object) -> bool:
        return task in self._rows

    def count(self, task: object, item: Hashable, x: Floats, n: float, total: float) -> None:
        """Count n more rewards with this sum for an item of a task, with features (d,)."""
        row = np.empty(FIRST + len(x))
        row[NUMBER], row[TOTAL] = n, total
        row[FIRST:] = n * x
        rows = self._rows.setdefault(task, {})
        old = rows.get(item)
        if old is not None:
            row += old
        if row[NUMBER] > _ROUNDING * abs(n):
            rows[item] = row
        else:
            rows.pop(item, None)
            if not rows:
                del self._rows[task]

    def discount(self, task: object, factor: float) -> None:
        """Discount the task's sums."""
        rows = self._rows.get(task)
        if rows is not None:
            self._rows[task] = {item: factor * row for item, row in rows.items()}

    def adopt(self, task: object, rows: ItemRows) -> None:
        """Take the sums of a task from elsewhere."""
        if rows:
            self._rows[task] = dict(rows)

    def drop(self, task: object) -> None:
        """Forget a task."""
        self._rows.pop(task, None)


@dataclass(frozen=True, eq=False)
class ItemSums:
    """The sums of rewards by item over tasks, and the statistics of those tasks."""

    rows: ItemRows
    tasks: TaskStatistics

    @classmethod
    def empty(cls, dimension: int) -> "ItemSums":
        """The sums of no reward."""
        return cls({}, TaskStatistics.zeros(dimension))

    def counted(self, parts: Iterable[tuple[TaskStatistics, float]]) -> "ItemSums":
        """The sums with tasks added with these weights; with weights below 0, subtracted."""
        parts = [(task, weight) for task, weight in parts if items_of(task)]
        if not parts:
            return self
        rows, tasks = dict(self.rows), self.tasks
        for task, weight in parts:
            _add(rows, items_of(task), weight)
            tasks = _sum(tasks, task, weight)
        return ItemSums(rows, tasks) if rows else ItemSums.empty(self.tasks.dimension)

    def scaled(self, factor: float) -> "ItemSums":
        """The sums with every task counting less."""
        rows = {item: factor * row for item, row in self.rows.items()}
        return ItemSums(rows, _sum(TaskStatistics.zeros(self.tasks.dimension), self.tasks, factor))

    def merged(self, other: "ItemSums") -> "ItemSums":
        """The sums over the tasks of both."""
        return ItemSums(both(self.rows, other.rows), _sum(self.tasks, other.tasks, 1.0))

    def arrays(self) -> dict[str, Floats]:
        """As arrays for a file, and the ids in the order of the rows; no arrays if it is empty."""
        if not self.rows:
            return {}
        tasks = self.tasks
        numbers = np.array([float(tasks.count), float(tasks.sum_of_squares)])
        return {
            "items.rows": np.stack(list(self.rows.values())),
            "items.gram": tasks.gram,
            "items.moment": tasks.moment,
            "items.numbers": numbers,
        }

    @classmethod
    def of(cls, arrays: Mapping[str, object], ids: Sequence[object], dimension: int) -> "ItemSums":
        """The sums in a file, if it has any."""
        if not ids:
            return cls.empty(dimension)
        rows, gram, moment, numbers = (
            checks.floats(f"items.{name}", np.asarray(arrays[f"items.{name}"], dtype=np.float64))
            for name in ("rows", "gram", "moment", "numbers")
        )
        checks.shape("items.rows", rows, (len(ids), FIRST + dimension), "(items, d + 2)")
        tasks = TaskStatistics(gram, moment, numbers[0], numbers[1])
        return cls(dict(zip(map(id_from, ids), rows, strict=True)), tasks)


def _sum(one: TaskStatistics, other: TaskStatistics, weight: float) -> TaskStatistics:
    return checks.trusted(
        TaskStatistics,
        gram=one.gram + weight * other.gram,
        moment=one.moment + weight * other.moment,
        count=one.count + weight * other.count,
        sum_of_squares=one.sum_of_squares + weight * other.sum_of_squares,
        about=None,
    )


def id_to(item: Hashable) -> object:
    """An id as JSON."""
    if isinstance(item, tuple):
        return [id_to(part) for part in item]
    return int(item) if isinstance(item, np.integer) else item


def id_from(stored: object) -> Hashable:
    """The id that `id_to` wrote."""
    return tuple(map(id_from, stored)) if isinstance(stored, list) else stored


def rows_bytes(rows: ItemRows) -> bytes:
    """Sums as bytes; no bytes for no sums."""
    if not rows:
        return b""
    ids = json.dumps([id_to(item) for item in rows]).encode()
    return packed(np.array([float(len(ids))])) + ids + packed(np.stack(list(rows.values())))


def read_rows(content: bytes, dimension: int) -> dict[Hashable, Floats]:
    """The sums that `rows_bytes` wrote."""
    if not content:
        return {}
    end = 8 + int(floats(content[:8])[0])
    ids = json.loads(content[8:end])
    rows = floats(content[end:]).reshape(len(ids), FIRST + dimension)
    return dict(zip(map(id_from, ids), rows, strict=True))


class Effects(NamedTuple):
    """What effects change for sets of arms, (s, K) each; (0, 0) without effects."""

    offsets: Floats  # of the means
    variances: Floats  # of the variances, in units of s²


NO_EFFECTS = Effects(np.empty((0, 0)), np.empty((0, 0)))


@compiled
def add_effects(
    predictions: Floats, widths: Floats, mean_widths: Floats, i: int, effects: Effects, j: int
) -> None:
    """Add the effects of set j to row i of the reading; mean widths are (0, 0) if not known.

    The task's own part of a width does not change.
    """
    offsets, variances = effects.offsets, effects.variances
    for k in range(offsets.shape[1]):
        predictions[i, k] += offsets[j, k]
        width = widths[i, k] * widths[i, k]
        mean = width
        if mean_widths.shape[0] > 0:
            mean = mean_widths[i, k] * mean_widths[i, k]
        new = max(mean + variances[j, k], 0.0)
        if mean_widths.shape[0] > 0:
            mean_widths[i, k] = math.sqrt(new)
        widths[i, k] = math.sqrt(max(width - mean, 0.0) + new)


@dataclass(frozen=True, kw_only=True, eq=False)
class ItemEffects:
    """The effects of items, and how they change predictions from features."""

    ratio: float  # ρ
    shift: Floats  # (d,), of w
    covariance: Floats  # (d, d), of w, relative to the model without effects
    ids: tuple[Hashable, ...]
    effects: Floats  # (I + 1,), b; the last one is for a new item
    vectors: Floats  # (I + 1, d), M⁻¹g/(n + ρ)
    variances: Floats  # (I + 1,), gᵀM⁻¹g/(n + ρ)² + 1/(n + ρ)

    @cached_property
    def index(self) -> dict[Hashable, int]:
        """Where each item is."""
        return {item: i for i, item in enumerate(self.ids)}

    @cached_property
    def _known(self) -> dict[int, tuple[Sequence[Hashable], Integers]]:
        return {}

    def effect(self, item: Hashable) -> float:
        """The effect of an item; 0 for a new one."""
        return float(self.effects[self.index.get(item, -1)])

    def of(self, ids: Sequence[Hashable]) -> Floats:
        """The effects of items (K,)."""
        return self.effects[self._places(ids)]

    def _places(self, ids: Sequence[Hashable]) -> Integers:
        """Where items are, (K,); −1 for new ones."""
        known = self._known.get(id(ids))
        if known is not None and known[0] is ids:
            return known[1]
        index = self.index
        places = np.fromiter((index.get(item, -1) for item in ids), np.int64, len(ids))
        if isinstance(ids, tuple):  # of a catalogue, which many decisions have
            if len(self._known) >= _LISTS:
                self._known.clear()
            self._known[id(ids)] = ids, places
        return places

    def read(self, features: Floats, ids: Sequence[Hashable]) -> tuple[Floats, Floats]:
        """What effects change for items with features (K, d): offsets and variances, (K,) each."""
        at = self._places(ids)
        offsets = features @ self.shift + self.effects[at]
        products = features @ self.covariance - 2.0 * self.vectors[at]
        return offsets, (products * features).sum(-1) + self.variances[at]


def fit(sums: ItemSums, scales: Floats | None) -> ItemEffects | None:
    """The most probable effects; None if no effects are more probable.

    scales: of the features, (d,), for the prior of w.
    """
    if len(sums.rows) < 2:
        return None
    rows = np.stack(list(sums.rows.values()))
    model = _Model(sums.tasks, rows, np.ones(sums.tasks.dimension) if scales is None else scales)
    without = _most_likely([model.at(precision, math.inf) for precision in _PRECISIONS])
    if without is None:
        return None
    best = _most_likely([without, *(model.at(without.precision, ratio) for ratio in _RATIOS)])
    if best is None or best is without:
        return None
    eye = np.eye(sums.tasks.dimension)
    inverse = cho_solve(best.factor, eye)
    counts = rows[:, NUMBER] + best.ratio
    shares = rows[:, FIRST:] / counts[:, None]
    effects = rows[:, TOTAL] / counts - shares @ best.parameter
    vectors = shares @ inverse
    variances = (vectors * shares).sum(-1) + 1.0 / counts
    return ItemEffects(
        ratio=best.ratio,
        shift=best.parameter - without.parameter,
        covariance=inverse - cho_solve(without.factor, eye),
        ids=tuple(sums.rows),
        effects=np.append(effects, 0.0),
        vectors=np.concatenate([vectors, np.zeros((1, len(eye)))]),
        variances=np.append(variances, 1.0 / best.ratio),
    )


class _Fit(NamedTuple):
    """The model at one κ and one ρ."""

    precision: float
    ratio: float
    likelihood: float  # log likelihood plus log prior, up to a constant
    factor: tuple[Floats, bool]  # of M
    parameter: Floats  # w


def _most_likely(fits: Sequence[_Fit | None]) -> _Fit | None:
    """The most likely fit, the first of equals."""
    found = (one for one in fits if one is not None)
    return max(found, key=lambda one: one.likelihood, default=None)


class _Model:
    """The model of items' rewards, by the sums that the likelihood depends on."""

    def __init__(self, tasks: TaskStatistics, rows: Floats, scales: Floats) -> None:
        self._tasks = tasks
        self._rows = rows
        self._scales = scales

    def at(self, precision: float, ratio: float) -> _Fit | None:
        """The model at κ and ρ, with the most likely s; None if rounding leaves no inverse."""
        tasks, n = self._tasks, self._rows[:, NUMBER]
        prior = precision * self._scales**2
        matrix, moment = tasks.gram + np.diag(prior), tasks.moment
        squares, determinant = float(tasks.sum_of_squares), -float(np.log(prior).sum())
        if math.isfinite(ratio):
            totals, shared = self._rows[:, TOTAL], self._rows[:, FIRST:]
            counts = n + ratio
            matrix = matrix - (shared / counts[:, None]).T @ shared
            moment = moment - shared.T @ (totals / counts)
            squares -= float((totals**2 / counts).sum())
            determinant += float(np.log1p(n / ratio).sum())
        try:
            factor = cho_factor(matrix, lower=True)
        except (LinAlgError, ValueError):
            return None
        parameter: Floats = cho_solve(factor, moment)
        determinant += 2.0 * float(np.log(np.diagonal(factor[0])).sum())
        # One more reward of the usual size, so that a few that fit exactly prove nothing.
        count = float(tasks.count) + 1.0
        usual = float(tasks.sum_of_squares) / max(float(tasks.count), 1.0)
        rest = max(squares - float(moment @ parameter), 0.0) + usual
        if not (math.isfinite(determinant) and math.isfinite(rest) and rest > 0.0):
            return None
        likelihood = -0.5 * (determinant + count * math.log(rest)) - math.log1p(
            _USUAL_RATIO / ratio
        )
        return _Fit(precision, ratio, likelihood, factor, parameter)
