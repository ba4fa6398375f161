"""Learners of the league beyond its usual ones: the oracle told Σ₀, and a half-life of tasks."""

from dataclasses import dataclass

import numpy as np
from benchmarks.task_distributions import PreparedDeviatingTasks

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.environments.synthetic import PreparedSynthetic
from headstart.interfaces import Environment, LivePriorEstimator, Memory


@dataclass(frozen=True, eq=False)
class ToldCovariance:
    """The prior of the oracle that is told everything: N(w̄ + Hz, Σ₀), with its own Σ₀ everywhere.

    mean (R, d), coefficients Hᵀ (R, p, d) with p of at least 0, covariance (R, d, d); noise 1.
    """

    mean: Floats
    coefficients: Floats
    covariance: Floats

    @property
    def n_side(self) -> int:
        """The size of the side information, p."""
        return int(self.coefficients.shape[1])

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """What it is told, with the noise's precision in units of tasks'."""
        # Directions without variance get a thousandth of the others' mean.
        size = np.trace(self.covariance, axis1=-2, axis2=-1)[:, None, None] / dimension
        inverse = np.linalg.inv(self.covariance + 1e-3 * size * np.eye(dimension))
        regularization = (inverse + inverse.mT) / 2.0
        return {"mean": self.mean, "H": self.coefficients, "regularization": regularization}

    def absorb(self, memory: Memory, task: TaskStatistics) -> Memory:
        """Nothing is learned."""
        return memory

    def prior(self, memory: Memory, side: Floats | None = None) -> Prior:
        """N(w̄ + Hz, Σ₀)."""
        mean = memory["mean"]
        if side is not None:
            mean = mean + (side[:, None, :] @ memory["H"])[:, 0]
        return Prior.trusted(mean, memory["regularization"])

    def running_bias(self, memory: Memory) -> None:
        """None: the bias is constant."""
        return


def told_covariance(environment: Environment) -> ToldCovariance | None:
    """What there is to tell of a prepared environment, if it has more structure than a variance."""
    if isinstance(environment, PreparedDeviatingTasks):
        covariance = environment.task_covariance
        if covariance is None:
            return None
        mean = np.ones((len(covariance), environment.dimension))
        return ToldCovariance(mean, np.zeros((len(mean), 0, environment.dimension)), covariance)
    if isinstance(environment, PreparedSynthetic) and environment.side_coefficients is not None:
        settings, mean = environment.environment, environment.mean_parameter
        own = (1.0 - settings.side_explains) * settings.task_covariance
        covariance = np.tile(own, (len(mean), 1, 1))
        return ToldCovariance(mean, environment.side_coefficients, covariance)
    return None


@dataclass(frozen=True)
class WithHalfLife:
    """A prior estimator for which a task counts half as much after so many more of them."""

    plain: LivePriorEstimator
    half_life: float

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """Its memory."""
        return self.plain.empty(dimension, lead)

    def absorb(self, memory: Memory, task: TaskStatistics) -> Memory:
        """Older tasks count less."""
        return self.plain.absorb(self.plain.scale(memory, 0.5 ** (1.0 / self.half_life)), task)

    def prior(self, memory: Memory) -> Prior:
        """Its prior."""
        return self.plain.prior(memory)

    def running_bias(self, memory: Memory) -> None:
        """None: the bias is constant within a task."""
        return
