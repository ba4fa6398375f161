"""Which noise scale a policy goes by."""

import numpy as np
from numpy.typing import NDArray

from headstart.interfaces import Standing

Floats = NDArray[np.float64]


def noise_scale(standing: Standing, given: float | None) -> Floats:
    """The policy's own scale if it was given one, else the prior's."""
    return standing.noise_scale if given is None else np.asarray(given, dtype=np.float64)
