"""One shard of a study: a unit of work with its own random stream, the same bits anywhere."""

import json
import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial

import numpy as np
import tomli_w
import xarray as xr

from headstart import own_code
from headstart.arrays import Floats
from headstart.interfaces import Environment
from headstart.processes import one_blas_thread
from headstart.progress import Progress
from headstart.simulation.agent import AnyAgent
from headstart.simulation.run import Run
from headstart.studies.digests import sources
from headstart.studies.results import DIMENSIONS
from headstart.studies.study import Study

# The numbers of one agent in one shard: reward and regret (trained, replication, task, round).
Piece = Mapping[str, Floats]

# A process plays one shard at a time: BLAS's number of threads, on which the last bits of a product
# may depend, and where modules are found belong to the process.
_ALONE = threading.Lock()

# The last environment built, by its settings and files: reading ratings takes longer than playing.
_last: tuple[str, Environment] | None = None


def play_agents(
    study: Study, number: int, names: Sequence[str], progress: Progress | None = None
) -> dict[str, Piece]:
    """Play the shard's replications with some of the study's agents; returns their pieces.

    No agent's numbers depend on the others. A sequence has one `trained`; test tasks are averaged
    to one task, and if the study keeps them they are in `test_reward` and `test_regret` as well. If
    replications share tasks, `cohort` says which.
    """
    with _ALONE, one_blas_thread, own_code.importable(study.folder):
        environment = environment_of(study)
        build = partial(build_agents, study, environment, names)
        run = Run(
            environment,
            build,
            horizon=study.horizon,
            replications=len(study.in_shard(number)),
            seed=shard_seed(study.seed, number),
            workers=1,
            progress=progress,
        )
        found: xr.Dataset
        if study.protocol == "sequence":
            found = run.sequence(study.tasks)
        else:
            found = run.tests(study.training_tasks, study.test_tasks)
            found = _averaged(found, keep=study.keep_test_tasks)
    found = found.drop_vars("choice").transpose("learner", "trained", "replication", ...)
    cohort = {"cohort": found["cohort"].to_numpy()} if "cohort" in found.coords else {}
    values = {str(name): variable.to_numpy() for name, variable in found.data_vars.items()}
    return {
        str(name): {variable: array[i] for variable, array in values.items()} | cohort
        for i, name in enumerate(found["learner"].to_numpy())
    }


def _averaged(played: xr.Dataset, *, keep: bool) -> xr.Dataset:
    """The mean over test tasks as one `task`, and with `keep` the tasks as further variables."""
    mean = played.mean("task").expand_dims(task=[1]).transpose(..., "task", "round")
    if not keep:
        return mean
    tasks = played.rename(task="test_task")
    return mean.assign(test_reward=tasks["reward"], test_regret=tasks["regret"])


def joined(
    study: Study, piece: Callable[[str, int], Piece], numbers: Collection[int] | None = None
) -> xr.Dataset:
    """The results of shards, by default of all, from the piece of every agent in each.

    A learner without λ has its one agent's numbers at every regularization.
    """
    shards = range(study.n_shards) if numbers is None else numbers
    grid = study.regularization
    names = [[study.agent(learner, value) for value in grid] for learner in study.learners]
    every = {name: [piece(name, number) for number in shards] for name in study.agents()}
    first = next(iter(every.values()))

    def along(variable: str) -> Floats:
        whole = {
            name: np.concatenate([one[variable] for one in found], axis=1)
            for name, found in every.items()
        }
        return np.stack([np.stack([whole[name] for name in row]) for row in names])

    variables = {
        variable: (
            tuple(
                "test_task" if variable[:5] == "test_" and d == "task" else d for d in DIMENSIONS
            ),
            along(variable),
        )
        for variable in first[0]
        if variable != "cohort"
    }
    replications = [r for number in shards for r in study.in_shard(number)]
    coords: dict[str, object] = {
        "learner": [learner.name for learner in study.learners],
        "regularization": list(grid),
        "trained": [0] if study.protocol == "sequence" else list(study.training_tasks),
        "replication": replications,
    }
    if "cohort" in first[0]:
        coords["cohort"] = ("replication", np.concatenate([one["cohort"] for one in first]))
    found = xr.Dataset(variables, coords)
    labels = {d: np.arange(1, n + 1) for d, n in found.sizes.items() if d not in found.coords}
    return found.assign_coords(labels)


def shard_seed(seed: int, number: int) -> int:
    """The seed of a shard: 64 bits derived from the study's seed and the shard's number."""
    low, high = np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(2)
    return int(low) + (int(high) << 32)


def build_agents(
    study: Study, environment: Environment, names: Collection[str], prepared: Environment
) -> Sequence[AnyAgent]:
    """The agents of these names, for one simulation in the prepared environment."""

    def resolve(regularization: float, name: str) -> object:
        if name == "regularization":
            return regularization
        for source in (prepared, environment):
            if hasattr(source, name):
                return getattr(source, name)
        kind = type(environment).__name__
        raise ValueError(f"a learner asks for @{name}, but the environment {kind} does not have it")

    return [
        learner.build(agent, partial(resolve, value))
        for agent, (learner, value) in study.agents().items()
        if agent in names
    ]


def environment_of(study: Study) -> Environment:
    """The study's environment, built once while its settings and files stay the same."""
    global _last  # noqa: PLW0603  (a cache of one, per process)
    files = json.dumps([study.folder, sources(study)["environment"]])
    key = tomli_w.dumps(study.environment.plain()) + files
    if _last is None or _last[0] != key:
        _last = (key, study.environment_built())
    return _last[1]
