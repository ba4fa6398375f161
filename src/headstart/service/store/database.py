"""Database: where the tables are, an SQLite file or a PostgreSQL server; and its locks."""

import fcntl
import logging
import os
import shutil
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import Any

from sqlalchemy import URL, Connection, Engine, create_engine, event, inspect, make_url, text
from sqlalchemy.exc import ArgumentError, DatabaseError, SQLAlchemyError
from sqlalchemy.pool import QueuePool, StaticPool

from headstart.service.store.migrations import STEPS, due, migrate, version_of

_log = logging.getLogger("headstart.service")

# How long a statement waits for a lock, and a connection for the server.
_BUSY_SECONDS = 10
_CONNECT_SECONDS = 3
# SQLite: after how many pages of its log a commit itself copies them into the file, if
# `Checkpoints` is late or absent; and what a connection caches.
_PAGES_PER_CHECKPOINT, _CACHE_KIB = 64_000, 32_768
# Readers next to the one that writes: pages, and requests that only read.
_READERS = 4
# How often the log is copied.
_PAUSE_SECONDS = 0.5
# Once the log has this many pages, it should start over. That happens by itself with the next
# commit after a checkpoint during which nothing was written, so small checkpoints follow each
# other, this often.
_MANY_PAGES = 16_000
_TRIES = 3
# From this many pages on, writers wait for a moment, so that the log can start over.
_MOST_PAGES = 32_000
# PostgreSQL: how long a transaction that writes waits for rows that another one has locked, and how
# long it may take until another process ends it; how long a page may read.
LOCK_SECONDS, FROZEN_SECONDS, _READ_SECONDS = 1, 15, 60
# A server that is gone is noticed, also while an answer is awaited.
_LASTING: dict[str, Any] = {
    "connect_timeout": _CONNECT_SECONDS,
    "keepalives_idle": 10,
    "keepalives_interval": 5,
    "keepalives_count": 3,
    "tcp_user_timeout": 20_000,
}
_WRITER = "headstart-write"
# Its advisory locks: their first halves.
_PROCESS, _REFRESH = 7_310_418, 7_310_419
_MOST_PROCESSES = 10_000
# How long a file is checked for damage when it is opened, and after how many steps of SQLite's
# machine the time is checked.
_CHECK_SECONDS, _STEPS_PER_LOOK = 1.0, 10_000


_PASSWORD_FILE = "password_file"
# What `Database.disk` says.
_DISK = ("store_bytes", "wal_bytes", "disk_free_bytes")


class Database:
    """Transactions over the tables.

    `writing` is a transaction that writes; `reading` only reads and never blocks a writer.
    With SQLite one process owns the file; any number of processes may share a PostgreSQL database.
    """

    def __init__(
        self,
        writer: Engine,
        reader: Engine,
        lock: int | None = None,
        connect: Callable[[], sqlite3.Connection] | None = None,
        path: Path | None = None,
    ) -> None:
        self._writer = writer
        self._reader = reader
        self._lock = lock
        self._connect, self._path = connect, path  # to the SQLite file
        self._checkpoints: Checkpoints | None = None
        self.damaged = False  # whether a page of the SQLite file was found to be
        # The threads of a process share one connection that writes to an SQLite file.
        self._turn = threading.Lock() if self.is_sqlite else nullcontext()

    @classmethod
    def open(cls, store: str | Path, *, alone: bool = True, create: bool = True) -> "Database":
        """Open a store, and create or migrate its tables.

        store: the path of an SQLite file, or postgresql://user:password@host/name. alone: raise if
        another process has the file open; without it, write only keys. create: without it, raise if
        there is no store yet.
        """
        url = parsed(store)
        if is_sqlite(url):
            path = Path(str(url.database))
            if not create:
                _check_there(path)
            # For a link, the file itself: its lock is next to it.
            database = _sqlite(path.resolve(), alone=alone)
            _check_sound(database)
        else:
            database = _postgresql(url)
        try:
            with database.writing() as connection:
                _check_tables(connection, create=create)
                # A process that has the file open has migrated it to its own version.
                shared = database.is_sqlite and database._lock is None
                migrate(connection, STEPS[: version_of(connection)] if shared else STEPS)
        except BaseException:
            database.close()
            raise
        return database

    @property
    def is_sqlite(self) -> bool:
        """Whether this process owns all of it."""
        return self._writer.dialect.name == "sqlite"

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """A transaction that is committed at the end, durably, or not at all."""
        with self._noting_damage(), self._turn, self._writer.begin() as connection:
            yield connection

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """A transaction that sees one state of the tables and changes nothing."""
        with self._noting_damage(), self._reader.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def _noting_damage(self) -> Iterator[None]:
        """Log once that an SQLite file is damaged, and remember it: no other page is trusted."""
        try:
            yield
        except DatabaseError as error:
            # Errors that may pass, such as a full disk, are of subclasses.
            if type(error.orig) is sqlite3.DatabaseError and not self.damaged:
                self.damaged = True
                _log.error("the store is damaged, restore a backup: %s", reason_of(error))
            raise

    def connect(self) -> Connection:
        """A separate connection, on which every statement is a transaction."""
        return self._writer.connect().execution_options(isolation_level="AUTOCOMMIT")

    def disk(self) -> dict[str, int | None]:
        """Bytes of an SQLite file, of its log, and free on its disk; None where it is none."""
        sizes: dict[str, int | None] = dict.fromkeys(_DISK)
        if self._path is not None:
            with suppress(OSError):  # files that are gone
                sizes["disk_free_bytes"] = shutil.disk_usage(self._path.parent).free
                sizes["store_bytes"] = self._path.stat().st_size
                sizes["wal_bytes"] = Path(f"{self._path}-wal").stat().st_size
        return sizes

    def keep_log_short(self) -> None:
        """Start a thread that copies SQLite's log into its file, so that no commit has to."""
        if self._connect is not None and self._checkpoints is None:
            self._checkpoints = Checkpoints(self._connect)

    def close(self) -> None:
        """Close all connections."""
        if self._checkpoints is not None:
            self._checkpoints.stop()
            self._checkpoints = None
        self._writer.dispose()
        self._reader.dispose()
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None


def reason_of(error: Exception) -> str:
    """The error of the driver in one line, without the statement and its values."""
    original = getattr(error, "orig", None) if isinstance(error, SQLAlchemyError) else error
    lines = str(original).splitlines()
    return f"{type(original).__name__}: {lines[0] if lines else ''}"


def steps_due(store: str | Path) -> tuple[int, list[str]]:
    """The version of a store's tables, and the steps to the current one in words; none is taken."""
    with snapshot(store) as connection:
        _check_tables(connection, create=False)
        steps = [(step.__doc__ or step.__name__).rstrip(".") for step in due(connection)]
        return version_of(connection), steps


@contextmanager
def snapshot(store: str | Path) -> Iterator[Connection]:
    """One state of a store that others may be using; creates and migrates nothing."""
    url = parsed(store)
    if is_sqlite(url):
        path = Path(str(url.database))
        _check_there(path)
        reader = _reader(lambda: _connect(f"{path.absolute().as_uri()}?mode=rw"))
    else:
        reader = _postgresql(url)._reader
    try:
        with reader.connect() as connection, connection.begin():
            yield connection
    finally:
        reader.dispose()


def parsed(store: str | Path) -> URL:
    """The address of a store; `?password_file=` names a file that has its password."""
    address = str(store)
    if "://" not in address:
        return URL.create("sqlite", database=address)
    try:
        url = make_url(address)
    except (ArgumentError, ValueError):  # a port that is no number is a ValueError
        raise ValueError("store must be a path or postgresql://…, got neither") from None
    if url.drivername in ("postgresql", "postgres"):
        url = url.set(drivername="postgresql+psycopg")
    if url.drivername not in ("sqlite", "postgresql+psycopg"):
        raise ValueError(f"store must be a path or postgresql://…, got {url.drivername}://…")
    if (file := url.query.get(_PASSWORD_FILE)) is not None:
        password = Path(str(file)).read_text("utf-8").strip()
        url = url.difference_update_query([_PASSWORD_FILE]).set(password=password)
    return url


def is_sqlite(url: URL) -> bool:
    """Whether the store is an SQLite file."""
    return url.drivername == "sqlite"


def _check_there(path: Path) -> None:
    if not path.is_file():
        raise ValueError(f"no such store: {str(path)!r}")


def _check_sound(database: Database) -> None:
    """Raise ValueError if an SQLite file turns out to be damaged; takes a second at most."""
    assert database._connect is not None
    end = time.monotonic() + _CHECK_SECONDS
    try:
        connection = database._connect()
        try:
            connection.set_progress_handler(lambda: time.monotonic() > end, _STEPS_PER_LOOK)
            (found,) = connection.execute("PRAGMA quick_check(1)").fetchone()
        finally:
            connection.close()
    except sqlite3.OperationalError as error:
        if "interrupted" not in str(error):  # the rest is not checked
            database.close()
            raise
        return
    except sqlite3.DatabaseError as error:
        found = str(error)
    if found != "ok":
        database.close()
        raise ValueError(f"the store is damaged: {found}; restore a backup")


def _check_tables(connection: Connection, *, create: bool) -> None:
    """Raise ValueError if there are no tables of a store, and none may be made."""
    if version_of(connection):
        return
    if not create:
        raise ValueError("the store has no tables: headstart serve did not make it")
    if connection.dialect.name == "sqlite" and inspect(connection).get_table_names():
        raise ValueError(
            "store must be a new file or one that headstart serve made, got a file of another "
            "program"
        )


def _sqlite(path: Path, *, alone: bool) -> Database:
    try:
        lock = _own(path)
    except ValueError:
        if alone:
            raise
        lock = None

    def connect() -> sqlite3.Connection:
        connection = _connect(path.absolute().as_uri())
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")
        connection.execute(f"PRAGMA wal_autocheckpoint = {_PAGES_PER_CHECKPOINT}")
        connection.execute(f"PRAGMA cache_size = -{_CACHE_KIB}")
        return connection

    writer = create_engine("sqlite://", creator=connect, poolclass=StaticPool)

    def begin_writing(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    event.listen(writer, "begin", begin_writing)
    return Database(writer, _reader(connect), lock, connect, path)


def _connect(address: str) -> sqlite3.Connection:
    # SQLAlchemy begins and ends the transactions: `isolation_level` None leaves them to it.
    return sqlite3.connect(
        address, timeout=_BUSY_SECONDS, isolation_level=None, check_same_thread=False, uri=True
    )


def _reader(connect: Callable[[], sqlite3.Connection]) -> Engine:
    """Transactions of an SQLite file that only read."""
    reader = create_engine("sqlite://", creator=connect, poolclass=QueuePool, pool_size=_READERS)

    def begin_reading(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN")

    def only_read(connection: Any, _record: object) -> None:
        connection.execute("PRAGMA query_only = 1")

    event.listen(reader, "begin", begin_reading)
    event.listen(reader, "connect", only_read)
    return reader


def _own(path: Path) -> int:
    """Create the file, readable by its owner only, if there is none, and hold a lock next to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    os.close(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))
    if path.stat().st_nlink > 1:
        raise ValueError(f"the store {path} must have one name, got a file with hard links")
    lock = os.open(path.with_name(path.name + ".lock"), os.O_RDWR | os.O_CREAT, 0o600)
    try:
        fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        os.close(lock)
        raise ValueError(
            f"another process has the store {path} open, and only one may use it; "
            "several processes can share postgresql://…"
        ) from None
    return lock


def _postgresql(url: URL) -> Database:
    # Pools apart: pages that take long never keep a commit from a connection.
    writer, reader = (
        create_engine(
            url,
            pool_size=4,
            max_overflow=4,
            pool_timeout=_BUSY_SECONDS,
            pool_pre_ping=True,
            connect_args=_LASTING | {"application_name": name, "options": options},
        )
        for name, options in (
            (
                _WRITER,
                f"-c lock_timeout={LOCK_SECONDS}s "
                f"-c idle_in_transaction_session_timeout={FROZEN_SECONDS}s",
            ),
            ("headstart-read", f"-c statement_timeout={_READ_SECONDS}s"),
        )
    )
    reader = reader.execution_options(postgresql_readonly=True, isolation_level="REPEATABLE READ")
    return Database(writer, reader)


def end_frozen(database: Database) -> int:
    """End transactions of processes that hold them for too long, such as stopped ones.

    Returns how many there were. The server ends idle ones by itself, but not those whose process
    stopped while it was sending statements.
    """
    if database.is_sqlite:
        return 0
    query = text(
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
        "WHERE datname = current_database() AND usename = current_user "
        "AND application_name = :name AND pid <> pg_backend_pid() "
        "AND xact_start < clock_timestamp() - make_interval(secs => :age)"
    )
    with database.connect() as connection:
        rows = connection.execute(query, {"name": _WRITER, "age": FROZEN_SECONDS}).all()
    return len(rows)


class Checkpoints:
    """A thread that copies pages of the log into the file; no writer waits for that.

    Writers wait only if the log has become long because they never rest, until it starts over.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="headstart-checkpoint", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after the current work."""
        self._stopping.set()
        self._thread.join()

    def _loop(self) -> None:
        connection = self._connect()
        try:
            while not self._stopping.wait(_PAUSE_SECONDS):
                try:
                    _shorten(connection)
                except sqlite3.Error as error:  # the disk is full, or a reader takes long
                    _log.debug("a checkpoint failed: %s", type(error).__name__)
        finally:
            connection.close()


def _shorten(connection: sqlite3.Connection) -> None:
    """Copy the log into the file; if the log is long, until it can start over."""
    pages = _copied(connection)
    tries = 0
    while pages > _MANY_PAGES and tries < _TRIES:
        before, tries = pages, tries + 1
        pages = _copied(connection)
        if pages == before:
            return  # nothing was written meanwhile
    if pages > _MOST_PAGES:
        connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()


def _copied(connection: sqlite3.Connection) -> int:
    """Copy pages of the log into the file. Returns how many pages the log has."""
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(pages)


class ProcessNumber:
    """The lowest number that no other running process of the store holds; 0 if one owns it."""

    def __init__(self, database: Database) -> None:
        self._connection: Connection | None = None
        self.number = 0
        if not database.is_sqlite:
            self._connection = database.connect()
            self.number = next(
                number
                for number in range(_MOST_PROCESSES)
                if _try_lock(self._connection, _PROCESS, number)
            )

    def release(self) -> None:
        """Let another process have the number."""
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@contextmanager
def refresh_lock(database: Database, bandit: int) -> Iterator[bool]:
    """Whether this process may refresh the prior of a bandit now; excludes other processes."""
    if database.is_sqlite:
        yield True
        return
    connection = database.connect()
    try:
        held = _try_lock(connection, _REFRESH, bandit)
        try:
            yield held
        finally:
            if held:
                unlock = text("SELECT pg_advisory_unlock(:kind, :number)")
                connection.execute(unlock, {"kind": _REFRESH, "number": bandit})
    finally:
        connection.close()


def _try_lock(connection: Connection, kind: int, number: int) -> bool:
    query = text("SELECT pg_try_advisory_lock(:kind, :number)")
    return bool(connection.execute(query, {"kind": kind, "number": number}).scalar_one())


def n_running(connection: Connection) -> int:
    """How many processes of the service use a PostgreSQL store now."""
    query = text(
        "SELECT count(*) FROM pg_locks JOIN pg_database ON pg_database.oid = pg_locks.database "
        "WHERE locktype = 'advisory' AND granted AND datname = current_database() "
        "AND classid = :kind AND objsubid = 2"
    )
    return int(connection.execute(query, {"kind": _PROCESS}).scalar_one())
