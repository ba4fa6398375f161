"""Trajectories: a learner's estimates in each of its tasks, round by round, as a dataset."""

from collections.abc import Callable, Sequence

import numpy as np
import xarray as xr

from headstart.arrays import Floats, Integers
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Episode, Task
from headstart.interfaces import Policy, PriorEstimator
from headstart.policies import OFUL
from headstart.simulation.learner import Learner
from headstart.simulation.rounds import Rounds
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
    (replications,) = tasks[0].lead
    memory = learner.begin(tasks[0].dimension, replications)
    recorded: list[xr.Dataset] = []
    for j, task in enumerate(tasks):
        episode = replayed(task, mine["choice"].isel(task=j).to_numpy())
        path = Trajectory.of(task, episode, learner.prior, memory)
        sets = _outside(path, learner.policy, noise_scale, failure_probability)
        recorded.append(_record_task(path, episode.statistics, sets))
        memory = learner.learn(memory, episode)
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


def replayed(task: Task, choices: Integers) -> Episode:
    """What a learner sees of a task in which it makes these choices, (R, T)."""
    rounds = Rounds(task, np.zeros((*task.lead, task.horizon, 1)))
    for t in range(task.horizon):
        rounds.choose(choices[:, t])
    return rounds.episode()


def _outside(
    path: Trajectory, policy: Policy, noise_scale: float, failure_probability: float
) -> Integers:
    """Whether w is outside of each confidence set, (set, R, T + 1): 1, 0, or −1 for no set."""
    outside = path.misses(noise_scale=noise_scale, failure_probability=failure_probability)
    radius = claimed_radius(policy, path.estimate)
    if radius is not None:
        outside["as played"] = path.estimate.distance(path.truth) > radius
    no_claim = np.full(path.bias_error.shape, -1, dtype=np.int8)
    return np.stack([np.asarray(outside.get(name, no_claim), np.int8) for name in CONFIDENCE_SETS])


def _record_task(path: Trajectory, statistics: TaskStatistics, outside: Integers) -> xr.Dataset:
    prior = path.estimate.prior
    return xr.Dataset(
        {
            "gram": (("replication", "feature", "feature_"), statistics.gram),
            "moment": (("replication", "feature"), statistics.moment),
            "sum_of_squares": (("replication",), statistics.sum_of_squares),
            "bias": (("replication", "end", "feature"), prior.bias[:, [0, -1]]),
            "bias_error": (("replication", "after"), path.bias_error),
            "outside": (("set", "replication", "after"), outside),
            "largest_eigenvalue": (("replication",), _largest_eigenvalue(prior)),
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
