"""Migrations: each step is applied once, in order, whole or not at all."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, inspect, update
from typer.testing import CliRunner

from headstart.cli import app
from headstart.service.store import database as database_module
from headstart.service.store import migrations, schema
from headstart.service.store.database import Database, steps_due
from headstart.service.store.migrations import STEPS, migrate, version_of

pytestmark = pytest.mark.slow

# Opens the store as a version of headstart with one more step, which is slow.
_NEXT_VERSION = """
import sys, time
from headstart.service.store import database

def step(connection):
    connection.exec_driver_sql("CREATE TABLE added (x integer)")
    time.sleep(0.2)
    connection.exec_driver_sql("INSERT INTO added VALUES (1)")

database.STEPS = [*database.STEPS, step]
print("ready", flush=True)
input()
database.Database.open(sys.argv[1]).close()
"""


@pytest.fixture
def database(store: str) -> Iterator[Database]:
    found = Database.open(store)
    yield found
    found.close()


def _version(database: Database) -> int:
    with database.reading() as connection:
        return version_of(connection)


def _add_table(connection: Connection) -> None:
    """A table."""
    connection.exec_driver_sql("CREATE TABLE added (x integer)")


def _fail(connection: Connection) -> None:
    _add_table(connection)
    raise RuntimeError("the disk is full")


def test_a_new_store_has_the_current_version(database: Database) -> None:
    assert _version(database) == len(STEPS) == schema.VERSION
    with database.reading() as connection:
        assert set(inspect(connection).get_table_names()) == set(schema.metadata.tables)


def test_a_later_step_is_applied_once(database: Database) -> None:
    for _ in range(2):  # a second time it would fail: the table is there
        with database.writing() as connection:
            migrate(connection, [*STEPS, _add_table])
    assert _version(database) == len(STEPS) + 1


def test_a_step_that_fails_leaves_the_version_before(database: Database) -> None:
    with pytest.raises(RuntimeError, match="disk"), database.writing() as connection:
        migrate(connection, [*STEPS, _fail])
    assert _version(database) == len(STEPS)
    with database.reading() as connection:
        assert not inspect(connection).has_table("added")


def test_the_command_says_what_is_to_do_and_does_it(
    store: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    Database.open(store).close()
    now = schema.VERSION

    def migrated(*given: str) -> tuple[int, list[str]]:
        found = CliRunner().invoke(app, ["migrate", "--store", store, *given])
        return found.exit_code, found.stdout.splitlines()

    current = [f"version {now} of the tables, version {now} in this headstart"]
    assert migrated("--check") == migrated() == (0, current)
    later = [*STEPS, _add_table]
    monkeypatch.setattr(migrations.due, "__defaults__", (later,))
    monkeypatch.setattr(database_module, "STEPS", later)
    head = f"version {now} of the tables, version {now + 1} in this headstart"
    assert migrated("--check") == (1, [head, f"to do: {now + 1}. A table"])
    assert migrated() == (0, [head, f"done: {now + 1}. A table"])


def test_a_later_version_is_refused_and_left_alone(store: str) -> None:
    database = Database.open(store)
    with database.writing() as connection:
        connection.execute(update(schema.schema_version).values(version=99))
    database.close()
    for opened in (Database.open, steps_due):
        with pytest.raises(ValueError, match=f"99 .* knows {schema.VERSION}: install the newer"):
            opened(store)


@pytest.mark.parametrize("new", [False, True])
def test_processes_that_start_together_apply_a_step_once(postgresql: str, new: bool) -> None:
    """Four processes of the next version on a store that is new, or of this version."""
    if not new:
        Database.open(postgresql).close()
    command = [sys.executable, "-c", _NEXT_VERSION, postgresql]
    processes = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(4)
    ]
    for each in processes:  # all have imported what they need
        assert each.stdout is not None
        assert each.stdout.readline() == "ready\n"
    for each in processes:
        assert each.stdin is not None
        each.stdin.write("\n")
        each.stdin.flush()
    for each in processes:
        each.communicate(timeout=60)
    assert [each.returncode for each in processes] == [0] * 4
    # Opened by this version, it would be refused: it has one step more.
    with pytest.raises(ValueError, match=f"version {schema.VERSION + 1}"):
        Database.open(postgresql)
