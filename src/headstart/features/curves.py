"""Logarithms, sines and cosines, of one number and of many.

Libraries differ in the last bits of these. Ours are multiples of 2⁻³⁰, so that features are the
same wherever they are computed.
"""

import math

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled

_GRID = 2.0**30


def _rounded(value: float) -> float:
    return round(value * _GRID) / _GRID


def logarithm(x: float, unit: float) -> float:
    """The logarithm of 1 + |x|/unit, with the sign of x."""
    return math.copysign(_rounded(math.log1p(abs(x) / unit)), x)


def wave(turns: float, row: object, at: int) -> None:
    """Write sine and cosine of a number of turns into a row."""
    angle = (turns - math.floor(turns)) * math.tau
    row[at] = _rounded(math.sin(angle))  # type: ignore[index]
    row[at + 1] = _rounded(math.cos(angle))  # type: ignore[index]


def logarithms(numbers: Floats, unit: float) -> Floats:
    """`logarithm` of each of the numbers (n,)."""
    found = np.empty(len(numbers))
    _fill_logarithms(np.ascontiguousarray(numbers), unit, found)
    return np.copysign(np.rint(found * _GRID) / _GRID, numbers)


def waves(turns: Floats, rows: Floats) -> None:
    """`wave` of each of the turns (n,), into the first two columns of rows."""
    found = np.empty((2, len(turns)))
    _fill_waves(np.ascontiguousarray(turns), found)
    rows[:, :2] = (np.rint(found * _GRID) / _GRID).T


# Compiled, for NumPy has other functions for these than Python, with other last bits.


@compiled(fastmath=False)
def _fill_logarithms(numbers: Floats, unit: float, found: Floats) -> None:
    for i in range(numbers.shape[0]):
        found[i] = math.log1p(abs(numbers[i]) / unit)


@compiled(fastmath=False)
def _fill_waves(turns: Floats, found: Floats) -> None:
    for i in range(turns.shape[0]):
        angle = (turns[i] - math.floor(turns[i])) * math.tau
        found[0, i] = math.sin(angle)
        found[1, i] = math.cos(angle)
