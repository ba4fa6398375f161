"""Several processes at one address: children that share a port, and a parent that keeps them."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from types import FrameType

# A child that ends sooner than this did not start; another would not either.
_START_SECONDS = 10.0
_PAUSE_SECONDS = 1.0
_LOOK_SECONDS = 0.2


class Processes:
    """Runs a command n times, starts anew what ends, and ends all of them on a signal."""

    def __init__(self, command: Sequence[str], n: int, said: Callable[[str], None]) -> None:
        self._command = list(command)
        self._n = n
        self._said = said
        self._children: list[tuple[subprocess.Popen[bytes], float]] = []
        self._stopping = False

    def run(self) -> int:
        """Run until a signal, or until a child cannot start; the exit code."""
        before = {each: signal.signal(each, self._end) for each in (signal.SIGINT, signal.SIGTERM)}
        try:
            for _ in range(self._n):
                self._start()
            return self._watch()
        finally:
            for each, handler in before.items():
                signal.signal(each, handler)

    def _start(self) -> None:
        # A group of its own: the terminal's Ctrl-C reaches the parent, which passes it on once.
        child = subprocess.Popen(self._command, stdin=subprocess.PIPE, start_new_session=True)
        self._children.append((child, time.monotonic()))

    def _watch(self) -> int:
        code = 0
        while self._children:
            time.sleep(_LOOK_SECONDS)
            ended = [pair for pair in self._children if pair[0].poll() is not None]
            self._children = [pair for pair in self._children if pair not in ended]
            for child, started in ended:
                _close(child)
                if self._stopping:
                    code = code or int(child.returncode != 0)
                elif time.monotonic() - started < _START_SECONDS:
                    code = child.returncode if child.returncode > 0 else 1
                    self._end(signal.SIGTERM, None)
                else:
                    self._said(f"a process ended with {child.returncode}; another is started")
                    time.sleep(_PAUSE_SECONDS)
                    if not self._stopping:
                        self._start()
        return code

    def _end(self, number: int, _frame: FrameType | None) -> None:
        """Pass a signal on; children end at once on their second."""
        self._stopping = True
        for child, _ in self._children:
            if child.poll() is None:
                child.send_signal(number)


def end_with_parent() -> None:
    """Have this process end in order when the one that started it is gone.

    The parent writes nothing; when it ends, however it does, the standard input ends too.
    """

    def wait() -> None:
        while os.read(0, 1):
            pass
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=wait, name="headstart-parent", daemon=True).start()


def _close(child: "subprocess.Popen[bytes]") -> None:
    if child.stdin is not None:
        child.stdin.close()
