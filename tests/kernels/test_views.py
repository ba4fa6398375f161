"""Views of a vector in compiled code, against NumPy's."""

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled
from headstart.kernels.views import view

ROW = np.arange(40.0)


@compiled
def _entries(row: Floats, offset: int, first: int, second: int, found: Floats) -> tuple[int, int]:
    """Copy a view (1, first, second), and add 100 to its numbers where they are."""
    part = view(row, offset, (1, first, second))
    last = view(row, offset, (first * second,))
    for a in range(first):
        for b in range(second):
            found[a, b] = part[0, a, b]
            last[a * second + b] += 100.0
    return part.shape[1], part.size


@compiled
def _product(row: Floats, size: int) -> Floats:
    """The product of two squares of a row, by BLAS, which wants contiguous arrays."""
    made = np.empty((size, size))
    pair = view(row, 1, (2, size, size))
    np.dot(pair[0], pair[1], made)
    return made


def test_a_view_has_the_numbers_of_a_slice_and_shares_its_memory() -> None:
    for offset, first, second in ((0, 1, 1), (3, 4, 5), (39, 1, 1), (7, 0, 5), (40, 2, 0)):
        row, found = ROW.copy(), np.zeros((first, second))
        assert _entries(row, offset, first, second, found) == (first, first * second)
        expected = ROW[offset : offset + first * second]
        np.testing.assert_array_equal(found, expected.reshape(first, second))
        np.testing.assert_array_equal(view(ROW, offset, (first, second)), found)
        changed = np.zeros(40)
        changed[offset : offset + first * second] = 100.0
        np.testing.assert_array_equal(row - ROW, changed)


def test_blas_takes_views() -> None:
    left, right = ROW[1:10].reshape(3, 3), ROW[10:19].reshape(3, 3)
    np.testing.assert_allclose(_product(ROW.copy(), 3), left @ right)
