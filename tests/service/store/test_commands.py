"""Commands on a store: what is wrong is one sentence, and nothing is made or changed."""

import sqlite3
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.service.store.filled import content, fill
from typer.testing import CliRunner

from headstart.cli import app
from headstart.service.store.backup import backup
from headstart.service.store.database import parsed


def refused(*given: str) -> str:
    """What a command says that ends with 2."""
    found = CliRunner().invoke(app, list(given))
    assert (found.exit_code, found.stdout) == (2, "")
    said = found.stderr.strip()
    assert "\n" not in said
    for word in ("SQL", "SELECT", "PRAGMA", "INSERT", "sqlalche.me", "Traceback"):
        assert word not in said
    return said


@pytest.mark.parametrize(
    "command", [("keys", "list"), ("keys", "revoke", "abc"), ("backup", "copy"), ("migrate",)]
)
def test_a_command_that_reads_makes_no_store(command: tuple[str, ...], tmp_path: Path) -> None:
    missing = tmp_path / "misspelt.sqlite"
    said = refused(*command, "--store", str(missing))
    assert f"no such store: '{missing}'" in said
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", [("keys", "list"), ("keys", "create", "--role", "read")])
def test_a_file_of_another_program_is_left_alone(command: tuple[str, ...], tmp_path: Path) -> None:
    path = tmp_path / "other.sqlite"
    with sqlite3.connect(path) as connection:
        connection.execute("CREATE TABLE photos (name TEXT)")
    connection.close()
    assert "headstart serve" in refused(*command, "--store", str(path))
    with sqlite3.connect(path) as connection:
        names = [name for (name,) in connection.execute("SELECT name FROM sqlite_master")]
    connection.close()
    assert names == ["photos"]


def cut(file: Path) -> None:
    file.write_bytes(file.read_bytes()[: 4096 * 5 + 100])


def zeroed(file: Path) -> None:
    found = bytearray(file.read_bytes())
    found[4096 * 2 : 4096 * 30] = bytes(4096 * 28)
    file.write_bytes(found)


def changed(statement: str) -> Callable[[Path], None]:
    def change(file: Path) -> None:
        with sqlite3.connect(file) as connection:
            connection.executescript(statement)
        connection.close()

    return change


@pytest.mark.parametrize(
    ("broken", "said"),
    [
        (cut, "backup"),
        (zeroed, "backup"),
        (changed("DROP TABLE decisions"), "no such table: decisions"),
        (changed("ALTER TABLE jobs DROP COLUMN step"), "no such column: jobs.step"),
    ],
)
def test_a_broken_backup_is_one_sentence_and_changes_nothing(
    tmp_path: Path, broken: Callable[[Path], None], said: str
) -> None:
    source, file, new = tmp_path / "store.sqlite", tmp_path / "backup", tmp_path / "new"
    fill(str(source), 50)
    backup(source, file)
    broken(file)
    before, names = content(str(source)), sorted(tmp_path.iterdir())
    assert said in refused("restore", str(file), "--store", str(source), "--force")
    assert content(str(source)) == before
    assert said in refused("restore", str(file), "--store", str(new))
    assert sorted(tmp_path.iterdir()) == names  # no store was left behind


def test_a_long_name_of_a_key_is_not_repeated(tmp_path: Path) -> None:
    store = str(tmp_path / "store.sqlite")
    said = refused("keys", "create", "--role", "read", "--name", "n" * 5_000, "--store", store)
    assert "name must have 1 to 200 characters, got 'nnn" in said
    assert len(said) < 200


def test_a_file_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    store, file = str(tmp_path / "store.sqlite"), tmp_path / "file"
    fill(store)
    file.touch()
    said = refused("backup", str(file / "more"), "--store", store)
    assert said.startswith(f"headstart backup: {file}")


def test_a_password_may_be_in_a_file(tmp_path: Path) -> None:
    file = tmp_path / "password"
    file.write_text("a/b c@\n", encoding="utf-8")
    url = parsed(f"postgresql://shop@host:5433/name?password_file={file}&sslmode=require")
    assert (url.password, url.username, url.host) == ("a/b c@", "shop", "host")
    assert dict(url.query) == {"sslmode": "require"}
    said = refused("keys", "list", "--store", f"postgresql://host/x?password_file={file}.none")
    assert said == f"headstart keys: {file}.none cannot be opened: No such file or directory"
