"""Child processes for long computations: started with pipes, ended with their parent.

Such a computation takes the interpreter's lock for long; in a process of its own, and with a lower
priority, it leaves the service's requests alone.
"""

import os
import struct
import subprocess
import sys
from contextlib import suppress
from typing import IO

_LENGTH = struct.Struct("<Q")
_NICE = 10
_END_SECONDS = 10.0


def spawn(module: str) -> "subprocess.Popen[bytes]":
    """Start `python -m module`, with the modules of this process and one thread per product."""
    paths = os.pathsep.join(os.path.abspath(path) for path in sys.path if path)
    return subprocess.Popen(
        [sys.executable, "-m", module],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,  # it might name tasks
        env={**os.environ, "PYTHONPATH": paths, "OPENBLAS_NUM_THREADS": "1"},
    )


def end(child: "subprocess.Popen[bytes]") -> None:
    """End a child at once; nothing happens where it has ended."""
    child.kill()
    child.wait(_END_SECONDS)
    for pipe in (child.stdin, child.stdout):
        close(pipe)


def close(pipe: IO[bytes] | None) -> None:
    """Close a pipe, whether or not the process at its other end is there."""
    if pipe is not None:
        with suppress(OSError):  # unsent bytes for a process that has ended
            pipe.close()


def begin() -> IO[bytes]:
    """In a child: lower its priority; where its answers go. What anything prints is no answer."""
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    os.nice(_NICE)
    return answers


def write(file: IO[bytes], content: bytes) -> None:
    """Write one message."""
    file.write(_LENGTH.pack(len(content)))
    file.write(content)
    file.flush()


def read(file: IO[bytes]) -> bytes | None:
    """The next message; None at the end."""
    head = file.read(_LENGTH.size)
    if len(head) < _LENGTH.size:
        return None
    (length,) = _LENGTH.unpack(head)
    content = file.read(length)
    return content if len(content) == length else None
