"""The array types that everything shares, and arrays as bytes."""

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Integers = NDArray[np.int64]
Booleans = NDArray[np.bool_]


def floats(content: bytes) -> Floats:
    """An array that was stored as bytes, (n,)."""
    return np.frombuffer(content, dtype="<f8").astype(np.float64)


def packed(array: Floats) -> bytes:
    """An array as bytes: little-endian floats."""
    return np.ascontiguousarray(array, dtype="<f8").tobytes()
