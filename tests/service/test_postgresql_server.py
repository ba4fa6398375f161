"""The PostgreSQL server of the tests: it can be paused, ended and started, and leaves nothing."""

import subprocess
import sys
import time
from pathlib import Path

import psycopg
import pytest
from benchmarks.service.postgresql import PostgreSQL

pytestmark = pytest.mark.slow

_HOLDS_A_SERVER = """
from benchmarks.service.postgresql import PostgreSQL
server = PostgreSQL()
print(server.url(), flush=True)
input()
"""


def _answers(url: str, timeout: int = 2) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=timeout) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def test_pauses_and_goes_away(postgresql_server: PostgreSQL, postgresql: str) -> None:
    with psycopg.connect(postgresql) as connection:
        connection.execute("CREATE TABLE kept (x integer)")
    with postgresql_server.paused():
        assert not _answers(postgresql)
    assert _answers(postgresql)
    with postgresql_server.away():
        assert not _answers(postgresql)
    with psycopg.connect(postgresql) as connection:
        assert connection.execute("SELECT count(*) FROM kept").fetchone() == (0,)


def test_a_killed_process_leaves_no_server(postgresql: str) -> None:
    """The server ends, and its folder goes, with the process that started it."""
    program = (
        "from benchmarks.service.postgresql import *; s = PostgreSQL(); print(s.url(), flush=1)"
    )
    child = subprocess.Popen(
        [sys.executable, "-c", program + "; input()"], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert child.stdout is not None
    assert child.stdin is not None
    url = child.stdout.readline().decode().strip()
    folder = Path(url.partition("host=")[2])
    assert _answers(url)
    child.kill()
    child.wait()
    child.stdin.close()
    child.stdout.close()
    end = time.monotonic() + 20
    while folder.exists():
        if time.monotonic() > end:
            pytest.fail(f"{folder} is still there")
        time.sleep(0.05)
