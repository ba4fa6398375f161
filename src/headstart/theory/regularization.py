"""λ, as the paper sets it and as Bayes would."""

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats


def paper_regularization(*, horizon: int, variance: ArrayLike) -> Floats:
    """λ = 1/(T Var_h), of Corollary 2. Below 1, where Lemma 1 does not hold, unless Var_h ≤ 1/T."""
    return _over(1.0 / horizon, variance)


def bayes_regularization(*, noise_scale: float, dimension: int, variance: ArrayLike) -> Floats:
    """λ = s²d/Var_w̄: the ridge whose estimate is the posterior mean for w ~ N(w̄, Var_w̄ I/d)."""
    return _over(noise_scale**2 * dimension, variance)


def _over(share: float, variance: ArrayLike) -> Floats:
    """A share of the variance's inverse; ∞ where all tasks are one."""
    spread = np.asarray(variance, dtype=np.float64)
    safe = np.where(spread > 0, spread, 1.0)
    return np.asarray(np.where(spread > 0, share / safe, np.inf))
