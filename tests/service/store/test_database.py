"""Transactions over a store: what is written is kept, what is read changes nothing."""

import os
import shutil
import stat
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from sqlalchemy import func, insert, select
from sqlalchemy.exc import DBAPIError

from headstart.service.store import database as database_module
from headstart.service.store import schema
from headstart.service.store.database import Database, parsed


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    found = Database.open(store)
    yield found
    found.close()


def _add(database: Database, name: str) -> None:
    with database.writing() as connection:
        connection.execute(
            insert(schema.bandits).values(name=name, configuration="{}", created=0, changed=0)
        )


def _names(database: Database) -> list[str]:
    with database.reading() as connection:
        return list(connection.execute(select(schema.bandits.c.name)).scalars())


def test_what_is_written_is_there_when_the_store_is_opened_again(store: str) -> None:
    database = Database.open(store)
    _add(database, "shop")
    database.close()
    database = Database.open(store)
    assert _names(database) == ["shop"]
    database.close()


def test_an_error_leaves_nothing_of_its_transaction(database: Database) -> None:
    def writes_and_fails() -> None:
        with database.writing() as connection:
            row = {"name": "shop", "configuration": "{}", "created": 0, "changed": 0}
            connection.execute(insert(schema.bandits).values(row))
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        writes_and_fails()
    assert _names(database) == []


def test_reading_never_writes(database: Database) -> None:
    row = {"name": "shop", "configuration": "{}", "created": 0, "changed": 0}
    with database.reading() as connection, pytest.raises(DBAPIError, match=r"read-?only"):
        connection.execute(insert(schema.bandits).values(row))
    assert _names(database) == []
    _add(database, "shop")  # the writer is not read-only after that
    assert _names(database) == ["shop"]


def test_a_reader_sees_one_state_and_never_blocks_a_writer(database: Database) -> None:
    count = select(func.count()).select_from(schema.bandits)
    with database.reading() as connection:
        before = connection.execute(count).scalar_one()
        writer = threading.Thread(target=_add, args=(database, "shop"))
        writer.start()
        writer.join(5)
        assert not writer.is_alive()
        assert connection.execute(count).scalar_one() == before == 0
    assert _names(database) == ["shop"]


def test_an_sqlite_file_has_one_owner(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    first = Database.open(path)
    with pytest.raises(ValueError, match=r"only one may use it.*postgresql://"):
        Database.open(path)
    first.close()
    Database.open(path).close()


def test_the_file_of_a_killed_owner_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / "store.sqlite"
    program = (
        "import os, signal, sys; from headstart.service.store.database import Database; "
        "Database.open(sys.argv[1]); os.kill(os.getpid(), signal.SIGKILL)"
    )
    ended = subprocess.run([sys.executable, "-c", program, path], check=False)
    assert ended.returncode == -9
    Database.open(path).close()


def test_files_are_for_their_owner_alone(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        database = Database.open(tmp_path / "store.sqlite")
        _add(database, "shop")
        modes = {each.name: stat.S_IMODE(each.stat().st_mode) for each in tmp_path.iterdir()}
        database.close()
    finally:
        os.umask(before)
    assert set(modes) >= {"store.sqlite", "store.sqlite-wal", "store.sqlite.lock"}
    assert set(modes.values()) == {0o600}


def test_commits_wait_for_the_disk(store: str) -> None:
    database = Database.open(store)
    with database.writing() as connection:
        if database.is_sqlite:
            assert connection.exec_driver_sql("PRAGMA synchronous").scalar_one() == 2
            assert connection.exec_driver_sql("PRAGMA journal_mode").scalar_one() == "wal"
        else:
            assert connection.exec_driver_sql("SHOW synchronous_commit").scalar_one() == "on"
    database.close()


@pytest.mark.parametrize("store", ["mysql://root:secret@host/db", "postgresql://a:secret@h:port/x"])
def test_other_addresses_are_refused_without_their_password(store: str) -> None:
    with pytest.raises(ValueError, match="store must be a path or postgresql://") as refusal:
        parsed(store)
    assert "secret" not in str(refusal.value)


@pytest.mark.parametrize("place", [0, 30, 90])
def test_a_damaged_file_is_not_opened(filled_store: Path, tmp_path: Path, place: int) -> None:
    path = Path(shutil.copy(filled_store, tmp_path))
    content = bytearray(path.read_bytes())
    page = 4096 * (len(content) // 4096 * place // 100)
    content[page + 10 : page + 3000] = bytes(range(256)) * 12
    path.write_bytes(content)
    with pytest.raises(ValueError, match=r"damaged|another program"):
        Database.open(path)
    with pytest.raises(ValueError, match=r"damaged|another program"):  # its lock is free again
        Database.open(path)


def test_a_large_file_is_looked_at_for_a_while(
    filled_store: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = Path(shutil.copy(filled_store, tmp_path))
    monkeypatch.setattr(database_module, "_CHECK_SECONDS", 0.0)
    monkeypatch.setattr(database_module, "_STEPS_PER_LOOK", 1)
    Database.open(path).close()


def test_a_file_with_two_names_is_refused(tmp_path: Path) -> None:
    """Each name would have a lock of its own."""
    path = tmp_path / "store.sqlite"
    Database.open(path).close()
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "store.sqlite").hardlink_to(path)
    with pytest.raises(ValueError, match="hard links"):
        Database.open(path)
