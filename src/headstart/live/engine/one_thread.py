"""One BLAS thread: products of our sizes are too small to share between threads.

Several processes whose BLAS threads wait for each other would make a request wait for all of them.
"""

import functools
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from threadpoolctl import ThreadpoolController


class _Limits:
    """The limit that the first to enter sets, and the last to leave takes back."""

    def __init__(self) -> None:
        self.lock, self.depth = threading.Lock(), 0
        self.limiter: Any = None

    def enter(self) -> None:
        with self.lock:
            if self.depth == 0:
                self.limiter = _blas().limit(limits=1)
            self.depth += 1

    def leave(self) -> None:
        with self.lock:
            self.depth -= 1
            if self.depth == 0:
                self.limiter.restore_original_limits()

    def begin_anew(self) -> None:
        """In the child of a fork, which has no other thread that would leave."""
        if self.depth > 0:
            self.limiter.restore_original_limits()
        self.lock, self.depth = threading.Lock(), 0


@functools.cache
def _blas() -> ThreadpoolController:
    """The BLAS libraries of this process; NumPy has loaded them by now."""
    return ThreadpoolController().select(user_api="blas")


_limits = _Limits()


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS to one thread meanwhile, in the whole process, and then as it was."""
    _limits.enter()
    try:
        yield
    finally:
        _limits.leave()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_limits.begin_anew)
