"""How a simulation runs: random streams, chunks of replications on threads, arrays of results."""

from __future__ import annotations

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.task import Task, realised
from headstart.interfaces import Environment, FiniteEnvironment, PreparableEnvironment
from headstart.processes import one_blas_thread
from headstart.progress import Progress
from headstart.simulation.agent import (
    Agent,
    Agents,
    AnyAgent,
    InformedAgent,
    State,
    checked,
    several,
    take,
)
from headstart.simulation.results import Results
from headstart.simulation.rounds import Rounds, draw_uniforms

# Random streams: the first number of a spawn key says what draws from it. For a task, the second
# says whether it trains or tests, so that tests are the same at any number of training tasks.
_ENVIRONMENT, _TASK, _AGENT = 0, 1, 2
_TRAINING, _TEST = 0, 1

# The bytes of inverses, arms and projections per chunk of replications, which plays all rounds of a
# task together. Measured: this minimises the cost of cache misses and calls from Python.
CHUNK_BYTES = 3_000_000

# Where an agent's task is recorded: its numbers of learner, training size and task.
_At = tuple[int, int, int]


class Record:
    """Choices, rewards, regrets, propensities over (learner, trained, replication, task, round).

    A propensity is 0 if the agent does not report it.
    """

    def __init__(self, *shape: int) -> None:
        self.choice = np.empty(shape, dtype=np.int32)
        self.reward = np.empty(shape)
        self.regret = np.empty(shape)
        self.propensity = np.zeros(shape)

    def write(self, at: _At, part: slice, task: Task, rounds: Rounds) -> None:
        """Record some replications of a task."""
        (learner, trained, number), choices = at, rounds.choices
        here = (learner, trained, part, number)
        self.choice[here] = choices
        self.reward[here] = rounds.rewards
        self.regret[here] = realised(task, choices).regrets(choices)
        if rounds.propensities is not None:
            self.propensity[here] = rounds.propensities


class Run:
    """One simulation: checked settings, the prepared environment and its agents."""

    def __init__(
        self,
        environment: Environment,
        agents: Agents,
        *,
        horizon: int,
        replications: int,
        seed: int | np.random.Generator | None,
        workers: int | None,
        progress: Progress | None,
    ) -> None:
        checks.having(
            "environment", environment, "sample", "an environment, such as environments.Synthetic()"
        )
        every = several(agents)
        known = every if callable(every) else _check_agents(every)
        self._horizon = checks.count("horizon", horizon)
        self._replications = checks.count("replications", replications)
        self._seed = _seed(seed)
        self._workers = cores() if workers is None else checks.count("workers", workers)
        self._dimension = checks.count("the environment's dimension", environment.dimension)
        self._progress, self._n_played = progress, 0
        if isinstance(environment, PreparableEnvironment):
            environment = environment.prepare(self._replications, self._rng(_ENVIRONMENT))
        self._environment = environment
        self._agents = _check_agents(known(environment)) if callable(known) else known

    def sequence(self, n_tasks: int) -> Results:
        """Algorithm 2: every agent plays each task, and learns from it before the next one."""
        with self._playing(n_tasks, n_tasks, 1, n_tasks):
            states = self._begin()
            for j in range(n_tasks):
                task = self._task(_TRAINING, j)
                for i, agent in enumerate(self._agents):
                    uniforms = self._uniforms(agent, task, _TRAINING, j)
                    states[i] = self._play(agent, states[i], task, uniforms, (i, 0, j))
        return self._results()

    def tests(self, sizes: Sequence[int], n_tests: int) -> Results:
        """Train; then play the test tasks from the states after each number of training tasks."""
        n_training, after = max(sizes), {}
        total = n_training + n_tests * len(sizes)
        with self._playing(n_training + n_tests, total, len(sizes), n_tests):
            states = self._begin()
            after[0] = list(states)
            for j in range(n_training):
                task = self._task(_TRAINING, j)
                for i, agent in enumerate(self._agents):
                    uniforms = self._uniforms(agent, task, _TRAINING, j)
                    states[i] = self._play(agent, states[i], task, uniforms)
                if j + 1 in sizes:
                    after[j + 1] = list(states)
            for m in range(n_tests):
                task = self._task(_TEST, m)
                for i, agent in enumerate(self._agents):
                    uniforms = self._uniforms(agent, task, _TEST, m)
                    for k, size in enumerate(sizes):
                        state = after[size][i]
                        self._play(agent, state, task, uniforms, (i, k, m), learn=False)
        return self._results()

    @contextmanager
    def _playing(self, n_tasks: int, n_plays: int, *shape: int) -> Iterator[None]:
        """Arrays for results, threads, and one thread for BLAS, whose products are small here."""
        known = self._environment
        if isinstance(known, FiniteEnvironment) and n_tasks > known.n_tasks:
            raise ValueError(f"the environment has {known.n_tasks} tasks, got {n_tasks} to play")
        n_sizes, n_recorded = shape
        self._record = Record(
            len(self._agents), n_sizes, self._replications, n_recorded, self._horizon
        )
        self._n_plays = n_plays * len(self._agents)
        with one_blas_thread:
            # With one thread, the plain `map` keeps the GIL.
            pool = None if self._workers == 1 else ThreadPoolExecutor(self._workers)
            self._map: Callable[..., Iterable[State]] = map if pool is None else pool.map
            try:
                yield
            finally:
                if pool is not None:
                    pool.shutdown(cancel_futures=True)

    def _begin(self) -> list[list[State]]:
        """The state of every agent before any task, in one part."""
        n = self._replications
        return [
            [checked(agent.begin(self._dimension, n), n, f"{agent.name}.begin")]
            for agent in self._agents
        ]

    def _play(
        self,
        agent: AnyAgent,
        states: list[State],
        task: Task,
        uniforms: Floats,
        at: _At | None = None,
        *,
        learn: bool = True,
    ) -> list[State]:
        """Play a task from the states of all chunks of replications; returns the states after it.

        A state is cut into chunks before its first task, and never joined.
        """
        parts = _chunks(task)
        if len(states) < len(parts):
            states = [take(states[0], part) for part in parts]

        def play_chunk(part: slice, state: State) -> State:
            shown = task[part]
            rounds = Rounds(shown, uniforms[part])
            played = _play_all_rounds(agent, state, shown, rounds)
            if at is not None:
                self._record.write(at, part, shown, rounds)
            if not learn:
                return state
            return checked(agent.learn(state, played), rounds.replications, f"{agent.name}.learn")

        after = list(self._map(play_chunk, parts, states))
        self._n_played += 1
        if self._progress is not None:
            self._progress(self._n_played, self._n_plays)
        return after

    def _results(self) -> Results:
        record, dims = self._record, ("learner", "trained", "replication", "task", "round")
        _, _, replications, n_tasks, horizon = record.regret.shape
        variables: dict[str, Any] = {
            "choice": (dims, record.choice, {"long_name": "index of the arm played"}),
            "reward": (dims, record.reward),
            "regret": (dims, record.regret, {"long_name": "best mean less the mean played"}),
        }
        if record.propensity.any():
            told = np.where(record.propensity > 0.0, record.propensity, np.nan)
            variables["propensity"] = (dims, told, {"long_name": "probability of that choice"})
        cohorts = getattr(self._environment, "cohorts", None)
        shared = {} if cohorts is None else {"cohort": ("replication", cohorts)}
        return Results(
            variables,
            coords={
                "learner": [agent.name for agent in self._agents],
                "replication": np.arange(replications),
                **shared,
                "task": np.arange(1, n_tasks + 1),
                "round": np.arange(1, horizon + 1),
            },
            attrs={"seed": self._seed},
        )

    def _task(self, kind: int, number: int) -> Task:
        """A task in every replication: of finitely many, the first ones train, the last ones test.

        So the test tasks are the same after any number of training tasks.
        """
        rng, size = self._rng(_TASK, kind, number), (self._horizon, self._replications)
        if isinstance(self._environment, FiniteEnvironment):
            at = number if kind == _TRAINING else -1 - number
            task = self._environment.sample(*size, rng, number=at)
        else:
            task = self._environment.sample(*size, rng)
        for what, wanted, got in (
            ("replications", (self._replications,), task.lead),
            ("horizon", self._horizon, task.horizon),
            ("dimension", self._dimension, task.dimension),
        ):
            if got != wanted:
                raise ValueError(
                    f"the environment was asked for {what} {wanted}, but sample() returned {what} "
                    f"{got}: arms of shape {task.arms.shape}"
                )
        return task

    def _uniforms(self, agent: AnyAgent, task: Task, kind: int, number: int) -> Floats:
        """The agent's random numbers in a task."""
        n_uniforms = agent.n_uniforms(task.n_arms, task.dimension)
        checks.count(f"{agent.name}.n_uniforms(…)", n_uniforms, least=0)
        rng = self._rng(_AGENT, _key(agent.name), kind, number)
        return draw_uniforms(task, n_uniforms, rng)

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))


def _play_all_rounds(agent: AnyAgent, state: State, task: Task, rounds: Rounds) -> Any:
    """What the agent learns from. Only an informed agent gets the means."""
    if not isinstance(agent, InformedAgent):
        played = agent.play(state, rounds)
    elif task.adversary is None:
        played = agent.play_informed(state, rounds, task.means)
    else:
        raise ValueError(
            f"{agent.name} needs the means of all rounds before it plays, but an adversary "
            "that reacts has not chosen them by then"
        )
    if not rounds.over:
        n = rounds.choices.shape[-1]
        raise ValueError(f"{agent.name} must play all {rounds.horizon} rounds of a task, got {n}")
    return played


def _chunks(task: Task) -> list[slice]:
    """Slices of the replications, each small enough to stay in cache for a task."""
    (replications,) = task.lead
    size = 8 * task.dimension * (task.dimension + 2 * task.n_arms)
    length = -(-replications // -(-replications // max(1, CHUNK_BYTES // size)))
    return [slice(start, start + length) for start in range(0, replications, length)]


def cores() -> int:
    """How many cores this process may use.

    >>> from headstart.simulation import cores
    >>> cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _seed(seed: int | np.random.Generator | None) -> int:
    """A seed as a number: drawn from a generator, or fresh if it is None."""
    if seed is None:
        seed = np.random.default_rng()
    if isinstance(seed, np.random.Generator):
        return int(seed.integers(2**63))
    return checks.count("seed", seed, least=0)


def _key(name: str) -> int:
    """The number in the spawn keys of an agent's random numbers."""
    return zlib.crc32(name.encode())


_AN_AGENT = "Learner objects, such as learners.itl(), or have the members of simulation.Agent"


def _check_agents(agents: Sequence[AnyAgent]) -> list[AnyAgent]:
    if not isinstance(agents, Iterable):
        raise ValueError(f"agents must be {_AN_AGENT}, got {checks.short(agents)}")
    known = list(agents)
    if not known:
        raise ValueError("agents must hold at least one agent, got none")
    for agent in known:
        checks.having("agents", agent, "begin", _AN_AGENT)
        if not isinstance(agent, Agent | InformedAgent):
            raise ValueError(f"agents must be {_AN_AGENT}, got {checks.short(agent)}")
        if not isinstance(agent.name, str) or not agent.name:
            raise ValueError(f"the name of an agent must be text, got {checks.short(agent.name)}")
    check_names([agent.name for agent in known])
    return known


def check_names(names: Sequence[str]) -> None:
    """Refuse names of agents that are equal, or that would give two agents the same numbers."""
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"agents must have different names, got {sorted(twice)} more than once")
    alike = {_key(name): name for name in names}
    for name in names:
        if alike[_key(name)] != name:
            raise ValueError(
                f"agents {name!r} and {alike[_key(name)]!r} would get the same random numbers, by "
                "a coincidence of their names: rename one of them"
            )
