"""Priors that another process computes are those that this one would."""

import os
import signal
import threading
import time
from pathlib import Path

import numpy as np
import pytest
from tests.service.engine.setting import Clock, D, decided, items, paid
from tests.service.engine.test_priors import EXACT, play, taught

from headstart.service.engine import refreshing
from headstart.service.engine.computing import Computing
from headstart.service.engine.service import Service
from headstart.service.messages import BanditConfiguration
from headstart.service.store.database import Database


def test_a_version_of_another_process_is_that_of_a_bandit_that_saw_everything(store: str) -> None:
    with Service.open(store, compute_apart=True) as service:
        service.administration.put_bandit("shop", BanditConfiguration(dimension=D, prior=EXACT))
        service.administration.put_items("shop", items())
        play(service, [f"u{i}" for i in range(8)], 4, seed=1)
        service.refresh("shop")
        found, expected = service.records.prior("shop"), taught(service).learned()
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-8)
        assert found.n_tasks == 8


def test_another_process_is_started_for_one_that_ended() -> None:
    computing = Computing()
    try:
        with pytest.raises(RuntimeError, match="ServiceError"):
            computing.compute(BanditConfiguration(), None, "refresh")  # type: ignore[arg-type]
        first = computing.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        with pytest.raises(OSError, match="has ended"):
            computing.compute(BanditConfiguration(), None, "refresh")  # type: ignore[arg-type]
        with pytest.raises(RuntimeError):
            computing.compute(BanditConfiguration(), None, "refresh")  # type: ignore[arg-type]
        assert computing.pid not in (None, first)
    finally:
        computing.stop()
    assert computing.pid is None
    with pytest.raises(OSError, match="the service is stopping"):
        computing.compute(BanditConfiguration(), None, "refresh")


class Stuck(Computing):
    """Computes nothing until it is stopped, as on a machine that is short of processors."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self._end = threading.Event(), threading.Event()

    def compute(
        self, given: BanditConfiguration, seen: refreshing.Seen, source: str
    ) -> refreshing.Refreshed:
        self.asked.set()
        self._end.wait()
        raise OSError("stopped")

    def stop(self) -> None:
        self._end.set()


def test_decisions_expire_while_a_prior_is_computed(tmp_path: Path) -> None:
    clock, computing = Clock(), Stuck()
    database = Database.open(tmp_path / "store.sqlite")
    service = Service(database, clock=clock, cache_bytes=1 << 20, computing=computing)
    with service:
        settings = BanditConfiguration(dimension=D, deadline_seconds=60.0)
        service.administration.put_bandit("shop", settings)
        service.administration.put_items("shop", items())
        ann, bob = (each.id for each in decided(service, "ann", "bob"))
        assert paid(service, [ann]) == ["paid"]
        assert computing.asked.wait(60.0)
        clock.now += 61.0
        end = time.monotonic() + 60.0
        while service.records.decision("shop", bob).status != "expired":
            assert time.monotonic() < end
            time.sleep(0.02)
