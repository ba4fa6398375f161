"""Forks: a child process gets a bandit that is whole, unlocked, and gives ids of its own."""

import os
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


def register(it: Forkable) -> None:
    """Keep an object consistent across forks for as long as it lives."""
    _known.add(it)


def _before() -> None:
    # Always in the same order, so that two threads that fork do not wait for each other.
    _held.extend(sorted(_known, key=id))
    for it in _held:
        it.before_fork()


def _after_in_parent() -> None:
    for it in reversed(_held):
        it.after_fork(child=False)
    _held.clear()


def _after_in_child() -> None:
    for it in reversed(_held):
        it.after_fork(child=True)
    _held.clear()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before, after_in_parent=_after_in_parent, after_in_child=_after_in_child
    )
