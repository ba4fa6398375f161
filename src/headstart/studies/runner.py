"""The runner: plays the shards of studies in processes or on a cluster, and resumes."""

from __future__ import annotations

import json
import multiprocessing
import signal
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Executor, ProcessPoolExecutor, wait
from contextlib import contextmanager
from dataclasses import dataclass
from multiprocessing.sharedctypes import Synchronized
from pathlib import Path
from types import FrameType

import xarray as xr

from headstart import checks
from headstart.processes import end_with_parent
from headstart.progress import Progress
from headstart.simulation import cores
from headstart.studies.digests import Provenance, changed_files, changes
from headstart.studies.folder import Pieces, StudyFolder
from headstart.studies.shards import play_agents, shard_replications
from headstart.studies.study import Study

# How often workers are asked how far they are.
_SECONDS = 1.0


@dataclass(frozen=True, eq=False)
class _Job:
    """The agents that still have to play in a shard, and where to write their numbers."""

    pieces: Pieces
    number: int
    agents: Sequence[str]

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        study = self.pieces.study
        tasks = study.tasks
        if study.protocol == "train-then-test":
            tasks = max(study.training_tasks) + study.test_tasks * len(study.training_tasks)
        size = len(shard_replications(study, self.number))
        return size * len(self.agents) * tasks * study.horizon

    def save(self, played: xr.Dataset) -> None:
        """Write the numbers, unless files have changed since the run began."""
        now, then = json.loads(str(played.attrs["sources"])), self.pieces.now.sources
        if now != then:
            raise ValueError(
                f"{', '.join(changed_files(then, now))} changed while {self.pieces.study.name} was "
                "running, or a worker has another version; run it again to play what is missing"
            )
        self.pieces.save(self.number, played)


def run(
    study: Study,
    folder: str | Path,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    notify: Callable[[str], None] | None = None,
) -> xr.Dataset:
    """Run, resume or extend one study in a folder.

    Parameters
    ----------
    study : Study
        The study.
    folder : str or Path
        Where its results are kept.
    workers : int, optional
        The number of processes, one per core by default.
    scheduler : str, optional
        The address of a Dask scheduler, whose workers play instead.
    progress : callable, optional
        Called with how much is done, and with the total.
    notify : callable, optional
        Called with sentences that say which parts are played again, and why.

    Returns
    -------
    xarray.Dataset
        The results.

    Examples
    --------
    >>> from pathlib import Path
    >>> from headstart import studies
    >>> from headstart.specs import Spec
    >>> oful = Spec(kind="OFUL")
    >>> study = studies.Study(
    ...     name="small",
    ...     environment=Spec(kind="Synthetic", settings={"reward": "linear"}),
    ...     learners=(
    ...         studies.LearnerSpec(name="ITL", policy=oful, prior=Spec(kind="Fixed")),
    ...         studies.LearnerSpec(name="RR", policy=oful, prior=Spec(kind="Pooled")),
    ...     ),
    ...     horizon=20,
    ...     tasks=5,
    ...     replications=10,
    ... )
    >>> results = studies.run(study, Path("out/small"), workers=1)
    >>> results.regret.dims
    ('learner', 'regularization', 'trained', 'replication', 'task', 'round')
    """
    if not isinstance(study, Study):
        raise ValueError(
            f"study must be a Study, got {checks.short(study)}; from_file reads one from a file"
        )
    path = Path(folder)
    every = run_all(
        {path: study}, workers=workers, scheduler=scheduler, progress=progress, notify=notify
    )
    return every[path]


def run_all(
    studies: dict[Path, Study],
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    notify: Callable[[str], None] | None = None,
) -> dict[Path, xr.Dataset]:
    """Run studies, each in its folder; play only what the folder does not hold yet.

    That is what a study has gained (replications, learners, regularizations), and what depends on
    files that have changed; it calls `notify` to say which. `workers` processes (default: one per
    core) share the shards; `scheduler` is the address of a Dask cluster to use instead. The results
    are the same bits in every case. Each finished shard is written at once, so an interrupted run
    loses only the shards in progress.
    """
    started = time.perf_counter()
    folders = {path: StudyFolder(path) for path in studies}
    for path, study in studies.items():
        folders[path].open(study)
    pending = [
        Pieces(folders[path], study, now)
        for path, study in studies.items()
        if not folders[path].holds(study, now := Provenance.now(study))
    ]
    jobs = [
        _Job(pieces, number, missing)
        for pieces in pending
        for number in range(pieces.study.n_shards)
        if (missing := pieces.missing(number))
    ]
    if notify is not None:
        for pieces in pending:
            for sentence in changes(pieces.folder.made(), pieces.now):
                notify(sentence)
    # The longest first, so that no core has a long one left at the end.
    jobs.sort(key=lambda job: -job.rounds)
    left = {id(pieces): sum(job.pieces is pieces for job in jobs) for pieces in pending}
    total = sum(job.rounds for job in jobs)

    def report(done: int) -> None:
        if progress is not None and jobs:
            progress(done, total)

    report(0)
    n = min(cores() if workers is None else workers, len(jobs))
    with _interrupts() as interrupted, _executor(n, scheduler) as executor:
        for job, played in _outcomes(jobs, executor, report):
            job.save(played)
            left[id(job.pieces)] -= 1
            if not left[id(job.pieces)]:
                _finish(job.pieces, started)
            if interrupted():
                raise KeyboardInterrupt
    for pieces in pending:
        if not any(job.pieces is pieces for job in jobs):  # all was there, under another study
            _finish(pieces, started)
    return {path: folder.load() for path, folder in folders.items()}


def _finish(pieces: Pieces, started: float) -> None:
    joined = pieces.joined()
    pieces.set_aside()
    pieces.folder.finish(pieces.study, pieces.now, joined, time.perf_counter() - started)
    pieces.clear()


def _outcomes(
    jobs: Sequence[_Job], executor: Executor | None, report: Callable[[int], None]
) -> Iterator[tuple[_Job, xr.Dataset]]:
    """What was played, as it is done; `report` gets the number of rounds so far.

    This machine counts the rounds of shards that are under way, a cluster those of whole shards.
    """
    done = 0

    def add(rounds: int) -> None:
        nonlocal done
        done += rounds
        report(done)

    if executor is None:
        for job in jobs:
            yield job, _play(job.pieces.study, job.number, job.agents, add)
        return
    counter = executor.counter if isinstance(executor, _Processes) else None
    play = play_agents if counter is None else _play_counted
    futures = {executor.submit(play, job.pieces.study, job.number, job.agents): job for job in jobs}
    waiting = set(futures)
    try:
        while waiting:
            seconds = None if counter is None else _SECONDS
            ended, waiting = wait(waiting, seconds, FIRST_COMPLETED)
            for future in ended:
                yield futures[future], future.result()
                if counter is None:
                    add(futures[future].rounds)
            if counter is not None:
                report(counter.value)
    finally:
        for future in futures:
            future.cancel()


def _play(
    study: Study, number: int, agents: Sequence[str], add: Callable[[int], None]
) -> xr.Dataset:
    """Play a shard, and add the rounds of every task when an agent has played it."""
    rounds = len(shard_replications(study, number)) * study.horizon
    return play_agents(study, number, agents, lambda done, total: add(rounds))


class _Processes(ProcessPoolExecutor):
    """Fresh processes, which count the rounds that they play.

    Forking a process that has run BLAS or compiled code is not safe.
    """

    def __init__(self, workers: int) -> None:
        context = multiprocessing.get_context("spawn")
        self.counter = context.Value("q", 0)
        super().__init__(workers, context, initializer=_begin_worker, initargs=(self.counter,))


# In a worker: the rounds that all workers have played, which the parent reads.
_counter: Synchronized[int] | None = None


def _play_counted(study: Study, number: int, agents: Sequence[str]) -> xr.Dataset:
    def add(rounds: int) -> None:
        assert _counter is not None
        with _counter.get_lock():
            _counter.value += rounds

    return _play(study, number, agents, add)


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
    before = set(multiprocessing.active_children())
    executor = _Processes(workers)
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
        # Not the default of the process, which would keep a client that got no answer.
        client = Client(address, timeout=10, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ValueError(f"no Dask scheduler answers at {address!r}: {error}") from error
    with client:
        yield client.get_executor(pure=False)


@contextmanager
def _interrupts() -> Iterator[Callable[[], bool]]:
    """Whether Ctrl-C came, even if Python dropped it: it cannot raise inside a weak reference.

    Only the main thread receives signals; in other threads the answer is no.
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


def _begin_worker(counter: Synchronized[int]) -> None:
    """Ctrl-C reaches every process of a terminal; only the parent handles it."""
    global _counter  # noqa: PLW0603  (one per process)
    _counter = counter
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()
