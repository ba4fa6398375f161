"""The learner that is told everything: the mean task, Σ₀, and what side information means."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from benchmarks.task_distributions import PreparedDeviatingTasks

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.environments.synthetic import PreparedSynthetic
from headstart.interfaces import Environment, Memory
from headstart.policies import BayesUCB
from headstart.simulation import Learner


@dataclass(frozen=True, eq=False)
class ToldEverything:
    """The prior N(w̄ + Hz, Σ₀) itself.

    mean (R, d), coefficients Hᵀ (R, p, d) with p of at least 0, covariance (R, d, d); noise 1.
    """

    mean: Floats
    coefficients: Floats
    covariance: Floats

    @property
    def n_about(self) -> int:
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

    def prior(self, memory: Memory, about: Floats | None = None) -> Prior:
        """N(w̄ + Hz, Σ₀)."""
        mean = memory["mean"]
        if about is not None:
            mean = mean + (about[:, None, :] @ memory["H"])[:, 0]
        return Prior.trusted(mean, memory["regularization"])

    def running_bias(self, memory: Memory) -> None:
        """None: the bias is constant."""
        return


def told_everything(prepared: Environment, name: str) -> Iterator[Learner]:
    """The learner, if rewards are linear and the distribution of tasks has moments to tell."""
    told = None
    if isinstance(prepared, PreparedDeviatingTasks):
        covariance = prepared.task_covariance
        if covariance is not None:
            mean = np.ones((len(covariance), prepared.dimension))
            told = ToldEverything(mean, mean[:, None, :0].swapaxes(1, 2), covariance)
    elif isinstance(prepared, PreparedSynthetic) and prepared.environment.reward == "linear":
        settings, mean = prepared.environment, prepared.mean_parameter
        coefficients = prepared.about_coefficients
        if coefficients is None:
            coefficients = np.zeros((len(mean), 0, prepared.dimension))
        own = (1.0 - settings.about_explains) * settings.task_covariance
        told = ToldEverything(mean, coefficients, np.tile(own, (len(mean), 1, 1)))
    if told is not None:
        yield Learner(name, BayesUCB(), told)
