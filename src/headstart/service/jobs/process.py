"""JobProcess: the process of a job for the runner, and `main`, which runs in it."""

import os
import signal
import threading
from collections.abc import Callable
from contextlib import suppress
from multiprocessing.connection import Connection

from headstart.service.children import Child
from headstart.service.jobs.evaluate import evaluate
from headstart.service.jobs.fit import fit
from headstart.service.jobs.work import Answer, Done, Failed, FitWork, Steps, Update, Work
from headstart.service.messages import ServiceError

# Jobs may take hours: requests and priors go first.
_NICE = 10
MOST_BYTES = 4 << 30


class JobProcess:
    """A process that does some work. `next` returns its answers; the last is `Done` or `Failed`.

    most_bytes: the memory that it may take.
    """

    def __init__(self, work: Work, *, most_bytes: int = MOST_BYTES) -> None:
        self._child = Child(main, nice=_NICE, most_bytes=most_bytes)
        # Large work is sent while the process starts, which takes seconds.
        self._sender = threading.Thread(target=self._send, args=(work,), daemon=True)
        self._sender.start()

    @property
    def pid(self) -> int:
        """Its number, for tests that end it."""
        return self._child.pid

    def next(self, seconds: float) -> Answer | None:
        """The next answer; None if there is none within this many seconds."""
        try:
            if not self._child.connection.poll(seconds):
                return None
            answer: Answer = self._child.connection.recv()  # of a process of our own
        except (EOFError, OSError):
            return Failed(error=_how_it_ended(self._child.exit_status()), unexpected=True)
        return answer

    def end(self) -> None:
        """End it at once; does nothing if it has ended."""
        self._child.kill()  # which ends the sending
        self._sender.join()
        self._child.end()

    def _send(self, work: Work) -> None:
        with suppress(OSError):  # it has ended, which `next` reports
            self._child.connection.send(work)


def _how_it_ended(status: int) -> str:
    if status >= 0:
        return f"the process of the job ended with status {status} and no answer"
    return (
        f"the process of the job was ended by {signal.Signals(-status).name}; if the system was "
        "out of memory, use a part of the log"
    )


def main(connection: Connection) -> None:
    """In the process of a job: do the work from the connection."""
    work: Work = connection.recv()
    os.chdir(work.folder)  # so that errors and reports name files as the request did
    connection.send(answer(work, connection.send))


def answer(work: Work, tell: Callable[[Update], object]) -> Done | Failed:
    """The last answer to some work; reports updates on the way."""
    steps = Steps(tell)
    try:
        if isinstance(work, FitWork):
            return fit(work, steps)
        return evaluate(work, steps)
    except (ValueError, TypeError, OSError, ImportError, ServiceError) as error:
        return Failed(error=str(error))
    except MemoryError:
        return Failed(
            error="the job needs more memory than it may take (--limit-job-memory): use a part of "
            "the log"
        )
    except Exception as error:  # a fault of ours: the job fails, the service continues
        return Failed(error=f"{type(error).__name__}: {error}", unexpected=True)
