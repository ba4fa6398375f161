"""Ellipsoid: arms on an ellipsoid, and tasks whose directions lie in a cone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.task import Task
from headstart.environments import rewards

# At how many angles the distribution of the angle between task and cone axis is tabulated.
_ANGLES = 4097


@dataclass(frozen=True, kw_only=True)
class Ellipsoid:
    """The setting of Li, Xu and Xie (2026): similar tasks, arms drawn afresh in every round.

    Arms are b = b̄ + √d·Lu with u uniform on the unit sphere and LLᵀ = Σ = 0.05·GᵀG + 0.01·I, so
    that E bbᵀ = b̄b̄ᵀ + Σ; G is standard normal and ‖b̄‖ = 0.1, once per replication. Rewards are
    xᵀw plus noise.

    Parameters
    ----------
    dimension : int, default 5
        The number of features, d.
    n_arms : int, default 40
        The number of arms of a round, K.
    cosine : float, default -1.0
        The direction of a task's w is uniform in the cone with pairwise cosines of at least this.
    size : float, default 0.5
        The length of w is uniform in [0, size]. The paper does not state it: 0.5 agrees with its
        table.
    noise_scale : float, default 0.0
        The standard deviation of the noise; the paper has none.

    Examples
    --------
    >>> from benchmarks.ellipsoid import Ellipsoid
    >>> environment = Ellipsoid(cosine=0.9)
    >>> prepared = environment.prepare(2, np.random.default_rng(0))
    >>> prepared.sample(10, 2, np.random.default_rng(1)).arms.shape
    (2, 10, 40, 5)
    """

    dimension: int = 5
    n_arms: int = 40
    cosine: float = -1.0
    size: float = 0.5
    noise_scale: float = 0.0

    def __post_init__(self) -> None:
        checks.count("dimension", self.dimension, least=2)
        checks.count("n_arms", self.n_arms)
        checks.positive("size", self.size)
        checks.nonnegative("noise_scale", self.noise_scale)
        if not -1.0 <= checks.real("cosine", self.cosine) <= 1.0:
            raise ValueError(f"cosine must be from -1 to 1, got {self.cosine!r}")

    def prepare(self, replications: int, rng: np.random.Generator) -> PreparedEllipsoid:
        """Sample the ellipsoid and the axis of the cone of every replication."""
        r, d = checks.count("replications", replications), self.dimension
        normals = rng.standard_normal((r, d, d))
        covariance = 0.05 * normals.mT @ normals + 0.01 * np.eye(d)
        return PreparedEllipsoid(
            environment=self,
            root=np.asarray(np.linalg.cholesky(covariance)),
            center=0.1 * _unit(rng.standard_normal((r, d))),
            axis=_unit(rng.standard_normal((r, d))),
        )

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task per replication, each with its own ellipsoid."""
        return self.prepare(replications, rng).sample(horizon, replications, rng)

    def angles(self) -> tuple[Floats, Floats]:
        """Angles to the axis and their distribution function: uniform in area, ∝ ∫sin^(d−2).

        Two directions within half the angle of `cosine` from the axis are at most that angle apart.
        """
        angles = np.linspace(0.0, np.arccos(self.cosine) / 2.0, _ANGLES)
        density = np.sin(angles) ** (self.dimension - 2)
        total = np.concatenate([[0.0], np.cumsum((density[1:] + density[:-1]) / 2.0)])
        return angles, total / max(total[-1], np.finfo(np.float64).tiny)


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedEllipsoid:
    """The environment with its roots L (R, d, d), centers b̄ and axes of the cones (R, d)."""

    environment: Ellipsoid
    root: Floats
    center: Floats
    axis: Floats

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self.environment.dimension

    @property
    def mean_parameter(self) -> Floats:
        """E w, (R, d): along the axis."""
        angles, distribution = self.environment.angles()
        middle = (np.cos(angles[1:]) + np.cos(angles[:-1])) / 2.0
        share = np.diff(distribution)
        cosine = float(middle @ share) if share.any() else 1.0
        return np.asarray(cosine * self.environment.size / 2.0 * self.axis)

    @property
    def arm_bound(self) -> Floats:
        """A bound of ‖b‖, (R,): ‖b̄‖ and the ellipsoid's largest half-axis."""
        largest = np.linalg.norm(self.root, ord=2, axis=(-2, -1))
        return np.asarray(np.linalg.norm(self.center, axis=-1) + np.sqrt(self.dimension) * largest)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task per replication."""
        settings, rounds = self.environment, checks.count("horizon", horizon)
        if replications != len(self.axis):
            raise ValueError(
                f"replications must be {len(self.axis)}, as prepared, got {replications}"
            )
        d = self.dimension
        angle = np.interp(rng.random(replications), *settings.angles()[::-1])[:, None]
        across = rng.standard_normal((replications, d))
        across = _unit(across - (across * self.axis).sum(-1, keepdims=True) * self.axis)
        direction = np.cos(angle) * self.axis + np.sin(angle) * across
        parameter = settings.size * rng.random((replications, 1)) * direction
        sphere = _unit(rng.standard_normal((rounds, replications, settings.n_arms, d)))
        arms = self.center[:, None, :] + np.sqrt(d) * sphere @ self.root.mT
        return rewards.sample_task(
            arms,
            parameter,
            mode="linear",
            shift="none",
            noise_scale=settings.noise_scale,
            rng=rng,
        )


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
