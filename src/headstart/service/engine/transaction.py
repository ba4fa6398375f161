"""Transaction: what one group of requests reads, changes and may have to undo."""

from collections.abc import Callable, Iterable, Sequence
from typing import TypeVar

from sqlalchemy import Connection

from headstart.service.engine.bandits import Bandit
from headstart.service.engine.counters import Sums
from headstart.service.store.blocks import Blocks
from headstart.service.store.tasks import TaskEntry

_Row = TypeVar("_Row")


class Transaction:
    """A database transaction with the sums it adds and the tasks it touched.

    If it fails, the tasks that it touched are dropped from memory and read again.
    """

    def __init__(self, connection: Connection, process: int, now: float, blocks: Blocks) -> None:
        self.connection = connection
        self.now = now
        self.sums = Sums(process, now)
        self._blocks = blocks
        # Whether this process is the only one that writes.
        self.owns_store = connection.dialect.name == "sqlite"
        self._touched: list[tuple[Bandit, TaskEntry]] = []
        self._after: list[Callable[[], None]] = []
        self._otherwise: list[Callable[[], None]] = []

    def block(self, n: int) -> int:
        """The block of n new decisions."""
        return self._blocks.take(n, self.now)

    def touch(self, bandit: Bandit, tasks: Iterable[TaskEntry]) -> None:
        """Note that tasks are changed in memory, or loaded, by this transaction."""
        self._touched += [(bandit, task) for task in tasks]

    def after_commit(self, call: Callable[[], None]) -> None:
        """Do something once the transaction is committed."""
        self._after.append(call)

    def on_rollback(self, call: Callable[[], None]) -> None:
        """Do something if the transaction fails."""
        self._otherwise.append(call)

    def end(self) -> None:
        """After the commit: what it opened is no longer new."""
        for call in self._after:
            call()
        for bandit, task in self._touched:
            task.is_new = False
            bandit.trim()

    def undo(self) -> None:
        """Drop what was touched."""
        for call in self._otherwise:
            call()
        for bandit, task in self._touched:
            bandit.drop([task])


def split(rows: Sequence[_Row], sizes: Iterable[int]) -> list[list[_Row]]:
    """Rows in parts of these sizes."""
    parts, start = [], 0
    for size in sizes:
        parts.append(list(rows[start : start + size]))
        start += size
    return parts
