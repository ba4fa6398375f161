"""The paper's five learners straight from its equations: dense inverses, loops, no caches.

Independent of headstart on purpose: nothing here imports it. One replication at a time.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats, Integers


@dataclass(frozen=True, kw_only=True)
class Problem:
    """A sequence of tasks: arms[j] (T, K, d), rewards[j] (T, K), parameters[j] (d,)."""

    arms: Sequence[Floats]
    rewards: Sequence[Floats]
    parameters: Sequence[Floats]


@dataclass(frozen=True, kw_only=True)
class Settings:
    """λ, the estimators' own λ, and what the radius of Theorem 1 is made of."""

    regularization: float
    estimation_regularization: float
    within_task: bool
    noise_scale: float
    failure_probability: float
    bias_error: float
    parameter_bound: float | None  # S, where ‖h − w*‖ is split into ‖h‖ + S
    scale: float


def ridge(x: Floats, y: Floats, lam: float) -> Floats:
    """Eq. 1 solved: (XᵀX + λI)⁻¹Xᵀy."""
    return np.asarray(np.linalg.inv(x.T @ x + lam * np.eye(x.shape[1])) @ (x.T @ y))


def biased(x: Floats, y: Floats, lam: float, h: Floats) -> Floats:
    """Eq. 5: (V^λ)⁻¹Xᵀ(Y − Xh) + h."""
    return np.asarray(np.linalg.inv(x.T @ x + lam * np.eye(x.shape[1])) @ (x.T @ (y - x @ h)) + h)


def radius(x: Floats, h: Floats, s: Settings) -> float:
    """β of Theorem 1: √λ‖h − w*‖ + R√(2 log(det(V^λ)^½ / (det(λI)^½ δ)))."""
    lam, dimension = s.regularization, x.shape[1]
    error = s.bias_error
    if s.parameter_bound is not None:
        error = float(np.linalg.norm(h)) + s.parameter_bound
    v = x.T @ x + lam * np.eye(dimension)
    ratio = np.sqrt(np.linalg.det(v)) / (np.sqrt(lam**dimension) * s.failure_probability)
    return s.scale * float(np.sqrt(lam) * error + s.noise_scale * np.sqrt(2 * np.log(ratio)))


def index(arms: Floats, x: Floats, y: Floats, h: Floats, s: Settings) -> Floats:
    """Eq. 4 for every arm: xᵀŵ + β‖x‖ in the norm of (V^λ)⁻¹."""
    inverse = np.linalg.inv(x.T @ x + s.regularization * np.eye(x.shape[1]))
    w, beta = biased(x, y, s.regularization, h), radius(x, h, s)
    return np.array([a @ w + beta * np.sqrt(max(float(a @ inverse @ a), 0.0)) for a in arms])


def average(history: Sequence[tuple[Floats, Floats]], lam: float, dimension: int) -> Floats:
    """Eq. 7 over tasks (X, y): Σ T_j ŵ_j / Σ T_j, and 0 where nothing was seen."""
    total = np.zeros(dimension)
    weight = 0
    for x, y in history:
        total = total + len(y) * ridge(x, y, lam)
        weight += len(y)
    return total / weight if weight else total


def pooled(history: Sequence[tuple[Floats, Floats]], lam: float, dimension: int) -> Floats:
    """Eq. 8 over tasks (X, y): (Σ V_j + λI)⁻¹ Σ b_j."""
    v, b = lam * np.eye(dimension), np.zeros(dimension)
    for x, y in history:
        v, b = v + x.T @ x, b + x.T @ y
    return np.asarray(np.linalg.inv(v) @ b)


def bias(
    learner: str,
    history: Sequence[tuple[Floats, Floats]],
    settings: Settings,
    mean_parameter: Floats,
) -> Floats:
    """Where a learner of this name holds the running task, given the tasks (X, y) it has seen."""
    lam, dimension = settings.estimation_regularization, len(mean_parameter)
    if learner == "ITL":
        return np.zeros(dimension)
    if learner == "Oracle":
        return mean_parameter
    if learner == "AVG-OFUL":
        return average(history, lam, dimension)
    if learner == "RR-OFUL":
        return pooled(history, lam, dimension)
    raise ValueError(learner)


def scores_along(
    problem: Problem,
    learner: str,
    choices: Sequence[Integers],
    settings: Settings,
    mean_parameter: Floats,
) -> list[Floats]:
    """The index of every arm in every round, (T, K) a task, along a history of choices (T,).

    Given choices, and not its own, so that a tie broken otherwise does not end the comparison.
    """
    dimension = len(mean_parameter)
    finished: list[tuple[Floats, Floats]] = []
    found = []
    for j, (arms, rewards) in enumerate(zip(problem.arms, problem.rewards, strict=True)):
        x, y = np.empty((0, dimension)), np.empty(0)
        rows = []
        for t in range(len(arms)):
            if learner == "OPT":
                rows.append(arms[t] @ problem.parameters[j])
            else:
                seen = [*finished, (x, y)] if settings.within_task else finished
                h = bias(learner, seen, settings, mean_parameter)
                rows.append(index(arms[t], x, y, h, settings))
            k = choices[j][t]
            x, y = np.vstack([x, arms[t][k]]), np.append(y, rewards[t][k])
        finished.append((x, y))
        found.append(np.array(rows))
    return found
