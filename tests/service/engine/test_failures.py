"""Where the store fails, nothing wrong is answered, and nothing is lost afterwards."""

import shutil
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import pytest
from sqlalchemy import Connection
from sqlalchemy.exc import DatabaseError, OperationalError
from tests.service.engine.setting import D, content, decided, items, largest_error, paid, shop

from headstart.service.engine import catalogue
from headstart.service.engine.service import Service
from headstart.service.messages import (
    BanditConfiguration,
    DecisionRequest,
    RewardRequest,
    ServiceError,
)
from headstart.service.store.database import Database
from headstart.service.store.jobs import n_waiting


def test_a_failed_commit_changes_nothing_and_recovers(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(store) as service:
        one, two = (each.id for each in decided(service, "ann", "bob"))
        before, writing = content(service), Database.writing

        @contextmanager
        def full(database: Database) -> Iterator[Connection]:
            with writing(database) as connection:
                yield connection
                raise OperationalError("COMMIT", {}, sqlite3.OperationalError("disk is full"))

        with monkeypatch.context() as patch:
            patch.setattr(Database, "writing", full)
            reward = service.reward("shop", [RewardRequest(decision=one, value=1.0)])
            decision = service.decide("shop", [DecisionRequest(task="eve")])
            for future in (reward, decision):
                with pytest.raises(ServiceError) as error:
                    future.result(120)
                assert error.value.problem.status == 503
            assert not service.ready
        assert content(service) == before
        assert paid(service, [one, two, one]) == ["paid", "paid", "duplicate"]
        assert service.ready
        assert service.task("shop", "ann").n_rewards == 1
        assert largest_error(service) < 1e-12


def test_an_error_in_one_request_answers_the_others(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with shop(store) as service:
        shown = catalogue.Catalogue.shown

        def broken(self: object, request: DecisionRequest, names: object) -> object:
            if request.task == "broken":
                raise RuntimeError("a mistake in the program")
            return shown(self, request, names)  # type: ignore[arg-type]

        monkeypatch.setattr(catalogue.Catalogue, "shown", broken)
        names = ("ann", "broken", "bob")
        futures = [service.decide("shop", [DecisionRequest(task=name)]) for name in names]
        assert futures[0].result(120)
        assert futures[2].result(120)
        with pytest.raises(RuntimeError):
            futures[1].result(120)
        assert service.bandit("shop").tasks == 2


def test_after_stopping_requests_are_refused(store: str) -> None:
    with shop(store) as service:
        decided(service, "ann")
    with pytest.raises(ServiceError, match="the service is stopping"):
        service.decide("shop", [DecisionRequest(task="ann")])
    service.stop()


def test_a_store_goes_on_after_a_restart(store: str) -> None:
    with shop(store) as service:
        (before,) = decided(service, "ann")
        paid(service, [before.id])
        known = service.task("shop", "ann")
    with shop(store) as service:
        assert service.task("shop", "ann") == known
        assert paid(service, [before.id], 1.0) == ["duplicate"]
        (after,) = decided(service, "ann", "ann")[:1]
        assert after.id > before.id
        assert paid(service, [after.id]) == ["paid"]
        assert largest_error(service) < 1e-12


def test_few_tasks_in_memory_are_enough(store: str) -> None:
    service = Service.open(store, cache_bytes=0)
    with service as small:
        small.put_bandit("shop", BanditConfiguration(dimension=D))
        small.put_items("shop", items())
        names = [f"u{i}" for i in range(300)]
        for _ in range(2):
            answers = decided(small, *names)
            assert paid(small, [each.id for each in answers]) == ["paid"] * 300
        assert small.status()["tasks_in_memory"] <= 256  # type: ignore[operator]
        assert largest_error(small) < 1e-12


def test_a_damaged_file_is_not_ready_and_its_cause_is_logged(
    filled_store: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = Path(shutil.copy(filled_store, tmp_path / "store.sqlite"))
    with closing(sqlite3.connect(store)) as file:
        query = "SELECT rootpage FROM sqlite_schema WHERE name = 'jobs'"
        ((page,),) = file.execute(query).fetchall()
    with Service.open(store) as service:
        assert service.ready
        with store.open("r+b") as opened:
            opened.seek((page - 1) * 4096)
            opened.write(b"\xff" * 4096)
        for _ in range(2):
            with pytest.raises(DatabaseError), service.database.reading() as connection:
                n_waiting(connection)
        assert not service.ready  # though the latest transaction could be written
        assert service.status()["store_reachable"]
    said = [each.getMessage() for each in caplog.records if each.levelname == "ERROR"]
    assert len(said) == 1
    assert "the store is damaged" in said[0]
