"""Computing priors in a child process."""

import threading
import time
from multiprocessing.connection import Connection

from headstart.live.decision import Learned
from headstart.live.stored import Recount
from headstart.service.children import Child
from headstart.service.engine import configuration
from headstart.service.engine.bandits import PriorInUse
from headstart.service.engine.priors import NewPrior, Snapshot, compute
from headstart.service.messages import BanditConfiguration

# The parts of a computed version.
_Computed = tuple[Recount, PriorInUse, Learned, bytes]


class PriorProcess:
    """A process that computes versions of priors, started when first needed."""

    def __init__(self) -> None:
        self._process: Child | None = None
        self._lock = threading.Lock()
        self._stopped = False

    @property
    def pid(self) -> int | None:
        """The number of the process, for tests that end it; None before it is needed."""
        return None if self._process is None else self._process.pid

    def compute(self, wanted: BanditConfiguration, snapshot: Snapshot, source: str) -> NewPrior:
        """`priors.compute`, for the bandit of a configuration."""
        with self._lock:
            answer = self._answer((wanted, snapshot, source))
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

    def _answer(self, asked: object) -> "_Computed | str":
        """The answer of the process: the parts of a version, or an error."""
        if self._stopped:
            raise OSError("no more priors are computed: the service is stopping")
        if self._process is None:
            self._process = Child(main)
        try:
            self._process.connection.send(asked)
            answer: _Computed | str = self._process.connection.recv()  # of a process of our own
        except (EOFError, OSError) as error:  # the next version starts another
            self._process.end()
            self._process = None
            raise OSError("the process that computes priors has ended") from error
        return answer

    def stop(self) -> None:
        """End the process at once, and with it a call that waits for it."""
        self._stopped = True
        process = self._process
        if process is not None:
            process.kill()
        with self._lock:
            if self._process is not None:
                self._process.end()
                self._process = None


def main(connection: Connection) -> None:
    """In the child: compute what the connection asks for, until this process is ended."""
    while True:
        wanted, snapshot, source = connection.recv()
        try:
            model = configuration.model_of(wanted, time.time)
            new = compute(snapshot, model, source)
            answer: _Computed | str = (new.recount, new.prior, new.learned, new.memory)
        except Exception as error:
            answer = f"{type(error).__name__}: {error}"
        connection.send(answer)
