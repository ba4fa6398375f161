"""Refresher and Pace: the thread that keeps the prior up to date while calls go on."""

import logging
import math
import threading
import time
import weakref
from contextlib import AbstractContextManager
from dataclasses import dataclass

from headstart.live._memory import Memory
from headstart.live._population import Change

_log = logging.getLogger("headstart.live")

# The lock is held for this many tasks at a time; one memory is computed from this many at most.
_TASKS_PER_LOCK = 8
_TASKS_PER_REFRESH = 256
# A thread without work ends after this many seconds; the next change starts another.
_IDLE_SECONDS = 5.0
# A refresh that takes longer is reported.
_LONG_SECONDS = 1.0


@dataclass(frozen=True, kw_only=True)
class Pace:
    """How long to rest between refreshes of a prior, so that calls get most of the time.

    After a refresh of t seconds the rest is (1/share − 1)·t, within `least` and `most`. It is
    longer if the refresh leaves many bytes to write, and if nothing is left to count and the prior
    was learned from many tasks, so that it changes little.
    """

    share: float = 0.25  # of the time that refreshing takes
    least: float = 0.01  # seconds
    most: float = math.inf
    seconds_per_byte: float = 0.0
    seconds_per_root: float = 0.0  # of the number of tasks
    most_by_tasks: float = 30.0

    def rest(self, took: float, *, n_bytes: int = 0, n_tasks: int = 0) -> float:
        """Seconds to rest. n_tasks: how many taught the prior; 0 if more wait to be counted."""
        by_time = min(took / self.share - took, self.most)
        by_tasks = min(self.seconds_per_root * math.sqrt(n_tasks), self.most_by_tasks)
        return max(by_time, self.least, self.seconds_per_byte * n_bytes, by_tasks)


_PACE = Pace()


class Refresher:
    """Brings the memory of a bandit up to date in its own thread, which it starts when needed."""

    def __init__(self, memory: Memory, lock: AbstractContextManager[object]) -> None:
        self._memory = memory
        self._lock = lock
        self._requested = threading.Event()
        self._thread: threading.Thread | None = None
        # Held while the thread computes: a child forked at that moment might find BLAS locked for
        # good.
        self.computing = threading.Lock()

    def request(self) -> None:
        """Ask for a refresh, under the bandit's lock."""
        if not self._requested.is_set():
            self._requested.set()
            if self._thread is None:
                # The thread must not keep alive a bandit that the application has dropped.
                target = (weakref.ref(self), self._requested)
                self._thread = threading.Thread(
                    target=_work, args=target, name="headstart-refresh", daemon=True
                )
                self._thread.start()

    def end(self) -> bool:
        """End the thread, unless there is work; true if it ended."""
        with self._lock:
            if self._requested.is_set():
                return False
            self._thread = None
            return True

    def work(self) -> float:
        """Refresh once. Returns how long to pause."""
        began = time.perf_counter()
        self._requested.clear()
        try:
            with self.computing:
                more = self._refresh()
                self._move_tasks()
        except Exception:
            _log.exception("the prior could not be refreshed and stays as it is")
            return _IDLE_SECONDS
        took = time.perf_counter() - began
        if took > _LONG_SECONDS:
            d = self._memory.tasks.dimension
            _log.info("refreshing the prior of %d features took %.1f s, in the background", d, took)
        if more:
            self._requested.set()
        return _PACE.rest(took)

    def _refresh(self) -> bool:
        """Count the tasks that changed; whether some are left."""
        memory, population = self._memory, self._memory.population
        with self._lock:
            generation, state = memory.generation, population.state
            names = memory.begin_refresh(_TASKS_PER_REFRESH)
        changes: list[Change] = []
        while len(changes) < len(names):
            with self._lock:
                if memory.generation != generation:
                    return True  # the memory was replaced meanwhile
                changes += memory.changes(names[len(changes) :][:_TASKS_PER_LOCK])
        if not changes:
            return False
        new = population.replaced(state, changes)
        start, effects = population.starting_from(new.memory), population.effects_of(new)
        with self._lock:
            if memory.generation != generation:
                return True
            memory.install(changes, new, start, effects)
            return bool(memory.tasks.changed)

    def _move_tasks(self) -> None:
        """Give waiting tasks the prior learned from all others."""
        memory, tasks, population = self._memory, self._memory.tasks, self._memory.population
        while True:
            with self._lock:
                name = memory.next_move()
                if name is None:
                    return
                generation, state = memory.generation, population.state
                contribution, about = tasks.counted.get(name), tasks.abouts.get(name)
            start, n_others = population.starting_from_others(state, contribution, about)
            with self._lock:
                if name not in tasks.slots:
                    continue
                if memory.generation == generation:
                    memory.rebase(name, start, n_others)
                else:
                    memory.move(name)  # the memory was replaced meanwhile


def _work(refresher: "weakref.ref[Refresher]", requested: threading.Event) -> None:
    """Refresh on request, until the bandit is gone or nothing is left to do."""
    while True:
        wanted = requested.wait(_IDLE_SECONDS)
        it = refresher()
        if it is None or (not wanted and it.end()):
            return
        pause = it.work() if wanted else 0.0
        del it
        time.sleep(pause)
