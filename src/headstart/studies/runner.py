"""The runner: plays the shards of studies in processes or on a cluster, and resumes."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from concurrent.futures import Executor, ProcessPoolExecutor, as_completed
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import xarray as xr

from headstart import checks
from headstart.processes import end_with_parent
from headstart.progress import Progress
from headstart.simulation import cores
from headstart.studies import digests
from headstart.studies.digests import Table, changed, sources
from headstart.studies.folder import Pieces, StudyFolder
from headstart.studies.shards import Piece, joined, play_agents
from headstart.studies.study import Study

_Played = tuple[dict[str, Piece], Table]


@dataclass(frozen=True, eq=False)
class _Job:
    """The agents that still have to play in a shard, and the names of their pieces."""

    study: Study
    number: int
    names: Mapping[str, str]
    sources: Table

    @property
    def rounds(self) -> int:
        """The number of rounds."""
        study = self.study
        tasks = study.tasks
        if study.protocol == "train-then-test":
            tasks = max(study.training_tasks) + study.test_tasks * len(study.training_tasks)
        return len(study.in_shard(self.number)) * len(self.names) * tasks * study.horizon

    def save(self, played: _Played, pieces: Pieces) -> None:
        """Write the pieces, unless files have changed since the run began."""
        found, now = played
        if now != self.sources:
            raise ValueError(
                f"{', '.join(changed(self.sources, now))} changed while {self.study.name} was "
                "running, or a worker has another version; run it again to play what is missing"
            )
        for agent, piece in found.items():
            pieces.save(self.names[agent], piece)


def run(
    study: Study,
    folder: str | Path | None = None,
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
    folder : str or Path, optional
        Where its results are kept, by default out/NAME.
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
    >>> results = studies.run(study, workers=1)
    >>> results.regret.dims
    ('learner', 'regularization', 'trained', 'replication', 'task', 'round')
    """
    if not isinstance(study, Study):
        raise ValueError(
            f"study must be a Study, got {checks.short(study)}; from_file reads one from a file"
        )
    started = time.perf_counter()
    place = StudyFolder(Path("out", study.name) if folder is None else Path(folder))
    place.open(study)
    made, now = place.made(), sources(study)
    if not place.holds(study, now):
        if notify is not None:
            for what in changed(made or now, now):
                notify(f"{what} changed since the results were made.")
        (results,) = play(
            [study],
            place.pieces,
            workers=workers,
            scheduler=scheduler,
            progress=progress,
            notify=notify,
        )
        place.finish(study, now, results, time.perf_counter() - started)
    return place.load()


def play(
    studies: Sequence[Study],
    pieces: Pieces,
    *,
    workers: int | None = None,
    scheduler: str | None = None,
    progress: Progress | None = None,
    notify: Callable[[str], None] | None = None,
) -> list[xr.Dataset]:
    """The results of studies, whose pieces are kept; only those that are missing are played.

    `workers` processes (default: one per core) share the shards; `scheduler` is the address of a
    Dask cluster to use instead. The results are the same bits in every case. Each finished shard is
    written at once, so an interrupted run loses only the shards in progress. `notify` is told how
    much of each learner is played, if anything is there.
    """
    made = [sources(study) for study in studies]
    named = [digests.pieces(study, now) for study, now in zip(studies, made, strict=True)]
    jobs: list[_Job] = []
    planned: set[str] = set()
    for study, now, names in zip(studies, made, named, strict=True):
        missing = {key: name for key, name in names.items() if name not in pieces}
        if notify is not None and len(missing) < len(names):
            for sentence in _told(study, missing):
                notify(sentence)
        # Studies share pieces, too.
        jobs += _jobs(study, now, {k: name for k, name in missing.items() if name not in planned})
        planned.update(missing.values())
    # The longest first, so that no core has a long one left at the end.
    jobs.sort(key=lambda job: -job.rounds)
    total, done = sum(job.rounds for job in jobs), 0
    if progress is not None and jobs:
        progress(0, total)
    for job, played in _outcomes(jobs, workers, scheduler):
        job.save(played, pieces)
        done += job.rounds
        if progress is not None:
            progress(done, total)
    return [
        joined(study, lambda *of, names=names: pieces.load(names[of]))
        for study, names in zip(studies, named, strict=True)
    ]


def _jobs(study: Study, now: Table, names: Mapping[tuple[str, int], str]) -> Iterator[_Job]:
    """The shards to play for pieces of these names."""
    for number in range(study.n_shards):
        in_shard = {agent: name for (agent, shard), name in names.items() if shard == number}
        if in_shard:
            yield _Job(study, number, in_shard, now)


def _told(study: Study, missing: Collection[tuple[str, int]]) -> Iterator[str]:
    """How much of each learner is played."""
    for learner in study.learners:
        names = {study.agent(learner, value) for value in study.regularization}
        n = sum(agent in names for agent, _ in missing)
        if n:
            yield f"{learner.name}: {n} of {len(names) * study.n_shards} parts are played."


def _outcomes(
    jobs: Sequence[_Job], workers: int | None, scheduler: str | None
) -> Iterator[tuple[_Job, _Played]]:
    """What was played, as it is done."""
    n = min(cores() if workers is None else workers, len(jobs))
    if scheduler is None and n <= 1:
        for job in jobs:
            yield job, _play(job.study, job.number, list(job.names))
    elif jobs:
        with _processes(n) if scheduler is None else _cluster(scheduler) as executor:
            futures = {
                executor.submit(_play, job.study, job.number, list(job.names)): job for job in jobs
            }
            try:
                for future in as_completed(futures):
                    yield futures[future], future.result()
            finally:
                for future in futures:
                    future.cancel()


def _play(study: Study, number: int, agents: Sequence[str]) -> _Played:
    """Play, and say of which sources."""
    return play_agents(study, number, agents), sources(study)


@contextmanager
def _processes(workers: int) -> Iterator[Executor]:
    """Fresh processes: forking one that has run BLAS or compiled code is not safe."""
    before = set(multiprocessing.active_children())
    context = multiprocessing.get_context("spawn")
    executor = ProcessPoolExecutor(workers, context, initializer=_begin_worker)
    try:
        yield executor
    except BaseException:
        executor.shutdown(wait=False, cancel_futures=True)
        for child in set(multiprocessing.active_children()) - before:
            child.terminate()
        raise
    executor.shutdown()


def _begin_worker() -> None:
    """Ctrl-C reaches every process of a terminal; only the parent handles it."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    end_with_parent()


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
