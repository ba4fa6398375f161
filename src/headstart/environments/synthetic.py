"""Synthetic: the paper's Section 6, Gaussian tasks and nearly orthogonal arms, and variations."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Literal

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.task import Task
from headstart.environments import rewards
from headstart.environments.task_distributions import (
    Gaussian,
    TaskDistribution,
    covariance_root,
)
from headstart.habits import hinted


@hinted
@dataclass(frozen=True, kw_only=True, eq=False)
class Synthetic:
    """Tasks of a distribution, and arms (q_k + g)/‖q_k + g‖ around columns of an orthonormal basis.

    Parameters
    ----------
    dimension : int, default 20
        The number of features, d.
    n_arms : int, default 5
        The number of arms of a round, K. With more arms than dimensions the basis is repeated.
    tasks : Gaussian, Kinds or Basis, default Gaussian()
        The distribution of a task's w: the paper's N(1, I/d) by default.
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
        p: tasks carry side information z ~ N(0, I_p), and w = w̄ + Hz + √(1 − a)(w' − w̄), with w'
        of the distribution. H is drawn once per replication, such that w has the same covariance
        over all replications.
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
    tasks: TaskDistribution = field(default_factory=Gaussian)
    spread: float = 1.0
    decision_set: Literal["fresh", "fixed"] = "fresh"
    reward: rewards.Mode = "winner"
    shift: rewards.Shift | None = None
    noise_scale: float = 1.0
    n_about: int = 0
    about_explains: float = 0.0

    def __post_init__(self) -> None:
        checks.count("dimension", self.dimension)
        checks.count("n_arms", self.n_arms)
        checks.nonnegative("spread", self.spread)
        checks.one_of("decision_set", self.decision_set, ("fresh", "fixed"))
        rewards.check(self.reward, self.shift, self.noise_scale)
        checks.count("n_about", self.n_about, least=0)
        checks.share("about_explains", self.about_explains)
        if self.about_explains > 0.0 and self.n_about == 0:
            raise ValueError(f"about_explains must be 0 if n_about is 0, got {self.about_explains}")
        if not hasattr(self.tasks, "moments"):
            raise ValueError(f"tasks must be Gaussian, Kinds or Basis, got {self.tasks!r}")
        self.tasks.moments(self.dimension)

    @property
    def mean_parameter(self) -> Floats:
        """w̄, of shape (d,), which the Oracle knows."""
        return self.tasks.moments(self.dimension)[0]

    @property
    def task_covariance(self) -> Floats:
        """Σ₀ = E(w − w̄)(w − w̄)ᵀ, of shape (d, d); its trace is the paper's Var."""
        return self.tasks.moments(self.dimension)[1]

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

    def sample_arms(self, bases: Floats, rounds: int, rng: np.random.Generator) -> Floats:
        """Arms (T, R, K, d) around the bases (R, K, d); rounds first, as in a task's memory."""
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
        parameter, about = settings.tasks.draw(replications, settings.dimension, rng), None
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
