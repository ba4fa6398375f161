"""Two choices of λ: the paper's and that of Bayes."""

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.priors.corollary2 import corollary2_regularization


def paper_regularization(*, horizon: int, variance: ArrayLike) -> Floats:
    """λ = 1/(T Var_h), of Corollary 2. Below 1, where Lemma 1 does not hold, unless Var_h ≤ 1/T.

    >>> hs.theory.paper_regularization(horizon=50, variance=[0.01, 1.0])
    array([2.  , 0.02])
    """
    return corollary2_regularization(horizon=horizon, variance=variance)


def bayes_regularization(*, noise_scale: float, dimension: int, variance: ArrayLike) -> Floats:
    """λ = s²d/Var_w̄: the ridge whose estimate is the posterior mean for w ~ N(w̄, Var_w̄ I/d).

    ∞ where the variance is 0 and all tasks are the same.

    >>> hs.theory.bayes_regularization(noise_scale=1.0, dimension=20, variance=[0.0, 1.0, 4.0])
    array([inf, 20.,  5.])
    """
    values = np.asarray(variance, dtype=np.float64)
    positive = np.where(values > 0, values, 1.0)
    return np.asarray(np.where(values > 0, noise_scale**2 * dimension / positive, np.inf))
