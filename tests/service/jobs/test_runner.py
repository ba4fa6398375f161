"""Jobs to their end: progress, cancelling, stopping, and processes that are killed."""

import os
import queue
import signal
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import select, update
from tests.service.jobs.setting import NAMES, ON_SQLITE, InThread, ended, in_folder, log
from tests.waiting import until

import headstart as hs
from headstart.service.engine.service import Service
from headstart.service.jobs import table
from headstart.service.jobs.jobs import Jobs
from headstart.service.jobs.process import JobProcess
from headstart.service.jobs.work import Answer, Failed, Update, Work
from headstart.service.messages import FitRequest, JobView, LogColumns, ServiceError
from headstart.service.store import schema

pytestmark = pytest.mark.slow

COLUMNS = LogColumns(task="user", features=NAMES)
REQUEST = FitRequest(files=["a.parquet"], columns=COLUMNS, dry_run=False)


class Scripted:
    """Answers what a test puts into its queue."""

    begun: int = 0
    ends: int = 0
    answers: "queue.Queue[Answer]" = queue.Queue()

    def __init__(self, work: Work) -> None:
        type(self).begun += 1
        self.work = work

    def next(self, seconds: float) -> Answer | None:
        try:
            return self.answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def end(self) -> None:
        type(self).ends += 1


@pytest.fixture
def scripted() -> type[Scripted]:
    """A class of its own for every test."""
    return type("Scripted", (Scripted,), {"answers": queue.Queue()})


@pytest.fixture
def jobs_of(
    service: Service, data: Path, tmp_path: Path
) -> Iterator[Callable[[Callable[[Work], Any]], Jobs]]:
    """Makes jobs that are done as a test wants."""
    in_folder(data, "a.parquet", log())
    made: list[Jobs] = []

    def make(begin: Callable[[Work], Any]) -> Jobs:
        uploads = tmp_path / "uploads"
        made.append(Jobs(service, uploads=uploads, data=data, begin=begin, lost_seconds=5.0))
        made[-1].start()
        return made[-1]

    yield make
    for each in made:
        each.stop()


def test_progress_rises(jobs_of: Any, scripted: type[Scripted]) -> None:
    jobs = jobs_of(scripted)
    job = jobs.start_fit("shop", REQUEST)
    # The runner may take the job before its view is read.
    assert (job.status, job.progress) in {("waiting", 0.0), ("running", 0.0)}
    for share, step in ((0.25, "reading rows: 1 of 4"), (0.75, "counting tasks: 3 of 4")):
        scripted.answers.put(Update(share, step))
        until(lambda share=share: jobs.job("shop", job.id).progress == share)  # type: ignore[misc]
        found = jobs.job("shop", job.id)
        assert (found.status, found.step) == ("running", step)
    scripted.answers.put(Failed(error="the log is empty"))
    found = ended(jobs, job)
    assert (found.status, found.error) == ("failed", "the log is empty")


@ON_SQLITE
def test_a_fit_reports_its_progress(jobs_of: Any) -> None:
    seen: list[Update] = []

    class Watched(InThread):
        def next(self, seconds: float) -> Answer | None:
            found = super().next(seconds)
            seen.extend([found] if isinstance(found, Update) else [])
            return found

    jobs = jobs_of(Watched)
    ended(jobs, jobs.start_fit("shop", REQUEST))
    shares = [each.progress for each in seen]
    assert shares == sorted(shares)
    assert (shares[0], shares[-1]) == (0.0, 0.95)
    assert seen[-1].step == "computing the prior"


def test_a_cancelled_job_ends(jobs_of: Any, scripted: type[Scripted]) -> None:
    jobs = jobs_of(scripted)
    job = jobs.start_fit("shop", REQUEST)
    behind = jobs.start_fit("shop", REQUEST)
    until(lambda: jobs.job("shop", job.id).status == "running")
    assert jobs.cancel("shop", behind.id).status == "cancelled"
    assert jobs.cancel("shop", job.id).status == "cancelled"
    until(lambda: scripted.ends == 1)
    with pytest.raises(ServiceError, match=r"cannot be cancelled, .* is cancelled"):
        jobs.cancel("shop", job.id)
    with pytest.raises(ServiceError, match="no job 'x'"):
        jobs.cancel("shop", "x")
    assert jobs.fits("shop") == []
    assert scripted.begun == 1


def test_a_job_waits_for_the_next_process_where_one_stops(
    jobs_of: Any, scripted: type[Scripted]
) -> None:
    first = jobs_of(scripted)
    job = first.start_fit("shop", REQUEST)
    until(lambda: scripted.begun == 1)
    first.stop()
    assert first.job("shop", job.id).status == "waiting"
    second = jobs_of(InThread)
    assert ended(second, job).status == "done"


def _left_behind(service: Service, job: JobView, attempts: int) -> None:
    """As a process leaves a job that is killed."""
    jobs = schema.jobs
    with service.database.writing() as connection:
        query = select(jobs.c.request).where(jobs.c.id == job.id)
        content = connection.execute(query).scalar_one()
        content = content.replace('"attempts":0', f'"attempts":{attempts}')
        long_ago = time.time() - 60.0
        values = {"status": "running", "started": long_ago, "heartbeat": long_ago}
        change = update(jobs).where(jobs.c.id == job.id)
        connection.execute(change.values(request=content, **values))


def test_a_job_whose_process_is_gone_is_taken_up_or_fails(jobs_of: Any, service: Service) -> None:
    idle = jobs_of(InThread)
    idle.stop()
    job, hopeless = (idle.start_fit("shop", REQUEST) for _ in range(2))
    _left_behind(service, job, attempts=1)
    _left_behind(service, hopeless, attempts=table.MOST_ATTEMPTS)
    jobs = jobs_of(InThread)
    assert ended(jobs, job).status == "done"
    found = ended(jobs, hopeless)
    assert found.status == "failed"
    assert found.error is not None
    assert "ended 3 times before the job did" in found.error


def test_a_result_that_comes_too_late_is_dropped(
    jobs_of: Any, service: Service, scripted: type[Scripted]
) -> None:
    """Another process took the job up: what the first one finds does not count."""
    jobs = jobs_of(scripted)
    job = jobs.start_fit("shop", REQUEST)
    until(lambda: scripted.begun == 1)
    with service.database.writing() as connection:
        later = {"started": time.time() + 1.0, "heartbeat": time.time() + 60.0}
        connection.execute(update(schema.jobs).values(later))
    scripted.answers.put(Failed(error="late"))
    until(lambda: scripted.ends == 1)
    jobs.stop()
    assert jobs.job("shop", job.id).status == "running"


@pytest.mark.parametrize("store", ["postgresql"], indirect=True)
def test_two_processes_do_each_job_once(jobs_of: Any, service: Service) -> None:
    begun: list[int] = []

    class Noted(InThread):
        def __init__(self, work: Work) -> None:
            begun.append(1)
            super().__init__(work)

    one, two = jobs_of(Noted), jobs_of(Noted)
    made = [(one, two)[i % 2].start_fit("shop", REQUEST) for i in range(6)]
    assert [ended(one, job).status for job in made] == ["done"] * 6
    assert len(begun) == len(one.fits("shop")) == 6


def test_a_process_of_its_own(jobs_of: Any, service: Service) -> None:
    jobs = jobs_of(JobProcess)
    job = ended(jobs, jobs.start_fit("shop", REQUEST))
    assert job.error is None
    expected = hs.MetaBandit(dimension=3, seed=0).fit(log(), task="user", features=NAMES).learned()
    np.testing.assert_allclose(jobs.fits("shop")[0].mean, expected.mean, rtol=1e-9)


@ON_SQLITE
def test_a_process_that_is_killed_fails_its_job(jobs_of: Any) -> None:
    jobs = jobs_of(JobProcess)
    job = jobs.start_fit("shop", REQUEST)
    until(lambda: jobs.runner.attempt is not None)
    os.kill(jobs.runner.attempt.pid, signal.SIGKILL)
    found = ended(jobs, job)
    assert found.status == "failed"
    assert found.error is not None
    assert "was ended by SIGKILL" in found.error


@ON_SQLITE
def test_too_many_jobs_are_refused(
    jobs_of: Any, scripted: type[Scripted], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(table, "MOST_WAITING", 2)
    jobs = jobs_of(scripted)
    first = jobs.start_fit("shop", REQUEST)
    until(lambda: jobs.job("shop", first.id).status == "running")
    for _ in range(2):
        jobs.start_fit("shop", REQUEST)
    with pytest.raises(ServiceError, match="jobs are already waiting") as error:
        jobs.start_fit("shop", REQUEST)
    assert error.value.problem.status == 429
