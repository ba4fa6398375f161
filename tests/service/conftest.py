"""The stores of the service's tests: an SQLite file, and a database of a real PostgreSQL server."""

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.service.postgresql import NoPostgreSQL, PostgreSQL
from tests.needs import missing
from tests.service.shop import Shop, add_jobs, fill, opened


@pytest.fixture(scope="session")
def postgresql_server() -> Iterator[PostgreSQL]:
    """A server for the tests of this process; half a second to start, so that each has its own."""
    try:
        server = PostgreSQL()
    except NoPostgreSQL as error:
        missing("postgresql", f"no PostgreSQL here: {error}")
    yield server
    server.close()


@pytest.fixture
def postgresql(postgresql_server: PostgreSQL) -> Iterator[str]:
    """The address of an empty database."""
    url = postgresql_server.create()
    yield url
    postgresql_server.drop(url)


@pytest.fixture(params=["sqlite", "postgresql"])
def store(request: pytest.FixtureRequest, tmp_path: Path) -> str:
    """A store that nothing has used, of each kind."""
    if request.param == "sqlite":
        return str(tmp_path / "store.sqlite")
    url: str = request.getfixturevalue("postgresql")
    return url


@pytest.fixture(scope="session")
def filled_store(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store that a service filled, and that nothing uses: tests copy it."""
    folder = tmp_path_factory.mktemp("filled")
    with opened(folder / "store.sqlite", folder) as shop:
        fill(shop)
        add_jobs(shop.jobs, folder / "data")
    return folder / "store.sqlite"


@pytest.fixture(scope="session")
def shared(filled_store: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Shop]:
    """A service on a filled store that tests only read."""
    folder = tmp_path_factory.mktemp("shared")
    with opened(shutil.copy(filled_store, folder), folder) as shop:
        yield shop


@pytest.fixture
def shop(filled_store: Path, tmp_path: Path) -> Iterator[Shop]:
    """A service on a filled store of the test's own."""
    with opened(shutil.copy(filled_store, tmp_path), tmp_path) as shop:
        yield shop
