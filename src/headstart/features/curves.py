"""Logarithms, sines and cosines of one number and of many.

Libraries differ in the last bits of these functions. Ours return multiples of 2⁻³⁰, so that
features are the same wherever they are computed.
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


# Compiled, because NumPy's functions differ from Python's in the last bits.


@compiled(fastmath=False)
def fill_logarithms(numbers: Floats, unit: float, found: Floats) -> None:
    """`logarithm` of each of the numbers (n,)."""
    for i in range(numbers.shape[0]):
        rounded = np.rint(math.log1p(abs(numbers[i]) / unit) * _GRID) / _GRID
        found[i] = math.copysign(rounded, numbers[i])


@compiled(fastmath=False)
def fill_waves(numbers: Floats, period: float, rows: Floats, at: int) -> None:
    """`wave` of each of the numbers (n,), into the columns `at` and at + 1 of rows."""
    for i in range(numbers.shape[0]):
        turns = numbers[i] / period
        angle = (turns - math.floor(turns)) * math.tau
        rows[i, at] = np.rint(math.sin(angle) * _GRID) / _GRID + 0.0  # −0 is 0
        rows[i, at + 1] = np.rint(math.cos(angle) * _GRID) / _GRID + 0.0
