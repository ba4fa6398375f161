"""Synthetic: Gaussian tasks and nearly orthogonal arms, as in the paper's Section 6."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import checks
from headstart.environments import rewards
from headstart.task import Task

Floats = NDArray[np.float64]


@dataclass(frozen=True, kw_only=True, eq=False)
class Synthetic:
    """Tasks w ~ N(mean, Σ₀) and arms (q_k + g)/‖q_k + g‖ around columns of an orthonormal basis.

    `variance` is E‖w − w̄‖², the paper's Var, when `variance_of` is "task" (Σ₀ = variance·I/d), and
    that of each coordinate when it is "coordinate". `spread` is the size of g: ‖g‖² ≈ spread².
    With more arms than dimensions the basis is gone through again. `reward` is "winner", the 0/1
    of the paper's plots, or "linear", the model of its theory.
    """

    dimension: int = 20
    n_arms: int = 5
    mean: ArrayLike = 1.0
    variance: float = 1.0
    variance_of: Literal["task", "coordinate"] = "task"
    spread: float = 1.0
    reward: Literal["winner", "linear"] = "winner"
    noise_scale: float = 1.0

    def __post_init__(self) -> None:
        checks.count("dimension", self.dimension)
        checks.count("n_arms", self.n_arms)
        checks.nonnegative("variance", self.variance)
        checks.one_of("variance_of", self.variance_of, ("task", "coordinate"))
        checks.nonnegative("spread", self.spread)
        checks.one_of("reward", self.reward, rewards.MODES)
        checks.nonnegative("noise_scale", self.noise_scale)
        mean = checks.floats("mean", self.mean)
        if mean.shape not in {(), (self.dimension,)}:
            raise ValueError(f"mean must be a number or ({self.dimension},), got {mean.shape}")

    @property
    def mean_parameter(self) -> Floats:
        """w̄, of shape (d,): what the Oracle knows."""
        return np.array(np.broadcast_to(np.asarray(self.mean, dtype=np.float64), self.dimension))

    def settle(self, replications: int, rng: np.random.Generator) -> "SettledSynthetic":
        """Draw the basis of every replication."""
        size = checks.count("replications", replications)
        square = rng.standard_normal((size, self.dimension, self.dimension))
        columns = np.linalg.qr(square).Q.mT
        bases = columns[:, np.arange(self.n_arms) % self.dimension]
        return SettledSynthetic(law=self, bases=np.ascontiguousarray(bases))

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task in each replication, every one with a basis of its own."""
        return self.settle(replications, rng).sample(horizon, replications, rng)


@dataclass(frozen=True, eq=False)
class SettledSynthetic:
    """A synthetic environment whose bases (R, K, d) are drawn."""

    law: Synthetic
    bases: Floats

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return self.law.dimension

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        """One task in each of the replications."""
        law = self.law
        rounds = checks.count("horizon", horizon)
        if replications != len(self.bases):
            raise ValueError(f"replications must be {len(self.bases)}, as drawn, {replications=}")
        each = law.variance / law.dimension if law.variance_of == "task" else law.variance
        parameter = rng.standard_normal((replications, law.dimension))
        parameter = law.mean_parameter + np.sqrt(each) * parameter
        # Rounds first, as a task is laid out in memory.
        arms = rng.standard_normal((rounds, replications, law.n_arms, law.dimension))
        arms *= law.spread / np.sqrt(law.dimension)
        arms += self.bases
        arms /= np.linalg.norm(arms, axis=-1, keepdims=True)
        utilities = (arms @ parameter[:, :, None])[..., 0]
        paid, means = rewards.pay(utilities, mode=law.reward, noise_scale=law.noise_scale, rng=rng)
        return Task(
            arms=arms.swapaxes(0, 1),
            rewards=paid.swapaxes(0, 1),
            means=means.swapaxes(0, 1),
            parameter=parameter,
        )
