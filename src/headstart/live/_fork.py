"""Guard: the lock that makes a bandit's calls atomic in threads and across forks."""

import os
import threading
import weakref

import numpy as np

from headstart.live._memory import Memory
from headstart.live._refresh import Refresher
from headstart.live._uniforms import UniformStream

_guards: "weakref.WeakSet[Guard]" = weakref.WeakSet()
_held: "list[Guard]" = []
# Held during a fork: threads fork in turn, and no bandit is made meanwhile.
_forking = threading.Lock()


class Guard:
    """One lock for every call. A forked child gets a complete, unlocked bandit of its own."""

    def __init__(self, memory: Memory, stream: UniformStream) -> None:
        self.lock = threading.RLock()
        self._memory = memory
        self._stream = stream
        self._begin()
        with _forking:
            _guards.add(self)

    def _begin(self) -> None:
        self._refresher: Refresher | None = None
        if not self._memory.inline:
            self._refresher = Refresher(self._memory, self.lock)
            self._memory.request = self._refresher.request

    def before_fork(self) -> None:
        """Wait until no other thread is inside."""
        if self._refresher is not None:
            self._refresher.computing.acquire()
        self.lock.acquire()

    def after_fork(self, *, child: bool) -> None:
        """In the child, use other ids and random numbers than the parent."""
        if child:
            self._memory.tasks.pending.renew()
            self._stream.renew(np.random.default_rng())
            self._begin()
        elif self._refresher is not None:
            self._refresher.computing.release()
        self.lock.release()


def _before() -> None:
    _forking.acquire()
    _held.extend(_guards)
    for guard in _held:
        guard.before_fork()


def _after_in_parent() -> None:
    _after(child=False)


def _after_in_child() -> None:
    _after(child=True)


def _after(*, child: bool) -> None:
    for guard in _held:
        guard.after_fork(child=child)
    _held.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
