"""Rows and their sums: z = √w·(x, y, 1) per row, and Σzzᵀ per task, which holds V, b, T and q."""

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.logs.fields import Fields

# Rows that are turned from columns into rows at once: they stay in cache.
_BLOCK = 4096
# Rows of one task that are multiplied at once.
_CHUNK = 64


@compiled
def _transpose(columns: Floats, rows: Floats) -> None:
    """Columns (e, n) as rows (n, e); two at a time, so that a row is touched half as often."""
    n_columns = rows.shape[1]
    for a in range(0, n_columns - 1, 2):
        for i in range(rows.shape[0]):
            rows[i, a] = columns[a, i]
            rows[i, a + 1] = columns[a + 1, i]
    if n_columns % 2:
        for i in range(rows.shape[0]):
            rows[i, n_columns - 1] = columns[n_columns - 1, i]


@compiled
def _add_rows(sums: Floats, tasks: Integers, ends: Integers, order: Integers, rows: Floats) -> None:
    """Add Σzzᵀ of rows to the sums (n_tasks, e, e) of their tasks.

    The rows of task tasks[c] are rows[order[i]], ends[c] ≤ i < ends[c + 1]. They are copied beside
    each other, and one matrix product adds them up.
    """
    size = rows.shape[1]
    chunk = np.empty((_CHUNK, size))
    product = np.empty((size, size))
    for c in range(tasks.shape[0]):
        task = tasks[c]
        start = ends[c]
        while start < ends[c + 1]:
            n = min(_CHUNK, ends[c + 1] - start)
            for k in range(n):
                row = order[start + k]
                for a in range(size):
                    chunk[k, a] = rows[row, a]
            start += n
            part = chunk[:n]
            np.dot(part.T, part, product)
            for a in range(size):
                for b in range(size):
                    sums[task, a, b] += product[a, b]


@compiled
def _grouped(codes: Integers, ends: Integers, order: Integers) -> None:
    """The rows of each code beside each other, in their order: a counting sort."""
    for i in range(codes.shape[0]):
        ends[codes[i] + 1] += 1
    for code in range(ends.shape[0] - 1):
        ends[code + 1] += ends[code]
    for i in range(codes.shape[0]):
        order[ends[codes[i]]] = i
        ends[codes[i]] += 1
    # Every end has moved to the next one's start.
    for code in range(ends.shape[0] - 1, 0, -1):
        ends[code] = ends[code - 1]
    ends[0] = 0


def add_rows(sums: Floats, tasks: Integers, codes: Integers, rows: Floats) -> None:
    """Add rows (n, e) to the sums (n_tasks, e, e): row i is of task tasks[codes[i]]."""
    ends = np.zeros(len(tasks) + 1, dtype=np.int64)
    order = np.empty(len(codes), dtype=np.int64)
    _grouped(codes, ends, order)
    _add_rows(sums, tasks, ends, order, rows)


class RowBuffer:
    """Memory for the rows of one batch after another: fresh memory would cost as much as filling.

    It grows with the largest batch.
    """

    def __init__(self, dimension: int) -> None:
        self._size = dimension + 2
        self._rows = np.empty((0, self._size))
        self._block = np.empty((self._size, _BLOCK))

    def fill(self, fields: Fields) -> Floats:
        """The rows √w·(x, y, 1), (n, d + 2); valid until the next call."""
        n = len(fields)
        if len(self._rows) < n:
            self._rows = np.empty((n, self._size))
        rows = self._rows[:n]
        if isinstance(fields.features, np.ndarray):
            rows[:, :-2] = fields.features
            rows[:, -2] = fields.reward
            rows[:, -1] = 1.0
        else:
            columns = [*fields.features, fields.reward]
            self._block[-1] = 1.0
            for start in range(0, n, _BLOCK):
                end = min(start + _BLOCK, n)
                for a, column in enumerate(columns):
                    self._block[a, : end - start] = column[start:end]
                _transpose(self._block, rows[start:end])
        if fields.weight is not None:
            rows *= np.sqrt(fields.weight)[:, None]
        return rows
