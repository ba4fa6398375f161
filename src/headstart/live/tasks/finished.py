"""FinishedTasks: what is known of tasks that are not open, by name."""

import numpy as np

from headstart.arrays import Floats
from headstart.live.decision import Name
from headstart.live.tasks.layout import Layout


class FinishedTasks:
    """The rows of finished tasks, without their inverses. Numbers are reused."""

    def __init__(self, layout: Layout) -> None:
        self.rows = np.zeros((0, layout.finished_length))
        self.numbers: dict[Name, int] = {}  # the one that was finished first comes first
        self.names: dict[int, Name] = {}
        self._free: list[int] = []

    def __len__(self) -> int:
        return len(self.numbers)

    def __contains__(self, name: object) -> bool:
        return name in self.numbers

    def add(self, name: Name, row: Floats) -> int:
        """Keep the row of a task; returns its number."""
        if not self._free:
            old, more = len(self.rows), max(16, len(self.rows) // 16)
            # No view of the rows outlives a call: readers copy.
            self.rows.resize((old + more, self.rows.shape[1]), refcheck=False)
            self._free.extend(range(old + more - 1, old - 1, -1))
        number = self._free.pop()
        self.rows[number] = row
        self.numbers[name], self.names[number] = number, name
        return number

    def row(self, name: Name) -> Floats:
        """The row of a task, as a view: the numbers at its end may be changed in place."""
        row: Floats = self.rows[self.numbers[name]]
        return row

    def remove(self, name: Name) -> Floats:
        """Forget a task; returns its row."""
        number = self.numbers.pop(name)
        del self.names[number]
        self._free.append(number)
        row: Floats = self.rows[number].copy()
        return row
