"""Checkpoints: SQLite's log goes into the file by a thread, so that no commit waits for it."""

import logging
import sqlite3
import threading
from collections.abc import Callable

_log = logging.getLogger("headstart.service")

_PAUSE_SECONDS = 0.5
# Once the log has so many pages, it is to begin anew: that happens by itself with the next commit
# after a checkpoint during which nothing was written. So small ones follow each other, so often.
_MANY_PAGES = 16_000
_TRIES = 3
# From so many pages on, writers wait for a moment, so that the log begins anew.
_MOST_PAGES = 32_000


class Checkpoints:
    """A thread that copies pages of the log into the file; no writer waits for that.

    Only where the log has become long because writers never rest, they wait until it begins anew.
    """

    def __init__(self, connect: Callable[[], sqlite3.Connection]) -> None:
        self._connect = connect
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="headstart-checkpoint", daemon=True)
        self._thread.start()

    def stop(self) -> None:
        """End after what is under way."""
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
    """Copy what is in the log; where it is long, until it can begin anew."""
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
    """Copy pages of the log into the file; how many pages the log has."""
    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
    return int(pages)
