"""JobProcess: the process of a job, seen from the one that started it."""

import queue
import signal
import threading

from headstart.service import children
from headstart.service.jobs import frames


class JobProcess:
    """A process that does some work. `next` gives its answers; the last is `Done` or `Failed`."""

    def __init__(self, work: frames.Work) -> None:
        self._process = children.spawn("headstart.service.jobs.child")
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
        children.close(self._process.stdin)

    def end(self) -> None:
        """End it at once; nothing happens where it has ended."""
        self._process.kill()  # which ends the thread's reading
        self._thread.join()
        children.end(self._process)

    def _exchange(self, work: frames.Work) -> None:
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        try:
            frames.write(stdin, work)  # stays open: its end would end the process
            while (content := children.read(stdout)) is not None:
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
