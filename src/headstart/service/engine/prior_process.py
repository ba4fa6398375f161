"""Computing priors in a child process: `python -m headstart.service.engine.prior_process`."""

import pickle
import subprocess
import sys
import threading
import time

from headstart.live.decision import Learned
from headstart.live.stored import Recount
from headstart.service import children
from headstart.service.engine import configuration
from headstart.service.engine.bandits import PriorInUse
from headstart.service.engine.priors import NewPrior, Snapshot, compute
from headstart.service.messages import BanditConfiguration

# What a version is made of, beside what it was computed from.
_Computed = tuple[Recount, PriorInUse, Learned, bytes]


class PriorProcess:
    """A process that computes versions of priors, started when it is first needed."""

    def __init__(self) -> None:
        self._process: subprocess.Popen[bytes] | None = None
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def pid(self) -> int | None:
        """The number of the process, for tests that end it; None before it is needed."""
        return None if self._process is None else self._process.pid

    def compute(self, wanted: BanditConfiguration, snapshot: Snapshot, source: str) -> NewPrior:
        """`priors.compute`, for the bandit of a configuration."""
        with self._lock:
            answer = self._answer(pickle.dumps((wanted, snapshot, source)))
        if isinstance(answer, str):
            raise RuntimeError(answer)
        recount, prior, learned, memory = answer
        return NewPrior(
            snapshot=snapshot,
            recount=recount,
            prior=prior,
            learned=learned,
            source=source,
            memory=memory,
        )

    def _answer(self, asked: bytes) -> "_Computed | str":
        """What the process answers: the parts of a version, or what went wrong."""
        if self._stopped:
            raise OSError("no more priors are computed: the service is stopping")
        if self._process is None:
            self._process = children.spawn(__name__)
        stdin, stdout = self._process.stdin, self._process.stdout
        assert stdin is not None
        assert stdout is not None
        content = None
        try:
            children.write(stdin, asked)
            content = children.read(stdout)
        finally:
            if content is None:  # it has ended; the next version starts another
                children.end(self._process)
                self._process = None
        if content is None:
            raise OSError("the process that computes priors has ended")
        answer: _Computed | str = pickle.loads(content)  # of a process of our own
        return answer

    def stop(self) -> None:
        """End the process at once, and a call that waits for it."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            if self._process is not None:
                children.end(self._process)
                self._process = None


def main() -> None:
    """Compute what stdin asks for, until it ends."""
    answers = children.begin()
    while (asked := children.read(sys.stdin.buffer)) is not None:
        wanted, snapshot, source = pickle.loads(asked)
        try:
            model = configuration.model_of(wanted, time.time)
            new = compute(snapshot, model, source)
            answer: _Computed | str = (new.recount, new.prior, new.learned, new.memory)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        try:
            children.write(answers, pickle.dumps(answer))
        except OSError:
            return  # the process that asked is gone


if __name__ == "__main__":
    main()
