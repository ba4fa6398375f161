"""Work: what a job's process gets, and what it answers on the way and at the end."""

import time
from collections.abc import Callable

import msgspec

from headstart.progress import Progress
from headstart.service.messages import BanditConfiguration, EvaluateRequest, FitRequest, Report

_SECONDS_BETWEEN = 0.1


class _LogWork(msgspec.Struct, kw_only=True):
    """What every job needs, except the files themselves."""

    folder: str
    files: list[str]
    configuration: BanditConfiguration
    catalogue: dict[str, list[float]] = {}  # where the log names items


class FitWork(_LogWork, kw_only=True):
    """Everything that a fit needs."""

    request: FitRequest
    memory: bytes | None = None  # of the store's tasks
    promoted: list[bytes] = []  # the memories of fits that count


class EvaluateWork(_LogWork, kw_only=True):
    """Everything that an evaluation needs."""

    request: EvaluateRequest


class Update(msgspec.Struct):
    """The progress of a job, from 0 to 1, and what it is doing."""

    progress: float
    step: str


class Done(msgspec.Struct, kw_only=True):
    """A job's report; a fit that was not a dry run has a memory."""

    report: Report
    memory: bytes | None = None


class Failed(msgspec.Struct, kw_only=True):
    """Why a job failed, in one sentence; unexpected: not the request's fault."""

    error: str
    unexpected: bool = False


Work = FitWork | EvaluateWork
Answer = Update | Done | Failed


class Steps:
    """The progress of a job over several steps, each with a share of the whole.

    tell: called with updates, at most ten times per second.
    """

    def __init__(self, tell: Callable[[Update], object]) -> None:
        self._tell, self._last = tell, -1.0

    def begin(self, at: float, what: str) -> None:
        """Report that a step begins."""
        self._last = time.monotonic()
        self._tell(Update(at, what))

    def within(self, start: float, end: float, what: str, total: int = 0) -> Progress:
        """The progress of a step that takes the job from start to end.

        what: a format of the numbers `done` and `total`. total: if the work does not know it.
        """

        def progress(done: int, of: int) -> None:
            now = time.monotonic()
            if now - self._last < _SECONDS_BETWEEN:
                return
            self._last = now
            whole = of or total
            share = min(done / whole, 1.0) if whole else 0.0
            step = what.format(done=done, total=whole)
            self._tell(Update(start + share * (end - start), step))

        return progress
