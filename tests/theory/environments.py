"""Environments within the paper's assumptions: bounded tasks, unit arms, rewards in [−1, 1]."""

from dataclasses import dataclass

import numpy as np

import headstart as hs
from headstart.arrays import Floats


@dataclass(frozen=True, kw_only=True, eq=False)
class Sphere:
    """Tasks at one distance from a centre, in every direction; ‖centre‖ + distance ≤ 1.

    Rewards are ±1 with mean xᵀw, so that the noise is 1-sub-Gaussian by Hoeffding's lemma, or
    xᵀw plus Gaussian noise.
    """

    dimension: int
    n_arms: int = 5
    distance: float
    gaussian: bool = False

    @property
    def mean_parameter(self) -> Floats:
        """The centre."""
        return np.asarray(np.eye(self.dimension)[0] * (1.0 - self.distance))

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> hs.Task:
        away = _unit(rng.standard_normal((replications, self.dimension)))
        parameter = self.mean_parameter + self.distance * away
        shape = (replications, horizon, self.n_arms, self.dimension)
        arms = _unit(rng.standard_normal(shape))
        means = (arms @ parameter[:, None, :, None])[..., 0]
        if self.gaussian:
            rewards = means + rng.standard_normal(means.shape)
        else:
            rewards = np.where(rng.random(means.shape) < (1.0 + means) / 2.0, 1.0, -1.0)
        return hs.Task(arms=arms, rewards=rewards, means=means, parameter=parameter)


def _unit(vectors: Floats) -> Floats:
    return np.asarray(vectors / np.linalg.norm(vectors, axis=-1, keepdims=True))
