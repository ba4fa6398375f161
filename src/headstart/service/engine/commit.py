"""Group commit: requests that arrive while a transaction is under way form the next one."""

import logging
import threading
import time
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError, SQLAlchemyError

from headstart.service.engine.transaction import Transaction
from headstart.service.messages import ServiceError, unavailable
from headstart.service.store.blocks import Blocks
from headstart.service.store.database import Database

_log = logging.getLogger("headstart.service")

# How many rows one transaction takes at most, and how many may wait.
_ROWS_PER_TRANSACTION = 4_000
MOST_WAITING = 50_000
# After so long, a transaction that has not ended means that the store does not answer.
_STUCK_SECONDS = 5.0
# Conflicts with other processes that go away when the transaction is tried again.
_CONFLICTS = ("40001", "40P01")


@dataclass(slots=True)
class Work:
    """Something to do in a transaction: rows of requests of one kind, or one call.

    Works of the same kind and bandit are done together: `run` gets all their rows and returns as
    many results. After the commit each future gets its own.
    """

    kind: str
    bandit: str
    rows: Sequence[Any]
    future: "Future[Any]" = field(default_factory=Future)


# Does works of one kind and one bandit, each with its rows; returns a result for each work.
Runner = Callable[[Transaction, str, Sequence[Work]], Sequence[Any]]


@dataclass(slots=True)
class CommitStatus:
    """What the dashboard and /metrics show of group commit."""

    waiting: int = 0
    transactions: int = 0
    rows: int = 0
    failures: int = 0
    last_rows: int = 0
    last_seconds: float = 0.0
    seconds: float = 0.0
    reachable: bool = True


class Committer:
    """A thread that does works, many per transaction, and answers after the commit."""

    def __init__(
        self,
        database: Database,
        runners: dict[str, Runner],
        clock: Callable[[], float],
        process: int,
    ) -> None:
        self._database = database
        self._runners = runners
        self._order = {kind: place for place, kind in enumerate(runners)}
        self._clock = clock
        self._process = process
        self._blocks = Blocks()
        self._works: deque[Work] = deque()
        self._arrived = threading.Condition()
        self._waiting_rows = 0
        self._stopping = False
        self._began: float | None = None  # the transaction that is under way
        self._thread = threading.Thread(target=self._loop, name="headstart-commit", daemon=True)
        self.status = CommitStatus()

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, work: Work) -> "Future[Any]":
        """Have a work done; its future ends after the commit."""
        if self.stuck:
            self._refuse_waiting()
            raise _no_answer()
        with self._arrived:
            if self._stopping:
                raise unavailable("the service is stopping; send the request again")
            if self._waiting_rows >= MOST_WAITING:
                raise unavailable(
                    f"{self._waiting_rows:,} rows are waiting; send the request again later"
                )
            self._works.append(work)
            self._waiting_rows += max(1, len(work.rows))
            self._arrived.notify()
        return work.future

    @property
    def stuck(self) -> bool:
        """Whether the store does not answer: it neither commits nor fails."""
        began = self._began
        return began is not None and time.monotonic() - began > _STUCK_SECONDS

    def _refuse_waiting(self) -> None:
        """Refuse works that were not begun: their callers need not wait for the store."""
        with self._arrived:
            works = list(self._works)
            self._works.clear()
            self._waiting_rows = 0
        _fail(works, _no_answer())

    def stop(self) -> None:
        """Do what is waiting, then end."""
        with self._arrived:
            self._stopping = True
            self._arrived.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _loop(self) -> None:
        while True:
            works = self._take()
            if not works:
                return
            self.status.waiting = self._waiting_rows
            self._began = time.monotonic()
            self._commit(works)
            self._began = None

    def _take(self) -> list[Work]:
        """The works of the next transaction; none once the thread is to end."""
        with self._arrived:
            while not self._works and not self._stopping:
                self._arrived.wait()
            taken, rows = [], 0
            while self._works and rows < _ROWS_PER_TRANSACTION:
                work = self._works.popleft()
                taken.append(work)
                rows += max(1, len(work.rows))
            self._waiting_rows -= rows
        return taken

    def _commit(self, works: Sequence[Work], *, again: int = 2) -> None:
        began = time.perf_counter()
        try:
            results = self._run(works)
        except ServiceError as error:
            _fail(works, error)
        except (DBAPIError, OSError) as error:
            conflicting = isinstance(error, IntegrityError) or _state(error) in _CONFLICTS
            if conflicting and again:
                self._commit(works, again=again - 1)
            else:
                self._not_stored(works, error)
        except Exception as error:
            if len(works) > 1:  # so that only the work with the error fails
                for work in works:
                    self._commit([work])
            else:
                _log.exception("a request could not be answered")
                _fail(works, error)
        else:
            self._note(works, time.perf_counter() - began)
            for work, result in results:
                if isinstance(result, ServiceError):
                    work.future.set_exception(result)
                else:
                    work.future.set_result(result)

    def _run(self, works: Sequence[Work]) -> list[tuple[Work, Any]]:
        """Do works in one transaction, kind by kind for each bandit."""
        groups: dict[tuple[str, int, str], list[Work]] = {}
        for work in works:
            key = (work.bandit, self._order[work.kind], work.kind)
            groups.setdefault(key, []).append(work)
        results: list[tuple[Work, Any]] = []
        transaction: Transaction | None = None
        try:
            with self._database.writing() as connection:
                transaction = Transaction(connection, self._process, self._clock(), self._blocks)
                for (bandit, _, kind), group in sorted(groups.items(), key=lambda item: item[0]):
                    found = self._runners[kind](transaction, bandit, group)
                    results += zip(group, found, strict=True)
                transaction.sums.write(connection)
        except BaseException:
            if transaction is not None:
                transaction.undo()
            raise
        transaction.end()
        return results

    def _not_stored(self, works: Sequence[Work], error: Exception) -> None:
        self.status.failures += 1
        if self.status.reachable:
            _log.error("the store cannot be written: %s", _short(error))
        self.status.reachable = not isinstance(error, OperationalError | OSError)
        _fail(works, unavailable("the store cannot be written now; send the request again later"))

    def _note(self, works: Sequence[Work], seconds: float) -> None:
        status = self.status
        rows = sum(max(1, len(work.rows)) for work in works)
        if not status.reachable:
            _log.info("the store can be written again")
        status.reachable = True
        status.transactions += 1
        status.rows += rows
        status.last_rows, status.last_seconds = rows, seconds
        status.seconds += seconds
        status.waiting = self._waiting_rows


def _no_answer() -> ServiceError:
    return unavailable("the store does not answer; send the request again later")


def _fail(works: Iterable[Work], error: Exception) -> None:
    for work in works:
        work.future.set_exception(error)


def _state(error: Exception) -> str:
    original = getattr(error, "orig", None)
    return str(getattr(original, "sqlstate", ""))


def _short(error: Exception) -> str:
    """The error of the driver, without the statement and its values."""
    original = getattr(error, "orig", None) if isinstance(error, SQLAlchemyError) else error
    return f"{type(original).__name__}: {str(original).splitlines()[0] if str(original) else ''}"
