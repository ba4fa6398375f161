"""Processes that end with the process that started them, however that one ends."""

import multiprocessing
import os
import threading
from collections.abc import Callable


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
