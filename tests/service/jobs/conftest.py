"""Jobs on each kind of store; they are done in threads, but where a test is about processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.jobs.setting import InThread, Owner

from headstart.service.jobs.jobs import Jobs


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def owner(store: str) -> Iterator[Owner]:
    """A service with a bandit named shop."""
    service = Owner(store)
    yield service
    service.database.close()


@pytest.fixture
def jobs(owner: Owner, data: Path, tmp_path: Path) -> Iterator[Jobs]:
    """Its jobs, which are being done."""
    found = Jobs(owner, uploads=tmp_path / "uploads", data=data, begin=InThread)
    found.start()
    yield found
    found.stop()
