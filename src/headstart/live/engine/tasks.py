"""Tasks: how an open task starts, learns, revises its prior, and joins the memory."""

import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory, PriorEstimator
from headstart.kernels import Components, revision_due
from headstart.kernels import state as columns
from headstart.live import inputs
from headstart.live.decision import Name
from headstart.live.engine.catalogue_scores import CatalogueScores
from headstart.live.engine.layout import FIRST_PENDING, LAST_USED, NONE, Layout
from headstart.live.engine.pending import Pending, find
from headstart.logs import accumulate, reader
from headstart.progress import Progress

# What has to follow a reward beside what `kernels.state` lists: the horizon is reached.
FINISH = 4

# How much the first rows reserve at most.
_RESERVED_BYTES = 1 << 24


@dataclass(frozen=True, kw_only=True)
class Ending:
    """When a task ends by itself, and how it forgets until then."""

    horizon: int | None = None  # after so many rewards
    idle_seconds: float | None = None  # after so many seconds without a call
    discount: float = 1.0  # what each reward leaves of the weight of the task's earlier ones
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        if self.horizon is not None:
            checks.count("horizon", self.horizon)
        if self.idle_seconds is not None:
            checks.positive("idle_seconds", self.idle_seconds)
        if checks.positive("discount", self.discount) > 1.0:
            raise ValueError(f"discount must be at most 1, got {self.discount}")


class Tasks:
    """The open tasks, one row each, and the memory of finished ones.

    Rows are reused after a task closes. They grow by a sixteenth, in place where the system can,
    so that what is reserved stays small beside what is used.
    """

    def __init__(self, dimension: int, estimator: PriorEstimator, ending: Ending) -> None:
        self.dimension = dimension
        self.estimator = estimator
        self.ending = ending
        self.layout = Layout(dimension)
        self.rows = np.zeros((0, self.layout.length))
        self.slots: dict[Name, int] = {}  # the least recently used first, where that matters
        self.names: dict[int, Name] = {}
        self.pending = Pending(dimension)
        self.catalogue_scores = CatalogueScores(dimension)
        self.memory: Memory = estimator.empty(dimension)
        self.n_finished = 0
        # AVG and RR move the bias with the task's own rewards.
        self.bias_moves = estimator.running_bias(self.memory) is not None
        # Whether the rows hold the current estimates between calls.
        self.estimate_is_kept = not self.bias_moves and ending.discount == 1.0
        # Whether one compiled call is all that a decision or a reward needs.
        self.one_call = self.estimate_is_kept and ending.idle_seconds is None
        self.horizon = ending.horizon or 0  # 0 for none, as kernels take it
        self._free: list[int] = []
        self._prior: Prior | None = None
        self._components: Components | None = None
        self._first_row = np.empty(0)
        self._is_finite = True

    def prior(self) -> Prior:
        """What the next task starts from."""
        if self._prior is None:
            prior = self.estimator.prior(self.memory)
            if prior.mixture is not None and self.bias_moves:
                raise ValueError("a prior must not have a mixture where its bias moves in a task")
            self._components = None if prior.mixture is None else prior.mixture.components()
            self._prior, self._first_row = prior, self.layout.first_row(prior)
            self._is_finite = bool(np.isfinite(self._first_row[: self.layout.scalars.start]).all())
        return self._prior

    def slot(self, name: Name) -> int:
        """The slot of an open task."""
        slot = self.slots.get(inputs.name_of(name))
        if slot is None:
            raise ValueError(f"task must be the name of an open task, got {name!r}")
        return slot

    def start(self, name: Name) -> int:
        """The slot of a task that is about to be used; it is opened if it is new."""
        name = inputs.name_of(name)
        slot = self.slots.get(name)
        if slot is None:
            self.prior()
            if not self._is_finite:
                raise ValueError("the prior must be finite: the memory's sums are out of range")
            slot = self.open(name, self._first_row)
        self.note_use(name, slot)
        self.move_bias(slot)
        return slot

    def open(self, name: Name, row: Floats) -> int:
        """Give a row to a new task; returns its slot."""
        if not self._free:
            # A row may be large: 64 MB at d = 2000.
            few = max(1, min(16, _RESERVED_BYTES // (8 * self.layout.length)))
            old, more = len(self.rows), max(few, len(self.rows) // 16)
            # No view of the rows outlives a call: readers copy.
            self.rows.resize((old + more, self.layout.length), refcheck=False)
            self._free.extend(range(old + more - 1, old - 1, -1))
        slot = self._free.pop()
        self.rows[slot] = row
        self.rows[slot, FIRST_PENDING] = NONE
        self.slots[name] = slot
        self.names[slot] = name
        return slot

    def close(self, name: Name) -> None:
        """Forget an open task and what it has pending."""
        slot = self.slots.pop(name)
        del self.names[slot]
        for place in self.pending.of(self.rows[slot]):
            self.pending.drop(self.rows, place)
        self.catalogue_scores.drop(slot)
        self._free.append(slot)

    def find(self, decision: int) -> tuple[int, int]:
        """The place and the slot of an open decision."""
        place = int(find(self.pending.links, decision))
        if place == NONE:
            raise not_open(decision)
        return place, self.pending.owner(place)

    def scalar(self, slot: int, which: int) -> float:
        """One of the scalars of `kernels.state`."""
        return float(self.rows[slot, self.layout.scalars][which])

    def note_use(self, name: Name, slot: int) -> None:
        """Note that the task is used now."""
        if self.ending.idle_seconds is not None:
            self.slots[name] = self.slots.pop(name)  # to the end: the order is that of last use
            self.rows[slot, LAST_USED] = self.ending.clock()

    def finish_idle(self) -> None:
        """Finish the tasks that were not used during the idle time."""
        if self.ending.idle_seconds is None:
            return
        latest = self.ending.clock() - self.ending.idle_seconds
        while self.slots:
            name, slot = next(iter(self.slots.items()))
            if self.rows[slot, LAST_USED] > latest:
                return
            self.finish(name)

    def move_bias(self, slot: int) -> None:
        """Set the bias that follows from the memory and the task's own rewards, if it moves."""
        if self.bias_moves:
            task = self.layout.statistics(self.rows[slot])
            prior = self.estimator.prior(self.estimator.absorb(self.memory, task))
            self.layout.move(self.rows[slot], prior.bias)

    def follow_up(self, slot: int, status: int) -> None:
        """Do what has to follow a reward: refactorise, revise the prior, finish the task."""
        row = self.rows[slot]
        if self.ending.discount < 1.0:
            self.layout.refactorise(row, restate=True)
            if revision_due(self.layout.state(row).scalars, 0):
                status |= columns.REVISE
            else:
                status &= ~columns.REVISE
        elif status & columns.REFACTORISE and not status & columns.REVISE:
            self.layout.refactorise(row, restate=False)
        if status & columns.REVISE:
            self._revise(slot)
        if status & FINISH:
            self.finish(self.names[slot])

    def _revise(self, slot: int) -> None:
        """Revise a task's prior, with all that has been learned since the task began."""
        degrees_of_freedom = float(self.prior().noise_degrees_of_freedom)
        row = self.rows[slot]
        if self._components is None:
            self.layout.state(row).scalars[0, columns.REVISION] = columns.NEVER
        elif self._is_finite and self.layout.revise(row, self._components, degrees_of_freedom):
            self.catalogue_scores.drop(slot)

    def finish(self, name: Name) -> None:
        """The task joins the memory; one without any reward changes nothing there."""
        slot = self.slot(name)
        name = self.names[slot]
        if self.scalar(slot, columns.REWARDS) > 0:
            self.absorb(self.layout.statistics(self.rows[slot]))
        self.close(name)

    def absorb(self, task: TaskStatistics) -> None:
        """A finished task joins the memory, wherever it was played."""
        self.restore(self.estimator.absorb(self.memory, task), self.n_finished + 1)

    def restore(self, memory: Memory, n_finished: int) -> None:
        """Take another memory."""
        self.memory, self.n_finished, self._prior = memory, n_finished, None

    def absorb_logs(
        self,
        logs: Any,
        log_columns: reader.Columns,
        *,
        grouped_by_task: bool,
        progress: Progress | None,
    ) -> None:
        """Every task of the logs joins the memory; none of them if anything is wrong."""
        before, finished = self.memory, self.n_finished
        try:
            if grouped_by_task:
                for task in accumulate.grouped_by_task(logs, log_columns, self.dimension, progress):
                    self.absorb(task)
            else:
                for _, task in accumulate.statistics(logs, log_columns, self.dimension, progress):
                    self.absorb(task)
        except BaseException:
            self.restore(before, finished)
            raise


def not_open(decision: int) -> ValueError:
    """The error for an id that takes no reward."""
    return ValueError(
        f"decision {decision} is not open: it was rewarded already, its task was finished, "
        "or it was never made here"
    )
