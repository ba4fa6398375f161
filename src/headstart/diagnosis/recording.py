"""Recording: a simulation with everything that the theory speaks of, as one dataset."""

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import xarray as xr

from headstart import checks
from headstart.arrays import Floats
from headstart.atomic import atomic_write
from headstart.core.statistics import TaskStatistics
from headstart.core.task import Episode, Task
from headstart.environments import Synthetic
from headstart.interfaces import Environment, Policy, PreparableEnvironment, PriorEstimator
from headstart.paper.learners import paper_learners
from headstart.policies import OFUL
from headstart.priors import Fixed
from headstart.simulation import Agents, Progress, simulate
from headstart.simulation.learner import Learner
from headstart.theory import Trajectory, fit_means

# What a diagnosis needs. Regrets alone do not say what each task's arms and parameter were.
NEEDED = ("regret", "gram", "moment", "sum_of_squares", "bias", "bias_error", "parameter")

_SETS = ("Theorem 1", "mixture", "as played")


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
    """Simulate, and keep each task's statistics, truth, bias and confidence sets.

    The play is `simulate`'s own, number for number; the tasks are caught on their way. Beside it,
    the Oracle is played at every one of `regularizations`, which gives the λ of least regret.
    `failure_probability` is that of the confidence sets, 1/T unless given. OPT, which estimates
    nothing, is left out.
    """
    checks.nonnegative("noise_scale", noise_scale)
    delta = 1.0 / max(2, horizon) if failure_probability is None else failure_probability
    caught = _Caught(environment)
    players: list[Learner] = []

    def gather(_: Environment) -> list[Learner]:
        # The prepared environment itself, not the one that catches: learners may ask what it knows.
        known = learners(caught.source) if callable(learners) else learners
        players.extend(learner for learner in known if isinstance(learner, Learner))
        return players

    results = simulate(
        caught,
        gather,
        n_tasks=n_tasks,
        horizon=horizon,
        replications=replications,
        seed=seed,
        progress=progress,
    )
    tasks = caught.tasks
    fits = [fit_means(task) for task in tasks]
    parameter = np.stack([fit.parameter for fit in fits], axis=1)
    unexplained = np.stack([fit.unexplained for fit in fits], axis=1)
    centre = _mean_parameter(caught.source, parameter, linear=not unexplained.any())
    parts = [_replay(learner, results, tasks, noise_scale, delta) for learner in players]
    played = xr.concat(parts, dim=results["learner"])
    truth = xr.Dataset(
        {
            "parameter": (("replication", "task", "feature"), parameter),
            "mean_parameter": (("replication", "feature"), centre),
            "unexplained": (("replication", "task"), unexplained),
        }
    )
    whole = xr.merge([results[["regret"]], played, truth])
    if regularizations:
        swept = _oracles(players[0].policy, centre, regularizations)
        # The Oracle learns nothing from task to task: a few tasks are as good as many.
        regret = simulate(
            environment,
            swept,
            n_tasks=min(n_tasks, 4),
            horizon=horizon,
            replications=replications,
            seed=seed,
        )["regret"]
        totals = regret.sum("round").mean("task").rename(learner="regularization")
        whole["swept"] = totals.assign_coords(regularization=list(regularizations))
    return whole.assign_attrs(
        seed=seed,
        noise_scale=noise_scale,
        failure_probability=delta,
        feature_bound=max(float(np.linalg.norm(t.arms, axis=-1).max()) for t in tasks),
        mean_bound=max(float(np.abs(t.means).max()) for t in tasks),
        environment=_words(environment),
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


def save(recording: xr.Dataset, path: Path) -> None:
    """Write it as NetCDF, whole or not at all."""
    with atomic_write(path) as part:
        recording.to_netcdf(part, engine="h5netcdf")


def read(path: Path) -> xr.Dataset:
    """A results file, or that of a study's folder."""
    file = path / "results.nc" if path.is_dir() else path
    try:
        with xr.open_dataset(file) as opened:
            return opened.load()
    except (OSError, ValueError, TypeError) as error:
        raise ValueError(f"{file} must be a NetCDF file of results: {error}") from error


def is_recording(results: xr.Dataset) -> bool:
    """Whether results hold what a diagnosis needs, beside regrets."""
    return all(name in results for name in NEEDED)


class _Caught:
    """An environment that keeps the tasks it hands out."""

    def __init__(self, source: Environment) -> None:
        self.source = source
        self.tasks: list[Task] = []

    @property
    def dimension(self) -> int:
        return self.source.dimension

    def prepare(self, replications: int, rng: np.random.Generator) -> "_Caught":
        if isinstance(self.source, PreparableEnvironment):
            self.source = self.source.prepare(replications, rng)
        return self

    def sample(self, horizon: int, replications: int, rng: np.random.Generator) -> Task:
        self.tasks.append(self.source.sample(horizon, replications, rng))
        return self.tasks[-1]


def _replay(
    learner: Learner, results: xr.Dataset, tasks: Sequence[Task], noise_scale: float, delta: float
) -> xr.Dataset:
    """Go through a learner's tasks again, with the truth at hand."""
    mine = results.sel(learner=learner.name)
    memory = learner.prior.empty(tasks[0].dimension, tasks[0].lead)
    seen: list[xr.Dataset] = []
    for j, task in enumerate(tasks):
        choices = mine["choice"].isel(task=j).to_numpy().astype(np.int64)
        rewards = mine["reward"].isel(task=j).to_numpy()
        blank = TaskStatistics.zeros(task.dimension, task.lead)
        path = Trajectory.of(task, Episode(choices, rewards, blank), learner.prior, memory)
        seen.append(_look(path, learner, noise_scale, delta))
        memory = learner.prior.absorb(memory, _last(path.estimate.statistics))
    kept = xr.concat(seen, dim=results["task"])
    for name in ("estimator", "ridge"):
        kept[name] = seen[0][name]
    return kept


def _look(path: Trajectory, learner: Learner, noise_scale: float, delta: float) -> xr.Dataset:
    """What one task of one learner shows."""
    estimate = path.estimate
    end = _last(estimate.statistics)
    outside = path.misses(noise_scale=noise_scale, failure_probability=delta)
    if isinstance(learner.policy, OFUL):
        arms = np.zeros((*estimate.prior.lead, 1, estimate.prior.dimension))
        radius = learner.policy.radius(estimate.read(arms))
        outside["as played"] = estimate.distance(path.truth) > radius
    nowhere = np.full(path.bias_error.shape, -1, dtype=np.int8)
    sets = np.stack([np.asarray(outside.get(name, nowhere), dtype=np.int8) for name in _SETS])
    return xr.Dataset(
        {
            "gram": (("replication", "feature", "feature_"), end.gram),
            "moment": (("replication", "feature"), end.moment),
            "sum_of_squares": (("replication",), end.sum_of_squares),
            "bias": (("replication", "end", "feature"), estimate.prior.bias[:, [0, -1]]),
            "bias_error": (("replication", "after"), path.bias_error),
            # 1 outside, 0 inside, −1 where the set makes no claim.
            "outside": (("set", "replication", "after"), sets),
            "largest_eigenvalue": (("replication",), estimate.prior.largest_eigenvalue[:, 0]),
            "estimator": ((), type(learner.prior).__name__),
            "ridge": ((), _ridge(learner.prior)),
        },
        coords={
            "set": list(_SETS),
            "end": ["start", "finish"],
            "after": np.arange(path.bias_error.shape[-1]),
        },
    )


def _ridge(prior: PriorEstimator) -> float:
    """The λ of an estimator's own ridge regression; NaN where it has none, or a matrix."""
    own = getattr(prior, "estimation_regularization", np.nan)
    value = getattr(prior, "regularization", np.nan) if isinstance(own, str) else own
    return float(value) if np.ndim(value) == 0 else float("nan")


def _last(statistics: TaskStatistics) -> TaskStatistics:
    """The statistics after the last round."""
    return TaskStatistics(
        gram=statistics.gram[:, -1],
        moment=statistics.moment[:, -1],
        count=statistics.count[:, -1],
        sum_of_squares=statistics.sum_of_squares[:, -1],
    )


def _mean_parameter(environment: Environment, parameter: Floats, linear: bool) -> Floats:
    """w̄ of every replication, (R, d): as the environment says, or the mean of the tasks met.

    What it says is about its own w; a parameter fitted to means that are not linear has another.
    """
    centre = parameter.mean(1)
    law = getattr(environment, "law", None)
    known = getattr(environment, "mean_parameter", getattr(law, "mean_parameter", None))
    if known is None or not linear:
        return np.asarray(centre)
    return np.array(np.broadcast_to(np.asarray(known, dtype=np.float64), centre.shape))


def _words(environment: Environment) -> str:
    """An environment in words; by its class alone where it holds more than can be read."""
    words = repr(environment)
    return words if len(words) < 300 and "array" not in words else type(environment).__name__


def _oracles(policy: Policy, centre: Floats, regularizations: Sequence[float]) -> list[Learner]:
    """The Oracle at every λ."""
    return [
        Learner(f"{value:g}", policy, Fixed(bias=centre, regularization=value))
        for value in (checks.positive("regularizations", each) for each in regularizations)
    ]
