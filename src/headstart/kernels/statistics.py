"""Adding observations to the sums of a task."""

from numba import njit

from headstart.arrays import Floats


@njit(cache=True, nogil=True, fastmath={"contract"})
def add_observation(square: Floats, moment: Floats, x: Floats, y: float) -> None:
    """Add xxᵀ to the lower triangle of V, and yx to b."""
    dimension = x.shape[0]
    for a in range(dimension):
        scaled = x[a]
        moment[a] += y * scaled
        row = square[a]
        for b in range(a + 1):
            row[b] += scaled * x[b]
