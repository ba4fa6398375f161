"""Failures under load, in a reduced form: what was acknowledged is kept and counts once.

The whole form is `make bench-service`: 100 kills on each store, a database that is away for 30 s.
"""

import asyncio
from collections.abc import Sequence
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from benchmarks.service import disk
from benchmarks.service.audit import replayed
from benchmarks.service.failures import (
    DIMENSION,
    Result,
    kills,
    rewards_sent_twice,
    under_load,
    without,
)
from benchmarks.service.load import PATH, Records
from benchmarks.service.postgresql import PostgreSQL
from benchmarks.service.process import Process

from headstart.service.store.backup import backup, restore
from headstart.service.store.database import snapshot

pytestmark = pytest.mark.slow


def _check(result: Result) -> None:
    assert result.wrong == []
    assert result.audit.clean, result.audit
    assert result.audit.decisions > 100
    assert result.audit.rewards > 100


@pytest.mark.parametrize("settings", [{}, {"deadline_seconds": 2.0, "default_reward": 0.25}])
def test_nothing_is_lost_or_counted_twice_when_a_process_is_killed(
    store: str, tmp_path: Path, settings: dict[str, float]
) -> None:
    """Twice kill -9, on PostgreSQL of one of two processes, and a copy in between.

    Rewards come in parts, some are corrected, and decisions expire meanwhile. A copy is one
    state: a replay of its decisions gives its statistics.
    """
    found = []

    async def disturb(processes: Sequence[Process], records: Records) -> None:
        await kills(1, seed=1)(processes, records)
        copied = tmp_path / "copy"
        if store.startswith("postgresql"):
            await asyncio.to_thread(restore, copied, store)
        else:
            await asyncio.to_thread(backup, store, copied)
        with snapshot(copied) as connection:
            found.append(replayed(connection, DIMENSION))
        await kills(1, seed=2)(processes, records)

    n_processes = 2 if store.startswith("postgresql") else 1
    result = under_load(store, tmp_path, disturb, n_processes=n_processes, **settings)
    _check(result)
    assert result.n_broken > 0  # requests were under way
    (miscounted, deviation) = found[0]
    assert miscounted == 0
    assert deviation <= 1e-9


def test_a_reward_sent_to_two_processes_at_once_is_paid_once(
    postgresql: str, tmp_path: Path
) -> None:
    assert rewards_sent_twice(postgresql, tmp_path, 160) == {("duplicate", "paid"): 160}


def _refused(process: Process) -> None:
    """A clear sentence, and nothing else."""
    status, problem = process.call("POST", f"{PATH}/decisions", {"task": "a"}, timeout=10.0)
    assert status == 503
    assert problem["status"] == 503
    assert problem["title"] == "Service unavailable"
    assert len(problem["detail"]) > 20
    assert process.call("GET", "/readyz")[0] == 503
    assert process.call("GET", "/healthz")[0] == 200


def test_a_database_that_is_away_is_503_until_it_is_back(
    postgresql_server: PostgreSQL, postgresql: str, tmp_path: Path
) -> None:
    async def disturb(processes: Sequence[Process], records: Records) -> None:
        def away() -> AbstractContextManager[None]:
            return postgresql_server.away()

        await without(away, 2.0, 30.0, meanwhile=lambda: _refused(processes[0]))(processes, records)

    result = under_load(postgresql, tmp_path, disturb)
    _check(result)
    assert result.n_unavailable > 0
    assert result.n_broken == 0  # every request is answered


def test_a_full_disk_is_503_until_there_is_space(tmp_path: Path) -> None:
    store = tmp_path / "store.sqlite"

    async def disturb(processes: Sequence[Process], records: Records) -> None:
        def full() -> AbstractContextManager[None]:
            return disk.limited(processes, store)

        await without(full, 1.0, 30.0)(processes, records)

    result = under_load(str(store), tmp_path, disturb)
    _check(result)
    assert result.n_unavailable > 0
    assert result.n_broken == 0


def test_what_was_begun_is_ended_when_a_process_is_asked_to_stop(tmp_path: Path) -> None:
    async def disturb(processes: Sequence[Process], records: Records) -> None:
        while len(records.decisions) < 120:
            await asyncio.sleep(0.01)
        assert await asyncio.to_thread(processes[0].stop) == 0
        await asyncio.to_thread(processes[0].start)

    _check(under_load(str(tmp_path / "store.sqlite"), tmp_path, disturb))
