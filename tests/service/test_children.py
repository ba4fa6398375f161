"""Child processes: what they answer, print and leave, and that they end with their parent."""

import os
import signal
import subprocess
import sys
import time
from multiprocessing.connection import Connection
from pathlib import Path

import pytest

from headstart.service.children import Child

pytestmark = pytest.mark.slow

COMPUTES_PRIORS = """
from headstart.service.children import Child
from headstart.service.engine.prior_process import main
child = Child(main)
"""
# In the middle of its work: a pipe as the log keeps it waiting.
DOES_A_JOB = """
from headstart.service.jobs.process import JobProcess
from headstart.service.jobs.work import FitWork, Update
from headstart.service.messages import BanditConfiguration, FitRequest
work = FitWork(
    folder=".",
    files=["slow.csv"],
    configuration=BanditConfiguration(dimension=3),
    request=FitRequest(dry_run=False),
)
child = JobProcess(work)
assert child.next(60.0) == Update(0.0, "opening the files")
"""
WAITS = "import time; print(child.pid, flush=True); time.sleep(600)"


def echo(connection: Connection) -> None:
    """Answer the sum of what comes, and print it; for a number, allocate so many bytes."""
    while (numbers := connection.recv()) is not None:
        if isinstance(numbers, int):
            try:
                connection.send(len(bytearray(numbers)))
            except MemoryError:
                connection.send("MemoryError")
            continue
        sys.stdout.write(f"{numbers}\n")
        sys.stderr.write(f"{numbers}\n")
        os.write(2, b"written")
        connection.send((sum(numbers), os.nice(0)))


@pytest.mark.parametrize("begins", [COMPUTES_PRIORS, DOES_A_JOB])
def test_a_child_ends_with_its_parent(begins: str, tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "slow.csv")
    parent = subprocess.Popen(
        [sys.executable, "-c", begins + WAITS], stdout=subprocess.PIPE, text=True, cwd=tmp_path
    )
    assert parent.stdout is not None
    child = int(parent.stdout.readline())
    parent.kill()
    parent.wait(10)
    parent.stdout.close()
    end = time.monotonic() + 120.0
    while _is_running(child) and time.monotonic() < end:
        time.sleep(0.05)
    assert not _is_running(child)


def _is_running(pid: int) -> bool:
    try:
        with open(f"/proc/{pid}/stat") as file:
            return file.read().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def test_a_child_answers_with_low_priority_and_prints_nothing(
    capfd: pytest.CaptureFixture[str],
) -> None:
    child = Child(echo, nice=10, most_bytes=1 << 30)
    numbers = list(range(100_000))
    child.connection.send(numbers)
    assert child.connection.recv() == (sum(numbers), os.nice(0) + 10)
    child.connection.send(2 << 30)
    assert child.connection.recv() == "MemoryError"
    child.connection.send(None)
    assert child.exit_status() == 0
    child.end()
    assert capfd.readouterr() == ("", "")


def test_the_end_of_a_child_is_known() -> None:
    child = Child(echo)
    os.kill(child.pid, signal.SIGKILL)
    with pytest.raises(EOFError):
        child.connection.recv()
    assert child.exit_status() == -signal.SIGKILL
    child.end()
    child.end()
