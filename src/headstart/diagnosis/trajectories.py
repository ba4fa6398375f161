"""Trajectories: a learner's estimates in each of its tasks, round by round, as a dataset."""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Episode, Task
from headstart.interfaces import Policy, PriorEstimator
from headstart.policies import OFUL
from headstart.simulation.learner import Learner
from headstart.theory import Trajectory

CONFIDENCE_SETS = ("Theorem 1", "fixed bias", "as played")


def record_learner(
    learner: Learner,
    results: xr.Dataset,
    tasks: Sequence[Task],
    *,
    noise_scale: float,
    failure_probability: float,
    report: Callable[[], None],
) -> xr.Dataset:
    """Rebuild a learner's tasks from its choices and rewards, and record each of them.

    `report` is called after every task.
    """
    mine = results.sel(learner=learner.name)
    memory = learner.prior.empty(tasks[0].dimension, tasks[0].lead)
    recorded: list[xr.Dataset] = []
    for j, task in enumerate(tasks):
        choices = mine["choice"].isel(task=j).to_numpy().astype(np.int64)
        rewards = mine["reward"].isel(task=j).to_numpy()
        empty = TaskStatistics.zeros(task.dimension, task.lead)
        path = Trajectory.of(task, Episode(choices, rewards, empty), learner.prior, memory)
        recorded.append(_record_task(path, learner, noise_scale, failure_probability))
        memory = learner.prior.absorb(memory, _last(path.estimate.statistics))
        start = path.estimate.prior
        report()
    by_task = xr.concat(recorded, dim=results["task"])
    by_task["estimator"] = ((), type(learner.prior).__name__)
    by_task["ridge"] = ((), _ridge(learner.prior))
    by_task["prior_regularization"] = ((), _number(learner.prior, "regularization"))
    by_task["policy"] = ((), repr(learner.policy))
    # Lemma 2 is for OFUL with Λ = λI and a known scale of the noise.
    by_task["has_bound"] = isinstance(learner.policy, OFUL) and start.isotropic
    return by_task


def _record_task(
    path: Trajectory, learner: Learner, noise_scale: float, failure_probability: float
) -> xr.Dataset:
    estimate = path.estimate
    end = _last(estimate.statistics)
    outside = path.misses(noise_scale=noise_scale, failure_probability=failure_probability)
    radius = claimed_radius(learner.policy, estimate)
    if radius is not None:
        outside["as played"] = estimate.distance(path.truth) > radius
    no_claim = np.full(path.bias_error.shape, -1, dtype=np.int8)
    sets = [np.asarray(outside.get(name, no_claim), dtype=np.int8) for name in CONFIDENCE_SETS]
    return xr.Dataset(
        {
            "gram": (("replication", "feature", "feature_"), end.gram),
            "moment": (("replication", "feature"), end.moment),
            "sum_of_squares": (("replication",), end.sum_of_squares),
            "bias": (("replication", "end", "feature"), estimate.prior.bias[:, [0, -1]]),
            "bias_error": (("replication", "after"), path.bias_error),
            # 1 outside, 0 inside, −1 where there is no confidence set.
            "outside": (("set", "replication", "after"), np.stack(sets)),
            "largest_eigenvalue": (("replication",), _largest_eigenvalue(estimate.prior)),
        },
        coords={
            "set": list(CONFIDENCE_SETS),
            "end": ["start", "finish"],
            "after": np.arange(path.bias_error.shape[-1]),
        },
    )


def _largest_eigenvalue(prior: Prior) -> Floats:
    """Of Λ at the start of a task, (R,), for a prior (R, T + 1)."""
    start = prior.regularization[:, 0]
    return start if start.ndim == 1 else np.asarray(np.linalg.eigvalsh(start)[..., -1])


def claimed_radius(policy: Policy, estimate: RidgeEstimate) -> Floats | None:
    """The radius of the confidence set that a policy plays, (…); None where it plays none.

    Any `IndexPolicy` has a radius, but only OFUL's is that of a confidence set for w: Greedy's is
    0, and BayesUCB's is a quantile of the posterior of one arm.
    """
    return policy.radius(estimate.summary) if isinstance(policy, OFUL) else None


def _ridge(prior: PriorEstimator) -> float:
    """The λ of an estimator's own ridge regression; NaN where it has none, or a matrix."""
    same = isinstance(getattr(prior, "estimation_regularization", np.nan), str)
    return _number(prior, "regularization" if same else "estimation_regularization")


def _number(prior: PriorEstimator, name: str) -> float:
    """A setting of a prior; NaN where it has none, or a matrix."""
    value = np.asarray(getattr(prior, name, np.nan))
    return float(value) if value.ndim == 0 and value.dtype.kind in "if" else float("nan")


def _last(statistics: TaskStatistics) -> TaskStatistics:
    """The statistics after the last round."""
    return TaskStatistics(
        gram=statistics.gram[:, -1],
        moment=statistics.moment[:, -1],
        count=statistics.count[:, -1],
        sum_of_squares=statistics.sum_of_squares[:, -1],
    )
