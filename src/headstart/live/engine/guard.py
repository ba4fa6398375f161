"""Guard: the lock of a bandit, and what a fork does to it."""

import threading
from types import TracebackType

import numpy as np

from headstart.live.engine import processes
from headstart.live.engine.refresher import Refresher
from headstart.live.engine.tasks import Tasks
from headstart.live.engine.uniforms import UniformStream


class Guard:
    """One lock makes every call atomic, in threads and across forks."""

    def __init__(self, tasks: Tasks, stream: UniformStream) -> None:
        self._tasks = tasks
        self._stream = stream
        self._lock = threading.RLock()
        self._begin()
        processes.register(self)

    def _begin(self) -> None:
        if self._tasks.settings.refresh == "background":
            self._refresher = Refresher(self._tasks, self._lock)
            self._tasks.changes.request = self._refresher.request

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._lock.release()

    def before_fork(self) -> None:
        """Wait until no other thread is inside."""
        self._lock.acquire()

    def after_fork(self, *, child: bool) -> None:
        """In the child, give ids and draw random numbers that the parent does not."""
        if not child:
            self._lock.release()
            return
        self._lock = threading.RLock()
        self._tasks.changes.undo()
        self._tasks.pending.renew()
        self._stream.renew(np.random.default_rng())
        self._begin()
