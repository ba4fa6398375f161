"""Tasks: the rows of open and finished tasks by name, and the decisions that they made."""

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import replace

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import n_about
from headstart.kernels import state as columns
from headstart.live._counted import Counted
from headstart.live._item_effects import ItemCounts, itemized
from headstart.live._named_rows import NamedRows
from headstart.live._pending import Held, Pending, Settled, finished_number, owner_of_finished
from headstart.live._population import Population
from headstart.live._rows import FIRST_PENDING, LAST_USED, NONE
from headstart.live.inputs import FeatureNames, Name


class Tasks:
    """All tasks: the open ones, the finished ones, and what counts of each in the memory."""

    def __init__(self, population: Population, feature_names: FeatureNames) -> None:
        layout, settings = population.layout, population.settings
        self.dimension = layout.dimension
        self.settings = settings
        self.layout = layout
        self.feature_names = feature_names
        # If idle tasks are finished, the least recently used comes first.
        self._open = NamedRows(layout.length, ordered=settings.idle_seconds is not None)
        self.rows, self.slots, self.names = self._open.rows, self._open.numbers, self._open.names
        self.finished = NamedRows(layout.finished_length)  # without their inverses
        # How many numbers side information has.
        self.n_about = n_about(population.estimator)
        self.counted = Counted(layout.dimension, self.n_about)
        # The tasks to count again, and in which refresh that was noted. Ordered, so that the first
        # is found without a search past those taken before.
        self.changed: OrderedDict[Name, int] = OrderedDict()
        self.abouts: dict[Name, Floats] = {}  # what is known of tasks before their first round
        # The side information of a task about which nothing is known.
        self.unknown_about: Floats | None = None
        self.items = ItemCounts()  # what tasks count by item
        self.unsettled: dict[str, list[float]] = {}  # values of numbers without mean and scale
        self.n_from_logs = 0  # tasks of logs that were counted and not kept
        self.pending = Pending(layout.dimension)
        if settings.deadline_seconds is not None:
            self.pending.clock = settings.clock
        self.settled = Settled()
        # Whether tasks end, or decisions expire, with time.
        self.runs_out = settings.idle_seconds is not None or settings.deadline_seconds is not None

    def __contains__(self, name: object) -> bool:
        return name in self.slots or name in self.finished

    def all_names(self) -> list[Name]:
        """The names of all tasks, the open ones first."""
        return [*self.slots, *self.finished.numbers]

    def slot(self, name: Name) -> int:
        """The slot of an open task."""
        slot = self.slots.get(name)
        if slot is None:
            raise ValueError(f"task must be the name of an open task, got {name!r}")
        return slot

    def open(self, name: Name, row: Floats) -> int:
        """Give a slot to a task with a row; returns it."""
        return self._open.add(name, row)

    def reopen(self, name: Name) -> int:
        """Open a finished task again, from its row."""
        slot = self.open(name, self.layout.reopened(self.finished.row(name)))
        self.finished.remove(name)
        self.pending.own(self.rows[slot], slot)
        return slot

    def close(self, name: Name) -> None:
        """Take back the slot of a task; the caller takes care of its row and its decisions."""
        self._open.remove(name)

    def _counts(self, name: Name) -> bool:
        """Whether the memory counts a task, or is to count it."""
        return name in self.counted or name in self.changed

    def finish(self, name: Name) -> None:
        """Close a task and keep what it knows; a task that knows nothing is forgotten."""
        slot = self.slot(name)
        row = self.rows[slot]
        if (
            self.scalar(slot, columns.REWARDS) > 0
            or row[FIRST_PENDING] != NONE
            or self._counts(name)
        ):
            number = self.finished.add(name, self.layout.finished(row))
            self.pending.own(row, owner_of_finished(number))
        self.close(name)

    def finish_idle(self) -> None:
        """Finish the tasks that were not used during the idle time."""
        if self.settings.idle_seconds is None:
            return
        latest = self.settings.clock() - self.settings.idle_seconds
        while self.slots:
            name, slot = next(iter(self.slots.items()))
            if self.rows[slot, LAST_USED] > latest:
                return
            self.finish(name)

    def note_use(self, name: Name, slot: int) -> None:
        """Note that the task is used now."""
        if self.settings.idle_seconds is not None:
            assert isinstance(self.slots, OrderedDict)
            self.slots.move_to_end(name)
            self.rows[slot, LAST_USED] = self.settings.clock()

    def row(self, name: Name) -> Floats:
        """The row of a task, open or finished, as a view; the numbers at its end may be changed."""
        slot = self.slots.get(name)
        return self.finished.row(name) if slot is None else self.rows[slot]

    def scalar(self, slot: int, which: int) -> float:
        """One of the scalars of `kernels.state`."""
        return float(self.rows[slot, self.layout.scalars][which])

    def statistics(self, name: Name) -> TaskStatistics:
        """The statistics of a task, open or finished."""
        slot = self.slots.get(name)
        if slot is None:
            statistics = self.layout.finished_statistics(self.finished.row(name))
        else:
            statistics = self.layout.statistics(self.rows[slot])
        about = self.abouts.get(name, self.unknown_about)
        if about is not None:
            statistics = replace(statistics, about=about)
        return itemized(statistics, self.items.of(name))

    def place(self, decision: str) -> int:
        """The place of a pending decision, or NONE; its task is open afterwards."""
        place = self.pending.find(decision)
        if place != NONE and (name := self.finished_owner(place)) is not None:
            self.reopen(name)
        return place

    def finished_owner(self, place: int) -> Name | None:
        """The finished task whose decision is in a place, if any."""
        owner = self.pending.owner(place)
        return self.finished.names[finished_number(owner)] if owner < NONE else None

    def drop_decision(self, place: int) -> None:
        """Give up a pending decision, whether its task is open or finished."""
        name = self.finished_owner(place)
        if name is None:
            self.pending.drop(self.rows, place)
            return
        number = self.finished.numbers[name]
        row = self.finished.row(name)
        # Dropping one changes the list, which starts in the row of a finished task.
        self.pending.own(row, number)
        self.pending.drop(self.finished.rows, place)
        self.pending.own(row, owner_of_finished(number))
        self.drop_empty(name)

    def drop_empty(self, name: Name) -> None:
        """Forget a finished task that knows nothing and counts for nothing."""
        if name in self.finished:
            row = self.finished.row(name)
            known = row[FIRST_PENDING] != NONE or self._counts(name)
            if not known and self.layout.finished_statistics(row).count == 0.0:
                self.finished.remove(name)
                self.items.drop(name)

    def adopt(self, open_rows: Mapping[Name, Floats], finished: Mapping[Name, Floats]) -> None:
        """Take tasks with their rows, from a file or from another bandit."""
        for name, row in open_rows.items():
            slot = self.open(name, row)
            self.rows[slot, FIRST_PENDING] = NONE
        for name, row in finished.items():
            number = self.finished.add(name, row)
            self.finished.rows[number, FIRST_PENDING] = NONE

    def adopt_decision(self, name: Name, decision: str, held: Held) -> None:
        """Take a pending decision of a task with its id."""
        if name in self.slots:
            self.pending.restore(self.rows, self.slots[name], decision, held)
            return
        number = self.finished.numbers[name]
        self.pending.restore(self.finished.rows, number, decision, held)
        self.pending.own(self.finished.rows[number], owner_of_finished(number))
