"""Rows and their sums: z = √w·(x, y, 1) per row, and Σzzᵀ per task, which holds V, b, T and q."""

from collections.abc import Sequence

import numpy as np

from headstart.arrays import Floats, Integers
from headstart.kernels.compilation import compiled
from headstart.logs.fields import Fields, plain

# Rows that are turned from columns into rows at once: they stay in cache.
_BLOCK = 4096
# Columns whose distance is a power of two would share the same few places of the cache.
_APART = 8


@compiled
def _place(codes: Integers, ends: Integers, places: Integers) -> None:
    """The places of rows in the order of their codes, and where the rows of each code end.

    A counting sort: the rows of code c go to ends[c] ≤ place < ends[c + 1], in their order.
    """
    for i in range(codes.shape[0]):
        ends[codes[i] + 1] += 1
    for code in range(ends.shape[0] - 1):
        ends[code + 1] += ends[code]
    for i in range(codes.shape[0]):
        places[i] = ends[codes[i]]
        ends[codes[i]] += 1
    # Every end has moved to the next one.
    for code in range(ends.shape[0] - 1, 0, -1):
        ends[code] = ends[code - 1]
    ends[0] = 0


@compiled
def _scatter_columns(columns: Floats, places: Integers, rows: Floats) -> None:
    """Write columns (e, n) as rows (n, e), each to its place."""
    for i in range(places.shape[0]):
        for a in range(rows.shape[1]):
            rows[places[i], a] = columns[a, i]


@compiled
def _scatter_rows(features: Floats, rewards: Floats, places: Integers, rows: Floats) -> None:
    """Write rows (x, y, 1), each to its place."""
    dimension = features.shape[1]
    for i in range(places.shape[0]):
        for a in range(dimension):
            rows[places[i], a] = features[i, a]
        rows[places[i], dimension] = rewards[i]
        rows[places[i], dimension + 1] = 1.0


@compiled
def add_rows(sums: Floats, tasks: Integers, ends: Integers, rows: Floats) -> None:
    """Add Σzzᵀ of rows to the sums (n_tasks, e, e): ends[c] ≤ i < ends[c + 1] are of tasks[c].

    The lower triangles are added; nothing reads the others.
    """
    size = rows.shape[1]
    product = np.empty((size, size))
    for c in range(tasks.shape[0]):
        part = rows[ends[c] : ends[c + 1]]
        np.dot(part.T, part, product)
        for a in range(size):
            for b in range(a + 1):
                sums[tasks[c], a, b] += product[a, b]


class RowBuffer:
    """Memory for the rows of one batch after another: fresh memory would cost as much as filling.

    It grows with the largest batch.
    """

    def __init__(self, dimension: int) -> None:
        self._size = dimension + 2
        self._rows = np.empty((0, self._size))
        self._block = np.ones((self._size, _BLOCK + _APART))

    def fill(
        self, parts: Sequence[Fields], codes: Integers, n_codes: int
    ) -> tuple[Floats, Integers, Integers]:
        """Rows √w·(x, y, 1), (n, d + 2), in the order of their codes.

        Also where the rows of each code end, (n_codes + 1,), and the place of every row, (n,). The
        rows are valid until the next call.
        """
        n = len(codes)
        if len(self._rows) < n:
            self._rows = np.empty((n, self._size))
        rows = self._rows[:n]
        ends = np.zeros(n_codes + 1, dtype=np.int64)
        places = np.empty(n, dtype=np.int64)
        _place(codes, ends, places)
        first = 0
        for fields in parts:
            self._scatter(fields, places[first : first + len(fields)], rows)
            first += len(fields)
        if parts[0].weight is not None:
            roots = np.empty(n)
            roots[places] = np.sqrt(np.concatenate([each.weight for each in parts]))
            rows *= roots[:, None]
        return rows, ends, places

    def _scatter(self, fields: Fields, places: Integers, rows: Floats) -> None:
        if isinstance(fields.features, np.ndarray):
            _scatter_rows(plain(fields.features), plain(fields.reward), places, rows)
            return
        columns = [*fields.features, fields.reward]
        for start in range(0, len(fields), _BLOCK):
            end = min(start + _BLOCK, len(fields))
            for a, column in enumerate(columns):
                self._block[a, : end - start] = column[start:end]
            _scatter_columns(self._block, places[start:end], rows)
