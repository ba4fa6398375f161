"""Tasks: how a task opens, learns, revises its prior, ends, and comes back."""

from collections import OrderedDict
from dataclasses import replace

import numpy as np

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import LivePriorEstimator, PriorEstimator
from headstart.kernels import state as columns
from headstart.live import inputs
from headstart.live.deciding.catalogue_scores import CatalogueScores
from headstart.live.decision import Name
from headstart.live.feature_names import FeatureNames
from headstart.live.memory.changes import Changes
from headstart.live.memory.population import Population, Start
from headstart.live.settings import Settings
from headstart.live.tasks.finished import FinishedTasks
from headstart.live.tasks.layout import (
    AS_IT_IS,
    AS_IT_WAS,
    COUNTED,
    FIRST_PENDING,
    LAST_USED,
    NONE,
    NOT_COUNTED,
    PRIOR_TASKS,
    TO_COUNT,
    Layout,
)
from headstart.live.tasks.pending import Pending, drop_projections, owner
from headstart.live.tasks.settled import Settled

# What has to follow a reward beside what `kernels.state` lists: the horizon is reached.
FINISH = 4

# How much the first rows reserve at most.
_RESERVED_BYTES = 1 << 24
# From so many bytes on, rows grow by a smaller share, so that no request waits for long.
_FEW_BYTES = 1 << 24


class Tasks:
    """All tasks: the open ones, one row each; the finished ones; and the memory over both.

    Rows are reused after a task ends. They grow by a sixteenth, in place where the system can, so
    that what is reserved stays small beside what is used.
    """

    def __init__(
        self,
        dimension: int,
        estimator: PriorEstimator,
        settings: Settings,
        feature_names: FeatureNames,
    ) -> None:
        self.dimension = dimension
        self.settings = settings
        self.layout = Layout(dimension)
        self.rows = np.zeros((0, self.layout.length))
        # Where idle tasks are finished, the least recently used comes first.
        self.slots: dict[Name, int] = {} if settings.idle_seconds is None else OrderedDict()
        self.names: dict[int, Name] = {}
        self.finished = FinishedTasks(self.layout)
        self.feature_names = feature_names
        self.sides: dict[Name, Floats] = {}  # what is known of tasks before their first round
        self.pending = Pending(dimension, settings.max_pending)
        if settings.deadline_seconds is not None:
            self.pending.clock = settings.clock
        self.settled = Settled()
        self.catalogue_scores = CatalogueScores(dimension)
        if not isinstance(estimator, LivePriorEstimator):
            raise ValueError(
                "prior must have the methods absorb with a weight, scale and merge for live use, "
                f"got {estimator!r}"
            )
        self.population = Population(self.layout, estimator, settings)
        self.changes = Changes(self)
        self.n_from_logs = 0  # tasks of logs that were counted and not kept
        # AVG and RR move the bias with the task's own rewards.
        self.bias_moves = estimator.running_bias(self.population.state.memory) is not None
        # Whether the rows hold the current estimates between calls.
        self.estimate_is_kept = not self.bias_moves and settings.discount == 1.0
        # Whether one compiled call is all that a decision or a reward needs.
        self.one_call = self.estimate_is_kept and settings.idle_seconds is None
        # Whether tasks end, or decisions expire, with time.
        self.runs_out = settings.idle_seconds is not None or settings.deadline_seconds is not None
        self.horizon = settings.horizon or 0  # 0 for none, as kernels take it
        self._free: list[int] = []

    def slot(self, name: Name) -> int:
        """The slot of an open task."""
        slot = self.slots.get(inputs.name_of(name))
        if slot is None:
            raise ValueError(f"task must be the name of an open task, got {name!r}")
        return slot

    def start(self, name: Name) -> int:
        """The slot of a task that is about to be used; it is opened if it is not open."""
        name = inputs.name_of(name)
        slot = self.slots.get(name)
        if slot is None:
            slot = self.reopen(name) if name in self.finished else self._open_new(name)
        self.note_use(name, slot)
        self.move_bias(slot)
        return slot

    def _open_new(self, name: Name) -> int:
        self.changes.wanted()
        start, side = self.population.start, self.sides.get(name)
        if side is not None:
            start = self.population.starting_from(self.population.state.memory, side)
        if not start.is_finite:
            raise ValueError("the prior must be finite: the memory's sums are out of range")
        slot = self.open(name, start.row)
        self.rows[slot, FIRST_PENDING] = NONE
        self.rows[slot, PRIOR_TASKS] = self.population.state.n_tasks
        return slot

    def reopen(self, name: Name) -> int:
        """A finished task goes on from what it was."""
        slot = self.open(name, self.layout.reopened(self.finished.remove(name)))
        self.pending.own(self.rows[slot], slot)
        return slot

    def open(self, name: Name, row: Floats) -> int:
        """Give a slot to a task with a row; returns it."""
        if not self._free:
            # A row may be large: 64 MB at d = 2000.
            few = max(1, min(16, _RESERVED_BYTES // (8 * self.layout.length)))
            # The system moves pages and copies nothing; to clear the new ones takes its time.
            share = 16 if self.rows.nbytes < _FEW_BYTES else 256
            old, more = len(self.rows), max(few, len(self.rows) // share)
            # No view of the rows outlives a call: readers copy.
            self.rows.resize((old + more, self.layout.length), refcheck=False)
            self._free.extend(range(old + more - 1, old - 1, -1))
        slot = self._free.pop()
        self.rows[slot] = row
        self.slots[name] = slot
        self.names[slot] = name
        return slot

    def close(self, name: Name) -> None:
        """Take back the slot of a task; its row and its decisions are the caller's."""
        slot = self.slots.pop(name)
        del self.names[slot]
        self.catalogue_scores.drop(slot)
        self._free.append(slot)

    def undo_opening(self, name: Name) -> None:
        """Close a task that was opened for a call that failed."""
        # One that was finished before is so again; one of which nothing is known is gone.
        self.finish(name)

    def row(self, name: Name) -> Floats:
        """The row of a task, open or finished, as a view of which the end may be changed."""
        slot = self.slots.get(name)
        return self.finished.row(name) if slot is None else self.rows[slot]

    def statistics(self, name: Name) -> TaskStatistics:
        """The statistics of a task, open or finished."""
        slot = self.slots.get(name)
        if slot is None:
            found = self.layout.finished_statistics(self.finished.row(name))
        else:
            found = self.layout.statistics(self.rows[slot])
        return replace(found, side=self.sides[name]) if name in self.sides else found

    def place(self, decision: str) -> int:
        """The place of a pending decision, whose task is open afterwards; NONE if there is none."""
        place = self.pending.find(decision)
        if place != NONE and owner(self.pending, place) < NONE:
            self.reopen(self.finished.names[-2 - owner(self.pending, place)])
        return place

    def scalar(self, slot: int, which: int) -> float:
        """One of the scalars of `kernels.state`."""
        return float(self.rows[slot, self.layout.scalars][which])

    def note_use(self, name: Name, slot: int) -> None:
        """Note that the task is used now."""
        if self.settings.idle_seconds is not None:
            assert isinstance(self.slots, OrderedDict)
            self.slots.move_to_end(name)
            self.rows[slot, LAST_USED] = self.settings.clock()

    def move_bias(self, slot: int) -> None:
        """Set the bias that follows from the memory and the task's own rewards, if it moves."""
        if self.bias_moves:
            name = self.names[slot]
            contribution = self.changes.contribution(name)
            bias = self.population.bias_with(contribution, self.statistics(name))
            self.layout.move(self.rows[slot], bias)

    def rebase(self, name: Name, start: Start, n_tasks: int) -> None:
        """Give an open task another prior, learned from so many other tasks."""
        slot = self.slots[name]
        if start.is_finite:
            self.rows[slot] = self.layout.rebased(self.rows[slot], start.prior, start.components)
            self.catalogue_scores.drop(slot)
            drop_projections(self.pending, self.rows[slot])
            self.rows[slot, PRIOR_TASKS] = n_tasks

    def note_change(self, slot: int) -> None:
        """Note that a task is about to learn: what the memory counts for it will be outdated."""
        name, row = self.names[slot], self.rows[slot]
        if row[COUNTED] == AS_IT_IS:
            self.changes.keep_earlier(name, self.statistics(name))
        row[COUNTED] = TO_COUNT if row[COUNTED] == NOT_COUNTED else AS_IT_WAS
        self.changes.note(name)
        if self.has_newer_prior(row):
            self.changes.move(name)

    def has_newer_prior(self, row: Floats) -> bool:
        """Whether twice as many other tasks are known as the prior of a task was learned from."""
        others = self.population.state.n_tasks - int(row[COUNTED] in (AS_IT_IS, AS_IT_WAS))
        return not self.bias_moves and others >= max(1.0, 2.0 * row[PRIOR_TASKS])

    def finish(self, name: Name) -> None:
        """Close a task; what is known of it is kept. One of which nothing is known is forgotten."""
        slot = self.slot(name)
        row = self.rows[slot]
        if self.scalar(slot, columns.REWARDS) > 0 or row[FIRST_PENDING] != NONE:
            number = self.finished.add(name, self.layout.finished(row))
            self.pending.own(row, -2 - number)
        self.close(name)
