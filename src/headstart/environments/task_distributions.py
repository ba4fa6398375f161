"""Distributions of a task's parameter w: Gaussian, of several kinds, or scaled basis vectors."""

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
    """w ~ N(mean, covariance), with mean (d,) and any covariance (d, d), even singular."""

    mean: Floats
    covariance: Floats

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        normals = rng.standard_normal((size, len(self.mean)))
        return np.asarray(self.mean + normals @ covariance_root(self.covariance).T)


@dataclass(frozen=True, eq=False)
class Kinds:
    """C kinds of tasks, equally likely: w ~ N(mean of the kind, within·I).

    The means of the kinds are the corners of a regular simplex around `mean`: m + a(e_c − ē), for c
    from 1 to C ≤ d. `between` is their mean squared distance from `mean`.
    """

    mean: Floats
    n_kinds: int
    between: float
    within: float

    @property
    def means(self) -> Floats:
        """The means of the kinds, (C, d)."""
        corners = np.eye(self.n_kinds, len(self.mean))
        length = np.sqrt(self.between * self.n_kinds / (self.n_kinds - 1.0))
        return np.asarray(self.mean + length * (corners - corners.mean(0)))

    @property
    def covariance(self) -> Floats:
        """Cov(w), between and within kinds, (d, d)."""
        gaps = self.means - self.mean
        return np.asarray(gaps.T @ gaps / self.n_kinds + self.within * np.eye(len(self.mean)))

    def sample(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        which = rng.integers(self.n_kinds, size=size)
        normals = rng.standard_normal((size, len(self.mean)))
        return np.asarray(self.means[which] + np.sqrt(self.within) * normals)


@dataclass(frozen=True, eq=False)
class ScaledBasis:
    """w uniform over {S·e_1, …, S·e_d}, with S = bound: only the mean can be transferred."""

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
