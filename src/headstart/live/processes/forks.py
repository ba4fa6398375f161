"""Forks: a child process gets a bandit that is whole, unlocked, and gives ids of its own."""

import os
import threading
import weakref
from typing import Protocol


class Forkable(Protocol):
    """What is kept consistent across a fork."""

    def before_fork(self) -> None:
        """Wait until no other thread is inside."""
        ...

    def after_fork(self, *, child: bool) -> None:
        """Go on, in the parent or in the child."""
        ...


_known: "weakref.WeakSet[Forkable]" = weakref.WeakSet()
_held: list[Forkable] = []
# Held during a fork: threads that fork do so in turn, and no object is registered meanwhile.
_forking = threading.Lock()


def register(it: Forkable) -> None:
    """Keep an object consistent across forks for as long as it lives."""
    with _forking:
        _known.add(it)


def _before() -> None:
    _forking.acquire()
    _held.extend(_known)
    for it in _held:
        it.before_fork()


def _after_in_parent() -> None:
    _after(child=False)


def _after_in_child() -> None:
    _after(child=True)


def _after(*, child: bool) -> None:
    for it in _held:
        it.after_fork(child=child)
    _held.clear()
    _forking.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
