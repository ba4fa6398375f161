"""One shard of a study: a unit of work with its own random stream, the same bits anywhere."""

import threading
import time
from collections.abc import Iterator, Sequence
from functools import partial

import numpy as np
import tomli_w
import xarray as xr
from threadpoolctl import threadpool_limits

from headstart.interfaces import Environment
from headstart.simulation import evaluate, simulate
from headstart.simulation.learner import Learner, Optimal
from headstart.studies.study import Contestant, Study

# BLAS's number of threads belongs to the process and can move the last bits of a product, so a
# process plays one shard at a time, with one thread.
_ALONE = threading.Lock()

# The last environment built: reading ratings takes longer than playing them.
_last: tuple[str, Environment] | None = None


def play_shard(study: Study, number: int) -> xr.Dataset:
    """Play the shard's replications; what is kept is what figures and tables need.

    A sequence keeps reward and regret over (learner, regularization, replication, task, round);
    tests from a memory keep their mean over test tasks, over (learner, regularization, trained,
    replication, round). Choices are not kept. The attribute `seconds` says how long it took.
    """
    started = time.perf_counter()
    first = number * study.shard
    size = min(study.shard, study.replications - first)
    with _ALONE, threadpool_limits(1, "blas"):
        environment = _environment(study)
        roster = Roster(study, environment)
        seed = shard_seed(study.seed, number)
        if study.protocol == "sequence":
            played = simulate(
                environment,
                roster.build,
                n_tasks=study.tasks,
                horizon=study.horizon,
                replications=size,
                seed=seed,
                workers=1,
            )
        else:
            played = evaluate(
                environment,
                roster.build,
                n_training_tasks=study.training_tasks,
                n_test_tasks=study.test_tasks,
                horizon=study.horizon,
                replications=size,
                seed=seed,
                workers=1,
            ).mean("task")
    kept = roster.spread(played[["reward", "regret"]])
    kept = kept.assign_coords(replication=np.arange(first, first + size))
    return kept.assign_attrs(seconds=time.perf_counter() - started)


def shard_seed(seed: int, number: int) -> int:
    """The seed of a shard: 64 bits that follow from the study's seed and the shard's number."""
    low, high = np.random.SeedSequence(seed, spawn_key=(number,)).generate_state(2)
    return int(low) + (int(high) << 32)


class Roster:
    """A study's learners at every regularization, under names of their own."""

    def __init__(self, study: Study, environment: Environment) -> None:
        self._study = study
        self._environment = environment

    def _entries(self) -> Iterator[tuple[str, Contestant, float]]:
        grid = self._study.regularization
        for contestant in self._study.learners:
            for value in grid if contestant.swept else grid[:1]:
                yield f"{contestant.name} @ {value!r}", contestant, value

    def build(self, prepared: Environment) -> Sequence[Learner | Optimal]:
        """The learners that meet in one simulation. One that ignores the grid plays once."""
        return [
            contestant.build(name, partial(self._know, prepared, value))
            for name, contestant, value in self._entries()
        ]

    def _know(self, prepared: Environment, regularization: float, word: str) -> object:
        if word == "regularization":
            return regularization
        for source in (prepared, self._environment):
            if hasattr(source, word):
                return getattr(source, word)
        kind = type(self._environment).__name__
        raise ValueError(f"a learner asks for @{word}, which the environment {kind} does not have")

    def spread(self, played: xr.Dataset) -> xr.Dataset:
        """The results with learner and regularization as two axes."""
        grid, learners = self._study.regularization, self._study.learners
        names = [
            [f"{c.name} @ {value if c.swept else grid[0]!r}" for value in grid] for c in learners
        ]
        places = [[list(played["learner"].to_numpy()).index(name) for name in row] for row in names]
        pick = xr.DataArray(
            places,
            dims=("learner", "regularization"),
            coords={"learner": [c.name for c in learners], "regularization": list(grid)},
        )
        return (
            played.drop_vars("learner")
            .isel(learner=pick)
            .transpose("learner", "regularization", ...)
        )


def _environment(study: Study) -> Environment:
    global _last  # noqa: PLW0603  (a cache of one, per process)
    key = tomli_w.dumps(study.environment.plain())
    if _last is None or _last[0] != key:
        _last = (key, study.environment_built())
    return _last[1]
