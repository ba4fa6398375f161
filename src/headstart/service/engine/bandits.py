"""Bandit: what a process holds of a bandit; the store has everything."""

from collections import OrderedDict
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np

from headstart.live.stored import ItemEffects, Model, Start, StoredMemory, StoredTasks
from headstart.service.engine.catalogue import Catalogue
from headstart.service.messages import ServiceError, invalid
from headstart.service.store.bandits import BanditRow
from headstart.service.store.tasks import TaskEntry

# At most this many rows of a batch times d²: about ten seconds if all tasks are new.
_BATCH = 10**8


@dataclass(frozen=True, kw_only=True, eq=False)
class PriorInUse:
    """A version of the prior, ready for tasks to start from."""

    version: int
    memory: StoredMemory  # the tasks of the store and the promoted logs
    start: Start | None
    effects: ItemEffects | None = None


class Bandit:
    """A bandit in one process: its model, catalogue and prior, and the tasks it has in memory.

    Only the thread that commits uses it. Tasks that start cold are separate: no memory is ever
    installed for them.
    """

    def __init__(
        self,
        row: BanditRow,
        model: Model,
    ) -> None:
        self.number = row.id
        self.name = row.name
        self.configuration = row.configuration
        self.changed = row.changed
        self.model = model
        self.schema = row.schema
        self.catalogue = Catalogue((), np.empty((0, model.dimension)), (), self.schema)
        self.catalogue_version = -1
        self.prior_version = 0
        self.paused = False  # whether new tasks go to the control
        self._prior: PriorInUse | None = None
        self._most = 1
        self.release()

    def release(self) -> None:
        """Let go of all tasks, and of their memory."""
        model = self.model
        self._rows = {False: StoredTasks(model), True: StoredTasks(model, cold=True)}
        self._entries: OrderedDict[str, TaskEntry] = OrderedDict()
        self._by_number: dict[int, TaskEntry] = {}
        if self._prior is not None:
            self.use(self._prior)

    def too_many(self, n: int) -> ServiceError | None:
        """The error for a batch of n rows that would take too long, if it would."""
        most = max(1, _BATCH // self.model.dimension**2)
        if n <= most:
            return None
        d = self.model.dimension
        return invalid(f"a batch must have at most {most:,} rows where d = {d:,}, got {n:,}")

    def rows(self, entry: TaskEntry) -> StoredTasks:
        """The rows that hold a task."""
        return self._rows[entry.control]

    def by_name(self, name: str) -> TaskEntry | None:
        """A task that is in memory."""
        entry = self._entries.get(name)
        if entry is not None:
            self._entries.move_to_end(name)
        return entry

    def by_number(self, number: int) -> TaskEntry | None:
        """A task that is in memory."""
        entry = self._by_number.get(number)
        if entry is not None:
            self._entries.move_to_end(entry.name)
        return entry

    def keep(self, entry: TaskEntry) -> None:
        """Keep a loaded or opened task."""
        self._entries[entry.name] = self._by_number[entry.id] = entry

    def drop(self, entries: Iterable[TaskEntry]) -> None:
        """Drop tasks: the store has them, or another version of them."""
        for entry in entries:
            self.rows(entry).drop(entry.id)
            self._entries.pop(entry.name, None)
            self._by_number.pop(entry.id, None)

    def share(self, cache_bytes: int) -> None:
        """Use this much memory for tasks from now on; always enough for one task."""
        self._most = max(1, cache_bytes // self._rows[False].row_bytes)

    def trim(self) -> None:
        """Drop the least recently used tasks if there are too many."""
        while len(self._entries) > self._most:
            self.drop([next(iter(self._entries.values()))])

    def __len__(self) -> int:
        return len(self._entries)

    @property
    def bytes_used(self) -> int:
        """How much memory the rows take."""
        return sum(rows.allocated_bytes for rows in self._rows.values())

    def use(self, prior: PriorInUse) -> None:
        """Have new tasks start from a version of the prior."""
        self.prior_version, self._prior = prior.version, prior
        self._rows[False].install(prior.memory, prior.start, prior.effects)

    def moves_of(self, control: bool) -> list[int]:
        """The tasks that have come to need a newer prior since the last call."""
        return self._rows[control].taken_moves()
