"""Restore: a backup of either kind of store into either kind, in one transaction."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from sqlalchemy import Connection, delete, insert, select, update
from tests.service.store.filled import content, fill

from headstart.service.store import schema
from headstart.service.store.backup import backup, restore, seal
from headstart.service.store.database import Database, ProcessNumber

pytestmark = pytest.mark.slow

_BANDIT = {"name": "new", "configuration": "{}", "created": 0, "changed": 0}
_FIT = {"bandit": 1, "job": "", "time": 0, "status": "shadow", "memory": b"", "n_tasks": 0}
_FIT |= {"noise_scale": 1, "mean": b"", "spread": b"", "report": "{}"}


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_all_but_sessions_comes_back(
    store: str, kind: str, other: Callable[[str], str], tmp_path: Path
) -> None:
    fill(store)
    expected = content(store)
    expected["sessions"] = []
    file = tmp_path / "backup"
    written = backup(store, file)
    assert content(store)["sessions"]  # only read
    target = other(kind)
    assert restore(target, file) == written
    assert content(target) == expected
    assert written["tasks"] == len(expected["tasks"]) == 5


@pytest.mark.parametrize("kind", ["sqlite", "postgresql"])
def test_new_rows_get_new_numbers_after_a_restore(
    store: str, kind: str, other: Callable[[str], str], tmp_path: Path
) -> None:
    """Also where the row with the largest number, 4 · 7, was deleted before the backup."""
    fill(store)
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
    fill(store, 3)
    before = content(store)
    file = tmp_path / "backup"
    backup(store, file)
    _fill_more(store)
    more = content(store)
    with pytest.raises(ValueError, match=r"store must be empty, got 3 bandits.*--force"):
        restore(store, file)
    assert content(store) == more
    restore(store, file, force=True)
    assert content(store) == before | {"sessions": []}


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
    fill(str(source))
    backup(source, file)
    target = other(kind)
    fill(target, 2)
    before = content(target)
    with sqlite3.connect(file) as connection:
        connection.execute("DROP TABLE rounds")
        connection.execute("CREATE TABLE rounds (bandit, control, round, process, n, sum, squares)")
        connection.executemany("INSERT INTO rounds VALUES (1, 1, 1, 1, 1, 1, 1)", [()] * 2)
    connection.close()
    seal(file)
    with pytest.raises(Exception, match=r"(?i)unique"):
        restore(target, file, force=True)
    assert content(target) == before


def test_a_store_that_processes_use_is_not_replaced(postgresql: str, tmp_path: Path) -> None:
    fill(postgresql)
    file = tmp_path / "backup"
    database = Database.open(postgresql)
    process = ProcessNumber(database)
    backup(postgresql, file)
    with pytest.raises(ValueError, match=r"no process .* may use the store, got 1: stop"):
        restore(postgresql, file, force=True)
    process.release()
    database.close()
    restore(postgresql, file, force=True)


def test_an_older_backup_is_migrated_when_it_is_restored(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    source, file, target = tmp_path / "old.sqlite", tmp_path / "backup", tmp_path / "new.sqlite"
    fill(str(source))
    backup(source, file)
    before = file.read_bytes()

    def second(connection: Connection) -> None:
        connection.execute(update(schema.tasks).values(n_rewards=77))

    from headstart.service.store import database
    from headstart.service.store.migrations import STEPS

    old, new = schema.VERSION, schema.VERSION + 1
    monkeypatch.setattr(schema, "VERSION", new)
    monkeypatch.setattr(database, "STEPS", [*STEPS, second])
    restore(target, file)
    assert {row[schema.tasks.c.n_rewards.name] for row in _tasks(target)} == {77}
    assert file.read_bytes() == before
    with pytest.raises(ValueError, match=f"store must have version {new}, got {old}"):
        backup(source, tmp_path / "another")


def _tasks(store: Path) -> list[dict[str, Any]]:
    found = Database.open(store)
    with found.reading() as connection:
        rows = [dict(row) for row in connection.execute(select(schema.tasks)).mappings()]
    found.close()
    return rows


def test_what_is_not_a_backup_is_refused(tmp_path: Path) -> None:
    target, file = tmp_path / "store.sqlite", tmp_path / "file"
    with pytest.raises(ValueError, match="no such backup"):
        restore(target, file)
    file.write_text("not a database, and longer than the head of one " * 20)
    with pytest.raises(ValueError, match="cannot read the backup"):
        restore(target, file)
    file.unlink()
    sqlite3.connect(file).close()
    with pytest.raises(ValueError, match="did not write"):
        restore(target, file)
    assert not target.exists()


def test_a_damaged_backup_is_refused(tmp_path: Path) -> None:
    source, file = tmp_path / "store.sqlite", tmp_path / "backup"
    fill(str(source), 500)
    backup(source, file)
    content = bytearray(file.read_bytes())
    damaged = bytearray(content)
    damaged[4096 * 8 : 4096 * 20] = bytes(4096 * 12)
    file.write_bytes(damaged)
    with pytest.raises(ValueError, match=r"damaged|not a backup|cannot read"):
        restore(tmp_path / "target.sqlite", file)
    rng = np.random.default_rng(7)
    for place in (62, *rng.integers(100, len(content), 11).tolist()):  # one bit, anywhere
        flipped = bytearray(content)
        flipped[place] ^= 1 << int(rng.integers(8))
        file.write_bytes(flipped)
        with pytest.raises(ValueError, match=r"damaged|not a backup|cannot read"):
            restore(tmp_path / "target.sqlite", file)
    file.write_bytes(content)
    assert restore(tmp_path / "target.sqlite", file)["bandits"] > 0
