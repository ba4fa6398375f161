"""Workers: several processes of the service on one port, and a parent that keeps them running."""

import multiprocessing
import os
import signal
import time
from collections.abc import Callable
from multiprocessing import connection
from multiprocessing.context import SpawnProcess
from types import FrameType

from headstart.processes import end_with_parent

# A worker that ends sooner than this failed to start; another would fail too.
_START_SECONDS = 10.0
_PAUSE_SECONDS = 1.0


class Workers:
    """Runs a function in n processes, replaces those that end, and ends all of them on a signal.

    The function returns whether it went well. It is pickled for the processes, with what it holds.
    """

    def __init__(self, work: Callable[[], bool], n: int, report: Callable[[str], None]) -> None:
        self._work = work
        self._n = n
        self._report = report
        self._started: dict[SpawnProcess, float] = {}
        self._stopping = False

    def run(self) -> bool:
        """Run until a signal, or until a worker cannot start. Returns whether all went well."""
        previous = {s: signal.signal(s, self._end) for s in (signal.SIGINT, signal.SIGTERM)}
        try:
            for _ in range(self._n):
                self._start()
            return self._watch()
        finally:
            for number, handler in previous.items():
                signal.signal(number, handler)

    def _start(self) -> None:
        worker = multiprocessing.get_context("spawn").Process(target=_run, args=(self._work,))
        worker.start()
        self._started[worker] = time.monotonic()

    def _watch(self) -> bool:
        went_well = True
        while self._started:
            connection.wait([worker.sentinel for worker in self._started])
            for worker in [worker for worker in self._started if worker.exitcode is not None]:
                seconds = time.monotonic() - self._started.pop(worker)
                if self._stopping:
                    went_well = went_well and worker.exitcode == 0
                elif seconds < _START_SECONDS:
                    went_well = False
                    self._end(signal.SIGTERM, None)
                else:
                    self._report(f"a process ended with {worker.exitcode}; another is started")
                    time.sleep(_PAUSE_SECONDS)
                    if not self._stopping:
                        self._start()
        return went_well

    def _end(self, number: int, _frame: FrameType | None) -> None:
        """Pass a signal on; workers end at once on their second."""
        self._stopping = True
        for worker in list(self._started):
            if worker.exitcode is None and worker.pid is not None:
                os.kill(worker.pid, number)


def _run(work: Callable[[], bool]) -> None:
    # A separate group: the terminal's Ctrl-C reaches the parent, which passes it on once.
    os.setsid()
    end_with_parent(_end)
    if not work():
        raise SystemExit(1)


def _end() -> None:
    """End this process in order."""
    os.kill(os.getpid(), signal.SIGTERM)
