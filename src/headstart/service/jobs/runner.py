"""Runner: does the jobs of a store in the background, one at a time per process."""

import logging
import threading
import time
from collections.abc import Callable
from typing import Any, Protocol, TypedDict

from sqlalchemy import Connection
from sqlalchemy.exc import DBAPIError, SQLAlchemyError

from headstart.service.engine.catalogue import Catalogue
from headstart.service.jobs import table
from headstart.service.jobs.files import Folders
from headstart.service.jobs.process import JobProcess
from headstart.service.jobs.work import Answer, Done, EvaluateWork, Failed, FitWork, Update, Work
from headstart.service.messages import FitRequest
from headstart.service.store import bandits, jobs, priors
from headstart.service.store.database import Database
from headstart.service.store.jobs import JobRow

_log = logging.getLogger("headstart.service.jobs")

_BEAT_SECONDS = 0.5
_POLL_SECONDS = 2.0
# If the process of a job is silent for this long, it is assumed to be gone.
LOST_SECONDS = 30.0
_JOIN_SECONDS = 15.0


class Attempt(Protocol):
    """A running job; `JobProcess` runs it in a separate process."""

    def next(self, seconds: float) -> Answer | None:
        """The next answer; None if there is none within this many seconds."""
        ...

    def end(self) -> None:
        """End it at once."""
        ...


class RunnerOptions(TypedDict, total=False):
    """How a runner works, for tests: after how long a job is lost, and what runs a job."""

    lost_seconds: float
    begin: Callable[[Work], Attempt]


class Runner:
    """A thread that takes jobs and runs each in a separate process.

    Any process of the service may take a waiting job. If a job's process is gone, judged by its
    last heartbeat, another process starts the job again.
    """

    def __init__(
        self,
        database: Database,
        folders: Folders,
        *,
        clock: Callable[[], float] = time.time,
        lost_seconds: float = LOST_SECONDS,
        begin: Callable[[Work], Attempt] = JobProcess,
    ) -> None:
        self._begin = begin
        self._database, self._folders, self._clock = database, folders, clock
        self._lost_seconds = lost_seconds
        self._stopping, self._wake = threading.Event(), threading.Event()
        self._thread: threading.Thread | None = None
        self.attempt: Attempt | None = None  # the current job

    def start(self) -> None:
        """Start the thread. It takes up jobs that an earlier owner of an SQLite file left."""
        self._thread = threading.Thread(target=self._run, name="headstart-jobs", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End the current job, which then waits for another process."""
        self._stopping.set()
        self._wake.set()
        if self._thread is not None:
            self._thread.join(_JOIN_SECONDS)
            self._thread = None

    def wake(self) -> None:
        """Look for jobs now."""
        self._wake.set()

    def _run(self) -> None:
        first = True
        while not self._stopping.is_set():
            self._wake.clear()
            try:
                job = self._take(first=first)
                first = False
                if job is not None:
                    self._do(job)
                    continue
            except SQLAlchemyError as error:
                _log.warning("jobs wait for the store: %s", type(error).__name__)
            except Exception:  # the next job may do better, and this one is taken up again
                _log.exception("a job stopped")
            self._wake.wait(_POLL_SECONDS)

    def _take(self, *, first: bool) -> JobRow | None:
        now = self._clock()
        # If one process owns the store, no other can have started a running job.
        alone = first and self._database.is_sqlite
        before = now + 1.0 if alone else now - self._lost_seconds
        with self._database.reading() as connection:
            idle = not jobs.any_unfinished(connection)
            if first:
                uploads = (job.upload for job in jobs.unfinished(connection))
                self._folders.sweep([upload for upload in uploads if upload is not None])
        if idle:
            return None
        with self._database.writing() as connection:
            lost = table.take_up_lost(connection, before, now)
            job, gone = table.take(connection, now, self._has_files)
        if lost:
            _log.warning("jobs taken up whose process was gone: %d", lost)
        for upload in gone:
            self._folders.delete(upload)
        return job

    def _has_files(self, job: JobRow) -> bool:
        return self._folders.of_job(job.request.files, job.upload) is not None

    def _do(self, job: JobRow) -> None:
        """Run a job to its end, or until this process no longer owns it."""
        _log.info("job %s begins: %s", job.id, job.kind)
        with self._database.reading() as connection:
            work = self._work(connection, job)
        if work is None:
            self._write(
                lambda c: table.fail(c, job, "the bandit or the files are gone", self._clock())
            )
            self._folders.delete(job.upload)
            return
        self.attempt = self._begin(work)
        try:
            answer = self._answer(job, self.attempt)
        finally:
            self.attempt.end()
            self.attempt = None
        if answer is None and self._stopping.is_set():
            with self._database.writing() as connection:
                table.put_back(connection, job)
            return
        if isinstance(answer, Done):
            done = answer
            self._write(lambda c: table.finish(c, job, done, self._clock()))
        elif isinstance(answer, Failed):
            error = answer.error
            self._write(lambda c: table.fail(c, job, error, self._clock()))
            if answer.unexpected:
                _log.error("job %s failed: %s", job.id, error.partition(":")[0])
        _log.info("job %s ends", job.id)
        self._folders.delete(job.upload)

    def _answer(self, job: JobRow, attempt: Attempt) -> Done | Failed | None:
        """The last answer; None if this process no longer owns the job, or the service stops."""
        last, at = -1.0, Update(0.0, "starting")
        while not self._stopping.is_set():
            answer = attempt.next(_BEAT_SECONDS / 5)
            if isinstance(answer, Update):
                at = answer
            elif answer is not None:
                return answer
            if time.monotonic() - last < _BEAT_SECONDS:
                continue
            last = time.monotonic()
            try:
                with self._database.writing() as connection:
                    if not table.beat(connection, job, at.progress, at.step, self._clock()):
                        return None
            except DBAPIError:
                continue  # the store is away; the work continues
        return None

    def _write(self, what: Callable[[Connection], object]) -> None:
        """Write the end of a job; if the store is away, once it is back."""
        while True:
            try:
                with self._database.writing() as connection:
                    what(connection)
                return
            except DBAPIError:
                if self._stopping.wait(_BEAT_SECONDS):
                    return

    def _work(self, connection: Connection, job: JobRow) -> Work | None:
        bandit = bandits.numbered(connection, job.bandit)
        request = job.request
        here = self._folders.of_job(request.files, job.upload)
        if bandit is None or here is None:
            return None
        given: dict[str, Any] = {
            "folder": str(here[0]),
            "files": here[1],
            "configuration": bandit.configuration,
        }
        if request.columns.arm is not None:
            items = Catalogue.read(connection, bandit)
            given["catalogue"] = dict(zip(items.ids, items.features.tolist(), strict=True))
        if isinstance(request, FitRequest):
            memory, promoted = priors.memories(connection, job.bandit)
            return FitWork(request=request, memory=memory, promoted=promoted, **given)
        return EvaluateWork(request=request, **given)
