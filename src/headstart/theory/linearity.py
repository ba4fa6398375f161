"""Linearity: the linear task that is closest to a task's means."""

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.core.task import Task


@dataclass(frozen=True, eq=False)
class LinearFit:
    """The parameter (…, d) that fits a task's means best, and the unexplained share, (…).

    >>> task = hs.environments.Synthetic(reward="winner").sample(50, 1, np.random.default_rng(0))
    >>> fit = hs.theory.fit_means(task)
    >>> fit.parameter.shape, bool(fit.unexplained > 0)
    ((1, 20), True)
    """

    parameter: Floats
    unexplained: Floats  # Σ(mean − xᵀw)² / Σ mean², 0 where the task is linear


def fit_means(task: Task) -> LinearFit:
    """Least squares of the means on all arms offered; the task's own w where that is exact.

    For rewards that are not linear in the features (0/1 to the winner, ratings) there is no w*.
    This is what a linear learner would find if every arm were played equally often.

    >>> task = hs.environments.Synthetic(reward="linear").sample(50, 1, np.random.default_rng(0))
    >>> fit = hs.theory.fit_means(task)
    >>> fit.unexplained, bool((fit.parameter == task.parameter).all())
    (array([0.]), True)
    """
    x = task.arms.reshape(*task.lead, -1, task.dimension)
    y = task.means.reshape(*task.lead, -1, 1)
    sum_of_squares = np.maximum((y**2).sum((-2, -1)), np.finfo(np.float64).tiny)
    if task.parameter is not None:
        unexplained = ((y - x @ task.parameter[..., None]) ** 2).sum((-2, -1)) / sum_of_squares
        if (unexplained < 1e-20).all():
            return LinearFit(task.parameter, np.zeros_like(unexplained))
    # T·K < d is possible: the best fit of least norm.
    fitted = np.linalg.pinv(x.mT @ x, hermitian=True) @ (x.mT @ y)
    return LinearFit(fitted[..., 0], ((y - x @ fitted) ** 2).sum((-2, -1)) / sum_of_squares)
