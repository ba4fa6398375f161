"""Backup and restore: all tables, from either kind of store into either, whole or not at all."""

import os
import sqlite3
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import Boolean, Connection, LargeBinary, Table, Text, delete, insert, select, update
from typer.testing import CliRunner

from headstart.cli import app
from headstart.service.store import schema
from headstart.service.store.backup import backup, restore
from headstart.service.store.database import Database
from headstart.service.store.processes import ProcessNumber

_BANDIT = {"name": "new", "configuration": "{}", "created": 0, "changed": 0}
_FIT = {"bandit": 1, "job": "", "time": 0, "status": "shadow", "memory": b"", "n_tasks": 0}
_FIT |= {"noise_scale": 1, "mean": b"", "spread": b"", "report": "{}"}

Rows = dict[str, list[tuple[Any, ...]]]


def _value(table: Table, name: str, row: int) -> Any:
    """Some value of the column's type; NULL now and then where it may be."""
    column = table.c[name]
    if column.nullable and row % 2:
        return None
    if isinstance(column.type, Text):
        return f"é{row}"
    if isinstance(column.type, LargeBinary):
        return b"\x00\xff" + row.to_bytes(2, "little")
    if isinstance(column.type, Boolean):
        return bool(row % 2)
    return row if column.type.python_type is int else row / 3


def _fill(store: str, n: int = 5) -> None:
    database = Database.open(store)
    with database.writing() as connection:
        for table in schema.metadata.sorted_tables:
            if table is not schema.schema_version:
                rows = [{c.name: _value(table, c.name, 7 * i) for c in table.c} for i in range(n)]
                connection.execute(insert(table), rows)
        if not database.is_sqlite:  # which does not see the numbers that were given
            connection.exec_driver_sql("SELECT setval('bandits_id_seq', 28)")
    database.close()


def _content(store: str) -> Rows:
    database = Database.open(store)
    with database.reading() as connection:
        found = {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in schema.metadata.sorted_tables
        }
    database.close()
    return found


def _query(file: Path, statement: str) -> list[Any]:
    connection = sqlite3.connect(file)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()


@pytest.fixture
def other(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[[str], str]:
    """Another store that is empty, of the kind that is asked for."""

    def make(kind: str) -> str:
        if kind == "sqlite":
            return str(tmp_path / "other.sqlite")
        url: str = request.getfixturevalue("postgresql_server").create()
        return url

    return make


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_all_but_sessions_comes_back(
    store: str, kind: str, other: Callable[[str], str], tmp_path: Path
) -> None:
    _fill(store)
    expected = _content(store)
    expected["sessions"] = []
    file = tmp_path / "backup"
    written = backup(store, file)
    assert _content(store)["sessions"]  # only read
    target = other(kind)
    assert restore(target, file) == written
    assert _content(target) == expected
    assert written["tasks"] == len(expected["tasks"]) == 5


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_new_rows_get_new_numbers_after_a_restore(
    store: str, kind: str, other: Callable[[str], str], tmp_path: Path
) -> None:
    """Also where the row with the largest number, 4 · 7, was deleted before the backup."""
    _fill(store)
    database = Database.open(store)
    with database.writing() as connection:
        number = connection.execute(insert(schema.bandits).values(_BANDIT)).inserted_primary_key
        connection.execute(delete(schema.bandits).where(schema.bandits.c.name == "new"))
    database.close()
    assert number is not None
    file = tmp_path / "backup"
    backup(store, file)
    target = other(kind)
    restore(target, file)
    database = Database.open(target)
    with database.writing() as connection:
        new = connection.execute(insert(schema.bandits).values(_BANDIT)).inserted_primary_key
        fit = connection.execute(insert(schema.fits).values(_FIT)).inserted_primary_key
    database.close()
    assert new is not None
    assert fit is not None
    assert (new[0], fit[0]) == (number[0] + 1, 29)


def test_a_store_that_holds_something_is_replaced_only_by_force(store: str, tmp_path: Path) -> None:
    _fill(store, 3)
    before = _content(store)
    file = tmp_path / "backup"
    backup(store, file)
    _fill_more(store)
    more = _content(store)
    with pytest.raises(ValueError, match=r"store must be empty, got 3 bandits.*--force"):
        restore(store, file)
    assert _content(store) == more
    restore(store, file, force=True)
    assert _content(store) == before | {"sessions": []}


def _fill_more(store: str) -> None:
    database = Database.open(store)
    with database.writing() as connection:
        connection.execute(update(schema.tasks).values(n_rewards=77))
    database.close()


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_restore_that_fails_changes_nothing(
    kind: str, other: Callable[[str], str], tmp_path: Path
) -> None:
    """A row that breaks a constraint, met after most of the tables."""
    source, file = tmp_path / "store.sqlite", tmp_path / "backup"
    _fill(str(source))
    backup(source, file)
    target = other(kind)
    _fill(target, 2)
    before = _content(target)
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE rounds")
        connection.execute("CREATE TABLE rounds (bandit, control, round, process, n, sum, squares)")
        connection.executemany("INSERT INTO rounds VALUES (1, 1, 1, 1, 1, 1, 1)", [()] * 2)
    connection.close()
    with pytest.raises(Exception, match=r"(?i)unique"):
        restore(target, file, force=True)
    assert _content(target) == before


def test_a_backup_is_one_moment_while_the_store_is_written(store: str, tmp_path: Path) -> None:
    """Every transaction raises all counts by one: a backup that mixes two would show it."""
    _fill(store, 200)
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
            found = _query(tmp_path / f"{i}", "SELECT DISTINCT n_rewards FROM tasks")
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
    _fill(str(path))
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
    assert "one process at a time" in " ".join(refused.stderr.split())
    owner.close()


def test_a_store_that_processes_use_is_not_replaced(postgresql: str, tmp_path: Path) -> None:
    _fill(postgresql)
    file = tmp_path / "backup"
    database = Database.open(postgresql)
    process = ProcessNumber(database)
    backup(postgresql, file)
    with pytest.raises(ValueError, match=r"no process of the service, got 1: stop"):
        restore(postgresql, file, force=True)
    process.release()
    database.close()
    restore(postgresql, file, force=True)


def test_a_backup_is_one_file_for_its_owner_alone(store: str, tmp_path: Path) -> None:
    _fill(store)
    folder = tmp_path / "backups"
    folder.mkdir()
    file = folder / "backup"
    file.write_bytes(b"older")
    file.chmod(0o644)
    before = os.umask(0)
    try:
        backup(store, file)
    finally:
        os.umask(before)
    assert [each.name for each in folder.iterdir()] == ["backup"]
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    content = file.read_bytes()
    assert b"\xc3\xa928" in content  # a name that is kept
    assert _query(file, "SELECT count(*) FROM sessions") == [(0,)]


def test_a_backup_that_fails_leaves_the_older_one(tmp_path: Path) -> None:
    path, file = tmp_path / "store.sqlite", tmp_path / "backup"
    _fill(str(path))
    file.write_bytes(b"older")

    def fail(done: int, total: int) -> None:
        raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        backup(path, file, fail)
    assert file.read_bytes() == b"older"
    assert sorted(each.name for each in tmp_path.iterdir()) == [
        "backup",
        "store.sqlite",
        "store.sqlite.lock",
    ]


def test_an_older_backup_is_migrated_when_it_is_restored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, file, target = tmp_path / "old.sqlite", tmp_path / "backup", tmp_path / "new.sqlite"
    _fill(str(source))
    backup(source, file)
    before = file.read_bytes()

    def second(connection: Connection) -> None:
        connection.execute(update(schema.tasks).values(n_rewards=77))

    from headstart.service.store import database
    from headstart.service.store.migrations import STEPS

    monkeypatch.setattr(schema, "VERSION", 2)
    monkeypatch.setattr(database, "STEPS", [*STEPS, second])
    restore(target, file)
    assert {row[schema.tasks.c.n_rewards.name] for row in _tasks(target)} == {77}
    assert file.read_bytes() == before
    with pytest.raises(ValueError, match="store must have version 2, got 1"):
        backup(source, tmp_path / "another")


def _tasks(store: Path) -> list[dict[str, Any]]:
    found = Database.open(store)
    with found.reading() as connection:
        rows = [dict(row) for row in connection.execute(select(schema.tasks)).mappings()]
    found.close()
    return rows


def test_what_is_not_a_backup_is_refused(tmp_path: Path) -> None:
    target, file = tmp_path / "store.sqlite", tmp_path / "file"
    with pytest.raises(ValueError, match="which is not there"):
        restore(target, file)
    file.write_text("not a database, and longer than the head of one " * 20)
    with pytest.raises(ValueError, match="cannot be read"):
        restore(target, file)
    file.unlink()
    sqlite3.connect(file).close()
    with pytest.raises(ValueError, match="did not write"):
        restore(target, file)
    assert not target.exists()


def test_a_damaged_backup_is_refused(tmp_path: Path) -> None:
    source, file = tmp_path / "store.sqlite", tmp_path / "backup"
    _fill(str(source), 500)
    backup(source, file)
    content = bytearray(file.read_bytes())
    content[4096 * 8 : 4096 * 20] = bytes(4096 * 12)
    file.write_bytes(content)
    with pytest.raises(ValueError, match="file must be"):
        restore(tmp_path / "target.sqlite", file)


def test_a_store_that_is_not_there_is_not_made(tmp_path: Path) -> None:
    result = CliRunner().invoke(
        app, ["backup", "--store", str(tmp_path / "none"), str(tmp_path / "backup")]
    )
    assert result.exit_code == 2
    assert list(tmp_path.iterdir()) == []


def test_a_server_that_is_away_is_one_sentence(tmp_path: Path) -> None:
    url = f"postgresql://name:secret@/x?host={tmp_path}"
    result = CliRunner().invoke(app, ["backup", "--store", url, str(tmp_path / "backup")])
    assert result.exit_code == 2
    assert result.output.startswith("headstart backup: the store does not answer: connection")
    assert "secret" not in result.output
    assert "Traceback" not in result.output


def test_the_store_is_not_its_own_backup(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    _fill(str(path))
    with pytest.raises(ValueError, match="another than the store"):
        backup(path, path)
