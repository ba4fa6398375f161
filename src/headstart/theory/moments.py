"""Moments of a task distribution: how far tasks lie from a bias, and from each other."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy import stats

from headstart import checks
from headstart.arrays import Floats


def task_variance(parameters: ArrayLike, bias: ArrayLike) -> Floats:
    """Var_h = E‖w − h‖² over tasks (…, n, d) for a bias (…, d), of shape (…)."""
    return np.asarray((_distances(parameters, bias) ** 2).mean(-1))


def task_deviation(parameters: ArrayLike, bias: ArrayLike) -> Floats:
    """Mar_h = E‖w − h‖ over tasks (…, n, d) for a bias (…, d), of shape (…)."""
    return np.asarray(_distances(parameters, bias).mean(-1))


def mean_parameter(parameters: ArrayLike) -> Floats:
    """w̄, the bias that minimises Var_h over tasks (…, n, d), of shape (…, d)."""
    return np.asarray(_tasks(parameters).mean(-2))


def geometric_median(
    parameters: ArrayLike, *, tolerance: float = 1e-10, steps: int = 1000
) -> Floats:
    """m, the bias that minimises Mar_h over tasks (n, d), of shape (d,).

    Weiszfeld's iteration as Vardi and Zhang repaired it: it may pass through a task, and stops
    there only if that task is the median.
    """
    w = _tasks(parameters)
    if w.ndim != 2:
        raise ValueError(f"parameters must have shape (n, d), got {w.shape}")
    median = w.mean(0)
    scale = np.linalg.norm(w - median, axis=-1).max()
    for _ in range(steps):
        gaps = np.linalg.norm(w - median, axis=-1)
        here = gaps <= 1e-14 * scale
        if here.all():
            break
        weights = 1.0 / gaps[~here]
        target = weights @ w[~here] / weights.sum()
        force = np.linalg.norm(weights @ (w[~here] - median))
        stay = min(1.0, here.sum() / force) if force > 0 else 1.0
        step = (1.0 - stay) * (target - median)
        median = median + step
        if np.linalg.norm(step) <= tolerance * scale:
            break
    return np.asarray(median)


@dataclass(frozen=True)
class Interval:
    """An estimate and the ends of its confidence interval."""

    value: float
    low: float
    high: float

    def __format__(self, spec: str) -> str:
        return f"{self.value:{spec}} [{self.low:{spec}}, {self.high:{spec}}]"


def low_variance_ratio(parameters: ArrayLike, *, confidence: float = 0.95) -> Interval:
    """Assumption 1 (Eq. 6) as a number: Var_w̄/Var_0 over independent tasks (n, d), in [0, 1].

    Near 0 the tasks lie close together and far from 0, and a bias pays; near 1 the mean is no
    better than 0. The sample variance divides by n − 1. The interval is the delta method's: with
    a = ‖w − w̄‖² and b = ‖w‖², the ratio moves with the mean of (a − ratio·b)/E b.
    """
    w = _tasks(parameters)
    checks.probability("confidence", confidence)
    if w.ndim != 2 or len(w) < 2:
        raise ValueError(f"parameters must have shape (n, d) with n of at least 2, got {w.shape}")
    n = len(w)
    within = ((w - w.mean(0)) ** 2).sum(-1) * n / (n - 1)
    about_zero = (w**2).sum(-1)
    if not about_zero.any():
        raise ValueError("parameters must not all be 0: Var_0 = 0 has no ratio")
    # Var_0 is the second moment; the unbiased variance may exceed it by a rounding of 1/n.
    ratio = min(1.0, float(within.mean() / about_zero.mean()))
    influence = (within - ratio * about_zero) / about_zero.mean()
    reach = float(stats.norm.ppf(0.5 + confidence / 2) * influence.std(ddof=1) / np.sqrt(n))
    return Interval(ratio, max(0.0, ratio - reach), min(1.0, ratio + reach))


def share(hits: int, trials: int, *, confidence: float = 0.95) -> Interval:
    """A share of trials with its exact (Clopper–Pearson) interval."""
    test = stats.binomtest(int(hits), int(trials))
    ends = test.proportion_ci(confidence_level=confidence, method="exact")
    return Interval(float(hits / trials), float(ends.low), float(ends.high))


def _tasks(parameters: ArrayLike) -> Floats:
    w = checks.floats("parameters", parameters)
    if w.ndim < 2 or 0 in w.shape[-2:]:
        raise ValueError(f"parameters must have shape (…, n, d), got {w.shape}")
    return w


def _distances(parameters: ArrayLike, bias: ArrayLike) -> Floats:
    gaps = _tasks(parameters) - checks.floats("bias", bias)[..., None, :]
    return np.asarray(np.linalg.norm(gaps, axis=-1))
