"""Migrations: each step is applied once, in order, whole or not at all."""

import subprocess
import sys
from collections.abc import Iterator

import pytest
from sqlalchemy import Connection, func, inspect, select, update
from tests.service.engine.setting import Clock, decided, paid, shop
from typer.testing import CliRunner

from headstart.cli import app
from headstart.service.store import schema
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


# What the first version of the tables did not have.
COLUMNS = {
    "bandits": ["paused", "accepted"],
    "items": ["attributes"],
    "tasks": ["share", "early_metrics", "against"],
    "gains": ["log_chance"],
    "decisions": [
        *("effect", "others", "catalogue", "offered"),
        *("service_arm", "service_propensity", "chance"),
    ],
}
TABLES = ["reward_parts", "metric_gains", "item_days", "shadows"]


def _begin_again(database: Database) -> None:
    """Give a store the tables of the first version."""
    with database.writing() as connection:
        for table, names in COLUMNS.items():
            for name in names:
                connection.exec_driver_sql(f"ALTER TABLE {table} DROP COLUMN {name}")
        for table in TABLES:
            connection.exec_driver_sql(f"DROP TABLE {table}")
        connection.execute(update(schema.schema_version).values(version=1))


def test_items_are_counted_in_the_decisions_of_an_older_store(store: str) -> None:
    def sums(connection: Connection) -> list[tuple[object, ...]]:
        c = schema.item_days.c
        columns = (func.sum(c[name]) for name in ("shown", "rewards", "sum", "squares"))
        query = select(c.bandit, c.day, c.item, *columns).group_by(c.bandit, c.day, c.item)
        return [tuple(row) for row in connection.execute(query.order_by(c.day, c.item))]

    clock = Clock()
    with shop(store, clock) as service:
        for value in (1.0, 0.5):
            answers = decided(service, *(f"user{i}" for i in range(8)))
            paid(service, [each.id for each in answers[:5]], value)
            clock.now += 86_400.0
    database = Database.open(store)
    with database.reading() as connection:
        before = sums(connection)
    _begin_again(database)
    with database.writing() as connection:
        migrate(connection)
        assert sums(connection) == before
    database.close()


def test_a_store_of_the_first_version_gets_all_columns(database: Database) -> None:
    _begin_again(database)
    with database.writing() as connection:
        migrate(connection)
        for table in [*COLUMNS, *TABLES]:
            found = {column["name"] for column in inspect(connection).get_columns(table)}
            assert found == set(schema.metadata.tables[table].c.keys())
    assert _version(database) == schema.VERSION


def test_the_command_says_what_is_to_do_and_does_it(store: str) -> None:
    database = Database.open(store)
    _begin_again(database)
    database.close()

    def migrated(*given: str) -> tuple[int, list[str]]:
        found = CliRunner().invoke(app, ["migrate", "--store", store, *given])
        return found.exit_code, found.stdout.splitlines()

    now = schema.VERSION
    code, said = migrated("--check")
    assert (code, said[0]) == (1, f"version 1 of the tables, version {now} in this headstart")
    assert [line.split(".")[0] for line in said[1:]] == [f"to do: {n}" for n in range(2, now + 1)]
    code, done = migrated()
    assert (code, [line.replace("done", "to do") for line in done]) == (0, said)
    current = [f"version {now} of the tables, version {now} in this headstart"]
    assert migrated("--check") == migrated() == (0, current)


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
