"""The hierarchical model written out as one Gaussian over all rewards: slow, and independent."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics

Data = Sequence[tuple[Floats, Floats]]


def sample_tasks(
    rng: np.random.Generator,
    horizons: Sequence[int],
    dimension: int,
    *,
    noise: float = 0.5,
    task_scale: float = 0.7,
    mean: float = 1.0,
) -> list[tuple[Floats, Floats]]:
    """Tasks w ~ N(mean, task_scale²) with the given numbers of rounds."""
    found = []
    for horizon in horizons:
        x = rng.standard_normal((horizon, dimension))
        w = mean + task_scale * rng.standard_normal(dimension)
        found.append((x, x @ w + noise * rng.standard_normal(horizon)))
    return found


def statistics(data: Data) -> list[TaskStatistics]:
    return [TaskStatistics.from_data(x, y) for x, y in data]


@dataclass(frozen=True)
class Dense:
    """Rewards y = X_j w_j + noise, w_j = h + N(0, Σ₀), h ~ N(0, κ²I), as one vector."""

    data: Data
    noise: float
    task: Floats
    mean: float

    @property
    def rewards(self) -> Floats:
        return np.concatenate([y for _, y in self.data])

    @property
    def covariance(self) -> Floats:
        x = np.concatenate([x for x, _ in self.data])
        total = self.noise * np.eye(len(x)) + self.mean * x @ x.T
        start = 0
        for x, _ in self.data:
            part = slice(start, start + len(x))
            total[part, part] += x @ self.task @ x.T
            start += len(x)
        return np.asarray(total)

    @property
    def deviance(self) -> float:
        """−2 log p(rewards)."""
        _, log_determinant = np.linalg.slogdet(2 * np.pi * self.covariance)
        return float(
            log_determinant + self.rewards @ np.linalg.solve(self.covariance, self.rewards)
        )

    def posterior(self, cross: Floats, before: Floats) -> tuple[Floats, Floats]:
        """Mean and covariance of a parameter, given its covariance with rewards and its own."""
        gain = np.linalg.solve(self.covariance, cross.T).T
        return gain @ self.rewards, before - gain @ cross.T

    def mean_task(self) -> tuple[Floats, Floats]:
        """The posterior of h."""
        x = np.concatenate([x for x, _ in self.data])
        return self.posterior(self.mean * x.T, self.mean * np.eye(x.shape[1]))

    def last_task(self) -> tuple[Floats, Floats]:
        """The posterior of the last task's parameter, with all tasks' rewards in it."""
        x = np.concatenate([x for x, _ in self.data])
        cross = self.mean * x.T
        rounds = len(self.data[-1][0])
        cross[:, len(x) - rounds :] += self.task @ self.data[-1][0].T
        return self.posterior(cross, self.mean * np.eye(x.shape[1]) + self.task)
