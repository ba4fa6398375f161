"""Backup: all of a store as it is at one moment, in one file, whole or not at all."""

import os
import stat
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest
from sqlalchemy import update
from tests.service.store.filled import content, fill, query
from typer.testing import CliRunner

from headstart.cli import app
from headstart.service.store import schema
from headstart.service.store.backup import backup
from headstart.service.store.database import Database

pytestmark = pytest.mark.slow

_SECRET = "SELECT secret FROM schema_version"


def test_a_backup_is_one_moment_while_the_store_is_written(tmp_path: Path) -> None:
    """Every transaction raises all counts by one: a backup that mixes two would show it."""
    store = str(tmp_path / "store.sqlite")
    fill(store, 200)
    database = Database.open(store)
    with database.writing() as connection:
        connection.execute(update(schema.tasks).values(n_rewards=0))
    stop = threading.Event()
    n_commits = 0

    def write() -> None:
        nonlocal n_commits
        while not stop.is_set():
            with database.writing() as connection:
                connection.execute(
                    update(schema.tasks).values(n_rewards=schema.tasks.c.n_rewards + 1)
                )
            n_commits += 1

    writer = threading.Thread(target=write)
    writer.start()
    try:
        seen = []
        for i in range(5):
            before = n_commits
            backup(store, tmp_path / f"{i}")
            found = query(tmp_path / f"{i}", "SELECT DISTINCT n_rewards FROM tasks")
            assert len(found) == 1
            assert before <= found[0][0] <= n_commits + 1
            seen.append(found[0][0])
            time.sleep(0.02)
    finally:
        stop.set()
        writer.join()
        database.close()
    assert seen == sorted(seen)
    assert seen[-1] > seen[0]


def test_a_store_that_another_process_owns_is_backed_up(tmp_path: Path) -> None:
    path, file = tmp_path / "store.sqlite", tmp_path / "backup"
    fill(str(path))
    owner = Database.open(path)
    program = "from headstart.cli import app; app()"
    command = [sys.executable, "-c", program, "backup", "--store", str(path), str(file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "5 bandits, 5 tasks, 5 decisions" in done.stdout
    refused = subprocess.run(
        [*command[:3], "restore", "--force", "--store", str(path), str(file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert refused.returncode == 2
    assert "only one may use it" in " ".join(refused.stderr.split())
    owner.close()


def test_a_backup_is_one_file_for_its_owner_alone(tmp_path: Path) -> None:
    store = str(tmp_path / "store.sqlite")
    fill(store)
    folder = tmp_path / "backups"
    folder.mkdir()
    file = folder / "backup"
    file.write_bytes(b"older")
    file.chmod(0o644)
    before = os.umask(0)
    try:
        with pytest.raises(ValueError, match="exists: replace it"):
            backup(store, file)
        assert file.read_bytes() == b"older"
        backup(store, file, force=True)
    finally:
        os.umask(before)
    assert [each.name for each in folder.iterdir()] == ["backup"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert query(file, "SELECT count(*) FROM tasks") == [(5,)]
    # Who reads the backup can sign no cookie.
    assert query(file, _SECRET) != query(Path(store), _SECRET)


def test_a_damaged_store_is_not_backed_up(tmp_path: Path) -> None:
    """Whatever page is lost: no backup is written, the older one stays, or all rows are there."""
    store, file = tmp_path / "store.sqlite", tmp_path / "backup"
    fill(str(store), 60)
    rows = content(str(store))
    sound = store.read_bytes()
    refused = 0
    for page in range(1, len(sound) // 4096):
        damaged = bytearray(sound)
        damaged[page * 4096 : (page + 1) * 4096] = os.urandom(4096)
        store.write_bytes(damaged)
        file.write_bytes(b"older")
        try:
            backup(store, file, force=True)
        except ValueError:
            refused += 1
            assert file.read_bytes() == b"older"
        else:  # a page that is not in use
            assert content(str(file)) | {"schema_version": []} == rows | {"schema_version": []}
    assert refused > 30


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["backup", "--store", str(tmp_path / "none"), str(tmp_path / "backup")]
    )
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_postgresql_has_its_own_backups(postgresql: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="pg_dump"):
        backup(postgresql, tmp_path / "backup")


def test_the_store_is_not_its_own_backup(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    fill(str(path))
    with pytest.raises(ValueError, match="must differ from the store"):
        backup(path, path)
