"""Guard: the lock of a bandit, and what a fork does to it."""

import threading

import numpy as np

from headstart.live.deciding.uniforms import UniformStream
from headstart.live.memory.refresher import Refresher
from headstart.live.processes import forks as processes
from headstart.live.tasks.all_tasks import Tasks


class Guard:
    """One lock makes every call atomic, in threads and across forks."""

    def __init__(self, tasks: Tasks, stream: UniformStream) -> None:
        self.lock = threading.RLock()
        self._tasks = tasks
        self._stream = stream
        self._begin()
        processes.register(self)

    def _begin(self) -> None:
        self._refresher: Refresher | None = None
        if self._tasks.settings.refresh == "background":
            self._refresher = Refresher(self._tasks, self.lock)
            self._tasks.changes.request = self._refresher.request

    def before_fork(self) -> None:
        """Wait until no other thread is inside."""
        if self._refresher is not None:
            self._refresher.computing.acquire()
        self.lock.acquire()

    def after_fork(self, *, child: bool) -> None:
        """In the child, give ids and draw random numbers that the parent does not."""
        if child:
            # The refreshing thread is not in the child, nor is what it was about to install.
            self._tasks.changes.undo()
            self._tasks.pending.renew()
            self._stream.renew(np.random.default_rng())
            self._begin()
        elif self._refresher is not None:
            self._refresher.computing.release()
        self.lock.release()
