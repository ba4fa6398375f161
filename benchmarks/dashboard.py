"""What each page of the dashboard takes on a store of a million tasks and ten million decisions.

    python -m benchmarks.dashboard [--tasks 1000000] [--decisions 10000000] [--store FILE]

prints, per page, milliseconds of its queries and of all of it, and of the processor for all of it,
each the best of ten.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import httpx
from sqlalchemy import event, text
from starlette.applications import Starlette
from tests.service.dashboard.client import PageClient
from tests.service.shop import BANDIT, NOW, Shop, configuration, opened
from tests.service.shop import fill as fill_by_requests

from headstart.service.dashboard import application
from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs
from headstart.service.store.database import Database

_SERIES = (
    "WITH RECURSIVE series(i) AS (SELECT 0 UNION ALL SELECT i + 1 FROM series WHERE i + 1 < :n)"
)
# Task i has a decision every 1,000 s; ids are in the order of time, as those of the service.
_TASKS = f"""{_SERIES}
INSERT INTO tasks (bandit, name, control, opened, last_used, n_rewards, reward_sum,
                   early_rewards, early_sum, share, version, changed, counted_in, moves, about,
                   state)
SELECT :bandit, printf('user-%07d', i), i % 10 = 0, :now - 9e5, :now - 10 - i * 0.01, 10, 7.5,
       10, 7.5, 0.1, 1, 0, 40, 0, NULL, (SELECT state FROM tasks WHERE id = 1) FROM series"""
_DECISIONS = f"""{_SERIES}
INSERT INTO decisions (id, bandit, block, task, slate, rank, observed, arm, features, parts,
                       propensity, mean, half, prior_version, time, status, value, weight,
                       paid_time, round)
SELECT printf('%016x%016x', 1e15 + i, i), :bandit, :block + i / 32000, :first + i % :tasks, NULL,
       0, 0, 'arm-' || (i % 50), zeroblob(64), zeroblob(64), 0.5, 0.1, 0.2, 40,
       :now - 0.09 * (:n - i), CASE WHEN i > :n - 20000 THEN 0 ELSE 1 END, 0.3, 1.0,
       :now - 0.09 * (:n - i) + 3, i / :tasks + 1 FROM series"""
_MINUTES = f"""{_SERIES}
INSERT INTO minutes SELECT :bandit, :last - i / 8, i / 2 % 4, i % 2, 2, 600, 550, 3, 0, 0, 10, 1, 0,
       0, 0 FROM series"""
_ITEM_DAYS = f"""{_SERIES}
INSERT INTO item_days SELECT :bandit, :last - i / 4000, 'arm-' || (i / 4 % 1000), i % 4, 20, 18,
       6.0, 6.0 FROM series"""


def fill(shop: Shop, n_tasks: int, n_decisions: int) -> None:
    """An hour by requests, then as many tasks and decisions more.

    Minutes of half a year, and 1,000 items of 60 days.
    """
    fill_by_requests(shop)
    shop.service.put_bandit("idle", configuration())
    with shop.service.database.writing() as connection:
        given = {"bandit": 1, "now": NOW}
        first = connection.execute(text("SELECT MAX(id) + 1 FROM tasks")).scalar_one()
        block = connection.execute(text("SELECT MAX(block) + 1 FROM decisions")).scalar_one()
        connection.execute(text(_TASKS), given | {"n": n_tasks})
        numbers = {"n": n_decisions, "tasks": n_tasks, "first": first, "block": block}
        connection.execute(text(_DECISIONS), given | numbers)
        connection.execute(text("DELETE FROM minutes"))
        minutes = {"n": 8 * 60 * 24 * 180, "last": int(NOW // 60)}
        connection.execute(text(_MINUTES), given | minutes)
        days = {"n": 4 * 1000 * 60, "last": int(NOW // 86_400)}
        connection.execute(text("DELETE FROM item_days"))
        connection.execute(text(_ITEM_DAYS), given | days)


def pages(n_tasks: int, n_decisions: int) -> dict[str, str]:
    """The addresses of the pages by their names."""
    task, decision = n_tasks // 2, n_decisions // 2
    return {
        "overview, hour": f"/?bandit={BANDIT}",
        "overview, week": f"/?bandit={BANDIT}&window=week",
        "prior": f"/prior?bandit={BANDIT}",
        "tasks, last used": f"/tasks?bandit={BANDIT}",
        "tasks, search": f"/tasks?bandit={BANDIT}&prefix=user-05",
        "tasks, page in the middle": f"/tasks?bandit={BANDIT}&after={NOW - 5000}:{task}",
        "task": f"/task?bandit={BANDIT}&task=user-{task:07d}",
        "decisions": f"/decisions?bandit={BANDIT}",
        "decisions of an arm": f"/decisions?bandit={BANDIT}&arm=arm-7",
        "decisions, none matches": f"/decisions?bandit={BANDIT}&arm=none",
        "decisions of an idle bandit": "/decisions?bandit=idle",
        "decision": f"/decision?bandit={BANDIT}&id={10**15 + decision:016x}{decision:016x}",
        "items, a week": f"/items?bandit={BANDIT}",
        "items, a month": f"/items?bandit={BANDIT}&days=28",
    }


class Clock:
    """Seconds spent in queries."""

    def __init__(self, database: Database) -> None:
        self.seconds = 0.0
        engine = database._reader
        event.listen(engine, "before_cursor_execute", self._begin)
        event.listen(engine, "after_cursor_execute", self._end)

    def _begin(self, *_: Any) -> None:
        self._began = time.perf_counter()

    def _end(self, *_: Any) -> None:
        self.seconds += time.perf_counter() - self._began


def measure(app: Starlette, clock: Clock, path: str) -> list[float]:
    """Milliseconds of queries, of the page and of the processor, best of ten, and its kilobytes."""
    client = PageClient(app)
    found = []
    for _ in range(10):
        clock.seconds, start, work = 0.0, time.perf_counter(), time.process_time()
        answer: httpx.Response = client.get(path)
        wall, work = time.perf_counter() - start, time.process_time() - work
        found.append((1e3 * clock.seconds, 1e3 * wall, 1e3 * work, len(answer.content) / 1e3))
        if answer.status_code != 200:
            raise RuntimeError(f"{path} must answer 200, got {answer.status_code}")
    return [min(column) for column in zip(*found, strict=True)]


def main() -> None:
    """Fill the store if it is new, then measure."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--tasks", type=int, default=1_000_000)
    parser.add_argument("--decisions", type=int, default=10_000_000)
    parser.add_argument("--store", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = given.store or Path(folder) / "store.sqlite"
        new = not path.exists()
        if new:
            start = time.perf_counter()
            with opened(path, Path(folder)) as shop:
                fill(shop, given.tasks, given.decisions)
            print(f"filled in {time.perf_counter() - start:.0f} s")
        print(f"{path.stat().st_size / 2**30:.2f} GiB")
        service = Service.open(path, clock=lambda: NOW)  # not started: it only reads
        app = application(service, Jobs(service, uploads=Path(folder)))
        clock = Clock(service.database)
        print("| page | queries, ms | page, ms | processor, ms | kB |\n|---|---|---|---|---|")
        for name, address in pages(given.tasks, given.decisions).items():
            numbers = measure(app, clock, address)
            print(f"| {name} | {' | '.join(f'{n:.1f}' for n in numbers)} |")
        service.stop()


if __name__ == "__main__":
    main()
