"""Computing priors in a process of its own: `python -m headstart.service.engine.computing`.

Counting tasks takes the interpreter's lock for long; in another process, with a lower priority, it
leaves the requests alone. The process ends with the one that started it.
"""

import os
import pickle
import struct
import subprocess
import sys
import threading
import time
from contextlib import suppress
from typing import IO, Any

from headstart.service.engine import configuration, refreshing

_LENGTH = struct.Struct("<Q")
_NICE = 10
_END_SECONDS = 10.0


class Computing:
    """A process that computes versions of priors, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()

    def compute(self, given: str, seen: refreshing.Seen, source: str) -> refreshing.Refreshed:
        """`refreshing.compute`, for the bandit of a configuration as it is stored."""
        with self._lock:
            if self._process is None or self._process.poll() is not None:
                self._process = _started()
            stdin, stdout = self._process.stdin, self._process.stdout
            assert stdin is not None
            assert stdout is not None
            try:
                _write(stdin, (given, seen, source))
                answer = _read(stdout)
            except BaseException:
                self._end()
                raise
            if answer is None:
                self._end()
                raise OSError("the process that computes priors has ended")
        if isinstance(answer, Exception):
            raise answer
        found, prior, learned, memory = answer
        return refreshing.Refreshed(
            seen=seen, found=found, prior=prior, learned=learned, source=source, memory=memory
        )

    def stop(self) -> None:
        """End the process at once."""
        process = self._process
        if process is not None:
            process.kill()  # also ends a call that waits for it
        with self._lock:
            self._end()

    def _end(self) -> None:
        process, self._process = self._process, None
        if process is None:
            return
        process.kill()
        process.wait(_END_SECONDS)
        for pipe in (process.stdin, process.stdout):
            if pipe is not None:
                with suppress(OSError):
                    pipe.close()


def _started() -> "subprocess.Popen[bytes]":
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-m", "headstart.service.engine.computing"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it might name tasks
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
    )


def _write(file: IO[bytes], message: object) -> None:
    content = pickle.dumps(message, protocol=pickle.HIGHEST_PROTOCOL)
    file.write(_LENGTH.pack(len(content)) + content)
    file.flush()


def _read(file: IO[bytes]) -> Any:
    """The next message of a process of our own; None at the end."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = file.read(length)
    return pickle.loads(content) if len(content) == length else None


def main() -> None:
    """Compute what stdin asks for, until it ends."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what anything prints is no answer
    os.nice(_NICE)
    while (asked := _read(sys.stdin.buffer)) is not None:
        given, seen, source = asked
        try:
            model = configuration.model_of(configuration.decode(given), time.time)
            done = refreshing.compute(seen, model, source)
            answer: object = (done.found, done.prior, done.learned, done.memory)
        except Exception as error:
            answer = RuntimeError(f"{type(error).__name__}: {error}")
        try:
            _write(answers, answer)
        except OSError:
            return  # the process that asked is gone


if __name__ == "__main__":
    main()
