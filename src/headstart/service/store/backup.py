"""Backups: all tables of a store in one SQLite file, which restores into either kind of store."""

import sqlite3
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from sqlalchemy import (
    Column,
    Connection,
    Select,
    Table,
    cast,
    create_engine,
    delete,
    false,
    func,
    insert,
    inspect,
    literal_column,
    select,
    text,
)
from sqlalchemy.dialects.postgresql import REGCLASS
from sqlalchemy.exc import DBAPIError, OperationalError

from headstart.atomic import atomic_write
from headstart.service.store import schema
from headstart.service.store.database import Database, is_sqlite, n_running, parsed, snapshot
from headstart.service.store.migrations import version_of

# A number in the head of the file that identifies a backup.
_BACKUP = 0x48534255
# The place of a free number in the head of an SQLite file: we keep a checksum there.
_CHECKSUM = slice(60, 64)
_BLOCK = 1 << 20
_PAGES = 20_000
_ROWS = 1_000
# A restore ends sessions: one that was logged out must not come back.
_LEFT_OUT = (schema.sessions,)
_TABLES = [
    each
    for each in schema.metadata.sorted_tables
    if each not in (*_LEFT_OUT, schema.schema_version)
]

_NUMBERED: dict[Table, Column[int]] = {
    table: table.autoincrement_column for table in _TABLES if table.autoincrement_column is not None
}

# How much is done, and of how much.
Progress = Callable[[int, int], None]


def _silent(done: int, total: int) -> None:
    """Report nothing."""


def backup(
    store: str | Path, file: Path, *, force: bool = False, progress: Progress = _silent
) -> dict[str, int]:
    """Write the state of a store at one moment into a file. Returns the number of rows by table.

    The service may run meanwhile. The file is written whole or not at all, readable by its owner
    only. An existing file is refused unless `force` is set.
    """
    url = parsed(store)
    if is_sqlite(url) and Path(str(url.database)).resolve() == file.resolve():
        raise ValueError(f"file must differ from the store, got {file} for both")
    if file.exists() and not force:
        raise ValueError(f"{file} exists: replace it with --force")
    with snapshot(store) as source:
        found = version_of(source)
        if found != schema.VERSION:
            raise ValueError(
                f"store must have version {schema.VERSION}, got {found or 'no tables'}: "
                "back it up with the version of headstart that wrote it"
            )
        with atomic_write(file, mode=0o600) as part:
            part.chmod(0o600)  # whatever mode the replaced file had
            if is_sqlite(url):
                _copy_pages(source, part, progress)
            else:
                with _file(part) as target:
                    schema.metadata.create_all(target)
                    _copy_rows(source, target, progress)
                    _advance(target, _numbers(source))
                    target.execute(insert(schema.schema_version).values(version=schema.VERSION))
            with _file(part) as target:
                target.exec_driver_sql("PRAGMA secure_delete = 1")
                for table in _LEFT_OUT:
                    target.execute(delete(table))
                target.exec_driver_sql(f"PRAGMA application_id = {_BACKUP}")
                counts = _counts(target)
            seal(part)
            return counts


def seal(file: Path) -> None:
    """Write the checksum of a backup into its head, so that any changed bit is noticed."""
    with file.open("r+b") as opened:
        opened.seek(_CHECKSUM.start)
        opened.write(checksum(file))


def checksum(file: Path) -> bytes:
    """The CRC-32 of a file, without the bytes where it is kept."""
    with file.open("rb") as opened:
        head = bytearray(opened.read(_BLOCK))
        head[_CHECKSUM] = bytes(4)
        found = zlib.crc32(head)
        while block := opened.read(_BLOCK):
            found = zlib.crc32(block, found)
    return found.to_bytes(4, "big")


def restore(
    store: str | Path, file: Path, *, force: bool = False, progress: Progress = _silent
) -> dict[str, int]:
    """Put a backup into a store, in one transaction. Returns the number of rows by table.

    A store that holds anything is refused unless `force` is set.
    """
    _check(file)
    with (
        TemporaryDirectory(prefix="headstart-restore-") as folder,
        _current(file, folder) as path,
        snapshot(path) as source,
    ):
        _check_columns(source, file)
        with _opened(store) as database, database.writing() as target:
            _check_unused(target, force)
            for table in (*_TABLES, *_LEFT_OUT):
                target.execute(delete(table))
            try:
                _copy_rows(source, target, progress)
            except DBAPIError as error:
                if isinstance(error, OperationalError):  # of the store, not of what is in the file
                    raise
                raise _broken(file, _reason(error)) from error
            _advance(target, _numbers(source))
            return _counts(target)


@contextmanager
def _opened(store: str | Path) -> Iterator[Database]:
    """A store; if it was made for this, it is removed again if the body raises."""
    url = parsed(store)
    path = Path(str(url.database)).resolve() if is_sqlite(url) else None
    made = path is not None and not path.exists()
    database = Database.open(store)
    try:
        yield database
    except BaseException:
        database.close()
        if made and path is not None:
            for each in ("", "-wal", "-shm", ".lock"):
                path.with_name(path.name + each).unlink(missing_ok=True)
        raise
    database.close()


def _check_unused(target: Connection, force: bool) -> None:
    """Raise ValueError if processes use the store, or if it holds something."""
    n = 0 if target.dialect.name == "sqlite" else n_running(target)
    if n:
        raise ValueError(f"no process of the service may use the store, got {n}: stop them first")
    held = ", ".join(f"{n} {name}" for name, n in _counts(target).items() if n)
    if held and not force:
        raise ValueError(f"store must be empty, got {held}; --force replaces everything in it")


def _check(file: Path) -> None:
    """Raise ValueError for what is not a whole backup."""
    if not file.is_file():
        raise ValueError(f"no such backup: {file}")
    try:
        with _file(file, mode="ro") as connection:
            known = connection.exec_driver_sql("PRAGMA application_id").scalar_one()
            problem = connection.exec_driver_sql("PRAGMA quick_check(1)").scalar_one()
    except DBAPIError as error:
        raise ValueError(f"cannot read the backup {file}: {_reason(error)}") from error
    if known != _BACKUP:
        raise ValueError(f"{file} is not a backup: `headstart backup` did not write it")
    with file.open("rb") as opened:
        written = opened.read(_CHECKSUM.stop)[_CHECKSUM]
    if problem != "ok" or written != checksum(file):
        raise _broken(file, "its pages are damaged")


def _check_columns(source: Connection, file: Path) -> None:
    """Raise ValueError if a table or a column of the backup is missing."""
    known = inspect(source)
    for table in _TABLES:
        held = known.get_columns(table.name) if known.has_table(table.name) else []
        missing = {column.name for column in table.columns} - {each["name"] for each in held}
        if missing:
            what = f"column {min(missing)} of {table.name}" if held else f"table {table.name}"
            raise _broken(file, f"the {what} is missing")


def _broken(file: Path, reason: str) -> ValueError:
    return ValueError(f"the backup {file} is damaged: {reason}")


def _reason(error: DBAPIError) -> str:
    """What the database said, in one line and without the statement."""
    return str(error.orig).strip().partition("\n")[0]


@contextmanager
def _current(file: Path, folder: str) -> Iterator[Path]:
    """The backup in the current version: the file, or a migrated copy of it."""
    with _file(file, mode="ro") as connection:
        current = version_of(connection) == schema.VERSION
        if not current:
            copy = Path(folder) / "store.sqlite"
            _copy_pages(connection, copy, _silent)
    if not current:
        Database.open(copy).close()
    yield file if current else copy


@contextmanager
def _file(path: Path, mode: str = "rw") -> Iterator[Connection]:
    """A transaction over a file that no other process uses; it leaves no other files behind."""

    def connect() -> sqlite3.Connection:
        return sqlite3.connect(
            f"{path.absolute().as_uri()}?mode={mode}", uri=True, isolation_level=None
        )

    engine = create_engine("sqlite://", creator=connect)
    try:
        with engine.begin() as connection:
            connection.exec_driver_sql("BEGIN")
            yield connection
    finally:
        engine.dispose()


def _copy_pages(source: Connection, path: Path, progress: Progress) -> None:
    """Copy an SQLite file as the source's transaction sees it."""
    source.execute(select(schema.schema_version))  # from here on, the transaction sees one state
    given: Any = source.connection.dbapi_connection
    target = sqlite3.connect(path)
    try:
        given.backup(
            target, pages=_PAGES, progress=lambda _, left, total: progress(total - left, total)
        )
        target.execute("PRAGMA journal_mode = DELETE")  # one file, without a log next to it
    finally:
        target.close()


def _copy_rows(source: Connection, target: Connection, progress: Progress) -> None:
    total, done = sum(_counts(source).values()), 0
    for table in _TABLES:
        rows = source.execution_options(yield_per=_ROWS).execute(select(table))
        for part in rows.mappings().partitions():
            _insert(target, table, part)
            done += len(part)
            progress(done, total)


def _insert(target: Connection, table: Table, rows: Any) -> None:
    given: list[Mapping[str, Any]] = [dict(row) for row in rows]
    target.execute(insert(table), given)


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
