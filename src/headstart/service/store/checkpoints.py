"""Checkpoints: SQLite's log goes into the file by a thread, so that no commit waits for it."""

import logging
import sqlite3
import threading
from collections.abc import Callable

_log = logging.getLogger("headstart.service")

_PAUSE_SECONDS = 0.5
# From so many pages on, writers wait for a moment, so that the log begins anew.
_MANY_PAGES = 16_000


class Checkpoints:
    """A thread that copies pages of the log into the file; no writer waits for that.

    Once the log is long, it has the log begin anew, for which writers wait for a moment.
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
                    _, pages, _ = connection.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()
                    if pages > _MANY_PAGES:
                        connection.execute("PRAGMA wal_checkpoint(RESTART)").fetchone()
                except sqlite3.Error as error:  # the disk is full, or a reader takes long
                    _log.debug("a checkpoint failed: %s", type(error).__name__)
        finally:
            connection.close()
