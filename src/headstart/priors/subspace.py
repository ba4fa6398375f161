"""Subspace: tasks around an affine subspace, found by principal components of their estimates."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors import _estimation, _memories


@dataclass(frozen=True, kw_only=True)
class Subspace:
    """Bilaj, Dhouib and Maghsudi (2024): a task is pulled to the affine subspace of earlier ones.

    The bias h is the mean of the tasks' ridge estimates towards 0, and P projects on the first p
    principal components of them: Λ = λ(I − P) + λ_in P. Until there are more than p tasks, Λ =
    λ_in·I. The paper tracks the components online, by CCIPCA; here they are computed from the sums
    of ŵŵᵀ, the limit of CCIPCA.

    Parameters
    ----------
    n_directions : int, default 1
        The number of principal components, p. 0 is AVG-OFUL with equal weights.
    regularization : float, default 1.0
        λ, across the subspace.
    inside : float, default 0.1
        λ_in, along the subspace.
    estimation_regularization : float, default 1.0
        The λ of the tasks' ridge estimates.

    Examples
    --------
    >>> prior = hs.priors.Subspace(n_directions=1, regularization=10.0, inside=1.0)
    >>> memory = prior.empty(2)
    >>> for rewards in ([2.0, 0.0], [4.0, 0.0]):
    ...     memory = prior.absorb(memory, hs.TaskStatistics.from_data(np.eye(2), rewards))
    >>> prior.prior(memory).bias, prior.prior(memory).regularization.round(6)
    (array([1.5, 0. ]), array([[ 1.,  0.],
           [ 0., 10.]]))
    """

    n_directions: int = 1
    regularization: float = 1.0
    inside: float = 0.1
    estimation_regularization: float = 1.0

    def __post_init__(self) -> None:
        checks.count("n_directions", self.n_directions, least=0)
        for name in ("regularization", "inside", "estimation_regularization"):
            checks.positive(name, getattr(self, name))

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        """The number of tasks (…), Σŵ (…, d) and Σŵŵᵀ (…, d, d)."""
        if self.n_directions > dimension:
            raise ValueError(f"n_directions must be at most {dimension}, got {self.n_directions}")
        return {
            "count": np.zeros(lead),
            "total": np.zeros((*lead, dimension)),
            "products": np.zeros((*lead, dimension, dimension)),
        }

    def absorb(self, memory: Memory, task: TaskStatistics, weight: float = 1.0) -> Memory:
        """Add the task's ridge estimate; a task without rewards adds nothing."""
        *lead, dimension = memory["total"].shape
        own = self.estimation_regularization
        zero = _estimation.zero_prior(own, own, dimension=dimension, lead=tuple(lead))
        parameter = RidgeEstimate(task, zero).parameter
        contribution = {
            "count": np.where(task.count > 0.0, 1.0, 0.0),
            "total": parameter,
            "products": parameter[..., :, None] * parameter[..., None, :],
        }
        return _memories.add(memory, contribution, weight)

    def scale(self, memory: Memory, factor: float) -> Memory:
        """Every task counts `factor` times as much."""
        return _memories.scale(memory, factor)

    def merge(self, memory: Memory, other: Memory) -> Memory:
        """The sums over the tasks of both."""
        return _memories.merge(memory, other)

    def prior(self, memory: Memory) -> Prior:
        """The mean of the estimates, and Λ from their principal components."""
        count = np.maximum(memory["count"], 1.0)
        bias = memory["total"] / count[..., None]
        covariance = memory["products"] / count[..., None, None] - _outer(bias)
        # Largest last.
        basis = np.linalg.eigh((covariance + covariance.mT) / 2.0).eigenvectors
        dimension = bias.shape[-1]
        inside = np.arange(dimension) >= dimension - self.n_directions
        known = (memory["count"] > self.n_directions)[..., None]
        strength = np.where(known & ~inside, self.regularization, self.inside)
        regularization = (basis * strength[..., None, :]) @ basis.mT
        return Prior.trusted(bias, (regularization + regularization.mT) / 2.0)

    def running_bias(self, memory: Memory) -> None:
        """None: the bias is constant within a task."""
        return


def _outer(vectors: Floats) -> Floats:
    return np.asarray(vectors[..., :, None] * vectors[..., None, :])
