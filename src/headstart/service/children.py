"""Child processes for long computations, each at the other end of a connection.

Such a computation takes the interpreter's lock for long; in a process of its own it leaves the
service's requests alone.
"""

import multiprocessing
import os
import resource
from collections.abc import Callable
from multiprocessing.connection import Connection

from headstart.processes import end_with_parent, use_one_blas_thread

_SPAWN = multiprocessing.get_context("spawn")
_END_SECONDS = 10.0


class Child:
    """A process that calls `main` with its end of a connection.

    It ends with this process, in the middle of its work too. nice: how much lower its priority is.
    most_bytes: what it may allocate; beyond that, a MemoryError.
    """

    def __init__(
        self,
        main: Callable[[Connection], None],
        *,
        nice: int = 0,
        most_bytes: int | None = None,
    ) -> None:
        self.connection, theirs = _SPAWN.Pipe()
        self._process = _SPAWN.Process(
            target=_run, args=(main, theirs, nice, most_bytes), daemon=True
        )
        self._process.start()
        theirs.close()

    @property
    def pid(self) -> int:
        """Its number."""
        pid = self._process.pid
        assert pid is not None  # it was started
        return pid

    def exit_status(self) -> int:
        """Its exit status once it has ended; −n where signal n ended it."""
        self._process.join()
        status = self._process.exitcode
        assert status is not None
        return status

    def kill(self) -> None:
        """End it, and with that a call of this process that waits for its answer."""
        self._process.kill()

    def end(self) -> None:
        """End it at once; nothing happens where it has ended."""
        self._process.kill()
        self._process.join(_END_SECONDS)
        self.connection.close()


def _run(
    main: Callable[[Connection], None], connection: Connection, nice: int, most_bytes: int | None
) -> None:
    nowhere = os.open(os.devnull, os.O_WRONLY)
    for output in (1, 2):  # what is printed might name tasks
        os.dup2(nowhere, output)
    os.nice(nice)
    if most_bytes is not None:
        _, hard = resource.getrlimit(resource.RLIMIT_DATA)
        most = most_bytes if hard == resource.RLIM_INFINITY else min(most_bytes, hard)
        resource.setrlimit(resource.RLIMIT_DATA, (most, hard))
    end_with_parent()
    use_one_blas_thread()
    main(connection)
