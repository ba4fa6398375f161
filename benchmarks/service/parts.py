"""What `make bench-service` measures, part by part; each returns its figures."""

import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np
from benchmarks.service import many_tasks, null_worlds, sharing, vowpal_wabbit
from benchmarks.service.disk import SmallDisk
from benchmarks.service.failures import (
    Disturbance,
    Result,
    kills,
    rewards_sent_twice,
    under_load,
    without,
)
from benchmarks.service.load import PATH, set_up
from benchmarks.service.postgresql import PostgreSQL
from benchmarks.service.process import Process
from benchmarks.service.rates import measured
from benchmarks.service.steady import steady

from headstart.service.store.backup import backup, restore

Figures = dict[str, Any]
_N_TASKS = 1_000_000
_N_KILLS = 100
_KILL_SECONDS = 1_200.0
_MEMORY_SECONDS = 1_800.0
# Decisions that wait count as a default, and expire while the load goes on.
_DEFAULTS: Figures = {"deadline_seconds": 5.0, "default_reward": 0.25}
_SECONDS_AWAY = 30.0


@contextmanager
def _server() -> Iterator[PostgreSQL]:
    server = PostgreSQL(durable=True)
    try:
        yield server
    finally:
        server.close()


def _rates(folder: Path, _: str) -> Figures:
    """SQLite, one process: d = 20, K = 20."""
    with Process(folder / "store.sqlite", folder, "--no-log-requests") as process:
        set_up(process, 20, 20)
        _warm_up([process])
        return {
            "pairs": asdict(measured([process], "pairs")),
            "decisions": asdict(measured([process], "decide")),
            "batches": asdict(measured([process], "decide", connections=8, rows=100)),
            "resident_bytes": process.resident_bytes(),
        }


def _postgresql(folder: Path, _: str) -> Figures:
    """PostgreSQL with a commit that waits for the disk; two processes."""
    with _server() as server, ExitStack() as stack:
        store = server.create()
        first = stack.enter_context(Process(store, folder, "--no-log-requests"))
        second = stack.enter_context(Process(store, folder, "--no-log-requests"))
        set_up(first, 20, 20)
        both = [first, second]
        _warm_up(both)
        return {
            "one": asdict(measured([first], "pairs")),
            "two": asdict(measured(both, "pairs")),
            "batches": asdict(measured(both, "decide", connections=8, rows=100)),
        }


def _warm_up(processes: list[Process]) -> None:
    measured(processes, "pairs", seconds=3)


def _latency(folder: Path, _: str) -> Figures:
    """SQLite at 300 decisions and 300 rewards per second: d = 50, K = 200."""
    plan = {"per_second": 300.0, "n_tasks": 20_000, "seconds": 60.0}
    with Process(folder / "store.sqlite", folder, "--no-log-requests") as process:
        set_up(process, 50, 200)
        steady(process.port, plan | {"seconds": 10.0, "seed": 1})
        before = process.call("GET", f"{PATH}/prior")[1]["version"]
        found = steady(process.port, plan)
        after = process.call("GET", f"{PATH}/prior")[1]["version"]
    latencies = np.array(found["latencies"])
    shares = {"p50": 50.0, "p90": 90.0, "p99": 99.0, "p99.9": 99.9, "max": 100.0}
    return {
        "requests": len(latencies),
        "refused": found["refused"],
        "refreshes": after - before,
        **{name: float(np.percentile(latencies, share)) for name, share in shares.items()},
    }


def _figures(result: Result) -> Figures:
    return {**asdict(result), "clean": result.audit.clean}


def _kills_sqlite(folder: Path, _: str) -> Figures:
    store = str(folder / "store.sqlite")
    return _figures(under_load(store, folder, _kills(), **_DEFAULTS))


def _kills() -> Disturbance:
    return kills(_N_KILLS, seconds=_KILL_SECONDS, say=print)


def _kills_postgresql(folder: Path, _: str) -> Figures:
    with _server() as server:
        found = under_load(server.create(), folder, _kills(), n_processes=2, **_DEFAULTS)
        return _figures(found)


def _twice(folder: Path, _: str) -> Figures:
    with _server() as server:
        outcomes = rewards_sent_twice(server.create(), folder, 8_000)
    return {" + ".join(names): n for names, n in outcomes.items()}


def _away(folder: Path, _: str) -> Figures:
    """The server ends; then another that only stands still."""
    found = {}
    for name in ("away", "paused"):
        own = folder / name
        own.mkdir()
        with _server() as server:
            disturbance = without(getattr(server, name), _SECONDS_AWAY, 60.0)
            found[name] = _figures(under_load(server.create(), own, disturbance))
    return found


def _disk(folder: Path, _: str) -> Figures | None:
    """A disk that is full for some seconds; None without the right to mount one."""
    disk = SmallDisk(folder / "disk")
    if not disk.mount(64):
        return None
    try:
        store = str(disk.folder / "store.sqlite")
        return _figures(under_load(store, folder, without(disk.full, 10.0, 60.0)))
    finally:
        disk.unmount()


def _restart(folder: Path, _: str) -> Figures:
    """A million tasks, d = 20: seconds to ready, to back up, and to restore."""
    store = many_tasks.sampled(folder, 20)
    many_tasks.multiply(store, _N_TASKS)
    figures: Figures = {"tasks": _N_TASKS, "store_bytes": store.stat().st_size}
    figures["ready"] = [many_tasks.seconds_to_ready(store, folder) for _ in range(3)]
    begin = time.monotonic()
    backup(store, folder / "backup")
    figures["backup"] = time.monotonic() - begin
    store.unlink()
    begin = time.monotonic()
    restore(folder / "restored.sqlite", folder / "backup")
    figures["restore"] = time.monotonic() - begin
    return figures


def _sizes(folder: Path, _: str) -> Figures:
    """Bytes on disk per task and per decision, by d."""
    return {str(d): many_tasks.row_bytes(many_tasks.sampled(folder, d)) for d in (5, 20, 50, 100)}


def _peers(folder: Path, python: str) -> Figures | None:
    found = vowpal_wabbit.decisions_per_second(python, dimension=20, n_arms=20)
    return None if found is None else {"single": found[0], "stream": found[1]}


def _stall(folder: Path, _: str) -> Figures:
    """SQLite: one bandit's latencies while another takes the largest batches."""
    with Process(folder / "store.sqlite", folder, "--no-log-requests") as process:
        return {"batches": sharing.stall(process, seconds=20.0)}


def _many_bandits(folder: Path, _: str) -> Figures:
    """SQLite: 50 bandits, d = 20."""
    with Process(folder / "store.sqlite", folder, "--no-log-requests") as process:
        return sharing.many_bandits(process, 50, seconds=60.0)


def _memory(folder: Path, _: str) -> Figures:
    """SQLite: 64 MB of tasks in memory, d = 20."""
    options = ("--no-log-requests", "--cache", "64")
    with Process(folder / "store.sqlite", folder, *options) as process:
        return sharing.memory(process, seconds=_MEMORY_SECONDS)


def _null_worlds(folder: Path, _: str) -> Figures:
    return null_worlds.figures()


PARTS: dict[str, Callable[[Path, str], Figures | None]] = {
    "rates": _rates,
    "latency": _latency,
    "postgresql": _postgresql,
    "peers": _peers,
    "kills_sqlite": _kills_sqlite,
    "kills_postgresql": _kills_postgresql,
    "twice": _twice,
    "away": _away,
    "disk": _disk,
    "restart": _restart,
    "sizes": _sizes,
    "stall": _stall,
    "many_bandits": _many_bandits,
    "memory": _memory,
    "null_worlds": _null_worlds,
}
