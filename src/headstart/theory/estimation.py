"""How far an estimated bias lies from the mean task, and what the distance is made of."""

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics


def estimation_error(bias: ArrayLike, mean_parameter: ArrayLike) -> Floats:
    """ε = ‖w̄ − h‖² for biases (…, d), of shape (…): squared, as the paper defines it."""
    gap = checks.floats("bias", bias) - checks.floats("mean_parameter", mean_parameter)
    return np.asarray((gap**2).sum(-1))


def task_average(parameters: ArrayLike, counts: ArrayLike) -> Floats:
    """H̄ = Σ T_j w_j / Σ T_j over tasks (…, n, d) with rounds (…, n), of shape (…, d)."""
    weights = checks.floats("counts", counts)[..., None]
    return np.asarray((weights * checks.floats("parameters", parameters)).sum(-2) / weights.sum(-2))


def gram_average(parameters: ArrayLike, grams: ArrayLike) -> Floats:
    """H̄' = Ṽ⁺ Σ V_j w_j over tasks (…, n, d) with grams (…, n, d, d), of shape (…, d).

    What RR would find without noise and ridge. Ṽ = ΣV_j may be singular: pseudo-inverse.
    """
    v, w = checks.floats("grams", grams), checks.floats("parameters", parameters)
    moment = (v @ w[..., None])[..., 0].sum(-2)
    return np.asarray((np.linalg.pinv(v.sum(-3), hermitian=True) @ moment[..., None])[..., 0])


def sampling_error(parameters: ArrayLike, counts: ArrayLike, mean_parameter: ArrayLike) -> Floats:
    """H_ρ = ‖w̄ − H̄‖: the error left when every task is known exactly, of shape (…)."""
    average = task_average(parameters, counts)
    return np.sqrt(estimation_error(average, mean_parameter))


def bennett_bound(
    *,
    n_tasks: ArrayLike,
    parameter_bound: float,
    second_moment: float,
    failure_probability: float,
) -> Floats:
    """Lemma 3: H_ρ ≤ 2 log(2/δ) S/N + √(2 log(2/δ) Var_0/N) with probability 1 − δ, of shape (…).

    For N independent tasks with ‖w‖ ≤ S that count equally: the running task, with fewer rounds,
    is left out. Valid but loose: it uses the second moment Var_0 where Var_w̄ would nearly do.
    """
    n = checks.floats("n_tasks", n_tasks)
    checks.nonnegative("parameter_bound", parameter_bound)
    checks.nonnegative("second_moment", second_moment)
    checks.probability("failure_probability", failure_probability)
    logarithm = 2.0 * np.log(2.0 / failure_probability)
    return np.asarray(logarithm * parameter_bound / n + np.sqrt(logarithm * second_moment / n))


@dataclass(frozen=True, eq=False)
class ErrorParts:
    """h − w̄ as a sum of named vectors (…, d): `sampling` + `bias` + `noise` + `ridge`."""

    sampling: Floats  # H̄ − w̄: the tasks met are not all tasks
    bias: Floats  # tasks that play different arms weigh differently in the pool; 0 for AVG
    noise: Floats
    ridge: Floats  # what shrinking towards 0 takes away

    @property
    def total(self) -> Floats:
        """The whole of h − w̄."""
        return self.sampling + self.bias + self.noise + self.ridge

    def squares(self) -> dict[str, Floats]:
        """‖·‖² of every part, of shape (…). They do not add up: the parts are not orthogonal."""
        parts = ("sampling", "bias", "noise", "ridge")
        return {name: (getattr(self, name) ** 2).sum(-1) for name in parts}


def average_error(
    tasks: TaskStatistics,
    parameters: ArrayLike,
    mean_parameter: ArrayLike,
    *,
    regularization: ArrayLike,
) -> ErrorParts:
    """What AVG's error is made of after tasks (…, n) with true parameters (…, n, d).

    ŵ_j − w_j = (V_j + λI)⁻¹X_jᵀη_j − λ(V_j + λI)⁻¹w_j, averaged with weights T_j (Eq. 7).
    """
    w, centre = checks.floats("parameters", parameters), checks.floats("mean", mean_parameter)
    noise, ridge = _ridge_error(tasks, w, regularization)
    average = task_average(w, tasks.count)
    return ErrorParts(
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
) -> ErrorParts:
    """What RR's error is made of after tasks (…, n) with true parameters (…, n, d).

    With M = (Ṽ + λI)⁻¹: h − H̄ = MΣX_jᵀη_j + MΣV_j(w_j − H̄) − λMH̄, noise, bias and ridge. Lemmas 4
    and 5 split at H̄' in place of H̄; where Ṽ is nearly singular H̄' is far from every task, and two
    huge parts cancel.
    """
    w, centre = checks.floats("parameters", parameters), checks.floats("mean", mean_parameter)
    average = task_average(w, tasks.count)
    everything = pool(tasks)
    learned, ridge = _ridge_error(everything, average, regularization)
    misaligned = (tasks.gram @ (w - average[..., None, :])[..., None])[..., 0].sum(-2)
    blank = Prior.zero(everything.dimension, regularization=regularization, lead=everything.lead)
    precision = RidgeEstimate(everything, blank).precision
    bias = np.asarray(np.linalg.solve(precision, misaligned[..., None])[..., 0])
    return ErrorParts(sampling=average - centre, bias=bias, noise=learned - bias, ridge=ridge)


def pool(tasks: TaskStatistics) -> TaskStatistics:
    """All tasks (…, n) as one (…)."""
    return TaskStatistics(
        gram=tasks.gram.sum(-3),
        moment=tasks.moment.sum(-2),
        count=tasks.count.sum(-1),
        sum_of_squares=tasks.sum_of_squares.sum(-1),
    )


def _ridge_error(
    statistics: TaskStatistics, parameter: Floats, regularization: ArrayLike
) -> tuple[Floats, Floats]:
    """The two parts of a ridge estimate's error, (…, d) each: through the data, and through λ."""
    blank = Prior.zero(statistics.dimension, regularization=regularization, lead=statistics.lead)
    estimate = RidgeEstimate(statistics, blank)
    shrunk = np.linalg.solve(estimate.precision, blank.prior_moment(parameter)[..., None])[..., 0]
    return np.asarray(estimate.parameter - parameter + shrunk), np.asarray(-shrunk)
