"""How one task is played in all replications: in chunks that fit the cache, by several threads."""

import os
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from threadpoolctl import threadpool_limits

from headstart.arrays import Floats
from headstart.core.task import Task, realised
from headstart.simulation.agent import AnyAgent, InformedAgent, State, join, take
from headstart.simulation.rounds import Rounds

# The bytes of inverses, arms and projections per chunk of replications, which is played through
# all rounds of a task. Measured: cache misses and calls from Python together cost least here.
CHUNK_BYTES = 3_000_000

# Calls a function with each chunk, on one thread or several; results in order.
MapChunks = Callable[[Callable[[slice], State], Iterable[slice]], Iterable[State]]


@dataclass(frozen=True, eq=False, kw_only=True)
class Drawn:
    """What is drawn for an agent: a task in every replication, and its random numbers."""

    task: Task
    uniforms: Floats


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


def train(
    agent: AnyAgent, state: State, drawn: Drawn, map_chunks: MapChunks, record: TaskRecord | None
) -> State:
    """Play a task, record it where `record` is given, and return the state after it."""

    def play_chunk(part: slice) -> State:
        before = take(state, part)
        return agent.learn(before, _play(agent, before, drawn, part, record))

    return join(list(map_chunks(play_chunk, _chunks(drawn.task))))


def test(
    agent: AnyAgent, state: State, drawn: Drawn, map_chunks: MapChunks, record: TaskRecord
) -> None:
    """Play a task and record it, without learning from it."""

    def play_chunk(part: slice) -> State:
        before = take(state, part)
        _play(agent, before, drawn, part, record)
        return before

    list(map_chunks(play_chunk, _chunks(drawn.task)))


def _play(
    agent: AnyAgent, state: State, drawn: Drawn, part: slice, record: TaskRecord | None
) -> Any:
    """Play a chunk; returns what the agent learns from. Only an informed agent gets the means."""
    task = drawn.task[part]
    rounds = Rounds(task, drawn.uniforms[part])
    if isinstance(agent, InformedAgent):
        if task.adversary is not None:
            raise ValueError(
                f"{agent.name} needs the means of all rounds before the first, which an adversary "
                "that reacts has not chosen by then"
            )
        played = agent.play_informed(state, rounds, task.means)
    else:
        played = agent.play(state, rounds)
    if not rounds.over:
        n = rounds.choices.shape[-1]
        raise ValueError(f"{agent.name} must play all {rounds.horizon} rounds of a task, got {n}")
    if record is not None:
        record.write(part, task, rounds)
    return played


def _chunks(task: Task) -> list[slice]:
    """Slices of the replications, each small enough to stay in cache for a task."""
    (replications,) = task.lead
    size = 8 * task.dimension * (task.dimension + 2 * task.n_arms)
    length = -(-replications // -(-replications // max(1, CHUNK_BYTES // size)))
    return [slice(start, start + length) for start in range(0, replications, length)]


@contextmanager
def threads(n: int) -> Iterator[MapChunks]:
    """A `map` over chunks with n threads; with one, the plain one, which never releases the GIL."""
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


def cores() -> int:
    """How many cores this process may use.

    >>> from headstart.simulation import cores
    >>> cores() >= 1
    True
    """
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
