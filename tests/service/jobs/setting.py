"""A service with jobs for tests, and the logs that they read."""

import queue
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import numpy as np
import pandas as pd
import pytest
from sqlalchemy import insert, select, update

from headstart.live.stored import StoredMemory
from headstart.live.stored.contributions import packed
from headstart.service.engine.configuration import model_of
from headstart.service.jobs import child, fits, frames, table
from headstart.service.jobs.jobs import Jobs
from headstart.service.jobs.messages import JobView
from headstart.service.messages import BanditConfiguration
from headstart.service.store import schema
from headstart.service.store.database import Database

# For tests of which nothing depends on the kind of store.
ON_SQLITE = pytest.mark.parametrize("store", ["sqlite"], indirect=True)

D = 3
W = np.array([1.0, -0.5, 0.25])
NAMES = ["age", "price", "size"]


class Owner:
    """What jobs need of a service: a database, a clock, and a prior that can be rebuilt."""

    def __init__(self, store: str, **configuration: Any) -> None:
        self.database = Database.open(store)
        self.clock: Callable[[], float] = time.time
        self.configuration = BanditConfiguration(dimension=D, **configuration)
        with self.database.writing() as connection:
            values = {"name": "shop", "created": 0.0, "changed": 0.0}
            content = msgspec.json.encode(self.configuration).decode()
            connection.execute(insert(schema.bandits).values(configuration=content, **values))

    def memory(self) -> StoredMemory:
        model = model_of(self.configuration, time.time)
        with self.database.reading() as connection:
            number, _ = table.bandit_of(connection, "shop")
            memory, promoted = fits.memories(connection, number)
        own = StoredMemory.empty(model)
        if memory is not None:
            own = StoredMemory.from_bytes(memory, model)
        return own.merged([StoredMemory.from_bytes(each, model) for each in promoted], model)

    def rebuild_prior(self, bandit: str, *, source: str) -> int:
        model = model_of(self.configuration, time.time)
        learned = self.memory().learned(model)
        bandits, priors = schema.bandits, schema.priors
        with self.database.writing() as connection:
            version = connection.execute(select(bandits.c.prior_version)).scalar_one() + 1
            values = {
                "bandit": 1,
                "version": version,
                "time": 0.0,
                "source": source,
                "memory": StoredMemory.empty(model).to_bytes(),
                "fits": "[]",
                "n_tasks": learned.n_tasks,
                "effective_tasks": learned.effective_tasks,
                "noise_scale": learned.noise_scale,
                "mean": packed(learned.mean),
                "spread": packed(learned.spread),
            }
            connection.execute(insert(priors).values(values))
            connection.execute(update(bandits).values(prior_version=version))
        return int(version)


def log(tasks: int = 30, rows: int = 8, seed: int = 0) -> pd.DataFrame:
    rng = np.random.default_rng(seed)
    n = tasks * rows
    x = rng.standard_normal((n, D))
    w = np.repeat(W + 0.3 * rng.standard_normal((tasks, D)), rows, axis=0)
    frame = pd.DataFrame(x, columns=NAMES)
    frame["user"] = [f"u{i // rows}" for i in range(n)]
    frame["reward"] = (x * w).sum(1) + 0.2 * rng.standard_normal(n)
    return frame


def ended(jobs: Jobs, job: JobView, seconds: float = 60.0) -> JobView:
    """The job once it has ended."""
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

    def __init__(self, work: frames.Work) -> None:
        work.files = [str(Path(work.folder) / name) for name in work.files]
        self.answers: queue.Queue[frames.Answer] = queue.Queue()
        self._thread = threading.Thread(target=self._do, args=(work,))
        self._thread.start()

    def _do(self, work: frames.Work) -> None:
        self.answers.put(child.answer(work, self.answers.put))

    def next(self, seconds: float) -> frames.Answer | None:
        try:
            return self.answers.get(timeout=seconds)
        except queue.Empty:
            return None

    def end(self) -> None:
        self._thread.join()
