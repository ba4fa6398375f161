"""What a test may need and a machine may lack: data, a browser, a database, tools, npm, peers …

Where it is missing the test is skipped, with the reason. It fails instead where the variable
`HEADSTART_TESTS_NEED` names the need, as `.ci/run` has it.
"""

import os
from typing import NoReturn

import pytest


def demanded(need: str) -> bool:
    """Whether tests must not be skipped for want of this."""
    return need in os.environ.get("HEADSTART_TESTS_NEED", "").split()


def missing(need: str, reason: str) -> NoReturn:
    """Skip the test, or fail it where the need is demanded."""
    if demanded(need):
        pytest.fail(f"HEADSTART_TESTS_NEED has {need!r}: {reason}")
    pytest.skip(reason)
