"""Moments of a task distribution: how far tasks are from a bias, and from each other."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.intervals import Interval, quantile, standard_errors


def task_variance(parameters: ArrayLike, bias: ArrayLike) -> Floats:
    """Var_h = E‖w − h‖² over tasks.

    Examples
    --------
    >>> float(hs.theory.task_variance([[1.0, 0.0], [3.0, 0.0]], [2.0, 0.0]))
    1.0
    """
    return np.asarray((_distances(parameters, bias) ** 2).mean(-1))


def task_deviation(parameters: ArrayLike, bias: ArrayLike) -> Floats:
    """Mar_h = E‖w − h‖ over tasks.

    Examples
    --------
    >>> float(hs.theory.task_deviation([[1.0, 0.0], [5.0, 0.0]], [2.0, 0.0]))
    2.0
    """
    return np.asarray(_distances(parameters, bias).mean(-1))


def mean_parameter(parameters: ArrayLike) -> Floats:
    """w̄, the bias that minimises Var_h.

    Examples
    --------
    >>> hs.theory.mean_parameter([[1.0, 0.0], [3.0, 0.0]])
    array([2., 0.])
    """
    return np.asarray(_tasks(parameters).mean(-2))


def geometric_median(
    parameters: ArrayLike, *, tolerance: float = 1e-10, steps: int = 1000
) -> Floats:
    """m, the bias that minimises Mar_h.

    Weiszfeld's iteration with the correction of Vardi and Zhang: it may pass through a task, and
    stops there only if that task is the median. It ends at a step that is relatively shorter than
    `tolerance`, or after `steps`.

    Examples
    --------
    >>> tasks = [[0.0, 0.0], [0.0, 0.1], [9.0, 0.0], [0.1, 0.0], [0.0, -0.1]]
    >>> bool(np.linalg.norm(hs.theory.geometric_median(tasks)) < 0.1)
    True
    """
    w = _tasks(parameters)
    if w.ndim != 2:
        raise ValueError(f"parameters must have shape (n, d), got {w.shape}")
    median = w.mean(0)
    scale = np.linalg.norm(w - median, axis=-1).max()
    for _ in range(steps):
        distances = np.linalg.norm(w - median, axis=-1)
        at_median = distances <= 1e-14 * scale
        if at_median.all():
            break
        weights = 1.0 / distances[~at_median]
        target = weights @ w[~at_median] / weights.sum()
        # The sum of the unit vectors to the other tasks: below the number of tasks at the median,
        # no step decreases the sum of distances.
        resultant = np.linalg.norm(weights @ (w[~at_median] - median))
        damping = min(1.0, at_median.sum() / resultant) if resultant > 0 else 1.0
        step = (1.0 - damping) * (target - median)
        median = median + step
        if np.linalg.norm(step) <= tolerance * scale:
            break
    return np.asarray(median)


def low_variance_ratio(parameters: ArrayLike) -> Interval:
    """Assumption 1 (Eq. 6) as a number: Var_w̄/Var_0, in [0, 1].

    Near 0 the tasks are close together and far from 0, and a bias reduces regret; near 1 the mean
    is no better than 0. The sample variance divides by n − 1. The interval is the delta method's:
    with a = ‖w − w̄‖² and b = ‖w‖², the ratio's influence is (a − ratio·b)/E b. It is normal, not
    t.

    Examples
    --------
    >>> tasks = np.random.default_rng(0).normal([2.0, 0.0], 0.5, size=(200, 2))
    >>> round(hs.theory.low_variance_ratio(tasks).mean, 2)
    0.12
    """
    w = _tasks(parameters)
    if w.ndim != 2 or len(w) < 2:
        raise ValueError(f"parameters must have shape (n, d) with n of at least 2, got {w.shape}")
    n = len(w)
    around_mean = ((w - w.mean(0)) ** 2).sum(-1) * n / (n - 1)
    around_zero = (w**2).sum(-1)
    if not around_zero.any():
        raise ValueError("parameters must not all be 0: Var_0 = 0 has no ratio")
    # Var_0 is the second moment; the unbiased variance may exceed it by a rounding of 1/n.
    ratio = min(1.0, float(around_mean.mean() / around_zero.mean()))
    influence = (around_mean - ratio * around_zero) / around_zero.mean()
    error = float(standard_errors(influence))
    half = quantile(np.inf) * error
    return Interval(ratio, error, max(0.0, ratio - half), min(1.0, ratio + half), n)


def _tasks(parameters: ArrayLike) -> Floats:
    w = checks.floats("parameters", parameters)
    if w.ndim < 2 or 0 in w.shape[-2:]:
        raise ValueError(f"parameters must have shape (…, n, d), got {w.shape}")
    return w


def _distances(parameters: ArrayLike, bias: ArrayLike) -> Floats:
    gaps = _tasks(parameters) - checks.floats("bias", bias)[..., None, :]
    return np.asarray(np.linalg.norm(gaps, axis=-1))
