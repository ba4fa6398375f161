"""Distributions of a task's parameter w: Gaussian, or uniform over scaled basis vectors."""

from dataclasses import dataclass
from typing import Protocol

import numpy as np

from headstart.arrays import Floats


class TaskDistribution(Protocol):
    """A distribution of w with known moments."""

    @property
    def mean(self) -> Floats:
        """E w, of shape (d,)."""
        ...

    @property
    def covariance(self) -> Floats:
        """Cov(w), of shape (d, d)."""
        ...

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        ...


@dataclass(frozen=True, eq=False)
class IsotropicGaussian:
    """w ~ N(mean, variance·I), with mean (d,) and a variance per coordinate."""

    mean: Floats
    variance: float

    @property
    def covariance(self) -> Floats:
        """Cov(w) = variance·I, of shape (d, d)."""
        return self.variance * np.eye(len(self.mean))

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        normals = rng.standard_normal((size, len(self.mean)))
        return np.asarray(self.mean + np.sqrt(self.variance) * normals)


@dataclass(frozen=True, eq=False)
class Gaussian:
    """w ~ N(mean, covariance), with mean (d,) and any covariance (d, d), singular ones included."""

    mean: Floats
    covariance: Floats

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        normals = rng.standard_normal((size, len(self.mean)))
        return np.asarray(self.mean + normals @ covariance_root(self.covariance).T)


@dataclass(frozen=True, eq=False)
class ScaledBasis:
    """w uniform over {S·e_1, …, S·e_d}, with S = bound: nothing to transfer but the mean."""

    dimension: int
    bound: float

    @property
    def mean(self) -> Floats:
        """E w = (S/d, …, S/d)."""
        return np.full(self.dimension, self.bound / self.dimension)

    @property
    def covariance(self) -> Floats:
        """Cov(w) = S²(I/d − 11ᵀ/d²)."""
        return self.bound * np.diag(self.mean) - np.outer(self.mean, self.mean)

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        which = rng.integers(self.dimension, size=size)
        return np.asarray(self.bound * np.eye(self.dimension)[which])


def covariance_root(covariance: Floats) -> Floats:
    """A root R of Σ = RRᵀ, (d, d), from eigenvalues: Σ may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))
