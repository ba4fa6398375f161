"""Uniform: no learning."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from headstart.outlook import Outlook

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True)
class Uniform:
    """Every arm ties with every other, and ties break at random."""

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """None: the tie-break draws."""
        return 0

    def scores(self, outlook: Outlook, uniforms: Floats) -> Floats:
        """Zeros, (…, K)."""
        return np.zeros_like(outlook.predictions)
