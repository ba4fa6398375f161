"""Processes of one function: one that is killed is replaced, and a signal ends all of them."""

import os
import signal
import threading
import time
from functools import partial
from pathlib import Path

import pytest

from headstart.service import workers


def work(folder: Path) -> bool:
    """Serve until a signal: a file named by the process says that it runs."""
    signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})
    (folder / str(os.getpid())).touch()
    signal.sigwait({signal.SIGTERM})
    return True


def failing() -> bool:
    return False


def running(folder: Path, n: int) -> list[int]:
    """The n processes that ever ran, once there are so many."""
    end = time.monotonic() + 60
    while len(list(folder.iterdir())) < n:
        assert time.monotonic() < end
        time.sleep(0.02)
    return [int(path.name) for path in folder.iterdir()]


def test_a_process_that_is_killed_is_replaced_and_a_signal_ends_all(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(workers, "_START_SECONDS", 0.0)
    reports: list[str] = []
    pids: list[int] = []

    def disturb() -> None:
        os.kill(running(tmp_path, 2)[0], signal.SIGKILL)
        pids.extend(running(tmp_path, 3))
        os.kill(os.getpid(), signal.SIGTERM)

    thread = threading.Thread(target=disturb)
    thread.start()
    assert workers.Workers(partial(work, tmp_path), 2, reports.append).run()
    thread.join()
    assert len(reports) == 1
    assert str(-signal.SIGKILL) in reports[0]
    assert len(pids) == 3
    for pid in pids:
        with pytest.raises(ProcessLookupError):
            os.kill(pid, 0)


def test_a_process_that_cannot_start_ends_all() -> None:
    assert not workers.Workers(failing, 2, print).run()
