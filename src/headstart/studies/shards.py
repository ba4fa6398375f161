"""One shard of a study: a unit of work with its own random stream, the same bits anywhere."""

import threading
import time
from collections.abc import Sequence
from functools import partial

import numpy as np
import tomli_w
import xarray as xr
from threadpoolctl import threadpool_limits

from headstart.interfaces import Environment
from headstart.simulation import evaluate, simulate
from headstart.simulation.agent import AnyAgent
from headstart.studies.results import DIMENSIONS
from headstart.studies.study import LearnerSpec, Study

# BLAS's number of threads belongs to the process and can move the last bits of a product, so a
# process plays one shard at a time, with one thread.
_ALONE = threading.Lock()

# The last environment built: reading ratings takes longer than playing them.
_last: tuple[str, Environment] | None = None


def play_shard(study: Study, number: int) -> xr.Dataset:
    """Play the shard's replications; choices are not recorded.

    Returns reward and regret over (learner, regularization, trained, replication, task, round).
    A sequence has `trained` [0]; test tasks are averaged to one `task`. The attribute
    `seconds` is the time taken.
    """
    started = time.perf_counter()
    first = number * study.shard
    size = min(study.shard, study.replications - first)
    with _ALONE, threadpool_limits(1, "blas"):
        environment = _environment(study)
        learners = SweptLearners(study, environment)
        seed = shard_seed(study.seed, number)
        if study.protocol == "sequence":
            played = simulate(
                environment,
                learners.build,
                n_tasks=study.tasks,
                horizon=study.horizon,
                replications=size,
                seed=seed,
                workers=1,
            ).expand_dims(trained=[0])
        else:
            played = evaluate(
                environment,
                learners.build,
                n_training_tasks=study.training_tasks,
                n_test_tasks=study.test_tasks,
                horizon=study.horizon,
                replications=size,
                seed=seed,
                workers=1,
            )
            played = played.mean("task").expand_dims(task=[1])
    kept = learners.by_regularization(played[["reward", "regret"]]).transpose(*DIMENSIONS)
    kept = kept.assign_coords(replication=np.arange(first, first + size))
    return kept.assign_attrs(seconds=time.perf_counter() - started)


def shard_seed(seed: int, number: int) -> int:
    """The seed of a shard: 64 bits that follow from the study's seed and the shard's number."""
    low, high = np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(2)
    return int(low) + (int(high) << 32)


class SweptLearners:
    """A study's learners at every regularization, each under another name."""

    def __init__(self, study: Study, environment: Environment) -> None:
        self._study = study
        self._environment = environment

    def names(self, regularization: float) -> dict[str, str]:
        """The learners' names in the study, by the names that they play under at this value.

        A learner that ignores the grid plays once, under the first value's name. Its random
        numbers follow from that name.
        """
        first = self._study.regularization[0]
        return {
            _name(learner, regularization if learner.swept else first): learner.name
            for learner in self._study.learners
        }

    def build(self, prepared: Environment) -> Sequence[AnyAgent]:
        """The learners that play in one simulation."""
        grid = self._study.regularization
        return [
            learner.build(_name(learner, value), partial(self._resolve, prepared, value))
            for learner in self._study.learners
            for value in (grid if learner.swept else grid[:1])
        ]

    def _resolve(self, prepared: Environment, regularization: float, name: str) -> object:
        if name == "regularization":
            return regularization
        for source in (prepared, self._environment):
            if hasattr(source, name):
                return getattr(source, name)
        kind = type(self._environment).__name__
        raise ValueError(f"a learner asks for @{name}, which the environment {kind} does not have")

    def by_regularization(self, played: xr.Dataset) -> xr.Dataset:
        """The results with learner and regularization as two dimensions."""
        grid = list(self._study.regularization)
        positions = {str(name): i for i, name in enumerate(played["learner"].to_numpy())}
        pick = xr.DataArray(
            [[positions[name] for name in self.names(value)] for value in grid],
            dims=("regularization", "learner"),
            coords={"regularization": grid, "learner": [one.name for one in self._study.learners]},
        )
        return played.drop_vars("learner").isel(learner=pick)


def _name(learner: LearnerSpec, regularization: float) -> str:
    return f"{learner.name} @ {regularization!r}"


def _environment(study: Study) -> Environment:
    global _last  # noqa: PLW0603  (a cache of one, per process)
    key = tomli_w.dumps(study.environment.plain())
    if _last is None or _last[0] != key:
        _last = (key, study.environment_built())
    return _last[1]
