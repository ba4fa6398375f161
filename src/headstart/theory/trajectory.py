"""Trajectory: the estimate after every round, rebuilt from choices and rewards."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Booleans, Floats, Integers
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.running import RunningEstimate
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Episode, Task
from headstart.interfaces import Memory, PriorEstimator, starting_prior
from headstart.theory.radii import biased_radius, fixed_bias_radius


class Radius(Protocol):
    """A confidence radius for the true parameter."""

    def __call__(
        self,
        estimate: RidgeEstimate,
        parameter: ArrayLike,
        *,
        noise_scale: float,
        failure_probability: float,
    ) -> Floats:
        """β, of shape (…)."""
        ...


@dataclass(frozen=True, eq=False)
class Trajectory:
    """One task in each of R replications, as the learner saw it after t = 0, …, T rounds.

    Parameters
    ----------
    estimate : RidgeEstimate
        With the leading axes (R, T + 1).
    parameter : ndarray of shape (R, d)
        The true w.

    Examples
    --------
    >>> task = hs.environments.Synthetic(reward="linear").sample(50, 3, np.random.default_rng(0))
    >>> prior = hs.priors.Fixed.zero(regularization=1.0)
    >>> learner = hs.Learner("ITL", hs.policies.OFUL(), prior)
    >>> memory = learner.begin(20, 3)
    >>> episode = learner.play(memory, hs.Rounds(task, np.full((3, 50, 1), 0.5)))
    >>> trajectory = hs.theory.Trajectory.of(task, episode, prior, memory)
    >>> outside = trajectory.misses(noise_scale=1.0, failure_probability=0.05)
    >>> outside["Theorem 1"].shape, bool(outside["Theorem 1"].any())
    ((3, 51), False)
    """

    estimate: RidgeEstimate
    parameter: Floats

    @classmethod
    def of(cls, task: Task, episode: Episode, prior: PriorEstimator, memory: Memory) -> Trajectory:
        """Rebuild a task that was played from this memory; w is the task's `fit_means`."""
        so_far = running_statistics(task, episode.choices, episode.rewards)
        start = running_prior(prior, memory, task, episode.choices, episode.rewards)
        estimate = RidgeEstimate(so_far, start)
        return cls(estimate, fit_means(task).parameter)

    @property
    def bias_error(self) -> Floats:
        """‖h − w‖ after every round, (R, T + 1)."""
        return np.asarray(np.linalg.norm(self.estimate.prior.bias - self.truth, axis=-1))

    @cached_property
    def truth(self) -> Floats:
        """The true w, once per round: (R, T + 1, d)."""
        shape = self.estimate.prior.bias.shape
        return np.ascontiguousarray(np.broadcast_to(self.parameter[..., None, :], shape))

    def misses(self, *, noise_scale: float, failure_probability: float) -> dict[str, Booleans]:
        """Whether w is outside each confidence set, (R, T + 1), by the name of its radius.

        The fixed-bias radius is left out if the bias moves within the task.
        """
        distance = self.estimate.distance(self.truth)
        radii: dict[str, Radius] = {"Theorem 1": biased_radius}
        if not self.moves:
            radii["fixed bias"] = fixed_bias_radius
        return {
            name: distance
            > radius(
                self.estimate,
                self.truth,
                noise_scale=noise_scale,
                failure_probability=failure_probability,
            )
            for name, radius in radii.items()
        }

    @property
    def moves(self) -> bool:
        """Whether the bias moved within the task."""
        bias = self.estimate.prior.bias
        return bool((bias != bias[..., :1, :]).any())


@dataclass(frozen=True, eq=False)
class LinearFit:
    """The parameter that fits a task's means best, and the share that it leaves unexplained.

    Parameters
    ----------
    parameter : ndarray of shape (…, d)
        The parameter.
    unexplained : ndarray of shape (…)
        Σ(mean − xᵀw)² / Σ mean², 0 where the task is linear.

    Examples
    --------
    >>> task = hs.environments.Synthetic(reward="winner").sample(50, 1, np.random.default_rng(0))
    >>> fit = hs.theory.fit_means(task)
    >>> fit.parameter.shape, bool(fit.unexplained > 0)
    ((1, 20), True)
    """

    parameter: Floats
    unexplained: Floats


def fit_means(task: Task) -> LinearFit:
    """Least squares of the means on all arms offered; the task's own w if that is exact.

    For rewards that are not linear in the features (0/1 to the winner, ratings) there is no w*.
    This is what a linear learner would find if every arm were played equally often.

    Examples
    --------
    >>> task = hs.environments.Synthetic(reward="linear").sample(50, 1, np.random.default_rng(0))
    >>> fit = hs.theory.fit_means(task)
    >>> fit.unexplained, bool((fit.parameter == task.parameter).all())
    (array([0.]), True)
    """
    x = task.arms.reshape(*task.lead, -1, task.dimension)
    y = task.means.reshape(*task.lead, -1, 1)
    sum_of_squares = np.maximum((y**2).sum((-2, -1)), np.finfo(np.float64).tiny)
    if task.parameter is not None:
        unexplained = ((y - x @ task.parameter[..., None]) ** 2).sum((-2, -1)) / sum_of_squares
        if (unexplained < 1e-20).all():
            return LinearFit(task.parameter, np.zeros_like(unexplained))
    # T·K < d is possible: the best fit of least norm.
    fitted = np.linalg.pinv(x.mT @ x, hermitian=True) @ (x.mT @ y)
    unexplained = ((y - x @ fitted) ** 2).sum((-2, -1)) / sum_of_squares
    # For a linear task without a known w, what rounding leaves counts as 0.
    return LinearFit(fitted[..., 0], np.where(unexplained < 1e-16, 0.0, unexplained))


def running_statistics(task: Task, choices: Integers, rewards: Floats) -> TaskStatistics:
    """The statistics after t = 0, …, T rounds, (…, T + 1).

    Examples
    --------
    >>> task = hs.environments.Synthetic(dimension=2).sample(4, 1, np.random.default_rng(0))
    >>> choices = np.zeros((1, 4), dtype=int)
    >>> hs.theory.running_statistics(task, choices, task.rewards[..., 0]).count
    array([[0., 1., 2., 3., 4.]])
    """
    chosen = _chosen(task, choices)
    outer = chosen[..., :, None] * chosen[..., None, :]
    rounds = np.arange(task.horizon + 1, dtype=np.float64)
    return TaskStatistics(
        gram=_sum_before(outer, -3),
        moment=_sum_before(rewards[..., None] * chosen, -2),
        count=np.ascontiguousarray(np.broadcast_to(rounds, (*task.lead, task.horizon + 1))),
        sum_of_squares=_sum_before(rewards**2, -1),
    )


def running_prior(
    prior: PriorEstimator, memory: Memory, task: Task, choices: Integers, rewards: Floats
) -> Prior:
    """The prior after t = 0, …, T rounds, (…, T + 1).

    A `RunningEstimate` starts with the task's side information and repeats the rounds as played:
    its bias moves if the estimator's does, and its prior is revised when due.

    Examples
    --------
    >>> task = hs.environments.Synthetic(dimension=2).sample(4, 1, np.random.default_rng(0))
    >>> choices = np.zeros((1, 4), dtype=int)
    >>> prior = hs.priors.Fixed.zero(regularization=1.0)
    >>> memory = prior.empty(2, (1,))
    >>> hs.theory.running_prior(prior, memory, task, choices, task.rewards[..., 0]).bias.shape
    (1, 5, 2)
    """
    chosen = _chosen(task, choices)
    moving = prior.running_bias(memory)
    estimate = RunningEstimate(starting_prior(prior, memory, task.about))
    passed = [estimate.prior]
    for t in range(task.horizon):
        estimate.observe(chosen[..., t, :], rewards[..., t])
        if moving is not None:
            estimate.move(moving.observe(chosen[..., t, :], rewards[..., t]))
        passed.append(estimate.prior)
    axis = len(task.lead)
    names = ("bias", "regularization", "noise_scale", "noise_degrees_of_freedom")
    stacked = {name: np.stack([getattr(one, name) for one in passed], axis) for name in names}
    return checks.trusted(Prior, mixture=None, **stacked)


def _chosen(task: Task, choices: Integers) -> Floats:
    """The features (…, T, d) of the chosen arms."""
    return np.take_along_axis(task.arms, choices[..., None, None], axis=-2)[..., 0, :]


def ever(outside: ArrayLike) -> Booleans:
    """Whether any entry up to each round is true: a running "or" over the last axis.

    Examples
    --------
    >>> hs.theory.ever([False, True, False])
    array([False,  True,  True])
    """
    return np.asarray(np.logical_or.accumulate(np.asarray(outside, dtype=np.bool_), axis=-1))


def _sum_before(values: Floats, axis: int) -> Floats:
    """0, then the running sum, along an axis counted from the end."""
    start = np.zeros_like(values.take([0], axis=axis))
    return np.ascontiguousarray(np.concatenate([start, values.cumsum(axis)], axis=axis))
