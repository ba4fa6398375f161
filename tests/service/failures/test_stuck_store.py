"""A store that neither commits nor fails: callers are told so, and need not wait for it."""

import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import pytest

from headstart.service.engine import commit
from headstart.service.engine.commit import Committer, Slice, Work
from headstart.service.engine.transaction import Transaction
from headstart.service.messages import ServiceError
from headstart.service.store.database import Database


class Standing(Database):
    """A database whose transactions begin when the test says so."""

    def __init__(self, database: Database) -> None:
        self.asked, self.goes_on = threading.Event(), threading.Event()
        self._database = database

    @contextmanager
    def writing(self) -> Iterator[Any]:
        self.asked.set()
        self.goes_on.wait(30)
        with self._database.writing() as connection:
            yield connection


def _echo(transaction: Transaction, bandit: str, slices: Sequence[Slice]) -> list[Any]:
    return [each.rows for each in slices]


def test_requests_are_refused_while_the_store_stands_still(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(commit, "_STUCK_SECONDS", 0.2)
    database = Database.open(tmp_path / "store.sqlite")
    standing = Standing(database)
    committer = Committer(standing, {"echo": _echo}, time.time, 0)
    committer.start()
    begun = committer.submit(Work("echo", "", [1], single=True))
    assert standing.asked.wait(5)
    waiting = committer.submit(Work("echo", "", [2], single=True))
    time.sleep(0.3)
    assert committer.stuck
    with pytest.raises(ServiceError, match="the store does not answer") as refusal:
        committer.submit(Work("echo", "", [3], single=True))
    assert refusal.value.problem.status == 503
    with pytest.raises(ServiceError, match="the store does not answer"):
        waiting.result(5)
    standing.goes_on.set()
    assert begun.result(5) == 1  # it was under way: its answer comes
    assert committer.submit(Work("echo", "", [4], single=True)).result(5) == 4
    assert not committer.stuck
    committer.stop()
    database.close()
