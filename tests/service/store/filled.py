"""A store with something in every table, and what is in it afterwards."""

import sqlite3
from pathlib import Path
from typing import Any

from sqlalchemy import Boolean, LargeBinary, Table, Text, insert, select

from headstart.service.store import schema
from headstart.service.store.database import Database

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


def fill(store: str, n: int = 5) -> None:
    database = Database.open(store)
    with database.writing() as connection:
        for table in schema.metadata.sorted_tables:
            if table is not schema.schema_version:
                rows = [{c.name: _value(table, c.name, 7 * i) for c in table.c} for i in range(n)]
                connection.execute(insert(table), rows)
        if not database.is_sqlite:  # which does not see the numbers that were given
            connection.exec_driver_sql("SELECT setval('bandits_id_seq', 28)")
    database.close()


def content(store: str) -> Rows:
    database = Database.open(store)
    with database.reading() as connection:
        found = {
            table.name: sorted(map(tuple, connection.execute(select(table))), key=repr)
            for table in schema.metadata.sorted_tables
        }
    database.close()
    return found


def query(file: Path, statement: str) -> list[Any]:
    connection = sqlite3.connect(file)
    try:
        return connection.execute(statement).fetchall()
    finally:
        connection.close()
