"""The page of jobs, over a store that the service itself has filled."""

import time
from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.service.http.calling import Caller
from tests.service.jobs.setting import NAMES, InThread, in_folder, log, opened

from headstart.service.dashboard import application
from headstart.service.http.app import Application
from headstart.service.jobs.jobs import Jobs


@pytest.fixture
def caller(tmp_path: Path) -> Iterator[Caller]:
    """The interface and the pages of a service with a bandit named shop, and a log of its own."""
    service = opened(str(tmp_path / "store.sqlite"))
    in_folder(tmp_path / "data", "clicks.csv", log())
    jobs = Jobs(service, uploads=tmp_path / "uploads", data=tmp_path / "data", begin=InThread)
    jobs.start()
    yield Caller(Application(service, jobs=jobs, pages=application(service, jobs)))
    jobs.stop()
    service.stop()


def ended(caller: Caller, path: str, request: dict[str, object]) -> str:
    """The status of a job that was asked for over the interface, once it has ended."""
    job = caller.post(f"/v1/bandits/shop/{path}", json=request).json()
    end = time.monotonic() + 120.0
    while time.monotonic() < end:
        now = caller.get(f"/v1/bandits/shop/jobs/{job['id']}").json()
        if now["ended"] is not None:
            return str(now["status"])
        time.sleep(0.02)
    raise AssertionError(f"the job has not ended: {now}")


def test_a_job_says_what_it_reads_and_what_for(caller: Caller) -> None:
    columns = {"task": "user", "features": NAMES}
    request: dict[str, object] = {"files": ["clicks.csv"], "columns": columns}
    assert ended(caller, "fit", request) == "done"
    assert "clicks.csv · dry run" in caller.get("/jobs").text
    assert ended(caller, "fit", request | {"dry_run": False}) == "done"
    assert "clicks.csv · shadow fit" in caller.get("/jobs").text
    assert ended(caller, "evaluate", {"files": ["clicks.csv"]}) == "failed"
    page = caller.get("/jobs").text
    assert ["Off-policy evaluation" in page, "a log that was uploaded" in page] == [True, False]


def test_an_uploaded_log_has_no_name(caller: Caller) -> None:
    content = log().rename(columns={"user": "task"}).to_csv(index=False).encode()
    answer = caller.post(
        "/v1/bandits/shop/fit",
        params={"request": '{"columns": {"features": ["age", "price", "size"]}}'},
        content=content,
        headers={"content-type": "text/csv"},
    )
    assert answer.status_code == 202
    assert "a log that was uploaded · dry run" in caller.get("/jobs").text
