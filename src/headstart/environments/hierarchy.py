"""Hierarchy: a mean task drawn once, tasks around it, and arms on a sphere or in a cube."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.task import Task
from headstart.environments import rewards
from headstart.habits import hinted


@hinted
@dataclass(frozen=True, kw_only=True)
class Hierarchy:
    """The model of Meta-TS, AdaTS and HierTS: h ~ N(0, κ²I) once per replication, w ~ N(h, τ²I).

    With p directions, w ~ N(h, τ²I + σ²UUᵀ), with U drawn once per replication. Rewards are xᵀw and
    noise.

    Parameters
    ----------
    dimension : int, default 2
        The number of features, d.
    n_arms : int, default 10
        The number of arms, K.
    mean_variance : float, default 1.0
        κ².
    task_variance : float, default 0.01
        τ².
    n_directions : int, default 0
        The dimension p of an affine subspace around which tasks lie.
    direction_variance : float, default 1.0
        The variance σ² of tasks along each direction of the subspace.
    arm_shape : "sphere" or "cube", default "sphere"
        Whether arms are uniform on a sphere or in a cube, both around 0.
    arm_size : float, default 1.0
        The radius of the sphere, or half the edge of the cube.
    decision_set : "task", "fresh" or "fixed", default "task"
        Whether arms are drawn once per task, in every round, or once for all tasks.
    noise_scale : float, default 1.0
        The standard deviation of the noise.

    Examples
    --------
    >>> environment = hs.environments.Hierarchy(dimension=3, n_arms=15, mean_variance=0.25)
    >>> prepared = environment.prepare(2, np.random.default_rng(0))
    >>> task = prepared.sample(10, 2, np.random.default_rng(1))
    >>> task.arms.shape, bool((task.arms[:, 0] == task.arms[:, 9]).all())
    ((2, 10, 15, 3), True)
    """

    dimension: int = 2
    n_arms: int = 10
    mean_variance: float = 1.0
    task_variance: float = 0.01
    n_directions: int = 0
    direction_variance: float = 1.0
    arm_shape: Literal["sphere", "cube"] = "sphere"
    arm_size: float = 1.0
    decision_set: Literal["task", "fresh", "fixed"] = "task"
    noise_scale: float = 1.0

    def __post_init__(self) -> None:
        checks.count("dimension", self.dimension)
        checks.count("n_arms", self.n_arms)
        if checks.count("n_directions", self.n_directions, least=0) > self.dimension:
            raise ValueError(f"n_directions must be at most dimension, got {self.n_directions}")
        for name in ("mean_variance", "task_variance", "direction_variance", "noise_scale"):
            checks.nonnegative(name, getattr(self, name))
        checks.positive("arm_size", self.arm_size)
        checks.one_of("arm_shape", self.arm_shape, ("sphere", "cube"))
        checks.one_of("decision_set", self.decision_set, ("task", "fresh", "fixed"))

    def prepare(self, replications: int, rng: np.random.Generator) -> PreparedHierarchy:
        """Draw the mean task and the directions of every replication."""
        size, d = checks.count("replications", replications), self.dimension
        mean = np.sqrt(self.mean_variance) * rng.standard_normal((size, d))
        basis = np.linalg.qr(rng.standard_normal((size, d, self.n_directions))).Q
        fixed = self.draw_arms(1, size, rng) if self.decision_set == "fixed" else None
        return PreparedHierarchy(
            environment=self, mean_parameter=mean, directions=basis, fixed_arms=fixed
        )

    def draw_arms(self, rounds: int, replications: int, rng: np.random.Generator) -> Floats:
        """Arms of some rounds, (T, R, K, d)."""
        shape = (rounds, replications, self.n_arms, self.dimension)
        if self.arm_shape == "cube":
            return rng.uniform(-self.arm_size, self.arm_size, shape)
        arms = rng.standard_normal(shape)
        arms /= np.linalg.norm(arms, axis=-1, keepdims=True)
        return np.asarray(self.arm_size * arms)

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task per replication, each around its own mean task."""
        return self.prepare(replications, rng).sample(horizon, replications, rng)


@dataclass(frozen=True, kw_only=True, eq=False)
class PreparedHierarchy:
    """A hierarchy with its mean tasks h (R, d), directions U (R, d, p) and arms where fixed."""

    environment: Hierarchy
    mean_parameter: Floats
    directions: Floats
    fixed_arms: Floats | None = None

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self.environment.dimension

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task per replication."""
        settings, rounds = self.environment, checks.count("horizon", horizon)
        if replications != len(self.mean_parameter):
            raise ValueError(
                f"replications must be {len(self.mean_parameter)}, as prepared, got {replications}"
            )
        d, p = self.dimension, settings.n_directions
        own = np.sqrt(settings.task_variance) * rng.standard_normal((replications, d))
        along = np.sqrt(settings.direction_variance) * rng.standard_normal((replications, p, 1))
        parameter = self.mean_parameter + own + (self.directions @ along)[..., 0]
        arms = self.fixed_arms
        if arms is None:
            drawn = rounds if settings.decision_set == "fresh" else 1
            arms = settings.draw_arms(drawn, replications, rng)
        return rewards.sample_task(
            np.repeat(arms, rounds // len(arms), axis=0),
            parameter,
            mode="linear",
            shift="none",
            noise_scale=settings.noise_scale,
            rng=rng,
        )
