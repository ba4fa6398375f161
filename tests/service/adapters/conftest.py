"""One served shop for all the clients of a process."""

from collections.abc import Iterator

import pytest
from tests.service.adapters import setting


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[setting.Served]:
    with setting.shop(tmp_path_factory.mktemp("adapters")) as found:
        yield found
