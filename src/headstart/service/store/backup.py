"""Backups of a store, and copies from one store into another, of either kind."""

import sqlite3
from contextlib import closing
from pathlib import Path
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Select,
    Table,
    cast,
    delete,
    false,
    func,
    insert,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import REGCLASS
from sqlalchemy.exc import DBAPIError

from headstart.atomic import atomic_write
from headstart.service.store import schema
from headstart.service.store.database import (
    Database,
    is_sqlite,
    n_running,
    parsed,
    reason_of,
    snapshot,
)
from headstart.service.store.migrations import version_of

_ROWS = 1_000
_TABLES = [each for each in schema.metadata.sorted_tables if each is not schema.schema_version]
# Tables that number their rows.
_NUMBERED: dict[Table, Column[int]] = {
    table: table.autoincrement_column for table in _TABLES if table.autoincrement_column is not None
}


def backup(store: str | Path, file: Path, *, force: bool = False) -> dict[str, int]:
    """Copy an SQLite store at one moment into a file. Returns the number of rows by table.

    The service may run meanwhile. The file is a store itself, checked page by page, readable by its
    owner only; it gets its name once it is whole. An existing file is refused unless `force` is
    set.
    """
    if not is_sqlite(parsed(store)):
        raise ValueError("store must be an SQLite file; pg_dump backs PostgreSQL up")
    _check_differ(store, file)
    if file.exists() and not force:
        raise ValueError(f"{file} exists: replace it with --force")
    with snapshot(store) as source, atomic_write(file, mode=0o600) as part:
        part.chmod(0o600)  # whatever mode the replaced file had
        try:
            counts = _counts(source)
            _check_version(source)
            with closing(sqlite3.connect(part)) as copy:
                _copy_pages(source, copy)
        except (sqlite3.DatabaseError, DBAPIError) as error:
            raise ValueError(f"no backup of {store} was written: {reason_of(error)}") from error
    return counts


def _copy_pages(source: Connection, copy: sqlite3.Connection) -> None:
    """Copy an SQLite file as the source's transaction sees it; what is damaged is an error."""
    given: Any = source.connection.dbapi_connection
    given.backup(copy)
    copy.execute("PRAGMA journal_mode = DELETE")  # one file, without a log next to it
    (found,) = copy.execute("PRAGMA quick_check(1)").fetchone()
    if found != "ok":
        raise sqlite3.DatabaseError(found)
    # Who reads a backup must not be able to sign cookies of the store.
    copy.execute("UPDATE schema_version SET secret = randomblob(32)")
    copy.commit()


def restore(store: str | Path, source: str | Path, *, force: bool = False) -> dict[str, int]:
    """Copy everything from a backup, or another store, in one transaction.

    Returns the number of rows by table. A store that holds anything is refused unless `force` is
    set.
    """
    _check_differ(store, source)
    try:
        with snapshot(source) as given:
            if given.dialect.name == "sqlite":
                found = given.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
                if found != "ok":
                    raise ValueError(f"{source} is damaged: {found}")
            _check_version(given)
            for table in _TABLES:  # an error of what is given comes before any change
                given.execute(select(table).limit(1)).all()
    except DBAPIError as error:
        raise ValueError(f"{source} cannot be read: {reason_of(error)}") from error
    database = Database.open(store)
    try:
        with snapshot(source) as given, database.writing() as target:
            _check_unused(target, force)
            for table in _TABLES:
                target.execute(delete(table))
                rows = given.execution_options(yield_per=_ROWS).execute(select(table))
                for some in rows.mappings().partitions():
                    target.execute(insert(table), [dict(row) for row in some])
            _advance(target, _numbers(given))
            return _counts(target)
    finally:
        database.close()


def _check_differ(store: str | Path, file: str | Path) -> None:
    if is_sqlite(parsed(store)) and Path(str(store)).resolve() == Path(str(file)).resolve():
        raise ValueError(f"file must differ from the store, got {file} for both")


def _check_version(source: Connection) -> None:
    found = version_of(source)
    if found != schema.VERSION:
        raise ValueError(
            f"the version of the tables must be {schema.VERSION}, got {found or 'no tables'}: "
            "use the headstart that wrote them, or `headstart migrate` on a copy"
        )


def _check_unused(target: Connection, force: bool) -> None:
    """Raise ValueError if processes use the store, or if it holds something."""
    n = 0 if target.dialect.name == "sqlite" else n_running(target)
    if n:
        raise ValueError(f"no process of the service may use the store, got {n}: stop them first")
    held = ", ".join(f"{n} {name}" for name, n in _counts(target).items() if n)
    if held and not force:
        raise ValueError(f"store must be empty, got {held}; --force replaces everything in it")


def _counts(connection: Connection) -> dict[str, int]:
    return {
        table.name: int(connection.execute(select(func.count()).select_from(table)).scalar_one())
        for table in _TABLES
    }


def _numbers(connection: Connection) -> dict[Table, int]:
    """The largest number that each table has ever given to a row, including deleted ones."""
    found = {}
    for table, column in _NUMBERED.items():
        largest = connection.execute(select(func.max(column))).scalar_one() or 0
        found[table] = max(largest, _last_number(connection, table, column))
    return found


def _last_number(connection: Connection, table: Table, column: Column[int]) -> int:
    query: Select[Any]
    if connection.dialect.name == "sqlite":
        query = select(literal_column("seq")).select_from(text("sqlite_sequence"))
        query = query.where(literal_column("name") == table.name)
    else:
        sequence = func.pg_get_serial_sequence(table.name, column.name)
        query = select(func.pg_sequence_last_value(cast(sequence, REGCLASS)))
    return int(connection.execute(query).scalar_one_or_none() or 0)


def _advance(connection: Connection, numbers: dict[Table, int]) -> None:
    """Number new rows after all rows that are, or ever were, in the tables."""
    for table, column in _NUMBERED.items():
        if connection.dialect.name == "postgresql":
            sequence = func.pg_get_serial_sequence(table.name, column.name)
            connection.execute(select(func.setval(sequence, numbers[table] + 1, false())))
        elif table.dialect_options["sqlite"]["autoincrement"]:
            given = {"name": table.name, "number": numbers[table]}
            connection.execute(text("DELETE FROM sqlite_sequence WHERE name = :name"), given)
            connection.execute(
                text("INSERT INTO sqlite_sequence (name, seq) VALUES (:name, :number)"), given
            )
