"""Migrations: the tables of a store brought to the current version, step by step."""

import secrets
from collections.abc import Callable, Sequence

from sqlalchemy import Connection, insert, inspect, select, update

from headstart.service.store import schema

# The step at index i leads from version i to version i + 1, in the transaction that is given, and
# says so in its docstring. The first makes the tables as they are now: a new store needs no other.
Step = Callable[[Connection], None]


def _create(connection: Connection) -> None:
    """All tables."""
    schema.metadata.create_all(connection)
    row = {"version": schema.VERSION, "secret": secrets.token_bytes(32)}
    connection.execute(insert(schema.schema_version).values(row))


STEPS: Sequence[Step] = (_create,)


def version_of(connection: Connection) -> int:
    """The version of a store's tables, 0 if there are none."""
    if not inspect(connection).has_table(schema.schema_version.name):
        return 0
    return int(connection.execute(select(schema.schema_version.c.version)).scalar_one())


def due(connection: Connection, steps: Sequence[Step] = STEPS) -> Sequence[Step]:
    """The steps to the current version; tables of a later version are refused."""
    found = version_of(connection)
    if found > len(steps):
        raise ValueError(
            f"the store has version {found} and this version of headstart knows {len(steps)}: "
            "install the newer headstart, or restore a backup"
        )
    return steps[found:] if found else steps[:1]


def migrate(connection: Connection, steps: Sequence[Step] = STEPS) -> None:
    """Bring the tables to the current version."""
    _lock(connection)
    wanted = due(connection, steps)
    for step in wanted:
        step(connection)
    if wanted:
        connection.execute(update(schema.schema_version).values(version=len(steps)))


def _lock(connection: Connection) -> None:
    """Let processes that start together migrate one after another."""
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(7310417)")
