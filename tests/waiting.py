"""Waiting in tests: for a condition, at most so long, and no longer than what brings it about."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

# Far longer than anything takes on a busy machine.
_SECONDS = 120.0


class Running(threading.Thread):
    """A thread whose error is raised in the test that waits for it."""

    def __init__(self, work: Callable[[], object]) -> None:
        super().__init__(daemon=True)
        self._work = work
        self.error: BaseException | None = None

    def run(self) -> None:
        """Work, and keep the error."""
        try:
            self._work()
        except BaseException as error:  # SystemExit too: a server ends so if it cannot start
            self.error = error

    def finish(self, seconds: float = _SECONDS) -> None:
        """Wait for its end; raises its error, and TimeoutError if it goes on."""
        self.join(seconds)
        if self.error is not None:
            raise self.error
        if self.is_alive():
            raise TimeoutError(f"a thread still runs after {seconds:g} s")


def until(
    condition: Callable[[], object], *, by: Running | None = None, seconds: float = _SECONDS
) -> None:
    """Wait until a condition holds. Raises the error of `by`, the thread that brings it about."""
    end = time.monotonic() + seconds
    while not condition():
        if by is not None and not by.is_alive():
            by.finish()
            if condition():
                return
            raise RuntimeError("the thread has ended before the condition held")
        if time.monotonic() > end:
            raise TimeoutError(f"waited in vain for {seconds:g} s")
        time.sleep(0.01)


@contextmanager
def running(work: Callable[[], object], stop: Callable[[], object]) -> Iterator[Running]:
    """A thread that works until it is stopped at the end."""
    thread = Running(work)
    thread.start()
    try:
        yield thread
    finally:
        stop()
        thread.finish()
