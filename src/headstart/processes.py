"""Processes: how they end with the process that started them, and how many threads BLAS has."""

import importlib
import multiprocessing
import os
import threading
from collections.abc import Callable
from contextlib import ContextDecorator
from functools import cache

from threadpoolctl import ThreadpoolController


def _exit() -> None:
    os._exit(1)


def end_with_parent(end: Callable[[], None] = _exit) -> None:
    """In a process of multiprocessing, call `end` once the parent is gone, by default to exit.

    A killed parent cannot tell its children, and a pool's workers would wait for work for ever.
    """
    parent = multiprocessing.parent_process()
    assert parent is not None

    def watch() -> None:
        parent.join()
        end()

    threading.Thread(target=watch, name="headstart-parent", daemon=True).start()


@cache
def _blas() -> ThreadpoolController:
    """The libraries with BLAS: NumPy's, and Numba's, which is SciPy's and is loaded when needed."""
    importlib.import_module("scipy.linalg.cython_blas")
    return ThreadpoolController().select(user_api="blas")


class _OneBlasThread(ContextDecorator):
    """A limit that lasts while any thread is inside: BLAS's number of threads is the process's.

    Our products are small. Threads that wait for each other's part of one take 50 times as long as
    soon as other programs use the cores.
    """

    def __init__(self) -> None:
        self._lock, self._inside = threading.Lock(), 0

    def __enter__(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._limits = _blas().limit(limits=1)
                # Only the thread that sets a limit may change it, until it leaves a context: the
                # one that restores it may be another.
                with _blas().limit(limits=1):
                    pass
            self._inside += 1

    def __exit__(self, *_: object) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._limits.__exit__(None, None, None)


one_blas_thread = _OneBlasThread()


def use_one_blas_thread() -> None:
    """Have BLAS use one thread in this process: a server's products are small, and it has many."""
    _blas().limit(limits=1)
