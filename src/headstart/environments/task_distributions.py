"""The laws that synthetic tasks are drawn from: Gaussian, or uniform over scaled basis vectors."""

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Floats


@dataclass(frozen=True, eq=False)
class Isotropic:
    """w ~ N(mean, variance·I), with mean (d,) and the variance of a coordinate."""

    mean: Floats
    variance: float

    @property
    def covariance(self) -> Floats:
        """Cov(w), of shape (d, d)."""
        return self.variance * np.eye(len(self.mean))

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent draws of w, (size, d)."""
        normals = rng.standard_normal((size, len(self.mean)))
        return np.asarray(self.mean + np.sqrt(self.variance) * normals)


@dataclass(frozen=True, eq=False)
class Gaussian:
    """w ~ N(mean, covariance), with mean (d,) and any covariance (d, d), singular ones too."""

    mean: Floats
    covariance: Floats

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent draws of w, (size, d)."""
        normals = rng.standard_normal((size, len(self.mean)))
        # A root from eigenvalues, because tasks may differ in a few directions only.
        values, vectors = np.linalg.eigh(self.covariance)
        root = vectors * np.sqrt(np.maximum(values, 0.0))
        return np.asarray(self.mean + normals @ root.T)


@dataclass(frozen=True, eq=False)
class Basis:
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

    def draw(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent draws of w, (size, d)."""
        which = rng.integers(self.dimension, size=size)
        return np.asarray(self.bound * np.eye(self.dimension)[which])


TaskLaw = Isotropic | Gaussian | Basis
