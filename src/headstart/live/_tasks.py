"""Lifecycle: how a task opens, learns, and joins the memory."""

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
from headstart.live import _layout as rows
from headstart.live._store import Store, first_row
from headstart.live.catalogue import Views
from headstart.live.decision import Name
from headstart.logs import reader


@dataclass(frozen=True, kw_only=True)
class Ending:
    """When a task ends by itself, and how it forgets until then."""

    horizon: int | None = None  # after so many rewards
    idle: float | None = None  # after so many seconds without a call
    discount: float = 1.0  # what each reward leaves of the weight of the task's earlier ones
    clock: Callable[[], float] = time.time

    def __post_init__(self) -> None:
        if self.horizon is not None:
            checks.count("horizon", self.horizon)
        if self.idle is not None:
            checks.positive("idle", self.idle)
        if checks.positive("discount", self.discount) > 1.0:
            raise ValueError(f"discount must be at most 1, got {self.discount}")


class Lifecycle:
    """The open tasks and the memory of finished ones."""

    def __init__(self, dimension: int, estimator: PriorEstimator, ending: Ending) -> None:
        self.estimator = estimator
        self.ending = ending
        self.store = Store(dimension)
        self.memory: Memory = estimator.empty(dimension)
        self.finished = 0
        # AVG and RR move the bias with the task's own rewards.
        self.follows = estimator.running_bias(self.memory) is not None
        self.views = Views(self.store)
        self._prior: Prior | None = None
        self._first_row = np.empty(0)

    def prior(self) -> Prior:
        """What the next task starts from."""
        if self._prior is None:
            prior = self.estimator.prior(self.memory)
            if prior.mixture is not None and self.follows:
                raise ValueError("a prior must not have a mixture where its bias moves in a task")
            self._prior, self._first_row = prior, first_row(prior)
        return self._prior

    def slot(self, name: Name) -> int:
        """The slot of an open task."""
        if not isinstance(name, str | int) or name not in self.store.slots:
            raise ValueError(f"task must be the name of an open task, got {name!r}")
        return self.store.slots[name]

    def touch(self, name: Name) -> int:
        """The slot of a task, which is opened if it is new."""
        if not isinstance(name, str | int) or isinstance(name, bool):
            raise ValueError(f"task must be named by a string or an integer, got {name!r}")
        slot = self.store.slots.get(name)
        if slot is None:
            self.prior()
            slot = self.store.open(name, self._first_row)
        self.stamp(name, slot)
        self.follow(slot)
        return slot

    def stamp(self, name: Name, slot: int) -> None:
        """Note that somebody asked for the task now."""
        if self.ending.idle is not None:
            slots = self.store.slots
            slots[name] = slots.pop(name)  # to the end: the order is that of the last call
            self.store.set_scalar(slot, rows.TOUCHED, self.ending.clock())

    def sweep(self) -> None:
        """Finish the tasks that nobody asked for during the idle time."""
        if self.ending.idle is None:
            return
        latest = self.ending.clock() - self.ending.idle
        while self.store.slots:
            name, slot = next(iter(self.store.slots.items()))
            if self.store.scalar(slot, rows.TOUCHED) > latest:
                return
            self.finish(name)

    def follow(self, slot: int) -> None:
        """Move the bias to where the memory and the task's own rewards put it, if it moves."""
        if self.follows:
            task = self.store.estimate(slot).statistics
            prior = self.estimator.prior(self.estimator.absorb(self.memory, task))
            self.store.vector(slot, rows.BIAS)[:] = prior.bias
            self.store.settle(slot)

    def learn(self, slot: int, kept: Floats, place: int, value: float, weight: float) -> int:
        """Learn the reward of what is kept in a place; what `rows.learn` answers."""
        state, discount = self.store.state, self.ending.discount
        trace = self.views.trace(slot)
        before = state[slot].copy() if discount < 1.0 else None
        if before is not None:
            rows.forget(state[slot], self.store.dimension, discount)
        answer = int(rows.learn(state, slot, kept, place, value, weight, trace))
        if answer != rows.REFUSED:
            self.views.follow(slot, trace)
        elif before is not None:
            state[slot] = before
        return answer

    def learned(self, slot: int, answer: int) -> None:
        """What has to follow a reward: `refresh` where it is due, and at the horizon the end."""
        if answer == rows.DUE or self.ending.discount < 1.0:
            self.refresh(slot)
        horizon = self.ending.horizon
        if horizon is not None and self.store.scalar(slot, rows.REWARDS) >= horizon:
            self.finish(self.store.name(slot))

    def refresh(self, slot: int) -> None:
        """Factorise a task afresh, and have second thoughts about its prior if it has reason to.

        They are about the prior of now, with all that has been learned since the task began.
        """
        self.store.anchor(slot)
        if self.ending.discount < 1.0:
            self.store.restate_noise(slot)
        if self.store.doubtful(slot):
            self._reconsider(slot)

    def _reconsider(self, slot: int) -> None:
        start = self.prior()
        if start.mixture is None:
            self.store.set_scalar(slot, rows.WARY, rows.NEVER)
            return
        try:
            prior = start.revised(self.store.estimate(slot).statistics)
            self.store.restart(slot, prior)
        except np.linalg.LinAlgError:
            # No digits left to weigh the parts with: it stays where it is.
            return
        self.views.drop(slot)

    def finish(self, name: Name) -> None:
        """The task joins the memory; one without any reward leaves no trace there."""
        slot = self.slot(name)
        if self.store.scalar(slot, rows.REWARDS) > 0:
            self.absorb(self.store.estimate(slot).statistics)
        self.close(name)

    def close(self, name: Name) -> None:
        """Forget an open task."""
        self.views.drop(self.store.slots[name])
        self.store.close(name)

    def absorb(self, task: TaskStatistics) -> None:
        """A finished task joins the memory, wherever it was played."""
        self.memory = self.estimator.absorb(self.memory, task)
        self.finished += 1
        self._prior = None

    def restore(self, memory: Memory, finished: int) -> None:
        """Take over a memory that was saved."""
        self.memory, self.finished, self._prior = memory, finished, None

    def absorb_logs(
        self,
        logs: Any,
        columns: reader.Columns,
        *,
        together: bool,
        progress: reader.Progress | None,
    ) -> None:
        """Every task of the logs joins the memory; none of them if anything is wrong."""
        before, finished = self.memory, self.finished
        dimension = self.store.dimension
        try:
            if together:
                for found in reader.grouped(logs, columns, dimension, progress):
                    self.absorb(found)
            else:
                for _, found in reader.statistics(logs, columns, dimension, progress):
                    self.absorb(found)
        except BaseException:
            self.restore(before, finished)
            raise
