"""The probability that each arm wins a contest of noisy utilities."""

import math

import numpy as np

from headstart.arrays import Floats
from headstart.kernels.compilation import compiled


@compiled(fastmath=False)
def win_probabilities(utilities: Floats, found: Floats) -> None:
    """Set found (R, K) to P(uₖ + zₖ is the largest), z independent standard normal.

    ∫ φ(y − uₖ) Πⱼ≠ₖ Φ(y − uⱼ) dy by the trapezoid rule, whose error falls faster than any power of
    the step. The more arms, the sharper the integrand: to rounding for up to 20, 1e-10 for 100.
    """
    replications, n_arms = utilities.shape
    step, reach = 0.4 if n_arms <= 5 else 0.25, 9.0
    root_half = math.sqrt(0.5)
    below = np.empty(n_arms)
    after = np.empty(n_arms + 1)
    for i in range(replications):
        top = utilities[i, 0]
        for k in range(n_arms):
            top = max(top, utilities[i, k])
            found[i, k] = 0.0
        # No arm wins from below the largest utility's lower tail, so the integral starts there.
        for node in range(int(2 * reach / step) + 1):
            y = top - reach + node * step
            for k in range(n_arms):
                below[k] = 0.5 * math.erfc((utilities[i, k] - y) * root_half)
            after[n_arms] = 1.0
            for k in range(n_arms - 1, -1, -1):
                after[k] = after[k + 1] * below[k]
            before = step / math.sqrt(2.0 * math.pi)
            for k in range(n_arms):
                gap = y - utilities[i, k]
                found[i, k] += before * math.exp(-0.5 * gap * gap) * after[k + 1]
                before *= below[k]
