"""One shard of a study: a unit of work with its own random stream, the same bits anywhere."""

import json
import threading
import time
from collections.abc import Collection, Mapping, Sequence
from functools import partial

import numpy as np
import tomli_w
import xarray as xr
from threadpoolctl import threadpool_limits

from headstart import own_code
from headstart.interfaces import Environment
from headstart.progress import Progress
from headstart.simulation import evaluate, simulate
from headstart.simulation.agent import AnyAgent
from headstart.studies.digests import sources
from headstart.studies.results import DIMENSIONS
from headstart.studies.study import LearnerSpec, Study

# BLAS's number of threads belongs to the process and can change the last bits of a product, so a
# process plays one shard at a time, with one thread.
_ALONE = threading.Lock()

# The last environment built, by its settings and files: reading ratings takes longer than playing.
_last: tuple[str, Environment] | None = None


def play_shard(study: Study, number: int) -> xr.Dataset:
    """Play the shard's replications; choices are not recorded.

    Returns reward and regret over (learner, regularization, trained, replication, task, round).
    """
    return by_regularization(study, play_agents(study, number, list(agents(study))))


def play_agents(
    study: Study, number: int, names: Sequence[str], progress: Progress | None = None
) -> xr.Dataset:
    """Play the shard's replications with some of the study's `agents`.

    Returns reward and regret over (agent, trained, replication, task, round); no agent's numbers
    depend on the others. A sequence has `trained` [0]; test tasks are averaged to one `task`, and
    if the study keeps them they are in `test_reward` and `test_regret` as well. The attributes are
    the `seconds` it took and the `sources` afterwards.
    """
    started = time.perf_counter()
    replications = shard_replications(study, number)
    with _ALONE, threadpool_limits(1, "blas"), own_code.importable(study.folder):
        environment = _environment(study)
        learners = SweptLearners(study, environment)
        build = partial(learners.build, only=set(names))
        seed = shard_seed(study.seed, number)
        played: xr.Dataset
        if study.protocol == "sequence":
            played = simulate(
                environment,
                build,
                n_tasks=study.tasks,
                horizon=study.horizon,
                replications=len(replications),
                seed=seed,
                workers=1,
                progress=progress,
            ).expand_dims(trained=[0])
        else:
            played = evaluate(
                environment,
                build,
                n_training_tasks=study.training_tasks,
                n_test_tasks=study.test_tasks,
                horizon=study.horizon,
                replications=len(replications),
                seed=seed,
                workers=1,
                progress=progress,
            )
            played = _averaged(played, keep=study.keep_test_tasks)
    kept = played.drop_vars("choice").rename(learner="agent")
    kept = kept.assign_coords(replication=list(replications))
    kept.attrs = {
        "seconds": time.perf_counter() - started,
        "sources": json.dumps(sources(study)),
    }
    return kept.transpose("agent", "trained", "replication", ...)


def _averaged(played: xr.Dataset, *, keep: bool) -> xr.Dataset:
    """The mean over test tasks as one `task`, and with `keep` the tasks as further variables."""
    mean = played.mean("task").expand_dims(task=[1]).transpose(..., "task", "round")
    if not keep:
        return mean
    tasks = played.rename(task="test_task")
    return mean.assign(test_reward=tasks["reward"], test_regret=tasks["regret"])


def shard_replications(study: Study, number: int) -> range:
    """The numbers of a shard's replications."""
    first = number * study.shard
    return range(first, min(first + study.shard, study.replications))


def shard_seed(seed: int, number: int) -> int:
    """The seed of a shard: 64 bits derived from the study's seed and the shard's number."""
    low, high = np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(2)
    return int(low) + (int(high) << 32)


class SweptLearners:
    """A study's learners at every regularization, each under its own name."""

    def __init__(self, study: Study, environment: Environment) -> None:
        self._study = study
        self._environment = environment

    def names(self, regularization: Mapping[str, float]) -> dict[str, str]:
        """Each learner's name in the study and its value of λ, by the name that it plays under.

        A learner without λ plays once, under the first value's name, which determines its random
        numbers.
        """
        return {
            agent: learner.name
            for agent, (learner, value) in agents(self._study).items()
            if value == regularization[learner.name] or not learner.swept
        }

    def build(
        self, prepared: Environment, *, only: Collection[str] | None = None
    ) -> Sequence[AnyAgent]:
        """The agents that play in one simulation, or only those with some names."""
        return [
            learner.build(agent, partial(self._resolve, prepared, value))
            for agent, (learner, value) in agents(self._study).items()
            if only is None or agent in only
        ]

    def _resolve(self, prepared: Environment, regularization: float, name: str) -> object:
        if name == "regularization":
            return regularization
        for source in (prepared, self._environment):
            if hasattr(source, name):
                return getattr(source, name)
        kind = type(self._environment).__name__
        raise ValueError(f"a learner asks for @{name}, but the environment {kind} does not have it")


def agents(study: Study) -> dict[str, tuple[LearnerSpec, float]]:
    """The agents of a study, by name: each learner at each regularization, or once without λ.

    A learner without λ plays under the first value's name.
    """
    learners = {learner.name: learner for learner in study.learners}
    swept = {name: learner.swept for name, learner in learners.items()}
    names = agents_of(swept, study.regularization)
    return {agent: (learners[name], value) for agent, (name, value) in names.items()}


def agents_of(swept: Mapping[str, bool], grid: Sequence[float]) -> dict[str, tuple[str, float]]:
    """The learner and the regularization of each agent; `swept` by learner."""
    return {
        agent_name(learner, value): (learner, value)
        for learner, follows in swept.items()
        for value in (grid if follows else grid[:1])
    }


def by_regularization(study: Study, played: xr.Dataset) -> xr.Dataset:
    """Results over agents with learner and regularization as two dimensions."""
    grid = study.regularization
    positions = {str(name): i for i, name in enumerate(played["agent"].to_numpy())}
    pick = xr.DataArray(
        [
            [positions[agent_name(one.name, value if one.swept else grid[0])] for value in grid]
            for one in study.learners
        ],
        dims=("learner", "regularization"),
        coords={"learner": [one.name for one in study.learners], "regularization": list(grid)},
    )
    found = played.drop_vars("agent").isel(agent=pick)
    order = (*DIMENSIONS[:-1], "test_task", "round")
    return found.transpose(*order, missing_dims="ignore")


def agent_name(learner: str, regularization: float) -> str:
    """The name that a learner plays under, which determines its random numbers."""
    return f"{learner} @ {regularization!r}"


def _environment(study: Study) -> Environment:
    global _last  # noqa: PLW0603  (a cache of one, per process)
    files = json.dumps([study.folder, sources(study)["environment"]])
    key = tomli_w.dumps(study.environment.plain()) + files
    if _last is None or _last[0] != key:
        _last = (key, study.environment_built())
    return _last[1]
