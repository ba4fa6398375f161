"""Stores for the pages, and clients of them."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.service.dashboard import filled
from tests.service.dashboard.client import PageClient

from headstart.service.dashboard import application
from headstart.service.http import sessions
from headstart.service.store.database import Database


class Promotions:
    """Fits that note what was asked of them."""

    def __init__(self) -> None:
        self.calls: list[tuple[str, str, int]] = []

    def promote(self, bandit: str, fit: int) -> None:
        self.calls.append(("promote", bandit, fit))

    def withdraw(self, bandit: str, fit: int) -> None:
        self.calls.append(("withdraw", bandit, fit))


def logged_in(app: ASGIApp) -> ASGIApp:
    """The pages as an admin sees them, without the guard."""
    session = sessions.Session(key="k", name="test", role="admin")

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        sessions.attach(scope, session)
        await app(scope, receive, send)

    return inner


@pytest.fixture
def database(tmp_path: Path) -> Iterator[Database]:
    """An empty store."""
    found = Database.open(tmp_path / "store.sqlite")
    yield found
    found.close()


@pytest.fixture
def promotions() -> Promotions:
    return Promotions()


@pytest.fixture
def empty(database: Database, promotions: Promotions) -> PageClient:
    return PageClient(logged_in(application(filled.StoreService(database), promotions)))


@pytest.fixture
def client(database: Database, empty: PageClient) -> PageClient:
    """The pages of a store with some tasks."""
    filled.fill(database)
    return empty


@pytest.fixture
def reader(shared: Database) -> PageClient:
    """The pages of a filled store that tests only read."""
    return PageClient(logged_in(application(filled.StoreService(shared), Promotions())))


@pytest.fixture(scope="session")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Database]:
    """A filled store that tests only read."""
    found = Database.open(tmp_path_factory.mktemp("dashboard") / "store.sqlite")
    filled.fill(found)
    yield found
    found.close()
