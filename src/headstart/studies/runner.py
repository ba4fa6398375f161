"""The runner: plays the shards of studies here, in processes or on a cluster, and resumes."""

import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import xarray as xr

from headstart.progress import Progress
from headstart.simulation import cores
from headstart.studies.folder import StudyFolder
from headstart.studies.shards import play_shard
from headstart.studies.study import Study


@dataclass(frozen=True)
class _Job:
    """A shard of a study, and the folder that it is written to."""

    folder: StudyFolder
    study: Study
    number: int

    @property
    def done(self) -> bool:
        """Whether the shard is on disk."""
        return self.folder.shard(self.number).exists()

    @property
    def rounds(self) -> int:
        """The number of rounds in the shard."""
        study = self.study
        size = min(study.shard, study.replications - self.number * study.shard)
        players = sum(len(study.regularization) if c.swept else 1 for c in study.learners)
        tasks = study.tasks
        if study.protocol == "train-then-test":
            tasks = max(study.training_tasks) + study.test_tasks * len(study.training_tasks)
        return size * players * tasks * study.horizon


def run(
    study: Study,
    folder: Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> xr.Dataset:
    """Run or resume one study in a folder; return its results."""
    every = run_all({folder: study}, workers=workers, scheduler=scheduler, progress=progress)
    return every[folder]


def run_all(
    studies: dict[Path, Study],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
) -> dict[Path, xr.Dataset]:
    """Run studies, each in its folder. What a folder already holds is not played again.

    `workers` processes (default: one per core) share the shards; `scheduler` is the address of a
    Dask cluster to use instead. The results are the same bits in every case. Each finished shard
    is written at once, so an interrupted run loses only what was under way.
    """
    started = time.perf_counter()
    folders = {path: StudyFolder(path) for path in studies}
    for path, study in studies.items():
        folders[path].open(study)
    pending = {p: study for p, study in studies.items() if not folders[p].results.exists()}
    shards = [
        _Job(folders[path], study, number)
        for path, study in pending.items()
        for number in range(study.n_shards)
    ]
    # The longest first, so that no core is left with a long one at the end.
    jobs = sorted((job for job in shards if not job.done), key=lambda job: -job.rounds)
    done, total = 0, sum(job.rounds for job in jobs)
    n = min(cores() if workers is None else workers, len(jobs))
    with _interrupts() as interrupted, _executor(n, scheduler) as executor:
        for job, played in _outcomes(jobs, executor):
            job.folder.save_shard(job.number, played)
            done += job.rounds
            if progress is not None:
                progress(done, total)
            if all(other.done for other in shards if other.folder == job.folder):
                job.folder.finish(job.study, time.perf_counter() - started)
            if interrupted():
                raise KeyboardInterrupt
    for path, study in pending.items():
        if not folders[path].results.exists():  # interrupted after the last shard
            folders[path].finish(study, time.perf_counter() - started)
    return {path: folder.load() for path, folder in folders.items()}


def _outcomes(jobs: Sequence[_Job], executor: Executor | None) -> Iterator[tuple[_Job, xr.Dataset]]:
    if executor is None:
        for job in jobs:
            yield job, play_shard(job.study, job.number)
        return
    futures = {executor.submit(play_shard, job.study, job.number): job for job in jobs}
    try:
        for future in as_completed(futures):
            yield futures[future], future.result()
    finally:
        for future in futures:
            future.cancel()


@contextmanager
def _executor(workers: int, scheduler: str | None) -> Iterator[Executor | None]:
    if scheduler is not None and workers > 0:
        with _cluster(scheduler) as executor:
            yield executor
    elif workers > 1:
        with _processes(workers) as executor:
            yield executor
    else:
        yield None


@contextmanager
def _processes(workers: int) -> Iterator[Executor]:
    """Fresh processes: forking one that has run BLAS or compiled code is not safe."""
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, context, initializer=_ignore_interrupts)
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    executor.shutdown()


@contextmanager
def _cluster(address: str) -> Iterator[Executor]:
    try:
        from distributed import Client  # noqa: PLC0415  (an optional extra)
    except ImportError as error:
        raise ValueError(
            "a scheduler needs Dask, which is not installed: pip install 'headstart[dask]'"
        ) from error
    try:
        client = Client(address, timeout=10)
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {address!r}: {error}") from error
    with client:
        yield client.get_executor(pure=False)


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C came, even where Python dropped it: it cannot raise inside a weak reference.

    Only the main thread receives signals; elsewhere the answer is no.
    """
    hits: list[int] = []

    def note(number: int, _: FrameType | None) -> None:
        hits.append(number)
        raise KeyboardInterrupt

    if threading.current_thread() is not threading.main_thread():
        yield lambda: False
        return
    before = signal.signal(signal.SIGINT, note)
    try:
        yield lambda: bool(hits)
    finally:
        signal.signal(signal.SIGINT, before)


def _ignore_interrupts() -> None:
    """Ctrl-C reaches every process of a terminal; the parent alone decides what it means."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
