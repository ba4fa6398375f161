"""Jobs on each kind of store; they are done in threads, but where a test is about processes."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.jobs.setting import InThread, opened

from headstart.service.engine.service import Service
from headstart.service.jobs.jobs import Jobs


@pytest.fixture
def data(tmp_path: Path) -> Path:
    """The data folder."""
    folder = tmp_path / "data"
    folder.mkdir()
    return folder


@pytest.fixture
def service(store: str) -> Iterator[Service]:
    """A service with a bandit named shop."""
    found = opened(store)
    yield found
    found.stop()


@pytest.fixture
def jobs(service: Service, data: Path, tmp_path: Path) -> Iterator[Jobs]:
    """Its jobs, which are being done."""
    found = Jobs(service, uploads=tmp_path / "uploads", data=data, begin=InThread)
    found.start()
    yield found
    found.stop()
