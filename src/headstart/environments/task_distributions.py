"""Distributions of a task's parameter w: Gaussian, of several kinds, or scaled basis vectors."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol, cast

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats


class TaskDistribution(Protocol):
    """A distribution of w in d dimensions, with known moments."""

    def moments(self, dimension: int) -> tuple[Floats, Floats]:
        """The mean w̄, (d,), and the covariance Σ₀, (d, d)."""
        ...

    def draw(self, size: int, dimension: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        ...


@dataclass(frozen=True, kw_only=True, eq=False)
class Gaussian:
    """w ~ N(mean, Σ₀).

    Parameters
    ----------
    mean : float or array_like of shape (d,), default 1.0
        The mean task, w̄.
    variance : float or array_like of shape (d, d), default 1.0
        E‖w − w̄‖², the paper's Var, the same in every direction: Σ₀ = variance·I/d. A matrix is Σ₀
        itself, and may be singular.

    Examples
    --------
    >>> tasks = hs.environments.Gaussian(mean=0.0, variance=20.0)
    >>> hs.environments.Synthetic(tasks=tasks, dimension=10).task_covariance[0, 0]
    np.float64(2.0)
    """

    mean: ArrayLike = 1.0
    variance: ArrayLike = 1.0

    def __post_init__(self) -> None:
        checks.floats("mean", self.mean)
        if np.ndim(self.variance) == 0:
            checks.nonnegative("variance", cast("float", self.variance))
        else:
            variance = checks.floats("variance", self.variance)
            checks.shape("variance", variance, 2 * variance.shape[:1], "(d, d)")
            checks.positive_semidefinite("variance", variance)

    def moments(self, dimension: int) -> tuple[Floats, Floats]:
        """The mean w̄, (d,), and the covariance Σ₀, (d, d)."""
        covariance = np.array(self.variance, dtype=np.float64)
        if covariance.ndim == 0:
            covariance = covariance / dimension * np.eye(dimension)
        checks.shape("variance", covariance, (dimension, dimension), "(d, d)")
        return _mean(self.mean, dimension), covariance

    def draw(self, size: int, dimension: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        normals = rng.standard_normal((size, dimension))
        if np.ndim(self.variance) == 0:
            scale = np.sqrt(np.asarray(self.variance, dtype=np.float64) / dimension)
            return np.asarray(_mean(self.mean, dimension) + scale * normals)
        mean, covariance = self.moments(dimension)
        return np.asarray(mean + normals @ covariance_root(covariance).T)


@dataclass(frozen=True, kw_only=True, eq=False)
class Kinds:
    """C kinds of tasks, equally likely: w ~ N(mean of the kind, within·Var·I/d).

    The means of the kinds are the corners of a regular simplex around `mean`: m + a(e_c − ē), for c
    from 1 to C ≤ d.

    Parameters
    ----------
    n_kinds : int
        C, at least 2.
    mean : float or array_like of shape (d,), default 1.0
        The mean task, w̄.
    variance : float, default 1.0
        Var = E‖w − w̄‖², between and within kinds.
    within : float, default 0.1
        The share of the variance that is within a kind.

    Examples
    --------
    >>> tasks = hs.environments.Kinds(n_kinds=3, variance=6.0, within=0.0)
    >>> environment = hs.environments.Synthetic(dimension=5, tasks=tasks)
    >>> len(np.unique(tasks.draw(100, 5, np.random.default_rng(0)).round(6), axis=0))
    3
    """

    n_kinds: int
    mean: ArrayLike = 1.0
    variance: float = 1.0
    within: float = 0.1

    def __post_init__(self) -> None:
        checks.count("n_kinds", self.n_kinds, least=2)
        checks.floats("mean", self.mean)
        checks.nonnegative("variance", self.variance)
        checks.share("within", self.within)

    def _means(self, dimension: int) -> Floats:
        """The means of the kinds, (C, d)."""
        if self.n_kinds > dimension:
            raise ValueError(f"n_kinds must be at most dimension, got {self.n_kinds}")
        between = dimension * (self.variance / dimension - self._within(dimension))
        corners = np.eye(self.n_kinds, dimension)
        length = np.sqrt(between * self.n_kinds / (self.n_kinds - 1.0))
        mean = _mean(self.mean, dimension)
        return np.asarray(mean + length * (corners - corners.mean(0)))

    def _within(self, dimension: int) -> float:
        """The variance of a coordinate within a kind."""
        return self.within * (self.variance / dimension)

    def moments(self, dimension: int) -> tuple[Floats, Floats]:
        """The mean w̄, (d,), and the covariance Σ₀, (d, d)."""
        mean, means = _mean(self.mean, dimension), self._means(dimension)
        between = (means - mean).T @ (means - mean) / self.n_kinds
        return mean, between + self._within(dimension) * np.eye(dimension)

    def draw(self, size: int, dimension: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        which = rng.integers(self.n_kinds, size=size)
        normals = rng.standard_normal((size, dimension))
        return np.asarray(
            self._means(dimension)[which] + np.sqrt(self._within(dimension)) * normals
        )


@dataclass(frozen=True, kw_only=True, eq=False)
class Basis:
    """w uniform over {S·e_1, …, S·e_d}: only the mean can be transferred (Section 5.2).

    Parameters
    ----------
    size : float, default 1.0
        S.

    Examples
    --------
    >>> environment = hs.environments.Synthetic(dimension=4, tasks=hs.environments.Basis(size=2.0))
    >>> environment.mean_parameter
    array([0.5, 0.5, 0.5, 0.5])
    """

    size: float = 1.0

    def __post_init__(self) -> None:
        checks.positive("size", self.size)

    def moments(self, dimension: int) -> tuple[Floats, Floats]:
        """w̄ = (S/d, …, S/d) and Σ₀ = S²(I/d − 11ᵀ/d²)."""
        mean = np.full(dimension, self.size / dimension)
        return mean, self.size * np.diag(mean) - np.outer(mean, mean)

    def draw(self, size: int, dimension: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d)."""
        which = rng.integers(dimension, size=size)
        return np.asarray(self.size * np.eye(dimension)[which])


def covariance_root(covariance: Floats) -> Floats:
    """A root R of Σ = RRᵀ, (d, d), from eigenvalues: Σ may be singular."""
    values, vectors = np.linalg.eigh(covariance)
    return np.asarray(vectors * np.sqrt(np.maximum(values, 0.0)))


def _mean(mean: ArrayLike, dimension: int) -> Floats:
    given = np.asarray(mean, dtype=np.float64)
    if given.shape not in {(), (dimension,)}:
        raise ValueError(f"mean must be a number or ({dimension},), got {given.shape}")
    return np.array(np.broadcast_to(given, dimension))
