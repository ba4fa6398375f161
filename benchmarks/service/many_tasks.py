"""A store with many tasks: how long a process needs to be ready, and what a row takes on disk."""

import sqlite3
import time
from pathlib import Path

from benchmarks.service.load import PATH, set_up
from benchmarks.service.process import Process

_SAMPLE = 1_000
_ROUNDS = 4
_SECONDS = 20.0


def sampled(folder: Path, dimension: int) -> Path:
    """A store with some tasks that have decided and learned, and that the prior counts in part."""
    store = folder / f"sample-{dimension}.sqlite"
    with Process(store, folder) as process:
        set_up(process, dimension, 20)
        for _ in range(_ROUNDS):
            tasks = [{"task": f"task{i}"} for i in range(_SAMPLE)]
            _, answers = process.call("POST", f"{PATH}/decisions", tasks)
            rewards = [{"decision": each["id"], "value": 1.0} for each in answers]
            process.call("POST", f"{PATH}/rewards", rewards)
        end = time.monotonic() + _SECONDS
        while time.monotonic() < end and _n_counted(process) < _SAMPLE:
            time.sleep(0.2)
    return store


def _n_counted(process: Process) -> int:
    return int(process.call("GET", f"{PATH}/prior")[1]["n_tasks"])


def row_bytes(store: Path) -> dict[str, float]:
    """Bytes per task, with what the prior counts of it, and per decision, in an SQLite file."""
    connection = sqlite3.connect(store)
    try:
        connection.isolation_level = None
        full = _size(connection)
        connection.execute("DELETE FROM decisions")
        without_decisions = _size(connection)
        n_counted: int = connection.execute("SELECT count(*) FROM contributions").fetchone()[0]
        connection.execute("DELETE FROM contributions")
        without_contributions = _size(connection)
        connection.execute("DELETE FROM tasks")
        without_tasks = _size(connection)
    finally:
        connection.close()
    return {
        "decision": (full - without_decisions) / (_SAMPLE * _ROUNDS),
        "task": (without_contributions - without_tasks) / _SAMPLE
        + (without_decisions - without_contributions) / max(1, n_counted),
    }


def _size(connection: sqlite3.Connection) -> int:
    connection.execute("VACUUM")
    connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    pages: int = connection.execute("PRAGMA page_count").fetchone()[0]
    size: int = connection.execute("PRAGMA page_size").fetchone()[0]
    return pages * size


def multiply(store: Path, n: int) -> None:
    """Have n tasks in all, as copies of those that are there."""
    connection = sqlite3.connect(store)
    try:
        connection.execute("PRAGMA synchronous = OFF")
        names = [row[1] for row in connection.execute("PRAGMA table_info(tasks)")]
        first = connection.execute("SELECT max(id) FROM tasks").fetchone()[0]
        shared = [name for name in names if name not in ("id", "name")]
        columns, values = ", ".join(shared), ", ".join(f"tasks.{name}" for name in shared)
        for i in range(1, -(-n // _SAMPLE)):
            connection.execute(
                f"INSERT INTO tasks (name, {columns}) SELECT tasks.name || '-' || {i}, {values} "
                "FROM tasks WHERE tasks.id <= ?",
                (first,),
            )
            if i % 50 == 0:
                connection.commit()
        connection.commit()
        connection.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    finally:
        connection.close()


def seconds_to_ready(store: Path, folder: Path) -> float:
    """How long a new process needs until it answers."""
    with Process(store, folder) as process:
        return process.seconds_to_ready
