"""Files: a request names none outside of the data folder, and an upload has a limit."""

import io
import os
import tempfile
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.service.jobs.setting import NAMES, ON_SQLITE, ended, in_folder, log, tables

from headstart.service.engine.service import Service
from headstart.service.jobs.files import Folders
from headstart.service.jobs.jobs import Jobs, uploads_folder
from headstart.service.messages import (
    BanditConfiguration,
    FitReport,
    FitRequest,
    LogColumns,
    ServiceError,
)

COLUMNS = LogColumns(task="user", features=NAMES)
CSV = log(tasks=5).to_csv(index=False).encode()


@pytest.fixture
def folders(tmp_path: Path) -> Folders:
    """A data folder with files, beside secrets, with links to them."""
    data = tmp_path / "data"
    for name in ("a.csv", "deep/b.csv", "deep/c.parquet"):
        (data / name).parent.mkdir(parents=True, exist_ok=True)
        (data / name).write_text("x")
    (tmp_path / "secret").mkdir()
    (tmp_path / "secret" / "keys.csv").write_text("secret")
    (tmp_path / "data-too").mkdir()
    (tmp_path / "data-too" / "near.csv").write_text("secret")
    (data / "link.csv").symlink_to(tmp_path / "secret" / "keys.csv")
    (data / "out").symlink_to(tmp_path / "secret")
    os.mkfifo(data / "pipe.csv")
    return Folders(data=data, uploads=tmp_path / "uploads")


def test_files_folders_and_patterns(folders: Folders) -> None:
    assert folders.resolve(["a.csv"]) == ["a.csv"]
    assert folders.resolve(["./deep"]) == ["deep/b.csv", "deep/c.parquet"]
    assert folders.resolve(["deep/*.csv", "a.csv"]) == ["deep/b.csv", "a.csv"]
    with pytest.raises(ServiceError, match=r"named once, got 'a.csv' twice"):
        folders.resolve(["a.csv", "./a.csv"])


def test_a_parquet_file_that_would_become_too_large_is_refused_by_its_footer(
    tmp_path: Path,
) -> None:
    folders = Folders(data=None, uploads=tmp_path, largest_upload=20_000)
    content = io.BytesIO()
    pd.DataFrame({"user": ["ann"] * 30_000, "reward": [1.0] * 30_000}).to_parquet(content)
    with folders.receive("application/vnd.apache.parquet") as upload:
        upload.write(content.getvalue())
    with pytest.raises(ServiceError, match="at most 10,000 values, got 30,000 rows of 2") as error:
        upload.check()
    assert error.value.problem.status == 413
    with folders.receive("application/vnd.apache.parquet") as broken:
        broken.write(b"PAR1, it says")
    with pytest.raises(ServiceError, match="must be a Parquet file"):
        broken.check()


HOSTILE = [
    "",
    ".",
    "..",
    "/etc/passwd",
    "../secret/keys.csv",
    "deep/../../secret/keys.csv",
    "../data-too/near.csv",
    "..\\secret\\keys.csv",
    "link.csv",
    "out",
    "out/keys.csv",
    "*/keys.csv",
    "**/*.csv",
    "link*",
    "../*/keys.csv",
    "file:///etc/passwd",
    "s3://bucket/log.parquet",
    "a.csv\0",
    "nothing.csv",
    "x" * 1000,
    "~/log.csv",
    "pipe.csv",
    "pipe*",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_path_is_refused(folders: Folders, tmp_path: Path, name: str) -> None:
    with pytest.raises(ServiceError) as error:
        folders.resolve(["a.csv", name])
    assert error.value.problem.status == 422
    assert str(tmp_path) not in error.value.problem.detail


@given(st.lists(st.sampled_from(["..", ".", "deep", "a.csv", "out", "*", "**", "/", "link.csv"])))
def test_no_path_leads_out(parts: list[str]) -> None:
    with tempfile.TemporaryDirectory() as name:
        top = Path(name).resolve()
        (top / "data" / "deep").mkdir(parents=True)
        (top / "secret.csv").write_text("secret")
        (top / "data" / "a.csv").write_text("x")
        (top / "data" / "out").symlink_to(top)
        (top / "data" / "link.csv").symlink_to(top / "secret.csv")
        folders = Folders(data=top / "data", uploads=top / "uploads")
        found: list[str] = []
        with suppress(ServiceError):
            found = folders.resolve(["/".join(parts)])
        for each in found:
            assert (top / "data" / each).resolve().is_relative_to(top / "data")


def test_without_a_data_folder_no_file_can_be_named(tmp_path: Path) -> None:
    with pytest.raises(ServiceError, match="no data folder"):
        Folders(data=None, uploads=tmp_path).resolve(["a.csv"])


def test_an_upload_has_a_limit_and_a_type(tmp_path: Path) -> None:
    folders = Folders(data=None, uploads=tmp_path / "uploads", largest_upload=10)
    with suppress(KeyError), folders.receive("text/csv; charset=utf-8") as upload:
        upload.write(b"0123456789")
        with pytest.raises(ServiceError, match="at most 10 bytes") as error:
            upload.write(b"0")
        raise KeyError  # as the body of a request that breaks off
    assert error.value.problem.status == 413
    assert list((tmp_path / "uploads").iterdir()) == []
    with pytest.raises(ServiceError, match="got 'application/zip'") as error:
        folders.receive("application/zip")
    assert error.value.problem.status == 415


def test_uploads_are_readable_by_their_owner_alone(tmp_path: Path) -> None:
    folders = Folders(data=None, uploads=tmp_path / "uploads")
    with folders.receive("text/csv") as upload:
        upload.write(b"x")
    for path in (folders.uploads, *folders.uploads.rglob("*")):
        assert path.stat().st_mode & 0o077 == 0


def test_old_uploads_without_a_job_are_swept(tmp_path: Path) -> None:
    folders = Folders(data=None, uploads=tmp_path / "uploads")
    names = []
    for _ in range(3):
        with folders.receive("text/csv") as upload:
            upload.write(b"x")
        names.append(upload.name)
    for name in names[:2]:
        os.utime(folders.uploads / name, (0, 0))
    folders.sweep(names[:1])
    assert {each.name for each in folders.uploads.iterdir()} == {names[0], names[2]}


@ON_SQLITE
def test_an_upload_is_read_and_deleted(jobs: Jobs) -> None:
    with jobs.receive("text/csv") as upload:
        upload.write(CSV[:100])
        upload.write(CSV[100:])
    job = ended(jobs, jobs.start_fit("shop", FitRequest(columns=COLUMNS), upload))
    assert job.error is None
    assert isinstance(job.report, FitReport)
    assert job.report.log.rows == 40
    jobs.stop()
    assert list(jobs.folders.uploads.iterdir()) == []


@ON_SQLITE
def test_a_refused_request_changes_nothing(jobs: Jobs, service: Service, data: Path) -> None:
    in_folder(data, "a.csv", log(tasks=5))
    before = tables(service.database)
    for status, bandit, request, words in (
        (404, "other", FitRequest(files=["a.csv"], columns=COLUMNS), "no bandit 'other'"),
        (
            422,
            "shop",
            FitRequest(columns=COLUMNS),
            "name files of the data folder, or upload one log",
        ),
        (422, "shop", FitRequest(files=["../a.csv"], columns=COLUMNS), "without '..'"),
        (422, "shop", FitRequest(files=["a.csv"], columns=LogColumns(features=["a"])), "got 1"),
        (
            422,
            "shop",
            FitRequest(files=["a.csv"], columns=LogColumns(about=["age"])),
            "about must be the 0 columns",
        ),
    ):
        with pytest.raises(ServiceError, match=words) as error:
            jobs.start_fit(bandit, request)
        assert error.value.problem.status == status
    with jobs.receive("text/csv") as upload:
        upload.write(CSV)
    with pytest.raises(ServiceError, match="or upload one log"):
        jobs.start_fit("shop", FitRequest(files=["a.csv"], columns=COLUMNS), upload)
    assert list(jobs.folders.uploads.iterdir()) == []
    assert tables(service.database) == before


@ON_SQLITE
def test_features_in_another_order_are_refused(jobs: Jobs, service: Service, data: Path) -> None:
    """The columns would be taken for each other."""
    service.put_bandit("named", BanditConfiguration(feature_names=NAMES))
    name = in_folder(data, "a.csv", log(tasks=5))
    columns = LogColumns(task="user", features=NAMES[::-1])
    with pytest.raises(ServiceError, match="must be in the order of the bandit's"):
        jobs.start_fit("named", FitRequest(files=[name], columns=columns))
    jobs.start_fit("named", FitRequest(files=[name], columns=COLUMNS))


def test_uploads_are_beside_an_sqlite_file(tmp_path: Path) -> None:
    assert uploads_folder(tmp_path / "s.db") == tmp_path / "s.db.uploads"
    assert "headstart-uploads-" in str(uploads_folder("postgresql://a:b@host/name"))
