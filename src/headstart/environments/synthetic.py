"""Synthetic: the paper's Section 6, Gaussian tasks and nearly orthogonal arms, and variations."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats
from headstart.core.task import Task
from headstart.environments import rewards
from headstart.environments.task_distributions import (
    Gaussian,
    IsotropicGaussian,
    Kinds,
    ScaledBasis,
    TaskDistribution,
    covariance_root,
)


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthetic:
    """Tasks w ~ N(mean, Σ₀) and arms (q_k + g)/‖q_k + g‖ around columns of an orthonormal basis.

    Parameters
    ----------
    dimension : int, default 20
        The number of features, d.
    n_arms : int, default 5
        The number of arms of a round, K. With more arms than dimensions the basis is repeated.
    task_distribution : {"gaussian", "basis"}, default "gaussian"
        "basis" is uniform over the vectors S·e_i instead, with S = `parameter_bound`: the two
        extremes of the paper's Section 5.2.
    mean : float or array_like of shape (d,), default 1.0
        The mean task, w̄.
    variance : float, default 1.0
        E‖w − w̄‖², the paper's Var; 0 makes all tasks equal.
    variance_of : {"task", "coordinate"}, default "task"
        Whether `variance` belongs to the task (Σ₀ = variance·I/d), or to each coordinate.
    covariance : array_like of shape (d, d), optional
        Any Σ₀, instead of `variance`.
    n_kinds : int, default 1
        Tasks are of this many kinds, equally likely, with means at equal distances from each other.
    within_kinds : float, default 0.1
        The share of the variance within a kind, which is isotropic.
    parameter_bound : float, optional
        S, for "basis".
    spread : float, default 1.0
        The size of g: ‖g‖² ≈ spread².
    decision_set : {"fresh", "fixed"}, default "fresh"
        Whether arms are drawn in every round, or once for all rounds and tasks.
    reward : {"winner", "linear"}, default "winner"
        "winner" pays 1 to the arm that is best after noise and 0 to the others, as in the paper's
        plots; "linear" pays xᵀw plus noise, as in its theory.
    shift : {"round", "none"}, optional
        "round" maps each round's utilities to [0, 1] before the noise. By default the paper's
        choice: "round" for "winner" and "none" for "linear".
    noise_scale : float, default 1.0
        The standard deviation of the noise.
    n_about : int, default 0
        p: tasks carry side information z ~ N(0, I_p), and w = mean + Hz + N(0, (1 − a)Σ₀). H is
        drawn once per replication, such that w has covariance Σ₀ over all replications.
    about_explains : float, default 0.0
        a, the share of the variance that z explains.

    Examples
    --------
    >>> environment = hs.environments.Synthetic(dimension=5, n_arms=3, reward="linear")
    >>> task = environment.sample(horizon=50, replications=2, rng=np.random.default_rng(0))
    >>> task.arms.shape
    (2, 50, 3, 5)
    """

    dimension: int = 20
    n_arms: int = 5
    task_distribution: Literal["gaussian", "basis"] = "gaussian"
    mean: ArrayLike = 1.0
    variance: float = 1.0
    variance_of: Literal["task", "coordinate"] = "task"
    covariance: ArrayLike | None = None
    n_kinds: int = 1
    within_kinds: float = 0.1
    parameter_bound: float | None = None
    spread: float = 1.0
    decision_set: Literal["fresh", "fixed"] = "fresh"
    reward: rewards.Mode = "winner"
    shift: rewards.Shift | None = None
    noise_scale: float = 1.0
    n_about: int = 0
    about_explains: float = 0.0

    def __post_init__(self) -> None:
        checks.count("dimension", self.dimension)
        checks.count("n_about", self.n_about, least=0)
        if not 0.0 <= checks.real("about_explains", self.about_explains) <= 1.0:
            raise ValueError(f"about_explains must be from 0 to 1, got {self.about_explains}")
        checks.count("n_arms", self.n_arms)
        if checks.count("n_kinds", self.n_kinds) > self.dimension:
            raise ValueError(f"n_kinds must be at most dimension, got {self.n_kinds}")
        if not 0.0 <= checks.real("within_kinds", self.within_kinds) <= 1.0:
            raise ValueError(f"within_kinds must be from 0 to 1, got {self.within_kinds}")
        checks.one_of("task_distribution", self.task_distribution, ("gaussian", "basis"))
        checks.nonnegative("variance", self.variance)
        checks.one_of("variance_of", self.variance_of, ("task", "coordinate"))
        checks.nonnegative("spread", self.spread)
        checks.one_of("decision_set", self.decision_set, ("fresh", "fixed"))
        rewards.check(self.reward, self.shift, self.noise_scale)
        mean = checks.floats("mean", self.mean)
        if mean.shape not in {(), (self.dimension,)}:
            raise ValueError(f"mean must be a number or ({self.dimension},), got {mean.shape}")
        if self.covariance is not None:
            covariance = checks.floats("covariance", self.covariance)
            checks.shape("covariance", covariance, (self.dimension, self.dimension), "(d, d)")
            checks.positive_semidefinite("covariance", covariance)
        if self.parameter_bound is not None:
            checks.positive("parameter_bound", self.parameter_bound)
        self._check_that_nothing_is_ignored(mean)

    def _check_that_nothing_is_ignored(self, mean: Floats) -> None:
        """Raise for a setting of the other distribution, or a variance next to a covariance."""
        if self.about_explains > 0.0 and self.n_about == 0:
            raise ValueError(f"about_explains must be 0 if n_about is 0, got {self.about_explains}")
        if self.about_explains > 0.0 and self.task_distribution == "basis":
            raise ValueError(
                f"about_explains must be 0 if task_distribution is basis, got {self.about_explains}"
            )
        isotropic = self.variance == 1.0 and self.variance_of == "task"
        if self.covariance is not None and not isotropic:
            raise ValueError(
                "variance and variance_of must not be set next to a covariance, "
                f"got variance={self.variance} and variance_of={self.variance_of!r}"
            )
        if self.n_kinds == 1 and self.within_kinds != 0.1:
            raise ValueError(
                f"within_kinds must not be set if n_kinds is 1, got {self.within_kinds}"
            )
        if self.n_kinds > 1 and (
            self.task_distribution == "basis" or self.covariance is not None or self.n_about > 0
        ):
            raise ValueError(
                "n_kinds must be 1 if task_distribution is basis, or if covariance or n_about is "
                f"given, got {self.n_kinds}"
            )
        if self.task_distribution == "gaussian" and self.parameter_bound is not None:
            raise ValueError(
                "parameter_bound must not be set unless task_distribution is basis, "
                f"got {self.parameter_bound}"
            )
        if self.task_distribution == "basis" and not (
            isotropic and self.covariance is None and mean.ndim == 0 and mean == 1.0
        ):
            raise ValueError(
                "mean, variance and covariance must not be set if task_distribution is basis: "
                "they follow from parameter_bound"
            )

    @property
    def _parameters(self) -> TaskDistribution:
        """The distribution of w."""
        if self.task_distribution == "basis":
            bound = 1.0 if self.parameter_bound is None else self.parameter_bound
            return ScaledBasis(self.dimension, bound)
        mean = np.array(np.broadcast_to(np.asarray(self.mean, dtype=np.float64), self.dimension))
        if self.covariance is not None:
            return Gaussian(mean, np.array(self.covariance, dtype=np.float64))
        per_task = self.variance_of == "task"
        variance = self.variance / self.dimension if per_task else self.variance
        if self.n_kinds == 1:
            return IsotropicGaussian(mean, variance)
        within = self.within_kinds * variance
        return Kinds(mean, self.n_kinds, self.dimension * (variance - within), within)

    @property
    def mean_parameter(self) -> Floats:
        """w̄, of shape (d,), which the Oracle knows."""
        return self._parameters.mean

    @property
    def task_covariance(self) -> Floats:
        """Σ₀ = E(w − w̄)(w − w̄)ᵀ, of shape (d, d); its trace is the paper's Var."""
        return self._parameters.covariance

    def prepare(self, replications: int, rng: np.random.Generator) -> PreparedSynthetic:
        """Sample the basis of every replication, and the arms if they are fixed."""
        size = checks.count("replications", replications)
        square = rng.standard_normal((size, self.dimension, self.dimension))
        columns = np.linalg.qr(square).Q.mT
        bases = np.ascontiguousarray(columns[:, np.arange(self.n_arms) % self.dimension])
        arms = self.sample_arms(bases, 1, rng)[0] if self.decision_set == "fixed" else None
        coefficients = None
        if self.n_about:
            # Columns have covariance Σ₀·a/p, so that Hz has covariance aΣ₀ over replications.
            normals = rng.standard_normal((size, self.n_about, self.dimension))
            scale = np.sqrt(self.about_explains / self.n_about)
            coefficients = scale * (normals @ covariance_root(self.task_covariance).T)
        return PreparedSynthetic(
            environment=self, bases=bases, arms=arms, about_coefficients=coefficients
        )

    def sample_parameters(self, size: int, rng: np.random.Generator) -> Floats:
        """Independent samples of w, (size, d).

        Parameters
        ----------
        size : int
            How many.
        rng : numpy.random.Generator
            The source of all randomness.

        Returns
        -------
        ndarray of shape (size, d)
        """
        return self._parameters.sample(size, rng)

    def sample_arms(self, bases: Floats, rounds: int, rng: np.random.Generator) -> Floats:
        """Arms (T, R, K, d) around the bases; rounds first, as in a task's memory.

        Parameters
        ----------
        bases : ndarray of shape (R, K, d)
            The columns of an orthonormal basis.
        rounds : int
            The number of rounds, T.
        rng : numpy.random.Generator
            The source of all randomness.

        Returns
        -------
        ndarray of shape (T, R, K, d)
        """
        arms = rng.standard_normal((rounds, *bases.shape))
        arms *= self.spread / np.sqrt(self.dimension)
        arms += bases
        arms /= np.linalg.norm(arms, axis=-1, keepdims=True)
        return arms

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task per replication, each with its own basis."""
        return self.prepare(replications, rng).sample(horizon, replications, rng)


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedSynthetic:
    """A synthetic environment with its bases (R, K, d), and its arms if they are fixed.

    `about_coefficients` (R, p, d) is Hᵀ, if tasks carry side information.
    """

    environment: Synthetic
    bases: Floats
    arms: Floats | None = None
    about_coefficients: Floats | None = None

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self.environment.dimension

    @property
    def mean_parameter(self) -> Floats:
        """w̄ of every replication, (R, d), which the Oracle knows."""
        return np.tile(self.environment.mean_parameter, (len(self.bases), 1))

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task per replication."""
        settings = self.environment
        rounds = checks.count("horizon", horizon)
        if replications != len(self.bases):
            raise ValueError(
                f"replications must be {len(self.bases)}, as prepared, got {replications}"
            )
        parameter, about = settings.sample_parameters(replications, rng), None
        if self.about_coefficients is not None:
            about = rng.standard_normal((replications, settings.n_about))
            own = np.sqrt(1.0 - settings.about_explains) * (parameter - settings.mean_parameter)
            explained = (about[:, None, :] @ self.about_coefficients)[:, 0]
            parameter = settings.mean_parameter + explained + own
        if self.arms is None:
            arms = settings.sample_arms(self.bases, rounds, rng)
        else:
            arms = np.repeat(self.arms[None], rounds, axis=0)
        return rewards.sample_task(
            arms,
            parameter,
            mode=settings.reward,
            shift=settings.shift,
            noise_scale=settings.noise_scale,
            rng=rng,
            about=about,
        )
