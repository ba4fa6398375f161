"""MetaTS: Thompson sampling from a prior mean that is sampled once per task."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri

from headstart.arrays import Floats
from headstart.core.arm_estimates import ArmEstimates
from headstart.core.task import Episode
from headstart.interfaces import Memory
from headstart.policies import Thompson
from headstart.priors import Fixed, KnownVariances
from headstart.simulation.agent import State
from headstart.simulation.learner import Learner
from headstart.simulation.rounds import Rounds


@dataclass(frozen=True, kw_only=True)
class MetaTS:
    """Meta-TS (Kveton et al., 2021): Thompson sampling from N(h̃, τ²I), h̃ ~ p(h | completed tasks).

    The model is reward = xᵀw + noise of variance s², w ~ N(h, τ²I), h ~ N(0, κ²I), all three given.
    AdaTS integrates over h where this samples it.

    Parameters
    ----------
    name : str, default "Meta-TS"
        The label in results.
    noise_variance, task_variance, mean_variance : float, default 1.0
        s², τ² and κ².

    Examples
    --------
    >>> agent = hs.learners.MetaTS(task_variance=0.1)
    >>> results = hs.simulate(hs.environments.Synthetic(), [agent], n_tasks=2, horizon=5)
    >>> results.learner.item()
    'Meta-TS'
    """

    name: str = "Meta-TS"
    noise_variance: float = 1.0
    task_variance: float = 1.0
    mean_variance: float = 1.0

    def __post_init__(self) -> None:
        _ = self._known  # which checks the variances

    @property
    def _known(self) -> KnownVariances:
        return KnownVariances(
            noise_variance=self.noise_variance,
            task_variance=self.task_variance,
            mean_variance=self.mean_variance,
        )

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """One per feature for h̃, used in the first round, and one per feature and round for w̃."""
        return 2 * dimension

    def begin(self, dimension: int, replications: int) -> Memory:
        """The sums over completed tasks."""
        return self._known.empty(dimension, (replications,))

    def play(self, state: State, rounds: Rounds) -> Episode:
        """Sample the prior mean, then play the task by Thompson sampling."""
        bias = self.sampled_mean(state, rounds.uniforms[..., : rounds.dimension])
        ratio = self.noise_variance / self.task_variance
        policy = _OnSecondHalf(Thompson(noise_scale=float(np.sqrt(self.noise_variance))))
        learner = Learner(self.name, policy, Fixed(bias=bias, regularization=ratio))
        return learner.play(learner.begin(rounds.dimension, rounds.replications), rounds)

    def learn(self, state: State, played: Episode) -> Memory:
        """Add the task to the sums."""
        return self._known.absorb(state, played.statistics)

    def sampled_mean(self, state: State, uniforms: Floats) -> Floats:
        """A draw h̃ (R, d) from the posterior of the mean task.

        Parameters
        ----------
        state : mapping of str to ndarray
            The state.
        uniforms : ndarray of shape (R, d)
            Random numbers in [0, 1).

        Returns
        -------
        ndarray of shape (R, d)
        """
        mean, covariance = self._known.mean_posterior(state)
        normals = ndtri(np.maximum(uniforms, 2.0**-54))
        return np.asarray(mean + (np.linalg.cholesky(covariance) @ normals[..., None])[..., 0])


@dataclass(frozen=True)
class _OnSecondHalf:
    """A Thompson policy that takes the second half of a round's uniform numbers."""

    policy: Thompson

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        return 2 * dimension

    def scores(self, estimates: ArmEstimates, uniforms: Floats) -> Floats:
        return self.policy.scores(estimates, uniforms[..., uniforms.shape[-1] // 2 :])
