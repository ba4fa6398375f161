"""Counted: what the memory counts of each task."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.live._item_effects import ItemizedStatistics, ItemRows, items_of
from headstart.live._named_rows import NamedRows
from headstart.live.inputs import Name


@dataclass(frozen=True, eq=False)
class Contribution:
    """What the memory counts for a task: its statistics, at a position of the memory."""

    task: TaskStatistics
    position: float  # a time in seconds; 0 without a half-life

    @staticmethod
    def length(dimension: int, n_about: int) -> int:
        """How many numbers a contribution has, besides those by item."""
        return 3 + dimension + dimension * (dimension + 1) // 2 + n_about

    def numbers(self, n_about: int) -> Floats:
        """Position, T, q, b, the lower triangle of V, and the side information (p,)."""
        task = self.task
        first = [self.position, float(task.count), float(task.sum_of_squares)]
        lower = task.gram[np.tril_indices(task.dimension)]
        about = np.empty(0) if task.about is None or not n_about else task.about
        return np.concatenate([first, task.moment, lower, about])

    @classmethod
    def of(cls, numbers: Floats, items: ItemRows, dimension: int, n_about: int) -> "Contribution":
        """The contribution with these numbers."""
        size = cls.length(dimension, 0)
        checks.shape("the contribution", numbers, (size + n_about,), "(n,)")
        gram = np.zeros((dimension, dimension))
        gram[np.tril_indices(dimension)] = numbers[3 + dimension : size]
        task = checks.trusted(
            ItemizedStatistics,
            gram=gram + np.tril(gram, -1).T,
            moment=numbers[3 : 3 + dimension].copy(),
            count=np.array(numbers[1]),
            sum_of_squares=np.array(numbers[2]),
            about=numbers[size:].copy() if n_about else None,
            items=items,
        )
        return cls(task, float(numbers[0]))


class Counted:
    """The contributions by task: rows of numbers, and what is counted by item."""

    def __init__(self, dimension: int, n_about: int) -> None:
        self._dimension = dimension
        self._n_about = n_about
        self._rows = NamedRows(Contribution.length(dimension, n_about))
        self._items: dict[Name, ItemRows] = {}

    def __contains__(self, name: object) -> bool:
        return name in self._rows.numbers

    def __len__(self) -> int:
        return len(self._rows.numbers)

    def __iter__(self) -> Iterator[Name]:
        return iter(self._rows.numbers)

    def get(self, name: Name) -> Contribution | None:
        """What counts for a task, if anything."""
        if name not in self:
            return None
        items = self._items.get(name, {})
        return Contribution.of(self._rows.row(name), items, self._dimension, self._n_about)

    def all(self) -> dict[Name, Contribution]:
        """What counts, by task."""
        found = ((name, self.get(name)) for name in self)
        return {name: each for name, each in found if each is not None}

    def set(self, name: Name, contribution: Contribution | None) -> None:
        """Note what counts for a task; None if nothing does."""
        if contribution is None:
            if name in self:
                self._rows.remove(name)
        else:
            numbers = contribution.numbers(self._n_about)
            if name in self:
                self._rows.row(name)[:] = numbers
            else:
                self._rows.add(name, numbers)
        self._items.pop(name, None)
        if contribution is not None and (items := items_of(contribution.task)):
            self._items[name] = items

    def numbers(self, name: Name) -> Floats:
        """The numbers of a task that counts, as a view."""
        return self._rows.row(name)

    def position(self, name: Name) -> float:
        """The position of a task that counts."""
        return float(self._rows.row(name)[0])

    def move(self, name: Name, position: float) -> None:
        """Give a task that counts another position."""
        self._rows.row(name)[0] = position
