"""Stores for the pages, each filled by the service, and clients of them."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from starlette.types import ASGIApp, Receive, Scope, Send
from tests.service.dashboard import filled
from tests.service.dashboard.client import PageClient
from tests.service.dashboard.filled import Shop

from headstart.service.dashboard import application
from headstart.service.http import sessions


def logged_in(app: ASGIApp) -> ASGIApp:
    """The pages as an admin sees them, without the guard."""
    session = sessions.Session(key="k", name="test", role="admin", csrf="token")

    async def inner(scope: Scope, receive: Receive, send: Send) -> None:
        sessions.attach(scope, session)
        await app(scope, receive, send)

    return inner


def pages_of(shop: Shop) -> PageClient:
    """The pages as an admin sees them."""
    return PageClient(logged_in(application(shop.service, shop.jobs)))


@pytest.fixture(scope="session")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A filled store that nothing uses: tests copy it."""
    folder = tmp_path_factory.mktemp("dashboard")
    with filled.opened(folder / "store.sqlite", folder) as shop:
        filled.fill(shop)
        filled.add_jobs(shop.jobs, folder / "data")
    return folder / "store.sqlite"


@pytest.fixture(scope="session")
def shared(filled_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A filled store that tests only read."""
    folder = tmp_path_factory.mktemp("shared")
    with filled.opened(shutil.copy(filled_store, folder), folder) as found:
        yield found


@pytest.fixture
def reader(shared: Shop) -> PageClient:
    """The pages of a filled store that tests only read."""
    return pages_of(shared)


@pytest.fixture
def shop(filled_store: Path, tmp_path: Path) -> Iterator[Shop]:
    """A filled store of the test's own."""
    with filled.opened(shutil.copy(filled_store, tmp_path), tmp_path) as found:
        yield found


@pytest.fixture
def client(shop: Shop) -> PageClient:
    """The pages of a filled store of the test's own."""
    return pages_of(shop)
