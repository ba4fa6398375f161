"""The error of an estimated bias, h − w̄, and its terms."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics


def estimation_error(bias: ArrayLike, mean_parameter: ArrayLike) -> Floats:
    """ε = ‖w̄ − h‖²: squared, as the paper defines it.

    Examples
    --------
    >>> float(hs.theory.estimation_error([1.0, 1.0], [1.0, 3.0]))
    4.0
    """
    difference = checks.floats("bias", bias) - checks.floats("mean_parameter", mean_parameter)
    return np.asarray((difference**2).sum(-1))


def task_average(parameters: ArrayLike, counts: ArrayLike) -> Floats:
    """H̄ = Σ T_j w_j / Σ T_j.

    Examples
    --------
    >>> hs.theory.task_average([[0.0, 0.0], [4.0, 0.0]], [10, 30])
    array([3., 0.])
    """
    weights = checks.floats("counts", counts)[..., None]
    return np.asarray((weights * checks.floats("parameters", parameters)).sum(-2) / weights.sum(-2))


def gram_average(parameters: ArrayLike, grams: ArrayLike) -> Floats:
    """H̄' = Ṽ⁺ Σ V_j w_j, what RR would find without noise and ridge.

    Ṽ = ΣV_j may be singular: pseudo-inverse.

    Examples
    --------
    >>> hs.theory.gram_average([[1.0, 2.0], [3.0, 4.0]], [np.diag([1.0, 0.0]), np.diag([0.0, 1.0])])
    array([1., 4.])
    """
    v, w = checks.floats("grams", grams), checks.floats("parameters", parameters)
    moment = (v @ w[..., None])[..., 0].sum(-2)
    return np.asarray((np.linalg.pinv(v.sum(-3), hermitian=True) @ moment[..., None])[..., 0])


def sampling_error(parameters: ArrayLike, counts: ArrayLike, mean_parameter: ArrayLike) -> Floats:
    """H_ρ = ‖w̄ − H̄‖: the error that remains when every task is known exactly.

    Examples
    --------
    >>> float(hs.theory.sampling_error([[0.0, 0.0], [4.0, 0.0]], [10, 10], [2.0, 1.0]))
    1.0
    """
    average = task_average(parameters, counts)
    return np.sqrt(estimation_error(average, mean_parameter))


def bennett_bound(
    *,
    n_tasks: ArrayLike,
    parameter_bound: float,
    second_moment: float,
    failure_probability: float,
) -> Floats:
    """Lemma 3: H_ρ ≤ 2 log(2/δ) S/N + √(2 log(2/δ) Var_0/N) with probability 1 − δ.

    For N independent tasks with ‖w‖ ≤ S that count equally: the running task, with fewer rounds, is
    left out. Valid but loose: it uses the second moment Var_0, but Var_w̄ would nearly suffice.

    Examples
    --------
    >>> hs.theory.bennett_bound(
    ...     n_tasks=[10, 1000], parameter_bound=1.0, second_moment=1.0, failure_probability=0.05
    ... ).round(2)
    array([1.6 , 0.09])
    """
    n = checks.floats("n_tasks", n_tasks)
    checks.nonnegative("parameter_bound", parameter_bound)
    checks.nonnegative("second_moment", second_moment)
    checks.probability("failure_probability", failure_probability)
    logarithm = 2.0 * np.log(2.0 / failure_probability)
    return np.asarray(logarithm * parameter_bound / n + np.sqrt(logarithm * second_moment / n))


Term = Literal["sampling", "bias", "noise", "ridge"]
TERMS: tuple[Term, ...] = get_args(Term)


@dataclass(frozen=True, eq=False)
class ErrorTerms:
    """h − w̄ as a sum of named vectors (…, d): `sampling` + `bias` + `noise` + `ridge`.

    Parameters
    ----------
    sampling : ndarray of shape (…, d)
        H̄ − w̄: the tasks seen are a sample of all tasks.
    bias : ndarray of shape (…, d)
        Tasks that play different arms have different weights in the pool; 0 for AVG.
    noise : ndarray of shape (…, d)
        The noise of the rewards.
    ridge : ndarray of shape (…, d)
        Ridge regression shrinks towards 0.

    Examples
    --------
    >>> tasks = hs.TaskStatistics.from_data([[[1.0, 0.0]], [[0.0, 1.0]]], [[1.0], [1.0]])
    >>> terms = hs.theory.average_error(tasks, np.ones((2, 2)), [1.0, 1.0], regularization=1.0)
    >>> terms.ridge, terms.total
    (array([-0.75, -0.75]), array([-0.75, -0.75]))
    """

    sampling: Floats
    bias: Floats
    noise: Floats
    ridge: Floats

    @property
    def total(self) -> Floats:
        """The error h − w̄."""
        return self.sampling + self.bias + self.noise + self.ridge

    def squares(self) -> dict[Term, Floats]:
        """‖·‖² of every term, of shape (…). Their sum is not ‖h − w̄‖²: terms are not orthogonal."""
        return {name: (getattr(self, name) ** 2).sum(-1) for name in TERMS}


def average_error(
    tasks: TaskStatistics,
    parameters: ArrayLike,
    mean_parameter: ArrayLike,
    *,
    regularization: ArrayLike,
) -> ErrorTerms:
    """The terms of AVG's error after n tasks.

    ŵ_j − w_j = (V_j + λI)⁻¹X_jᵀη_j − λ(V_j + λI)⁻¹w_j, averaged with weights T_j (Eq. 7).

    Examples
    --------
    >>> tasks = hs.TaskStatistics.from_data([[[1.0, 0.0]], [[0.0, 1.0]]], [[1.0], [1.0]])
    >>> terms = hs.theory.average_error(tasks, np.ones((2, 2)), [1.0, 1.0], regularization=1.0)
    >>> terms.total
    array([-0.75, -0.75])
    """
    w, centre = checks.floats("parameters", parameters), checks.floats("mean", mean_parameter)
    noise, ridge = _ridge_error(tasks, w, regularization)
    average = task_average(w, tasks.count)
    return ErrorTerms(
        sampling=average - centre,
        bias=np.zeros_like(average),
        noise=task_average(noise, tasks.count),
        ridge=task_average(ridge, tasks.count),
    )


def pooled_error(
    tasks: TaskStatistics,
    parameters: ArrayLike,
    mean_parameter: ArrayLike,
    *,
    regularization: ArrayLike,
) -> ErrorTerms:
    """The terms of RR's error after n tasks.

    With M = (Ṽ + λI)⁻¹: h − H̄ = MΣX_jᵀη_j + MΣV_j(w_j − H̄) − λMH̄, noise, bias and ridge. Lemmas
    4 and 5 split at H̄' instead of H̄; if Ṽ is nearly singular, H̄' is far from every task, and two
    huge terms cancel.

    Examples
    --------
    >>> tasks = hs.TaskStatistics.from_data([[[1.0, 0.0]], [[0.0, 1.0]]], [[1.0], [1.0]])
    >>> terms = hs.theory.pooled_error(tasks, np.ones((2, 2)), [1.0, 1.0], regularization=1.0)
    >>> terms.total
    array([-0.5, -0.5])
    """
    w, centre = checks.floats("parameters", parameters), checks.floats("mean", mean_parameter)
    average = task_average(w, tasks.count)
    pooled = pool(tasks)
    through_data, ridge = _ridge_error(pooled, average, regularization)
    misaligned = (tasks.gram @ (w - average[..., None, :])[..., None])[..., 0].sum(-2)
    zero = Prior.zero(pooled.dimension, regularization=regularization, lead=pooled.lead)
    precision = RidgeEstimate(pooled, zero).precision
    bias = np.asarray(np.linalg.solve(precision, misaligned[..., None])[..., 0])
    return ErrorTerms(sampling=average - centre, bias=bias, noise=through_data - bias, ridge=ridge)


def pool(tasks: TaskStatistics) -> TaskStatistics:
    """The statistics of all tasks as one, (…).

    Examples
    --------
    >>> tasks = hs.TaskStatistics.from_data([[[1.0, 0.0]], [[0.0, 1.0]]], [[1.0], [2.0]])
    >>> hs.theory.pool(tasks).moment
    array([1., 2.])
    """
    return TaskStatistics(
        gram=tasks.gram.sum(-3),
        moment=tasks.moment.sum(-2),
        count=tasks.count.sum(-1),
        sum_of_squares=tasks.sum_of_squares.sum(-1),
    )


def _ridge_error(
    statistics: TaskStatistics, parameter: Floats, regularization: ArrayLike
) -> tuple[Floats, Floats]:
    """The two terms of a ridge estimate's error, (…, d) each: from the data, and from shrinkage."""
    zero = Prior.zero(statistics.dimension, regularization=regularization, lead=statistics.lead)
    estimate = RidgeEstimate(statistics, zero)
    shrunk = np.linalg.solve(estimate.precision, zero.prior_moment(parameter)[..., None])[..., 0]
    return np.asarray(estimate.parameter - parameter + shrunk), np.asarray(-shrunk)
