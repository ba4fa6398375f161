"""How a simulation runs: random streams, tasks in chunks on threads, the arrays of results."""

import os
import zlib
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from headstart import checks
from headstart.arrays import Floats
from headstart.core.task import Task, realised
from headstart.interfaces import Environment, FiniteEnvironment, PreparableEnvironment
from headstart.progress import Progress
from headstart.schedules import InSequence, Schedule
from headstart.simulation.agent import (
    Agent,
    Agents,
    AnyAgent,
    InformedAgent,
    JointAgent,
    State,
    checked,
    join,
    several,
    take,
)
from headstart.simulation.learner import Learner
from headstart.simulation.results import Results
from headstart.simulation.rounds import Rounds, draw_uniforms
from headstart.simulation.turns import Stretch, Turns, checked_order, stretches

# Random streams: the first number of a spawn key says what draws from it. For a task, the second
# says whether it trains or tests, so that tests are the same at any number of training tasks.
_ENVIRONMENT, _TASK, _AGENT, _SCHEDULE = 0, 1, 2, 3
_TRAINING, _TEST = 0, 1

# The bytes of inverses, arms and projections per chunk of replications, which plays all rounds of a
# task together. Measured: this minimises the cost of cache misses and calls from Python.
CHUNK_BYTES = 3_000_000

# Calls a function with each chunk, on one thread or several; results in order.
MapChunks = Callable[[Callable[[slice], State], Iterable[slice]], Iterable[State]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawn:
    """What is drawn for an agent: a task in every replication, and the agent's random numbers."""

    task: Task
    uniforms: Floats

    def rounds(self, part: slice) -> Rounds:
        """Some replications of the task, as an agent sees it."""
        return Rounds(self.task[part], self.uniforms[part])


@dataclass(frozen=True, eq=False, kw_only=True)
class TaskRecord:
    """Choices, rewards, regrets and propensities (R, T) of one agent in one task, as views."""

    choice: NDArray[np.int32]
    reward: Floats
    regret: Floats
    propensity: Floats

    def write(self, part: slice, task: Task, rounds: Rounds) -> None:
        """Record some replications."""
        choices = rounds.choices
        self.choice[part] = choices
        self.reward[part] = rounds.rewards
        self.regret[part] = realised(task, choices).regrets(choices)
        if rounds.propensities is not None:
            self.propensity[part] = rounds.propensities


class Record:
    """Choices, rewards, regrets, propensities over (learner, trained, replication, task, round).

    A propensity is 0 if the agent does not report it.
    """

    def __init__(self, *shape: int) -> None:
        self.choice = np.empty(shape, dtype=np.int32)
        self.reward = np.empty(shape)
        self.regret = np.empty(shape)
        self.propensity = np.zeros(shape)

    def at(self, learner: int, trained: int, task: int) -> TaskRecord:
        """The entries of one agent in one task."""
        at = (learner, trained, slice(None), task)
        return TaskRecord(
            choice=self.choice[at],
            reward=self.reward[at],
            regret=self.regret[at],
            propensity=self.propensity[at],
        )


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
        schedule: Schedule | None = None,
    ) -> None:
        checks.having(
            "environment", environment, "sample", "an environment, such as environments.Synthetic()"
        )
        every = several(agents)
        known = every if callable(every) else _check_agents(every)
        self._schedule = InSequence() if schedule is None else schedule
        checks.having(
            "schedule", self._schedule, "order", "a schedule, such as schedules.InParallel(5)"
        )
        delay = getattr(self._schedule, "delay", None)
        checks.count("the schedule's delay", cast(int, delay), least=0)
        self._horizon = checks.count("horizon", horizon)
        self._replications = checks.count("replications", replications)
        self._seed = _seed(seed)
        self._workers = cores() if workers is None else checks.count("workers", workers)
        self._dimension = checks.count("the environment's dimension", environment.dimension)
        self._progress = progress
        if isinstance(environment, PreparableEnvironment):
            environment = environment.prepare(self._replications, self._rng(_ENVIRONMENT))
        self._environment = environment
        self._agents = _check_agents(known(environment)) if callable(known) else known
        for agent in self._agents:
            _check_abilities(agent, self._schedule.delay)

    def scheduled(self, n_tasks: int) -> Results:
        """Play tasks in the order of the schedule, learning from each; `trained` has length 1."""
        self._check_number(n_tasks)
        order = checked_order(self._schedule, n_tasks, self._horizon, self._rng(_SCHEDULE))
        record = self._record(1, n_tasks)
        report = self._reporter(n_tasks)
        states = self._begin()
        with _threads(self._workers) as map_chunks:
            for stretch in stretches(order, self._schedule.delay):
                numbers = range(stretch.first, stretch.first + stretch.n_tasks)
                tasks = [self._task(_TRAINING, j) for j in numbers]
                for i, agent in enumerate(self._agents):
                    drawn = [
                        self._drawn(agent, task, _TRAINING, j)
                        for j, task in zip(numbers, tasks, strict=True)
                    ]
                    at = [record.at(i, 0, j) for j in numbers]
                    states[i] = _train(agent, states[i], stretch, drawn, map_chunks, at)
                    for _ in numbers:
                        report()
        played = self._dataset(record)
        if np.array_equal(order, np.repeat(np.arange(n_tasks), self._horizon)):
            return played
        turn = np.argsort(order, kind="stable").reshape(n_tasks, self._horizon) + 1
        return played.assign_coords(turn=(("task", "round"), turn))

    def tests(self, sizes: Sequence[int], n_test: int) -> Results:
        """Train; then play the test tasks from the states after each number of training tasks."""
        n_training = max(sizes)
        self._check_number(n_training + n_test)
        record = self._record(len(sizes), n_test)
        report = self._reporter(n_training + n_test * len(sizes))
        states, states_after = self._begin(), {}
        alone = Stretch(0, 1, np.zeros(self._horizon, dtype=np.int64))
        with _threads(self._workers) as map_chunks:
            for j in range(n_training):
                if j in sizes:
                    states_after[j] = list(states)
                task = self._task(_TRAINING, j)
                for i, agent in enumerate(self._agents):
                    drawn = self._drawn(agent, task, _TRAINING, j)
                    states[i] = _train(agent, states[i], alone, [drawn], map_chunks, [None])
                    report()
            states_after[n_training] = states
            for m in range(n_test):
                task = self._task(_TEST, m)
                for i, agent in enumerate(self._agents):
                    drawn = self._drawn(agent, task, _TEST, m)
                    for k, size in enumerate(sizes):
                        state, at = states_after[size][i], record.at(i, k, m)
                        _test(agent, state, alone, drawn, map_chunks, at)
                        report()
        return self._dataset(record)

    def _begin(self) -> list[State]:
        n = self._replications
        return [
            checked(agent.begin(self._dimension, n), n, f"{agent.name}.begin")
            for agent in self._agents
        ]

    def _record(self, n_sizes: int, n_tasks: int) -> Record:
        return Record(len(self._agents), n_sizes, self._replications, n_tasks, self._horizon)

    def _dataset(self, record: Record) -> Results:
        dims = ("learner", "trained", "replication", "task", "round")
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

    def _reporter(self, n_tasks: int) -> Callable[[], None]:
        """What is called when an agent has played a task."""
        numbers, total = count(1), n_tasks * len(self._agents)

        def report() -> None:
            if self._progress is not None:
                self._progress(next(numbers), total)

        return report

    def _check_number(self, n_tasks: int) -> None:
        """Check that the environment has so many tasks."""
        known = self._environment
        if isinstance(known, FiniteEnvironment) and n_tasks > known.n_tasks:
            raise ValueError(f"the environment has {known.n_tasks} tasks, got {n_tasks} to play")

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
        _check_task(task, (self._replications,), self._horizon, self._dimension)
        return task

    def _drawn(self, agent: AnyAgent, task: Task, kind: int, number: int) -> Drawn:
        """The task with the agent's random numbers."""
        n_uniforms = agent.n_uniforms(task.n_arms, task.dimension)
        checks.count(f"{agent.name}.n_uniforms(…)", n_uniforms, least=0)
        rng = self._rng(_AGENT, zlib.crc32(agent.name.encode()), kind, number)
        uniforms = draw_uniforms(task, n_uniforms, rng)
        return Drawn(task=task, uniforms=uniforms)

    def _rng(self, *key: int) -> np.random.Generator:
        return np.random.default_rng(np.random.SeedSequence(self._seed, spawn_key=key))


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


def _train(
    agent: AnyAgent,
    state: State,
    stretch: Stretch,
    drawn: Sequence[Drawn],
    map_chunks: MapChunks,
    records: Sequence[TaskRecord | None],
) -> State:
    """Play the tasks of a stretch, record those with a record, and return the state after them."""
    jointly = _plays_jointly(agent, stretch)

    def play_chunk(part: slice) -> State:
        before = take(state, part)
        if jointly:
            return _play_jointly(cast(JointAgent, agent), before, stretch, drawn, part, records)
        by_task = cast(Agent | InformedAgent, agent)
        return _play_by_task(by_task, before, stretch, drawn, part, records)

    return join(list(map_chunks(play_chunk, _chunks(drawn[0].task))))


def _test(
    agent: AnyAgent,
    state: State,
    alone: Stretch,
    drawn: Drawn,
    map_chunks: MapChunks,
    record: TaskRecord,
) -> None:
    """Play a task and record it, without learning from it."""

    def play_chunk(part: slice) -> State:
        before = take(state, part)
        if isinstance(agent, Agent | InformedAgent):
            _play(agent, before, drawn, part, record)
        else:
            _play_jointly(agent, before, alone, [drawn], part, [record])
        return before

    list(map_chunks(play_chunk, _chunks(drawn.task)))


def _plays_jointly(agent: AnyAgent, stretch: Stretch) -> bool:
    """Whether the agent plays the stretch in one loop, as one that cannot play by task must."""
    if not isinstance(agent, Agent | InformedAgent):
        return True
    shares = stretch.n_tasks > 1 and getattr(agent, "joint", True)
    return (stretch.delay > 0 or shares) and isinstance(agent, JointAgent)


def _play_jointly(
    agent: JointAgent,
    state: State,
    stretch: Stretch,
    drawn: Sequence[Drawn],
    part: slice,
    records: Sequence[TaskRecord | None],
) -> State:
    """Play a chunk of a stretch in one loop; returns the state after it."""
    every = [one.rounds(part) for one in drawn]
    turns = Turns(every, stretch.order, stretch.delay)
    with _left_as_shown(agent, [one.task[part] for one in drawn], every):
        after = agent.play_jointly(state, turns)
    if not turns.over:
        n, got = turns.n_turns, turns.n_played
        raise ValueError(f"{agent.name} must play all {n} turns, got {got}")
    for one, rounds, record in zip(drawn, every, records, strict=True):
        if record is not None:
            record.write(part, one.task[part], rounds)
    return checked(after, every[0].replications, f"{agent.name}.play_jointly")


def _play_by_task(
    agent: Agent | InformedAgent,
    state: State,
    stretch: Stretch,
    drawn: Sequence[Drawn],
    part: slice,
    records: Sequence[TaskRecord | None],
) -> State:
    """Play a chunk of a stretch, each task from the state at its start; returns the last state."""
    begun: dict[int, State] = {}
    for task, ended in stretch.events():
        if not ended:
            begun[task] = state
            continue
        played = _play(agent, begun.pop(task), drawn[task], part, records[task])
        n = len(drawn[task].uniforms[part])
        state = checked(agent.learn(state, played), n, f"{agent.name}.learn")
    return state


def _play(
    agent: Agent | InformedAgent,
    state: State,
    drawn: Drawn,
    part: slice,
    record: TaskRecord | None,
) -> Any:
    """Play a chunk; returns what the agent learns from. Only an informed agent gets the means."""
    task, rounds = drawn.task[part], drawn.rounds(part)
    if isinstance(agent, InformedAgent):
        if task.adversary is not None:
            raise ValueError(
                f"{agent.name} needs the means of all rounds before it plays, but an adversary "
                "that reacts has not chosen them by then"
            )
        played = agent.play_informed(state, rounds, task.means)
    else:
        with _left_as_shown(agent, [task], [rounds]):
            played = agent.play(state, rounds)
    if not rounds.over:
        n = rounds.choices.shape[len(rounds.lead)]
        raise ValueError(f"{agent.name} must play all {rounds.horizon} rounds of a task, got {n}")
    if record is not None:
        record.write(part, task, rounds)
    return played


@contextmanager
def _left_as_shown(
    agent: AnyAgent, tasks: Sequence[Task], every: Sequence[Rounds]
) -> Iterator[None]:
    """Check that an agent does not write to what it is shown: other agents are shown the same.

    A `Learner` does not, and is spared the time that the check takes.
    """
    before = [] if isinstance(agent, Learner) else [task.arms.copy() for task in tasks]
    yield
    for arms, task, rounds in zip(before, tasks, every, strict=False):
        choices, rewards = rounds.choices, rounds.rewards
        paid = np.take_along_axis(task.rewards[:, : choices.shape[1]], choices[..., None], -1)[
            ..., 0
        ]
        same = task.adversary is not None or np.array_equal(paid, rewards)
        if not same or not np.array_equal(arms, task.arms):
            what = "arms" if same else "choices or rewards"
            raise ValueError(
                f"{agent.name} must not write to the {what} that it is shown: write to a copy"
            )


def _chunks(task: Task) -> list[slice]:
    """Slices of the replications, each small enough to stay in cache for a task."""
    (replications,) = task.lead
    size = 8 * task.dimension * (task.dimension + 2 * task.n_arms)
    length = -(-replications // -(-replications // max(1, CHUNK_BYTES // size)))
    return [slice(start, start + length) for start in range(0, replications, length)]


@contextmanager
def _threads(n: int) -> Iterator[MapChunks]:
    """A `map` over chunks with n threads; with one thread, the plain `map`, which keeps the GIL."""
    # Products of our sizes are too small for BLAS to share between threads.
    with threadpool_limits(1, "blas"):
        if n == 1:
            yield map
            return
        pool = ThreadPoolExecutor(n)
        try:
            yield pool.map
        finally:
            pool.shutdown(cancel_futures=True)


_AN_AGENT = "Learner objects, such as learners.itl(), or have the members of simulation.Agent"


def _check_agents(agents: Sequence[AnyAgent]) -> list[AnyAgent]:
    if not isinstance(agents, Iterable):
        raise ValueError(f"agents must be {_AN_AGENT}, got {checks.short(agents)}")
    known = list(agents)
    if not known:
        raise ValueError("agents must hold at least one agent, got none")
    for agent in known:
        checks.having("agents", agent, "begin", _AN_AGENT)
        if not isinstance(agent, Agent | InformedAgent | JointAgent):
            raise ValueError(f"agents must be {_AN_AGENT}, got {checks.short(agent)}")
    names = [agent.name for agent in known]
    for name in names:
        if not isinstance(name, str) or not name:
            raise ValueError(f"the name of an agent must be text, got {checks.short(name)}")
    twice = {name for name in names if names.count(name) > 1}
    if twice:
        raise ValueError(f"agents must have different names, got {sorted(twice)} more than once")
    return known


def _check_abilities(agent: AnyAgent, delay: int) -> None:
    """Check that the agent can play with late rewards."""
    if delay > 0 and not isinstance(agent, JointAgent | InformedAgent):
        raise ValueError(
            f"the schedule must have no delay for {agent.name}, which needs every reward before "
            f"its next round, got a delay of {delay}; agents with play_jointly can play with delays"
        )


def _check_task(task: Task, lead: tuple[int, ...], horizon: int, dimension: int) -> None:
    for what, wanted, got in (
        ("replications", lead, task.lead),
        ("horizon", horizon, task.horizon),
        ("dimension", dimension, task.dimension),
    ):
        if got != wanted:
            raise ValueError(
                f"the environment was asked for {what} {wanted}, but sample() returned {what} "
                f"{got}: arms of shape {task.arms.shape}"
            )
