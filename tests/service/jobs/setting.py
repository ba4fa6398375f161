"""A service with jobs for tests, and the logs that they read."""

import queue
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from sqlalchemy import select

from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs
from headstart.service.jobs.process import answer
from headstart.service.jobs.work import Answer, Work
from headstart.service.messages import BanditConfiguration, JobView
from headstart.service.store import schema
from headstart.service.store.database import Database

# For tests of which nothing depends on the kind of store.
ON_SQLITE = pytest.mark.parametrize("store", ["sqlite"], indirect=True)

D = 3
W = np.array([1.0, -0.5, 0.25])
NAMES = ["age", "price", "size"]


def opened(store: str, **configuration: Any) -> Service:
    """A service with a bandit named shop."""
    service = Service.open(store)
    service.start()
    service.put_bandit("shop", BanditConfiguration(dimension=D, **configuration))
    return service


def log(tasks: int = 30, rows: int = 8, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = tasks * rows
    x = rng.standard_normal((n, D))
    w = np.repeat(W + 0.3 * rng.standard_normal((tasks, D)), rows, axis=0)
    frame = pd.DataFrame(x, columns=NAMES)
    frame["user"] = [f"u{i // rows}" for i in range(n)]
    frame["reward"] = (x * w).sum(1) + 0.2 * rng.standard_normal(n)
    return frame


def ended(jobs: Jobs, job: JobView, seconds: float = 300.0) -> JobView:
    """The job once it has ended; the first one may have to compile."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        found = jobs.job("shop", job.id)
        if found.ended is not None:
            return found
        time.sleep(0.02)
    raise AssertionError(f"the job has not ended: {jobs.job('shop', job.id)}")


def tables(database: Database, *, but: tuple[str, ...] = ()) -> dict[str, list[Any]]:
    """The content of all tables."""
    with database.reading() as connection:
        return {
            name: sorted(map(repr, connection.execute(select(each)).all()))
            for name, each in schema.metadata.tables.items()
            if name not in but
        }


def in_folder(folder: Path, name: str, frame: pd.DataFrame) -> str:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".csv":
        frame.to_csv(path, index=False)
    else:
        frame.to_parquet(path)
    return name


class InThread:
    """Does a job in a thread: a process would take seconds to begin."""

    def __init__(self, work: Work) -> None:
        work.files = [str(Path(work.folder) / name) for name in work.files]
        self.answers: queue.Queue[Answer] = queue.Queue()
        self._thread = threading.Thread(target=self._do, args=(work,))
        self._thread.start()

    def _do(self, work: Work) -> None:
        self.answers.put(answer(work, self.answers.put))

    def next(self, seconds: float) -> Answer | None:
        try:
            return self.answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def end(self) -> None:
        self._thread.join()
