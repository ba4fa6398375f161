"""Task distributions outside of the hierarchical model, on the paper's synthetic arms."""

from collections.abc import Callable
from dataclasses import dataclass, field, replace

import numpy as np

from headstart.arrays import Floats
from headstart.core.task import Task
from headstart.environments import Gaussian, Synthetic
from headstart.environments.synthetic import PreparedSynthetic

# Samples deviations from the mean task, (R, d), given the task's number from 0 and one orthonormal
# basis per replication, (R, d, d).
Deviation = Callable[[int, Floats, np.random.Generator], Floats]
# The covariance of tasks (R, d, d), given the bases.
Covariance = Callable[[Floats], Floats]


def around_one(dimension: int = 20) -> Synthetic:
    """The paper's arms, linear rewards, and every task at the mean, (1, …, 1)."""
    return Synthetic(reward="linear", dimension=dimension, tasks=Gaussian(variance=0.0))


@dataclass(frozen=True, eq=False)
class DeviatingTasks:
    """Synthetic arms and linear rewards, with tasks w = mean + deviation.

    The distribution may change from task to task, so a prepared environment counts its tasks.
    """

    deviation: Deviation
    arms: Synthetic = field(default_factory=around_one)
    covariance: Covariance | None = None

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self.arms.dimension

    def prepare(self, replications: int, rng: np.random.Generator) -> "PreparedDeviatingTasks":
        """Sample the arms' bases, and an orthonormal basis for the deviations."""
        plain = self.arms.prepare(replications, rng)
        square = rng.standard_normal((replications, self.dimension, self.dimension))
        return PreparedDeviatingTasks(self, plain, np.linalg.qr(square).Q)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """The first task per replication."""
        return self.prepare(replications, rng).sample(horizon, replications, rng)


class PreparedDeviatingTasks:
    """The environment with its bases; every `sample` is the next task."""

    def __init__(
        self, environment: DeviatingTasks, plain: PreparedSynthetic, basis: Floats
    ) -> None:
        self._environment, self._plain, self._basis = environment, plain, basis
        self._n_sampled = 0

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self._environment.dimension

    @property
    def task_covariance(self) -> Floats | None:
        """Σ₀ of every replication, (R, d, d), where the environment states it."""
        stated = self._environment.covariance
        return None if stated is None else stated(self._basis)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """The next task per replication."""
        plain = self._plain.sample(horizon, replications, rng)
        deviation = self._environment.deviation(self._n_sampled, self._basis, rng)
        self._n_sampled += 1
        means = plain.means + (plain.arms @ deviation[:, None, :, None])[..., 0]
        assert plain.parameter is not None
        return replace(
            plain,
            means=means,
            rewards=plain.rewards + (means - plain.means),
            parameter=plain.parameter + deviation,
        )


def low_rank(variance: float, rank: int) -> Deviation:
    """Tasks differ along few directions, the same for all tasks of a replication."""

    def sample(j: int, basis: Floats, rng: np.random.Generator) -> Floats:
        along = rng.standard_normal((len(basis), rank, 1))
        return np.asarray(np.sqrt(variance / rank) * (basis[:, :, :rank] @ along)[..., 0])

    return sample


def low_rank_covariance(variance: float, rank: int) -> Covariance:
    """Σ₀ of `low_rank`."""

    def of_basis(basis: Floats) -> Floats:
        part = basis[:, :, :rank]
        return np.asarray(variance / rank * (part @ part.mT))

    return of_basis


def bimodal_covariance(variance: float) -> Covariance:
    """Σ₀ of `bimodal`."""

    def of_basis(basis: Floats) -> Floats:
        d = basis.shape[-1]
        between = basis[:, :, :1] @ basis[:, :, :1].mT
        return np.asarray(0.9 * variance * between + 0.1 * variance / d * np.eye(d))

    return of_basis


def bimodal(variance: float) -> Deviation:
    """Two kinds of tasks, on opposite sides of the mean; a tenth of the variance around each."""

    def sample(j: int, basis: Floats, rng: np.random.Generator) -> Floats:
        n, d = basis.shape[:2]
        about = rng.choice([-1.0, 1.0], (n, 1))
        around = rng.standard_normal((n, d)) * np.sqrt(0.1 * variance / d)
        return np.asarray(about * np.sqrt(0.9 * variance) * basis[:, :, 0] + around)

    return sample


def heavy_tailed(variance: float, degrees: float = 2.5) -> Deviation:
    """Student's t, one scale per task: most tasks are near the mean, and some are far away."""

    def sample(j: int, basis: Floats, rng: np.random.Generator) -> Floats:
        n, d = basis.shape[:2]
        scale = np.sqrt((degrees - 2.0) / rng.chisquare(degrees, (n, 1)))
        return np.asarray(np.sqrt(variance / d) * scale * rng.standard_normal((n, d)))

    return sample


def drifting(variance: float, total: int) -> Deviation:
    """The mean itself moves along one direction, from 0 to 4 after `total` tasks."""

    def sample(j: int, basis: Floats, rng: np.random.Generator) -> Floats:
        n, d = basis.shape[:2]
        around = rng.standard_normal((n, d)) * np.sqrt(variance / d)
        return np.asarray(around + 4.0 * j / total * basis[:, :, 0])

    return sample


def orthogonal(size: float) -> Deviation:
    """Every task along a separate axis: no task is informative about another."""

    def sample(j: int, basis: Floats, rng: np.random.Generator) -> Floats:
        return np.asarray(size * basis[:, :, j % basis.shape[-1]] - 1.0)

    return sample


def novel_after(variance: float, after: int) -> Deviation:
    """Similar tasks; after `after` of them, tasks of the same size in random directions."""

    def sample(j: int, basis: Floats, rng: np.random.Generator) -> Floats:
        n, d = basis.shape[:2]
        if j >= after:
            return np.asarray(np.sqrt(d) * basis[:, :, j % d] - 1.0)
        return np.asarray(rng.standard_normal((n, d)) * np.sqrt(variance / d))

    return sample


def opposite_after(variance: float, after: int) -> Deviation:
    """Similar tasks; after `after` of them, their opposite."""

    def sample(j: int, basis: Floats, rng: np.random.Generator) -> Floats:
        n, d = basis.shape[:2]
        around = rng.standard_normal((n, d)) * np.sqrt(variance / d)
        return np.asarray(around - (2.0 if j >= after else 0.0))

    return sample
