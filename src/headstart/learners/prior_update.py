"""PriorUpdate: Thompson sampling from a prior estimated from each task's first rounds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.policies import Thompson
from headstart.priors import Fixed
from headstart.priors.hierarchical.normal import regularization_from
from headstart.simulation.agent import State
from headstart.simulation.learner import Learner
from headstart.simulation.rounds import Rounds

# A task is ignored if its explored features have a smaller reciprocal condition number.
_SINGULAR = 1e-10

# ε of the gram that exploration starts from: small next to an arm's squared length.
_RIDGE = 1e-3


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorUpdate:
    """Prior update (Peleg, Pearl and Meir, 2022): w ~ N(μ, Σ), both estimated from earlier tasks.

    The first τ = `exploration` rounds of a task (2d if None) choose the arm about which the gram V
    of these rounds says least. No reward influences them, so the least squares estimate ŵ = V⁻¹b of
    the task is unbiased, with covariance Σ + s²V⁻¹. After n tasks

        μ̂ = mean of ŵ,   Σ̂ = covariance of ŵ (over n − 1) − s²·mean of V⁻¹, with no negative part,

    and the prior is N(μ̂, Σ̂ + widening), since a prior that is too narrow costs most. The widening
    is `widening`·√(d/n)·(mean variance of ŵ)·I; the paper's has constants for its bounds. The other
    rounds are Thompson sampling given all rewards of the task. The first `first_tasks` tasks (d + 1
    if None) start from N(`mean`, `prior_variance`·I); if these are all tasks, it is Thompson
    sampling from that prior throughout.

    Parameters
    ----------
    name : str, default "prior update"
        The label in results.
    noise_variance : float, default 1.0
        The variance of the noise, s².
    prior_variance : float, default 1.0
        The variance of the prior of the first tasks.
    mean : float or array_like of shape (d,), default 0.0
        The mean of the prior of the first tasks.
    exploration : int, optional
        τ, the number of rounds that explore; 2d by default.
    first_tasks : int, optional
        How many tasks start from the first prior; d + 1 by default. With all of them, it is
        Thompson sampling from that prior throughout.
    widening : float, default 1.0
        How much wider than Σ̂ the prior is.

    Examples
    --------
    >>> agent = hs.learners.PriorUpdate(exploration=4)
    >>> world = hs.environments.Hierarchy(dimension=2)
    >>> results = hs.simulate(world, [agent], n_tasks=5, horizon=20, replications=3)
    >>> results.learner.item()
    'prior update'
    """

    name: str = "prior update"
    noise_variance: float = 1.0
    prior_variance: float = 1.0
    mean: ArrayLike = 0.0
    exploration: int | None = None
    first_tasks: int | None = None
    widening: float = 1.0

    def __post_init__(self) -> None:
        for name in ("noise_variance", "prior_variance"):
            checks.positive(name, getattr(self, name))
        checks.nonnegative("widening", self.widening)
        for name in ("exploration", "first_tasks"):
            if getattr(self, name) is not None:
                checks.count(name, getattr(self, name), least=0)
        _ = self._start  # which checks the mean

    @property
    def _start(self) -> Fixed:
        """Where the first tasks start."""
        return Fixed(bias=self.mean, regularization=self.noise_variance / self.prior_variance)

    def n_uniforms(self, n_arms: int, dimension: int) -> int:
        """One per feature, for a draw."""
        return dimension

    def begin(self, dimension: int, replications: int) -> State:
        """The number of tasks, Σŵ, Σŵŵᵀ and ΣV⁻¹ over tasks, and the mean of the first prior."""
        lead = (replications,)
        square = np.zeros((*lead, dimension, dimension))
        return {
            "count": np.zeros(lead),
            "total": np.zeros((*lead, dimension)),
            "products": square,
            "inverses": square,
            "mean": self._start.empty(dimension, lead)["bias"],
        }

    def prior(self, state: State) -> Prior:
        """N(μ̂, Σ̂ + widening), or the prior of the first tasks, (R,).

        Parameters
        ----------
        state : mapping of str to ndarray
            The state after the tasks so far.

        Returns
        -------
        Prior
        """
        count, dimension = state["count"], state["total"].shape[-1]
        first = dimension + 1 if self.first_tasks is None else max(self.first_tasks, 2)
        n = np.maximum(count, 2.0)[:, None, None]
        mean = state["total"] / n[..., 0]
        raw = (state["products"] - n * mean[:, :, None] * mean[:, None, :]) / (n - 1.0)
        values, basis = np.linalg.eigh(raw - self.noise_variance * state["inverses"] / n)
        spread = np.trace(raw, axis1=-2, axis2=-1) / dimension
        wider = self.widening * np.sqrt(dimension / n[:, 0, 0]) * np.maximum(spread, 0.0)
        # Even without widening, Σ is not singular.
        variances = np.maximum(values, 0.0) + wider[:, None] + 1e-9 * self.prior_variance
        covariance = (basis * variances[:, None, :]) @ basis.mT
        told = self.prior_variance * np.eye(dimension)
        known = count >= first
        return Prior.trusted(
            np.where(known[:, None], mean, state["mean"]),
            regularization_from(
                np.where(known[:, None, None], covariance, told), self.noise_variance
            ),
            noise_scale=np.full(count.shape, np.sqrt(self.noise_variance)),
        )

    def play(self, state: State, rounds: Rounds) -> TaskStatistics:
        """Explore, then Thompson sampling; returns the statistics of the first rounds."""
        explored = self._explore(rounds)
        if not rounds.over:
            prior = self.prior(state)
            given = Prior.trusted(
                RidgeEstimate(explored, prior).parameter,
                prior.regularization + explored.gram,
                noise_scale=prior.noise_scale,
            )
            learner = Learner(self.name, Thompson(), _Given(given))
            learner.play(learner.begin(rounds.dimension, rounds.replications), rounds)
        return explored

    def learn(self, state: State, played: TaskStatistics) -> State:
        """Add the least squares estimate of the first rounds, if they span all features."""
        values, basis = np.linalg.eigh(played.gram)
        usable = values[:, 0] > _SINGULAR * values[:, -1]
        safe = np.where(usable[:, None], values, 1.0)
        inverse = np.where(usable[:, None, None], (basis / safe[:, None, :]) @ basis.mT, 0.0)
        parameter = (inverse @ played.moment[..., None])[..., 0]
        return {
            "count": state["count"] + usable,
            "total": state["total"] + parameter,
            "products": state["products"] + parameter[:, :, None] * parameter[:, None, :],
            "inverses": state["inverses"] + inverse,
            "mean": state["mean"],
        }

    def _explore(self, rounds: Rounds) -> TaskStatistics:
        """Choose the arms of largest ‖x‖ in the norm of (V + εI)⁻¹, V from these rounds."""
        dimension = rounds.dimension
        size = 2 * dimension if self.exploration is None else self.exploration
        inverse = np.tile(np.eye(dimension) / _RIDGE, (rounds.replications, 1, 1))
        for _ in range(min(size, rounds.horizon)):
            projections = rounds.arms @ inverse
            rounds.choose_largest((projections * rounds.arms).sum(-1))
            turned = (inverse @ rounds.features[..., None])[..., 0]
            size_of = 1.0 + (turned * rounds.features).sum(-1)
            inverse = inverse - turned[:, :, None] * (turned / size_of[:, None])[:, None, :]
        return rounds.episode().statistics


@dataclass(frozen=True)
class _Given:
    """A prior estimator that always returns the prior it was given."""

    given: Prior

    def empty(self, dimension: int, lead: tuple[int, ...] = ()) -> Memory:
        return {"bias": self.given.bias}

    def absorb(self, memory: Memory, task: TaskStatistics) -> Memory:
        return memory

    def prior(self, memory: Memory) -> Prior:
        return self.given

    def running_bias(self, memory: Memory) -> None:
        return
