"""Restore: a backup, or a store of either kind, into either kind, in one transaction."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from sqlalchemy import delete, insert
from tests.service.store.filled import Rows, content, fill

from headstart.service.store import schema
from headstart.service.store.backup import backup, restore
from headstart.service.store.database import Database, ProcessNumber

pytestmark = pytest.mark.slow


def without_secret(rows: Rows) -> Rows:
    """All but the secret, which every store has of its own."""
    return rows | {"schema_version": []}


_BANDIT = {"name": "new", "configuration": "{}", "created": 0, "changed": 0}
_FIT = {"bandit": 1, "job": "", "time": 0, "status": "shadow", "memory": b"", "n_tasks": 0}
_FIT |= {"noise_scale": 1, "mean": b"", "spread": b"", "report": "{}"}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_all_comes_back(store: str, kind: str, other: Callable[[str], str]) -> None:
    fill(store)
    expected = content(store)
    target = other(kind)
    assert restore(target, store)["tasks"] == len(expected["tasks"]) == 5
    assert content(store) == expected
    assert without_secret(content(target)) == without_secret(expected)


def test_a_backup_comes_back(tmp_path: Path) -> None:
    store, file, new = (str(tmp_path / name) for name in ("store.sqlite", "backup", "new"))
    fill(store)
    written = backup(store, Path(file))
    assert restore(new, file) == written
    assert without_secret(content(new)) == without_secret(content(store))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_new_rows_get_new_numbers_after_a_restore(
    store: str, kind: str, other: Callable[[str], str]
) -> None:
    """Also where the row with the largest number, 4 · 7, was deleted before the backup."""
    fill(store)
    database = Database.open(store)
    with database.writing() as connection:
        number = connection.execute(insert(schema.bandits).values(_BANDIT)).inserted_primary_key
        connection.execute(delete(schema.bandits).where(schema.bandits.c.name == "new"))
    database.close()
    assert number is not None
    target = other(kind)
    restore(target, store)
    database = Database.open(target)
    with database.writing() as connection:
        new = connection.execute(insert(schema.bandits).values(_BANDIT)).inserted_primary_key
        fit = connection.execute(insert(schema.fits).values(_FIT)).inserted_primary_key
    database.close()
    assert new is not None
    assert fit is not None
    assert (new[0], fit[0]) == (number[0] + 1, 29)


def test_a_store_that_holds_something_is_replaced_only_by_force(
    store: str, other: Callable[[str], str]
) -> None:
    fill(store, 3)
    source = other("sqlite")
    fill(source, 4)
    before = content(store)
    with pytest.raises(ValueError, match=r"store must be empty, got 3 bandits.*--force"):
        restore(store, source)
    assert content(store) == before
    restore(store, source, force=True)
    assert without_secret(content(store)) == without_secret(content(source))


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_a_restore_that_fails_changes_nothing(
    kind: str, other: Callable[[str], str], tmp_path: Path
) -> None:
    """A row that breaks a constraint, met after most of the tables."""
    source = tmp_path / "store.sqlite"
    fill(str(source))
    target = other(kind)
    fill(target, 2)
    before = content(target)
    with sqlite3.connect(source) as connection:
        connection.execute("DROP TABLE rounds")
        connection.execute("CREATE TABLE rounds (bandit, control, round, process, n, sum, squares)")
        connection.executemany("INSERT INTO rounds VALUES (1, 1, 1, 1, 1, 1, 1)", [()] * 2)
    connection.close()
    with pytest.raises(Exception, match=r"(?i)unique"):
        restore(target, source, force=True)
    assert content(target) == before


def test_a_store_that_processes_use_is_not_replaced(
    postgresql: str, other: Callable[[str], str]
) -> None:
    source = other("sqlite")
    fill(source)
    database = Database.open(postgresql)
    process = ProcessNumber(database)
    with pytest.raises(ValueError, match=r"no process .* may use the store, got 1: stop"):
        restore(postgresql, source, force=True)
    process.release()
    database.close()
    restore(postgresql, source, force=True)


def test_only_tables_of_this_version_are_copied(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, file = tmp_path / "old.sqlite", tmp_path / "backup"
    fill(str(source))
    backup(source, file)
    old = schema.VERSION
    monkeypatch.setattr(schema, "VERSION", old + 1)
    refused = f"must be {old + 1}, got {old}"
    with pytest.raises(ValueError, match=refused):
        restore(tmp_path / "new", file)
    with pytest.raises(ValueError, match=refused):
        backup(source, tmp_path / "2")
    assert not (tmp_path / "new").exists()


def test_what_is_no_store_is_refused(tmp_path: Path) -> None:
    target, file = tmp_path / "store.sqlite", tmp_path / "file"
    with pytest.raises(ValueError, match="no such store"):
        restore(target, file)
    file.write_text("not a database, and longer than the head of one " * 20)
    with pytest.raises(ValueError, match="cannot be read"):
        restore(target, file)
    file.unlink()
    sqlite3.connect(file).close()
    with pytest.raises(ValueError, match="no tables"):
        restore(target, file)
    assert not target.exists()
