"""Trajectory: what an estimator knew after every round, rebuilt from what was played."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
from numpy.typing import ArrayLike

from headstart import kernels
from headstart.arrays import Booleans, Floats, Integers
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Episode, Task
from headstart.interfaces import Memory, PriorEstimator
from headstart.theory.linearity import fit_means
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

    `estimate` has the leading axes (R, T + 1); `parameter` is the true w, (R, d).
    """

    estimate: RidgeEstimate
    parameter: Floats

    @classmethod
    def of(
        cls, task: Task, episode: Episode, prior: PriorEstimator, memory: Memory
    ) -> "Trajectory":
        """Rebuild a task that was played from this memory; w is the task's `fit_means`."""
        so_far = running_statistics(task, episode.choices, episode.rewards)
        estimate = RidgeEstimate(so_far, running_prior(prior, memory, so_far))
        return cls(estimate, fit_means(task).parameter)

    @property
    def bias_error(self) -> Floats:
        """‖h − w‖ after every round, (R, T + 1)."""
        return np.asarray(np.linalg.norm(self.estimate.prior.bias - self.truth, axis=-1))

    @cached_property
    def truth(self) -> Floats:
        """The true w, once a round: (R, T + 1, d)."""
        shape = self.estimate.prior.bias.shape
        return np.ascontiguousarray(np.broadcast_to(self.parameter[..., None, :], shape))

    def misses(self, *, noise_scale: float, failure_probability: float) -> dict[str, Booleans]:
        """Whether w lies outside each confidence set, (R, T + 1), by the name of its radius.

        The mixture radius is left out where the bias moves within the task: it does not hold there.
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


def running_statistics(task: Task, choices: Integers, paid: Floats) -> TaskStatistics:
    """The statistics after t = 0, …, T rounds of choices and rewards (…, T), lead (…, T + 1)."""
    chosen = np.take_along_axis(task.arms, choices[..., None, None], axis=-2)[..., 0, :]
    outer = chosen[..., :, None] * chosen[..., None, :]
    rounds = np.arange(task.horizon + 1, dtype=np.float64)
    return TaskStatistics(
        gram=_sum_before(outer, -3),
        moment=_sum_before(paid[..., None] * chosen, -2),
        count=np.ascontiguousarray(np.broadcast_to(rounds, (*task.lead, task.horizon + 1))),
        sum_of_squares=_sum_before(paid**2, -1),
    )


def running_prior(prior: PriorEstimator, memory: Memory, so_far: TaskStatistics) -> Prior:
    """The prior after every round, with leading axes (…, T + 1): moving if the estimator follows.

    By the definition of `running_bias`, the bias after t rounds is that of the memory with these t
    rounds absorbed; Λ stays as the task began with it. Second thoughts are had when they are due.
    """
    rounds = so_far.lead[-1]
    lead = len(so_far.lead) - 1
    held = {name: np.repeat(np.expand_dims(a, lead), rounds, lead) for name, a in memory.items()}
    start = prior.prior(held)
    if prior.running_bias(memory) is not None:
        return Prior(prior.prior(prior.absorb(held, so_far)).bias, start.regularization)
    return start if start.mixture is None else _with_second_thoughts(start, so_far)


def _with_second_thoughts(start: Prior, so_far: TaskStatistics) -> Prior:
    """What a prior with a mixture (…, T + 1) becomes, round by round, as `RunningEstimate` does."""
    assert start.mixture is not None
    bias, regularization = start.bias.copy(), start.regularization.copy()
    scale = start.noise_scale.copy()
    revised = start.revised(so_far)
    wary, startling = (
        start.mixture.components_differ[..., 0].copy(),
        np.vectorize(kernels.startling, [bool]),
    )
    for t in range(1, so_far.lead[-1]):
        if not kernels.is_power_of_two(t):
            continue
        now = Prior(bias[..., t, :], regularization[..., t, :, :])
        seen = TaskStatistics(
            gram=so_far.gram[..., t, :, :],
            moment=so_far.moment[..., t, :],
            count=so_far.count[..., t],
            sum_of_squares=so_far.sum_of_squares[..., t],
        )
        surprise = RidgeEstimate(seen, now).surprise
        wary |= startling(
            surprise, scale[..., t], start.noise_degrees_of_freedom[..., t], seen.count
        )
        for kept, fresh in (
            (bias, revised.bias),
            (regularization, revised.regularization),
            (scale, revised.noise_scale),
        ):
            kept[wary, t:] = fresh[wary, t][:, None]
    return replace(start, bias=bias, regularization=regularization, noise_scale=scale)


def ever(outside: ArrayLike) -> Booleans:
    """Whether it happened up to each round: a running "or" over the last axis."""
    return np.asarray(np.logical_or.accumulate(np.asarray(outside, dtype=np.bool_), axis=-1))


def _sum_before(values: Floats, axis: int) -> Floats:
    """0, then the running sum, along an axis counted from the end."""
    start = np.zeros_like(values.take([0], axis=axis))
    return np.ascontiguousarray(np.concatenate([start, values.cumsum(axis)], axis=axis))
