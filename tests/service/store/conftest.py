"""What the tests of backup and restore share."""

from collections.abc import Callable
from pathlib import Path

import pytest


@pytest.fixture
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Another store that is empty, of the kind that is asked for."""

    def make(kind: str) -> str:
        if kind == "sqlite":
            return str(tmp_path / "other.sqlite")
        url: str = request.getfixturevalue("postgresql_server").create()
        return url

    return make
