"""Theorems 2 and 3: the transfer regret of AVG and RR as rates, term by term."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.theory.alignment import (
    smallest_eigenvalues,
    smallest_global_eigenvalue,
    weighted_deviation,
)
from headstart.theory.estimation import pool
from headstart.theory.radii import pooled_radius, trace_radius
from headstart.theory.setting import Setting


@dataclass(frozen=True, eq=False)
class ErrorBound:
    """A bound on √ε = ‖w̄ − h‖ as a sum of terms, of shape (…).

    Parameters
    ----------
    sampling : ndarray of shape (…)
        H_ρ: the mean of the tasks seen is not w̄.
    variance : ndarray of shape (…)
        Noise, through the least explored direction.
    bias : ndarray of shape (…)
        2n·max H̃: misaligned tasks; 0 for AVG.
    ridge : ndarray of shape (…)
        Shrinkage towards 0; for AVG it is inside the radius, and so in `variance`.

    Examples
    --------
    >>> tasks = hs.TaskStatistics.from_data(np.tile(np.eye(2), (2, 9, 1)), np.ones((2, 18)))
    >>> setting = hs.theory.Setting(dimension=2, horizon=18)
    >>> bound = hs.theory.average_error_bound(setting, tasks, sampling_error=0.1)
    >>> float(bound.sampling), round(float(bound.total), 2)
    (0.1, 1.56)
    """

    sampling: Floats
    variance: Floats
    bias: Floats
    ridge: Floats

    @property
    def total(self) -> Floats:
        """The bound on √ε."""
        return self.sampling + self.variance + self.bias + self.ridge


@dataclass(frozen=True, eq=False)
class TransferRate:
    """d √(T log(1 + T²L²(Var_w̄ + ε)/d)): the regret of a new task up to the paper's constant.

    Parameters
    ----------
    setting : Setting
        d, T, L and so on.
    variance : ndarray of shape (…)
        Var_w̄, which no estimator removes.
    estimation : ErrorBound
        The bound on √ε.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=2, horizon=18)
    >>> tasks = hs.TaskStatistics.from_data(np.tile(np.eye(2), (2, 9, 1)), np.ones((2, 18)))
    >>> error = hs.theory.average_error_bound(setting, tasks, sampling_error=0.1)
    >>> round(float(hs.theory.TransferRate(setting, np.asarray(0.5), error).total), 1)
    21.1
    """

    setting: Setting
    variance: Floats
    estimation: ErrorBound

    @property
    def total(self) -> Floats:
        """The rate, of shape (…), with C = 1."""
        return transfer_rate(self.setting, self.variance + self.estimation.total**2)


def transfer_rate(setting: Setting, variance: ArrayLike) -> Floats:
    """The rate d √(T log(1 + T²L² Var_h/d)): C = 1, so not a bound.

    From Lemma 2 at λ = 1/(T Var_h) to this rate the paper drops R, an additive term and a log T.
    For a bound use `transfer_bound(variance=Var_w̄ + ε)`. Var_h = Var_w̄ + ε needs an h that does
    not depend on the new task; warns if the bias moves.

    Examples
    --------
    >>> setting = hs.theory.Setting(dimension=2, horizon=50)
    >>> hs.theory.transfer_rate(setting, [0.0, 0.1, 1.0]).round(1)
    array([ 0. , 31.1, 37.8])
    """
    setting.demand_frozen_bias("Var_h = Var_w̄ + ε")
    d, t = setting.dimension, setting.horizon
    values = np.asarray(variance, dtype=np.float64)
    return np.asarray(d * np.sqrt(t * np.log1p((t * setting.feature_bound) ** 2 * values / d)))


def average_error_bound(
    setting: Setting, tasks: TaskStatistics, *, sampling_error: ArrayLike
) -> ErrorBound:
    """Theorem 2: √ε ≤ H_ρ + max_j β_j(δ/n)/√λ_min(V_j + λI) after n tasks.

    β_j is Eq. 2's after T_j rounds. All n sets must hold at once, so each has δ/n: the union bound
    that the paper leaves out.

    Examples
    --------
    >>> tasks = hs.TaskStatistics.from_data(np.tile(np.eye(2), (2, 9, 1)), np.ones((2, 18)))
    >>> setting = hs.theory.Setting(dimension=2, horizon=18)
    >>> round(float(hs.theory.average_error_bound(setting, tasks, sampling_error=0.1).total), 2)
    1.56
    """
    n = tasks.count.shape[-1]
    per_task = replace(setting, failure_probability=setting.delta / n)
    smallest = setting.ridge + smallest_eigenvalues(tasks.gram)
    worst = (trace_radius(per_task, tasks.count) / np.sqrt(smallest)).max(-1)
    sampling = np.asarray(sampling_error, dtype=np.float64) + np.zeros_like(worst)
    return ErrorBound(sampling, worst, np.zeros_like(worst), np.zeros_like(worst))


def pooled_error_bound(
    setting: Setting,
    tasks: TaskStatistics,
    parameters: ArrayLike,
    *,
    sampling_error: ArrayLike,
) -> ErrorBound:
    """Theorem 3, corrected: √ε ≤ H_ρ + 2n·max_j H̃_j + λS/(λ + ν_min) + noise after n tasks.

    noise = R √((2 log(1/δ) + log det(I + Ṽ/λ))/(λ + ν_min)). The paper writes S/(λ + ν_min), which
    loses a λ, and 2 log(1 + NTL²/(λd)) for the determinant, which loses a factor d/2. It holds for
    a singular Ṽ too, where ν_min = 0. The 2 is the paper's; 1 would suffice.

    Examples
    --------
    >>> tasks = hs.TaskStatistics.from_data(np.tile(np.eye(2), (2, 9, 1)), np.ones((2, 18)))
    >>> setting = hs.theory.Setting(dimension=2, horizon=18)
    >>> bound = hs.theory.pooled_error_bound(setting, tasks, np.ones((2, 2)), sampling_error=0.1)
    >>> float(bound.bias), round(float(bound.total), 2)
    (0.0, 0.94)
    """
    setting.demand_bounded_tasks("Theorem 3")
    pooled = pool(tasks)
    zero = Prior.zero(pooled.dimension, regularization=setting.regularization, lead=pooled.lead)
    radius = pooled_radius(
        RidgeEstimate(pooled, zero),
        noise_scale=setting.noise_scale,
        failure_probability=setting.delta,
        mean_norm=0.0,
    )
    nu = smallest_global_eigenvalue(tasks.gram)
    deviation = weighted_deviation(parameters, tasks.gram, tasks.count).max(-1)
    shrinkage = setting.ridge / (setting.ridge + nu)
    return ErrorBound(
        sampling=np.asarray(sampling_error, dtype=np.float64) + np.zeros_like(radius),
        variance=radius / np.sqrt(setting.ridge + nu),
        bias=2.0 * tasks.count.shape[-1] * deviation,
        ridge=shrinkage * setting.parameter_bound,
    )
