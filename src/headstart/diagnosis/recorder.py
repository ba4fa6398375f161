"""Recorder: a simulation with every quantity of the theory, as one dataset."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import xarray as xr

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Episode, Task
from headstart.environments import Synthetic
from headstart.interfaces import (
    Environment,
    Memory,
    Policy,
    PreparableEnvironment,
    PriorEstimator,
)
from headstart.learners.oful import paper_learners
from headstart.policies import OFUL, Uniform
from headstart.priors import Fixed, Hierarchical
from headstart.progress import Progress
from headstart.simulation import Agent, Agents, InformedAgent, simulate
from headstart.simulation.agent import several
from headstart.simulation.learner import Learner
from headstart.simulation.rounds import Rounds
from headstart.theory import Trajectory, fit_means

# The Oracle does not learn across tasks, so a few tasks suffice for its mean regret.
_ORACLE_TASKS = 4


def record(
    environment: Environment,
    learners: Agents,
    *,
    n_tasks: int,
    horizon: int,
    noise_scale: float,
    replications: int = 50,
    seed: int = 0,
    failure_probability: float | None = None,
    regularizations: Sequence[float] = (),
    progress: Progress | None = None,
) -> xr.Dataset:
    """Simulate, and record the statistics, parameter, bias and confidence sets of each task.

    The numbers are the same as `simulate`'s. An agent without a prior has only its regret,
    `agent_regret`. OPT, which sees the means, is left out.

    See `Diagnosis` for an example.

    Parameters
    ----------
    environment : Environment
        Where tasks come from.
    learners : Agent, sequence of Agent, mapping of str to Agent, or callable
        What to record, as for `simulate`.
    n_tasks : int
        The number of tasks.
    horizon : int
        The number of rounds of a task, T.
    noise_scale : float
        The sub-Gaussian scale of the noise.
    replications : int, default 50
        The number of independent repetitions.
    seed : int, default 0
        The seed.
    failure_probability : float, optional
        δ of the confidence sets, by default 1/T.
    regularizations : sequence of float, optional
        The Oracle also plays at each of these, to find the λ with least regret.
    progress : callable, optional
        Called with the tasks done and their total; each task is played, rebuilt, and played again
        by the Oracle.

    Returns
    -------
    xarray.Dataset
    """
    checks.nonnegative("noise_scale", noise_scale)
    delta = 1.0 / max(2, horizon) if failure_probability is None else failure_probability
    sampled = _TaskRecorder(environment)
    every = several(learners)
    estimating: list[Learner] = []
    others: list[Agent] = []

    def playing(_: Environment) -> list[Agent]:
        # Learners may need attributes of the prepared environment, so they are built from it.
        built = every(sampled.source) if callable(every) else every
        estimating.extend(agent for agent in built if isinstance(agent, Learner))
        others.extend(agent for agent in built if not isinstance(agent, Learner | InformedAgent))
        return [*estimating, *others]

    n_oracle = min(n_tasks, _ORACLE_TASKS)
    count = _Count(
        progress,
        lambda: n_tasks * (2 * len(estimating) + len(others)) + n_oracle * len(regularizations),
    )
    settings: Any = {"horizon": horizon, "replications": replications, "seed": seed}
    played = simulate(sampled, playing, n_tasks=n_tasks, progress=count.step, **settings)
    results = played.sel(learner=[learner.name for learner in estimating])
    tasks = sampled.tasks
    truth = _truth(sampled.source, tasks)
    sets = {"noise_scale": noise_scale, "failure_probability": delta}
    by_learner = [
        record_learner(learner, results, tasks, report=count.step, **sets) for learner in estimating
    ]
    recorded = xr.merge([results[["regret"]], xr.concat(by_learner, results["learner"]), truth])
    names = [agent.name for agent in others]
    recorded["agent_regret"] = played["regret"].sel(learner=names).rename(learner="agent")
    if regularizations:
        policy = _oracle_policy(estimating)
        oracles = _oracles(policy, truth["mean_parameter"].to_numpy(), regularizations)
        of_oracles = simulate(
            environment, list(oracles.values()), n_tasks=n_oracle, progress=count.step, **settings
        )
        recorded["oracle_regret"] = _per_task(of_oracles, list(oracles))
        recorded.attrs["oracle_policy"] = repr(policy)
    return recorded.assign_attrs(
        seed=seed, **sets, **_bounds(tasks), environment=_description(environment)
    )


def record_synthetic(
    *, replications: int, seed: int, progress: Progress | None = None
) -> xr.Dataset:
    """The paper's synthetic setting with the linear reward of its theory, at λ = 1."""
    environment, horizon = Synthetic(reward="linear"), 50
    policy = OFUL(noise_scale=environment.noise_scale, failure_probability=1 / horizon)
    return record(
        environment,
        paper_learners(policy=policy, mean_parameter=environment.mean_parameter),
        n_tasks=20,
        horizon=horizon,
        noise_scale=environment.noise_scale,
        replications=replications,
        seed=seed,
        regularizations=[float(value) for value in np.geomspace(0.01, 1000, 16)],
        progress=progress,
    )


class _Count:
    """Steps of several parts of the work, reported as one progress."""

    def __init__(self, progress: Progress | None, total: Callable[[], int]) -> None:
        self._progress = progress
        self._total = total
        self._done = 0

    def step(self, *_: int) -> None:
        """One more step, whatever the part itself counts."""
        self._done += 1
        if self._progress is not None:
            self._progress(self._done, self._total())


class _TaskRecorder:
    """An environment that records the tasks it samples."""

    def __init__(self, source: Environment) -> None:
        self.source = source
        self.tasks: list[Task] = []

    @property
    def dimension(self) -> int:
        return self.source.dimension

    def __getattr__(self, name: str) -> Any:
        return getattr(self.source, name)  # n_tasks, cohorts

    def prepare(self, replications: int, rng: np.random.Generator) -> _TaskRecorder:
        if isinstance(self.source, PreparableEnvironment):
            self.source = self.source.prepare(replications, rng)
        return self

    def sample(
        self, horizon: int, replications: int, rng: np.random.Generator, **number: int
    ) -> Task:
        task = self.source.sample(horizon, replications, rng, **number)
        if task.comparator is not None or task.adversary is not None:
            raise ValueError(
                "a diagnosis needs tasks with one parameter each, got tasks of "
                f"{type(self.source).__name__} with a parameter that changes from round to round"
            )
        self.tasks.append(task)
        return task


def _truth(environment: Environment, tasks: Sequence[Task]) -> xr.Dataset:
    """The tasks' parameters, their mean, and the share of the means that is not linear."""
    fits = [fit_means(task) for task in tasks]
    parameter = np.stack([fit.parameter for fit in fits], axis=1)
    unexplained = np.stack([fit.unexplained for fit in fits], axis=1)
    mean = _mean_parameter(environment, parameter, linear=not unexplained.any())
    return xr.Dataset(
        {
            "parameter": (("replication", "task", "feature"), parameter),
            "mean_parameter": (("replication", "feature"), mean),
            "unexplained": (("replication", "task"), unexplained),
        }
    )


def _bounds(tasks: Sequence[Task]) -> dict[str, float]:
    """The longest arm and the largest mean."""
    return {
        "feature_bound": max(float(np.linalg.norm(task.arms, axis=-1).max()) for task in tasks),
        "mean_bound": max(float(np.abs(task.means).max()) for task in tasks),
    }


def _mean_parameter(environment: Environment, parameter: Floats, linear: bool) -> Floats:
    """w̄ of every replication, (R, d): the environment's, or the mean over the sampled tasks.

    The environment's is the mean of the true w; parameters fitted to means that are not linear have
    another mean.
    """
    mean = parameter.mean(1)
    stated = getattr(environment, "mean_parameter", None)
    if stated is None or not linear:
        return np.asarray(mean)
    return np.array(np.broadcast_to(np.asarray(stated, dtype=np.float64), mean.shape))


def _description(environment: Environment) -> str:
    """The settings of an environment; only its class if they are long."""
    settings = repr(environment)
    short = len(settings) < 300 and "array" not in settings
    return settings if short else type(environment).__name__


def _oracle_policy(learners: Sequence[Learner]) -> Policy:
    """The policy of the Oracle at other λ: of a learner with a given bias, else of any learner.

    Of several, the first by name; `Uniform`, which ignores the bias, comes last.
    """

    def rank(learner: Learner) -> tuple[bool, bool, str]:
        has_bias = isinstance(learner.prior, Fixed) and bool(np.any(learner.prior.bias))
        return isinstance(learner.policy, Uniform), not has_bias, learner.name

    return min(learners, key=rank).policy


def _oracles(
    policy: Policy, mean_parameter: Floats, regularizations: Sequence[float]
) -> dict[float, Learner]:
    """The Oracle at every λ."""
    return {
        value: Learner(f"{value:g}", policy, Fixed(bias=mean_parameter, regularization=value))
        for value in (checks.positive("regularizations", number) for number in regularizations)
    }


def _per_task(played: xr.Dataset, regularizations: Sequence[float]) -> xr.DataArray:
    """The regret per task at every λ, (λ, R)."""
    regret = played["regret"].sum("round").mean("task").rename(learner="regularization")
    return regret.assign_coords(regularization=regularizations)


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
    by_task["directions"] = (("replication",), _directions(learner.prior, memory, replications))
    # Lemma 2 is for OFUL with Λ = λI and a known scale of the noise.
    by_task["has_bound"] = isinstance(learner.policy, OFUL) and start.isotropic
    return by_task


def replayed(task: Task, choices: Integers) -> Episode:
    """What a learner sees of a task when it makes these choices, (R, T)."""
    rounds = Rounds(task, np.zeros((*task.lead, task.horizon, 1)))
    for t in range(task.horizon):
        rounds.choose(choices[:, t])
    return rounds.episode()


def _outside(
    path: Trajectory, policy: Policy, noise_scale: float, failure_probability: float
) -> Integers:
    """Whether w is outside each confidence set, (set, R, T + 1): 1, 0, or −1 for no set."""
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
    """The largest eigenvalue of Λ at the start of a task, (R,), for a prior (R, T + 1)."""
    start = prior.regularization[:, 0]
    return start if start.ndim == 1 else np.asarray(np.linalg.eigvalsh(start)[..., -1])


def claimed_radius(policy: Policy, estimate: RidgeEstimate) -> Floats | None:
    """The radius of the confidence set that a policy plays, (…); None if it plays none.

    Any `IndexPolicy` has a radius, but only OFUL's belongs to a confidence set for w: Greedy's is
    0, and BayesUCB's is a quantile of the posterior of one arm.
    """
    return policy.radius(estimate.summary) if isinstance(policy, OFUL) else None


def _directions(prior: PriorEstimator, memory: Memory, replications: int) -> Floats:
    """Along how many directions tasks differ, (R,), by a prior that says so; else NaN."""
    if isinstance(prior, Hierarchical):
        return np.array(np.broadcast_to(prior.directions(memory).rank, (replications,)), float)
    return np.full(replications, np.nan)


def _ridge(prior: PriorEstimator) -> float:
    """The λ of an estimator's own ridge regression; NaN if it has none, or a matrix."""
    same = isinstance(getattr(prior, "estimation_regularization", np.nan), str)
    return _number(prior, "regularization" if same else "estimation_regularization")


def _number(prior: PriorEstimator, name: str) -> float:
    """A setting of a prior; NaN if it has none, or a matrix."""
    value = np.asarray(getattr(prior, name, np.nan))
    return float(value) if value.ndim == 0 and value.dtype.kind in "if" else float("nan")
