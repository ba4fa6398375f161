"""Group commit: requests that arrive while a transaction is under way form the next one."""

import logging
import sqlite3
import threading
import time
from collections import Counter, deque
from collections.abc import Callable, Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from sqlalchemy.exc import DBAPIError, IntegrityError, OperationalError
from sqlalchemy.exc import TimeoutError as NoConnectionError

from headstart.service.engine.transaction import Transaction
from headstart.service.messages import ServiceError, unavailable
from headstart.service.store.blocks import Blocks
from headstart.service.store.database import Database, reason_of

_log = logging.getLogger("headstart.service")

# The most that one transaction takes, in rows and in seconds (estimated from earlier rows):
# requests that come meanwhile wait for it, and for their own.
_ROWS_PER_TRANSACTION = 1_000
_SECONDS_PER_TRANSACTION = 0.02
# The seconds that a bandit gets per turn, and the most rows that one of its works gets of them. A
# row that takes longer waits for as many turns as it needs, while the others get theirs.
_SECONDS_PER_TURN = 0.001
_ROWS_PER_TURN = 128
# How many rows may wait, and how many of them may belong to batches.
MOST_WAITING = 50_000
_MOST_IN_BATCHES = 40_000
# How many estimates of the time per row are kept.
_MOST_RATES = 10_000
# If a transaction takes longer than this, the store does not answer.
_STUCK_SECONDS = 5.0
# Conflicts with other processes that go away when the transaction is repeated; and the one with a
# process that keeps what it has locked.
_CONFLICTS = ("40001", "40P01")
_LOCKED = "55P03"


@dataclass(slots=True, eq=False)
class Work:
    """Something to do: rows of requests of one kind, or one call, which is a row.

    A long one is done slice by slice, in several transactions, while others get their turns. The
    future ends after the last commit, with an answer for every row.
    """

    kind: str
    bandit: str
    rows: Sequence[Any]
    single: bool = False  # whether the future ends with the answer of the only row
    future: "Future[Any]" = field(default_factory=Future)
    taken: int = 0  # rows that transactions have taken so far
    answers: list[Any] = field(default_factory=list)  # of the committed rows

    def answer(self, answers: Sequence[Any]) -> None:
        """Note the answers of rows that were committed."""
        self.answers += answers
        if len(self.answers) == len(self.rows):
            self.future.set_result(self.answers[0] if self.single else self.answers)

    def refuse(self, error: Exception) -> None:
        """Answer with an error: all rows, or those that are not committed."""
        self.taken = len(self.rows)
        if self.answers and isinstance(error, ServiceError):
            self.answer([error] * (len(self.rows) - len(self.answers)))
        else:
            self.future.set_exception(error)


class Slice(NamedTuple):
    """The rows of a work that one transaction does."""

    work: Work
    rows: Sequence[Any]


# Does slices of one kind and one bandit; returns, for each, its answers or the error of the work.
Runner = Callable[[Transaction, str, Sequence[Slice]], Sequence[Sequence[Any] | ServiceError]]


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
    """A thread that does works, many per transaction, and answers after the commit.

    Bandits take turns of equal time, and so do the works of a bandit; a transaction ends before
    others would wait long. So neither a large batch nor a bandit with many features stops others.
    """

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
        self._queues: dict[str, deque[Work]] = {}  # by bandit; none is empty
        self._turns: deque[str] = deque()  # the bandits of the queues, the next first
        self._credits: dict[str, float] = {}  # by bandit of the queues: seconds that it may take
        self._rates: dict[tuple[str, str], float] = {}  # seconds per row, by bandit and kind
        self._arrived = threading.Condition()
        self._waiting_rows = 0
        self._stopping = False
        self._hurry = False  # whether to wait for no locked row
        self._began: float | None = None  # the current transaction
        self._thread = threading.Thread(target=self._loop, name="headstart-commit", daemon=True)
        self.status = CommitStatus()
        # What was committed, by the number of a bandit and the names of `minutes`.
        self.counts: dict[int, Counter[str]] = {}

    def start(self) -> None:
        """Start the thread."""
        self._thread.start()

    def submit(self, work: Work) -> "Future[Any]":
        """Queue a work; its future ends after the commit."""
        if self.stuck:
            self._refuse_waiting()
            raise _no_answer()
        with self._arrived:
            if self._stopping:
                raise unavailable("the service is stopping; send the request again")
            most = MOST_WAITING if len(work.rows) <= _ROWS_PER_TURN else _MOST_IN_BATCHES
            if self._waiting_rows >= most:
                raise unavailable(
                    f"{self._waiting_rows:,} rows are waiting; send the request again later"
                )
            self._queue(work)
            self._waiting_rows += len(work.rows)
            self._arrived.notify()
        return work.future

    def _queue(self, work: Work) -> None:
        """Let a work wait for its next turn, behind the others of its bandit."""
        queue = self._queues.get(work.bandit)
        if queue is None:
            queue = self._queues[work.bandit] = deque()
            self._turns.append(work.bandit)
            self._credits[work.bandit] = _SECONDS_PER_TURN
        queue.append(work)

    @property
    def stuck(self) -> bool:
        """Whether the store does not answer: it neither commits nor fails."""
        began = self._began
        return began is not None and time.monotonic() - began > _STUCK_SECONDS

    def _refuse_waiting(self) -> None:
        """Refuse works that have not begun, so that their callers need not wait for the store."""
        with self._arrived:
            works = [work for queue in self._queues.values() for work in queue]
            self._queues.clear()
            self._turns.clear()
            self._credits.clear()
            for work in works:
                if work.taken:  # begun: the current transaction decides about the rest
                    self._queue(work)
                else:
                    self._refuse(work, _no_answer())

    def _refuse(self, work: Work, error: Exception) -> None:
        self._waiting_rows -= len(work.rows) - work.taken
        work.refuse(error)

    def stop(self) -> None:
        """Do the waiting works, then end."""
        with self._arrived:
            self._stopping = True
            self._arrived.notify()
        if self._thread.is_alive():
            self._thread.join()

    def _loop(self) -> None:
        while True:
            slices = self._take()
            if not slices:
                return
            self.status.waiting = self._waiting_rows
            self._began = time.monotonic()
            self._commit(slices)
            self._began = None

    def _take(self) -> list[Slice]:
        """What the next transaction does; nothing once the thread should end."""
        with self._arrived:
            while not self._queues and not self._stopping:
                self._arrived.wait()
            begins: dict[Work, int] = {}
            rows, seconds = 0, 0.0
            while self._turns and rows < _ROWS_PER_TRANSACTION:
                bandit = self._turns[0]
                work = self._queues[bandit][0]
                # One row of a new kind: it may take as long as a transaction.
                known = self._rates.get((bandit, work.kind))
                rate = _SECONDS_PER_TRANSACTION if known is None else known
                if known is not None and rate > self._credits[bandit]:
                    self._credits[bandit] += _SECONDS_PER_TURN
                    self._turns.rotate(-1)
                    continue
                left = _SECONDS_PER_TRANSACTION - seconds
                if begins and rate > left:
                    break
                most = int(min(left, self._credits[bandit]) / max(rate, 1e-9))
                n = min(_ROWS_PER_TURN, len(work.rows) - work.taken, max(1, most))
                begins.setdefault(work, work.taken)
                work.taken += n
                rows, seconds = rows + n, seconds + n * rate
                self._credits[bandit] -= n * rate
                self._queues[bandit].rotate(-1)
                if work.taken == len(work.rows):
                    self._queues[bandit].pop()
                    self._forget_if_idle(bandit)
            self._waiting_rows -= rows
        return [Slice(work, work.rows[begin : work.taken]) for work, begin in begins.items()]

    def _forget_if_idle(self, bandit: str) -> None:
        """Take a bandit out of the turns if nothing of it waits."""
        if not self._queues[bandit]:
            del self._queues[bandit], self._credits[bandit]
            self._turns.remove(bandit)

    def _commit(self, slices: Sequence[Slice], *, again: int = 2) -> None:
        began = time.perf_counter()
        try:
            results = self._run(slices)
        except ServiceError as error:
            self._fail(slices, error)
        except (DBAPIError, NoConnectionError, OSError) as error:
            self._recover(slices, error, again)
        except Exception as error:
            if len(slices) > 1:  # so that only the work with the error fails
                for each in slices:
                    self._commit([each])
            else:
                _log.exception("a request could not be answered")
                self._fail(slices, error)
        else:
            self._note(slices, time.perf_counter() - began)
            for each, result in results:
                if isinstance(result, ServiceError):
                    self._fail([each], result)
                else:
                    each.work.answer(result)

    def _recover(self, slices: Sequence[Slice], error: Exception, again: int) -> None:
        """Go on after an error of the store."""
        conflicting = isinstance(error, IntegrityError) or _state(error) in _CONFLICTS
        if conflicting and again:
            self._commit(slices, again=again - 1)
        elif _state(error) == _LOCKED:
            self._commit_unlocked(slices)
        else:
            self._not_stored(slices, error)

    def _commit_unlocked(self, slices: Sequence[Slice]) -> None:
        """Refuse what needs rows that another process has locked, and do the rest."""
        if len(slices) == 1:
            detail = "another process has locked what this needs; send the request again later"
            self._fail(slices, unavailable(detail))
            return
        for each in slices:
            self._hurry = True
            self._commit([each])
        self._hurry = False

    def _run(self, slices: Sequence[Slice]) -> list[tuple[Slice, Sequence[Any] | ServiceError]]:
        """Do slices in one transaction, kind by kind for each bandit."""
        groups: dict[tuple[str, int, str], list[Slice]] = {}
        for each in slices:
            key = (each.work.bandit, self._order[each.work.kind], each.work.kind)
            groups.setdefault(key, []).append(each)
        results: list[tuple[Slice, Sequence[Any] | ServiceError]] = []
        transaction: Transaction | None = None
        try:
            with self._database.writing() as connection:
                if self._hurry:
                    connection.exec_driver_sql("SET LOCAL lock_timeout = '20ms'")
                transaction = Transaction(connection, self._process, self._clock(), self._blocks)
                for (bandit, _, kind), group in sorted(groups.items(), key=lambda item: item[0]):
                    began = time.perf_counter()
                    found = self._runners[kind](transaction, bandit, group)
                    self._learn_rate(bandit, kind, group, time.perf_counter() - began)
                    results += zip(group, found, strict=True)
                transaction.sums.write(connection)
        except BaseException:
            if transaction is not None:
                transaction.undo()
            raise
        try:
            transaction.end()
        except Exception:  # it is committed: it must not be done again
            _log.exception("what follows a commit failed")
        for number, sums in transaction.sums.counts():
            self.counts.setdefault(number, Counter()).update(sums)
        return results

    def _learn_rate(self, bandit: str, kind: str, group: Sequence[Slice], seconds: float) -> None:
        """Estimate the seconds per row: follow a large rise at once, else take a running mean."""
        if len(self._rates) >= _MOST_RATES:
            self._rates.clear()
        rate = seconds / sum(len(each.rows) for each in group)
        before = self._rates.get((bandit, kind), 0.0)
        self._rates[bandit, kind] = rate if rate > 4.0 * before else 0.5 * (rate + before)

    def _fail(self, slices: Sequence[Slice], error: Exception) -> None:
        with self._arrived:
            for each in slices:
                self._refuse(each.work, error)
            # Works of several slices may wait for another turn.
            for bandit in {each.work.bandit for each in slices} & self._queues.keys():
                waiting = (work for work in self._queues[bandit] if not work.future.done())
                self._queues[bandit] = deque(waiting)
                self._forget_if_idle(bandit)

    def _not_stored(self, slices: Sequence[Slice], error: Exception) -> None:
        self.status.failures += 1
        if self.status.reachable:
            _log.error("the store cannot be written: %s", reason_of(error))
        self.status.reachable = not _store_is_at_fault(error)
        answer = unavailable("the store cannot be written now; send the request again later")
        self._fail(slices, answer)

    def _note(self, slices: Sequence[Slice], seconds: float) -> None:
        status = self.status
        rows = sum(len(each.rows) for each in slices)
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


def _store_is_at_fault(error: Exception) -> bool:
    """Whether any transaction would fail: the store is away, or damaged."""
    damaged = type(getattr(error, "orig", None)) is sqlite3.DatabaseError
    return damaged or isinstance(error, OperationalError | NoConnectionError | OSError)


def _state(error: Exception) -> str:
    original = getattr(error, "orig", None)
    return str(getattr(original, "sqlstate", ""))
