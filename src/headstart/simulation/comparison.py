"""Simulated comparisons: many learners, the same tasks and luck, thousands of replications."""

import os
import zlib
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from typing import Self

import numpy as np
import xarray as xr
from threadpoolctl import threadpool_limits

from headstart import checks
from headstart.arrays import Floats
from headstart.core.task import Task
from headstart.interfaces import Environment, Memory, PreparableEnvironment
from headstart.simulation.learner import Learner, Optimal, begin, draw_uniforms, learn, play

# The learners, or how to make them once the environment is prepared: what the Oracle knows may be
# drawn with the world.
Contestants = Sequence[Learner | Optimal] | Callable[[Environment], Sequence[Learner | Optimal]]

# Told how many of how many (task, learner) pairs are done.
Progress = Callable[[int, int], None]

# A chunk of replications is played through a whole task. This much of inverses, arms and
# projections is where, as measured, misses of the cache and calls from Python cost least together.
_CHUNK_BYTES = 3_000_000

# Random streams: the first number of a spawn key says whose it is, and for a task the second
# whether it trains or tests, so that tests are the same whatever the number of training tasks.
_WORLD, _TASK, _LEARNER = 0, 1, 2
_TRAINING, _TEST = 0, 1


def simulate(
    environment: Environment,
    learners: Contestants,
    *,
    n_tasks: int,
    horizon: int,
    replications: int = 1,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Play a sequence of tasks, every learner carrying its memory from one to the next.

    Returns choice, reward and regret over (learner, replication, task, round). All learners meet
    the same arms and the same noise. A learner's own luck depends on the seed and on its name
    alone, so that adding or removing a learner changes nobody else's numbers; neither does the
    number of worker threads (default: one a core).
    """
    n = checks.count("n_tasks", n_tasks)
    run = _Run(environment, learners, horizon, replications, seed, workers)
    return run.play(n_training=n, sizes=(), n_test=0, progress=progress)


def evaluate(
    environment: Environment,
    learners: Contestants,
    *,
    n_training_tasks: int | Sequence[int] = 10,
    n_test_tasks: int = 10,
    horizon: int,
    replications: int = 1,
    seed: int = 0,
    workers: int | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """The paper's protocol: train on N tasks, then play M test tasks, each from the same memory.

    Returns what `simulate` does, for the test tasks only. No test task learns from another. With
    several N the same tests are played from the memory after each, along a dimension `trained`;
    the numbers at one N are those of that N alone.
    """
    several = isinstance(n_training_tasks, Sequence)
    given = n_training_tasks if isinstance(n_training_tasks, Sequence) else [n_training_tasks]
    sizes = [checks.count("n_training_tasks", n, least=0) for n in given]
    if len(set(sizes)) < max(len(sizes), 1):
        raise ValueError(f"n_training_tasks must be one or more different numbers, got {sizes}")
    n, m = max(sizes), checks.count("n_test_tasks", n_test_tasks)
    run = _Run(environment, learners, horizon, replications, seed, workers)
    played = run.play(n_training=n, sizes=sizes, n_test=m, progress=progress)
    numbers = np.arange(1, m + 1) if several else np.arange(n + 1, n + m + 1)
    tests = [
        played.isel(task=slice(start, start + m)).assign_coords(task=numbers)
        for start in range(n, n + m * len(sizes), m)
    ]
    if not several:
        return tests[0]
    joined = xr.concat(tests, xr.Variable("trained", sizes), coords="minimal", compat="equals")
    return joined.transpose("learner", "trained", ...)


class _Run:
    """One simulation: checked settings, random streams, chunks of replications, results."""

    def __init__(
        self,
        environment: Environment,
        learners: Contestants,
        horizon: int,
        replications: int,
        seed: int,
        workers: int | None,
    ) -> None:
        known = learners if callable(learners) else _check_learners(learners)
        self._horizon = checks.count("horizon", horizon)
        self._replications = checks.count("replications", replications)
        self._seed = checks.count("seed", seed, least=0)
        self._workers = cores() if workers is None else checks.count("workers", workers)
        self._dimension = checks.count("the environment's dimension", environment.dimension)
        if isinstance(environment, PreparableEnvironment):
            environment = environment.prepare(self._replications, self._rng(_WORLD))
        self._environment = environment
        self._learners = _check_learners(known(environment)) if callable(known) else known

    def play(
        self, *, n_training: int, sizes: Sequence[int], n_test: int, progress: Progress | None
    ) -> xr.Dataset:
        """Train; then test from the memory after each of the sizes; keep everything, in order."""
        n_tasks = n_training + n_test * len(sizes)
        steps = count(1)
        shape = (len(self._learners), self._replications, n_tasks, self._horizon)
        self._choice = np.empty(shape, dtype=np.int32)
        self._reward, self._regret = np.empty(shape), np.empty(shape)
        lead = (self._replications,)
        memories = [begin(learner, self._dimension, lead) for learner in self._learners]
        memory_after = {}

        def meet(drawn: tuple[Task, list[Floats]], memories: list[Memory], j: int) -> list[Memory]:
            learned = []
            for i, (learner, luck) in enumerate(zip(self._learners, drawn[1], strict=True)):
                learned.append(self._step(workers, drawn[0], learner, memories[i], luck, (i, j)))
                if progress is not None:
                    progress(next(steps), n_tasks * len(self._learners))
            return learned

        # Products of our sizes are too small for BLAS to share between threads.
        with threadpool_limits(1, "blas"), _Workers(self._workers) as workers:
            for j in range(n_training):
                if j in sizes:
                    memory_after[j] = memories
                memories = meet(self._draw(_TRAINING, j), memories, j)
            memory_after[n_training] = memories
            for m in range(n_test):
                drawn = self._draw(_TEST, m)
                for k, size in enumerate(sizes):
                    meet(drawn, memory_after[size], n_training + k * n_test + m)
        return self._dataset(n_tasks)

    def _draw(self, kind: int, number: int) -> tuple[Task, list[Floats]]:
        """A task in every replication, and every learner's luck in it."""
        rng = self._rng(_TASK, kind, number)
        task = self._environment.sample(self._horizon, self._replications, rng)
        _check_task(task, (self._replications,), self._horizon, self._dimension)
        lucks = []
        for learner in self._learners:
            rng = self._rng(_LEARNER, zlib.crc32(learner.name.encode()), kind, number)
            lucks.append(draw_uniforms(task, learner, rng))
        return task, lucks

    def _step(
        self,
        workers: "_Workers",
        task: Task,
        learner: Learner | Optimal,
        memory: Memory,
        uniforms: Floats,
        place: tuple[int, int],
    ) -> Memory:
        """Play a task in every replication, record it, and return the memory with it."""
        i, j = place

        def play_chunk(part: slice) -> Memory:
            begun = {name: array[part] for name, array in memory.items()}
            episode = play(task[part], learner, begun, uniforms[part])
            self._choice[i, part, j] = episode.choices
            self._reward[i, part, j] = episode.rewards
            self._regret[i, part, j] = task[part].regrets(episode.choices)
            return learn(learner, begun, episode)

        learned = workers.map(play_chunk, _chunks(task))
        return {name: np.concatenate([part[name] for part in learned]) for name in memory}

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))

    def _dataset(self, n_tasks: int) -> xr.Dataset:
        dims = ("learner", "replication", "task", "round")
        return xr.Dataset(
            {
                "choice": (dims, self._choice, {"long_name": "index of the arm played"}),
                "reward": (dims, self._reward),
                "regret": (dims, self._regret, {"long_name": "best mean less the mean played"}),
            },
            coords={
                "learner": [learner.name for learner in self._learners],
                "replication": np.arange(self._replications),
                "task": np.arange(1, n_tasks + 1),
                "round": np.arange(1, self._horizon + 1),
            },
            attrs={"seed": self._seed},
        )


class _Workers:
    """Threads for chunks; with one worker none, since handing over the GIL has its price."""

    def __init__(self, n: int) -> None:
        self._pool = ThreadPoolExecutor(n) if n > 1 else None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self._pool is not None:
            self._pool.shutdown(cancel_futures=True)

    def map(self, play: Callable[[slice], Memory], parts: list[slice]) -> list[Memory]:
        return list(self._pool.map(play, parts) if self._pool else map(play, parts))


def _chunks(task: Task) -> list[slice]:
    """Slices of the replications, each small enough to stay in cache through a whole task."""
    (replications,) = task.lead
    size = 8 * task.dimension * (task.dimension + 2 * task.n_arms)
    length = -(-replications // -(-replications // max(1, _CHUNK_BYTES // size)))
    return [slice(start, start + length) for start in range(0, replications, length)]


def _check_learners(learners: Sequence[Learner | Optimal]) -> list[Learner | Optimal]:
    known = list(learners)
    if not known:
        raise ValueError("learners must hold at least one learner, got none")
    for learner in known:
        if not isinstance(learner, Learner | Optimal):
            raise ValueError(f"learners must be Learner or Optimal objects, got {learner!r}")
    names = [learner.name for learner in known]
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"learners must have different names, got {sorted(twice)} more than once")
    return known


def _check_task(task: Task, lead: tuple[int, ...], horizon: int, dimension: int) -> None:
    got, wanted = (task.lead, task.horizon, task.dimension), (lead, horizon, dimension)
    if got != wanted:
        raise ValueError(
            "the environment must sample tasks with (replications,), horizon and dimension "
            f"{wanted}, got {got}"
        )


def cores() -> int:
    """How many cores this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
