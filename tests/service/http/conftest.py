"""A service that is fake, its application, and a client of it."""

from collections.abc import Iterator
from pathlib import Path
from typing import cast

import pytest
from tests.service.http.calling import Caller
from tests.service.http.fake import FakeService

from headstart.service.engine.service import Service
from headstart.service.http.app import Application, Limits
from headstart.service.http.logs import Log


@pytest.fixture
def fake(tmp_path: Path) -> Iterator[FakeService]:
    service = FakeService(tmp_path)
    yield service
    service.stop()


@pytest.fixture
def log_file(tmp_path: Path) -> Path:
    return tmp_path / "log"


@pytest.fixture
def app(fake: FakeService, log_file: Path) -> Iterator[Application]:
    with log_file.open("w") as stream:
        yield Application(
            cast(Service, fake),
            limits=Limits(body_bytes=1 << 20, waiting=3),
            log=Log("json", stream),
        )


@pytest.fixture
def client(app: Application) -> Caller:
    """A client without the lifespan, whose calls stay on this machine."""
    return Caller(app)
