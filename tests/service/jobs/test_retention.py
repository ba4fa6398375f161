"""Jobs that ended long ago are deleted; what a promoted fit came from is kept."""

import time
from typing import Any

import numpy as np
from sqlalchemy import insert, select

from headstart.live.stored import packed
from headstart.service.engine.retention import JOB_SECONDS, ROWS
from headstart.service.engine.service import Service
from headstart.service.messages import BanditConfiguration
from headstart.service.store import schema

NOW = time.time()
LONG_AGO = NOW - JOB_SECONDS - 3_600.0


def job(name: str, ended: float | None, status: str = "done") -> dict[str, Any]:
    return {
        "id": name,
        "bandit": 1,
        "kind": "fit",
        "status": status,
        "created": LONG_AGO,
        "ended": ended,
        "progress": 1.0,
        "step": status,
        "request": "{}",
    }


def fit(name: str, status: str) -> dict[str, Any]:
    return {
        "bandit": 1,
        "job": name,
        "time": LONG_AGO,
        "status": status,
        "memory": b"",
        "n_tasks": 0,
        "noise_scale": 1.0,
        "mean": packed(np.zeros(1)),
        "spread": packed(np.ones(1)),
        "report": "{}",
    }


def test_old_jobs_go_and_those_of_promoted_fits_stay(store: str) -> None:
    service = Service.open(store)
    service.start()
    service.put_bandit("shop", BanditConfiguration(dimension=1))
    service.stop()
    service = Service.open(store)
    kept = [
        job("promoted", LONG_AGO),
        job("recent", NOW),
        job("waiting", None, "waiting"),
    ]
    gone = [job("shadow", LONG_AGO), job("withdrawn", LONG_AGO), job("failed", LONG_AGO, "failed")]
    gone += [job(f"old-{n}", LONG_AGO) for n in range(ROWS + 10)]  # more than one step takes
    status = ("promoted", "shadow", "withdrawn")
    with service.database.writing() as connection:
        connection.execute(insert(schema.jobs), [*kept, *gone])
        connection.execute(insert(schema.fits), [fit(each, each) for each in status])
    with service:
        end = time.monotonic() + 60
        found: set[str] = set()
        while len(found) != len(kept):
            assert time.monotonic() < end, sorted(found)[:10]
            time.sleep(0.05)
            with service.database.reading() as connection:
                found = set(connection.execute(select(schema.jobs.c.id)).scalars())
                left = connection.execute(select(schema.fits.c.status)).scalars().all()
    assert found == {each["id"] for each in kept}
    assert sorted(left) == sorted(status)
