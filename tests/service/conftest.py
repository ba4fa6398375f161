"""The stores of the service's tests: an SQLite file, and a database of a real PostgreSQL server."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from benchmarks.service.postgresql import NoPostgreSQL, PostgreSQL
from tests.needs import missing


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
