"""Numbers and locks that one process holds at a time."""

from collections.abc import Iterator
from contextlib import contextmanager

from sqlalchemy import Connection, text

from headstart.service.store.database import Database

# The first halves of PostgreSQL's advisory locks.
_PROCESS, _REFRESH = 7_310_418, 7_310_419
_MOST_PROCESSES = 10_000


class ProcessNumber:
    """The lowest number that no other running process of the store holds; 0 where one owns it."""

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
    """Whether this process may refresh the prior of a bandit now; no other may meanwhile."""
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
