"""JobProcess: the process of a job, seen from the one that started it."""

import os
import queue
import signal
import subprocess
import sys
import threading
from contextlib import suppress
from typing import IO

from headstart.service.jobs import frames

_END_SECONDS = 10.0


class JobProcess:
    """A process that does some work. `next` gives its answers; the last is `Done` or `Failed`."""

    def __init__(self, work: frames.Work) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "headstart.service.jobs.child"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,  # it might name tasks
            env=_environment(),
        )
        self._answers: queue.Queue[frames.Answer] = queue.Queue()
        self._thread = threading.Thread(
            target=self._exchange, args=(work,), name="headstart-job", daemon=True
        )
        self._thread.start()

    @property
    def pid(self) -> int:
        """Its number, for tests that end it."""
        return self._process.pid

    def next(self, seconds: float) -> frames.Answer | None:
        """The next answer; None where there is none within so many seconds."""
        try:
            return self._answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def leave(self) -> None:
        """Close what connects it to this process, as the end of this process would."""
        _close(self._process.stdin)

    def end(self) -> None:
        """End it at once; nothing happens where it has ended."""
        self._process.kill()
        self._process.wait(_END_SECONDS)
        self._thread.join(_END_SECONDS)
        for pipe in (self._process.stdin, self._process.stdout):
            _close(pipe)

    def _exchange(self, work: frames.Work) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            frames.write(stdin, work)  # stays open: its end would end the process
            while (content := frames.read(stdout)) is not None:
                answer = frames.answer_of(content)
                self._answers.put(answer)
                if not isinstance(answer, frames.Update):
                    return
        except (OSError, ValueError):
            pass  # it has ended, which the next lines tell
        self._answers.put(frames.Failed(error=self._how_it_ended(), unexpected=True))

    def _how_it_ended(self) -> str:
        code = self._process.wait()
        if code < 0:
            name = signal.Signals(-code).name
            return (
                f"the process of the job was ended by {name}; if the system was out of memory, "
                "use a part of the log"
            )
        return f"the process of the job ended with status {code} and no answer"


def _environment() -> dict[str, str]:
    """The environment, with the modules of this process and one thread per matrix product."""
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
    return {**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"}


def _close(pipe: IO[bytes] | None) -> None:
    if pipe is not None:
        with suppress(OSError):  # unsent bytes for a process that has ended
            pipe.close()
