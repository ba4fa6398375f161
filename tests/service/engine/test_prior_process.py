"""Priors that another process computes are those that this one would."""

import os
import signal
import threading
from pathlib import Path

import numpy as np
import pytest
from tests.service.engine.setting import Clock, D, decided, items, paid
from tests.service.engine.test_priors import EXACT, play, taught
from tests.waiting import until

from headstart.service.engine.prior_process import PriorProcess
from headstart.service.engine.priors import NewPrior, Snapshot
from headstart.service.engine.service import Service
from headstart.service.messages import BanditConfiguration
from headstart.service.store.database import Database

pytestmark = pytest.mark.slow


def test_a_version_of_another_process_is_that_of_a_bandit_that_saw_everything(store: str) -> None:
    with Service.open(store, compute_apart=True) as service:
        service.put_bandit("shop", BanditConfiguration(dimension=D, prior=EXACT))
        service.put_items("shop", items())
        play(service, [f"u{i}" for i in range(8)], 4, seed=1)
        service.refresh("shop")
        found, expected = service.prior("shop"), taught(service).learned()
        np.testing.assert_allclose(found.mean, expected.mean, rtol=1e-8)
        assert found.n_tasks == 8


def test_another_process_is_started_for_one_that_ended() -> None:
    process = PriorProcess()
    try:
        with pytest.raises(RuntimeError, match="ServiceError"):
            process.compute(BanditConfiguration(), None, "refresh")  # type: ignore[arg-type]
        first = process.pid
        assert first is not None
        os.kill(first, signal.SIGKILL)
        with pytest.raises(OSError, match="has ended"):
            process.compute(BanditConfiguration(), None, "refresh")  # type: ignore[arg-type]
        with pytest.raises(RuntimeError):
            process.compute(BanditConfiguration(), None, "refresh")  # type: ignore[arg-type]
        assert process.pid not in (None, first)
    finally:
        process.stop()
    assert process.pid is None
    with pytest.raises(OSError, match="the service is stopping"):
        process.compute(BanditConfiguration(), None, "refresh")


class Stuck(PriorProcess):
    """Computes nothing until it is stopped, as on a machine that is short of processors."""

    def __init__(self) -> None:
        super().__init__()
        self.asked, self._end = threading.Event(), threading.Event()

    def compute(self, wanted: BanditConfiguration, snapshot: Snapshot, source: str) -> NewPrior:
        self.asked.set()
        self._end.wait()
        raise OSError("stopped")

    def stop(self) -> None:
        self._end.set()


def test_decisions_expire_while_a_prior_is_computed(tmp_path: Path) -> None:
    clock, process = Clock(), Stuck()
    database = Database.open(tmp_path / "store.sqlite")
    service = Service(database, clock=clock, cache_bytes=1 << 20, prior_process=process)
    with service:
        settings = BanditConfiguration(dimension=D, deadline_seconds=60.0)
        service.put_bandit("shop", settings)
        service.put_items("shop", items())
        ann, bob = (each.id for each in decided(service, "ann", "bob"))
        assert paid(service, [ann]) == ["paid"]
        assert process.asked.wait(60.0)
        clock.now += 61.0
        until(lambda: service.decision("shop", bob).status == "expired")
