"""Which noise scale a policy goes by."""

import numpy as np
from numpy.typing import NDArray

from headstart.ridge import Outlook

Floats = NDArray[np.float64]


def noise_scale(outlook: Outlook, given: float | None) -> Floats:
    """The policy's own scale if it was given one, else what the prior learned, else 1."""
    if given is not None:
        return np.asarray(given, dtype=np.float64)
    if outlook.noise_scale is not None:
        return outlook.noise_scale
    return np.asarray(1.0)
