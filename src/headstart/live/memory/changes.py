"""Changes: which tasks the memory has to count anew, and how it comes up to date."""

import math
from collections import OrderedDict
from collections.abc import Callable
from typing import TYPE_CHECKING

import numpy as np

from headstart.core.statistics import TaskStatistics
from headstart.live.decision import Name
from headstart.live.memory import scales as scaling
from headstart.live.memory.population import Change, Contribution, Start, State
from headstart.live.tasks.layout import (
    AS_IT_IS,
    AS_IT_WAS,
    COUNTED,
    COUNTED_AT,
    NOT_COUNTED,
    TO_COUNT,
)

if TYPE_CHECKING:
    from headstart.live.tasks.all_tasks import Tasks


def _ask_nothing() -> None:
    """Without a thread there is nothing to ask."""


class Changes:
    """The tasks that learned since the memory last counted them.

    With refresh "inline" the memory comes up to date when a task opens. With "background" a thread
    does it: it collects changes under the bandit's lock, computes without it, and installs the
    result under it (`refresher`). Until then the changes are in flight.
    """

    def __init__(self, tasks: "Tasks") -> None:
        self._tasks = tasks
        # Ordered, so that to take the first takes no search past those taken before.
        self._names: OrderedDict[Name, None] = OrderedDict()
        self._earlier: dict[Name, TaskStatistics] = {}  # of tasks that are counted as they were
        self._in_flight: dict[Name, Change] = {}
        self._moves: OrderedDict[Name, None] = OrderedDict()
        self.generation = 0  # raised when the memory is replaced by others than the thread
        self._position = 0.0
        # Asks the thread to refresh, where there is one.
        self.request: Callable[[], None] = _ask_nothing

    @property
    def n_waiting(self) -> int:
        """How many tasks have changed and are not in flight."""
        return len(self._names)

    @property
    def inline(self) -> bool:
        """Whether the memory comes up to date within calls."""
        return self._tasks.settings.refresh == "inline"

    def note(self, name: Name) -> None:
        """Note that a task has to be counted anew."""
        self._names[name] = None
        if not self.inline:
            self.request()

    def keep_earlier(self, name: Name, statistics: TaskStatistics) -> None:
        """Keep the statistics with which the memory counts a task that is about to learn."""
        self._earlier[name] = statistics

    def contribution(self, name: Name) -> Contribution | None:
        """What the memory counts for a task."""
        if name in self._in_flight:
            return self._in_flight[name].before
        return self._marked(name)

    def _marked(self, name: Name) -> Contribution | None:
        """What the memory counts for a task, once what is in flight has been installed."""
        row = self._tasks.row(name)
        position = float(row[COUNTED_AT])
        if row[COUNTED] == AS_IT_IS:
            return Contribution(self._tasks.statistics(name), position)
        if row[COUNTED] == AS_IT_WAS:
            return Contribution(self._earlier[name], position)
        return None

    def move(self, name: Name) -> None:
        """Give an open task the prior that all others have learned by now; its own part is out."""
        if self.inline:
            population, contribution = self._tasks.population, self.contribution(name)
            n_others = population.state.n_tasks - (contribution is not None)
            side = self._tasks.sides.get(name)
            start = population.starting_from(population.without(contribution), side)
            self._tasks.rebase(name, start, n_others)
        else:
            self._moves[name] = None
            self.request()

    def next_move(self) -> Name | None:
        """A task that waits for a newer prior, which it no longer does."""
        while self._moves:
            name, _ = self._moves.popitem(last=False)
            if name in self._tasks.slots:
                return name
        return None

    def wanted(self) -> None:
        """A task opens and wants the prior of now."""
        if self.inline:
            self.bring_up_to_date()
        elif self._names:
            self.request()

    def bring_up_to_date(self) -> None:
        """Count every task as it is, at once."""
        self.undo()
        changes = self.collect(len(self._names))
        settings, population = self._tasks.settings, self._tasks.population
        state = population.replaced(population.state, changes)
        if settings.half_life_seconds is not None:
            state = population.discounted(state, float(settings.clock()))
        if state is not population.state:
            population.install(state)
        self._in_flight.clear()  # it is part of the memory now
        self.generation += 1
        self._learn_scales()

    def collect(self, limit: int) -> list[Change]:
        """Up to `limit` changes, which are in flight from now on."""
        changes = []
        for _ in range(min(limit, len(self._names))):
            name, _ = self._names.popitem(last=False)
            change = self._change(name)
            if change is not None:
                self._in_flight[name] = change
                changes.append(change)
        return changes

    def _change(self, name: Name) -> Change | None:
        tasks = self._tasks
        row, before, now = tasks.row(name), self._marked(name), tasks.statistics(name)
        self._earlier.pop(name, None)
        if tasks.population.is_outlying(now, tasks.population.state):
            tasks.population.warn_set_aside(name)
            row[COUNTED] = NOT_COUNTED
            return None if before is None else Change(name, before, None)
        position = self.next_position(new=before is None)
        row[COUNTED], row[COUNTED_AT] = AS_IT_IS, position
        return Change(name, before, Contribution(now, position))

    def next_position(self, *, new: bool) -> float:
        """The position of a contribution: the time, or the number of tasks so far."""
        if self._tasks.settings.half_life_seconds is not None:
            return float(self._tasks.settings.clock())
        self._position = max(self._position, self._tasks.population.state.position) + new
        return self._position

    def undo(self) -> None:
        """Take back what is in flight: the memory never got it."""
        for name, change in self._in_flight.items():
            row = self._tasks.row(name)
            if change.before is None:
                row[COUNTED] = TO_COUNT
                self._earlier.pop(name, None)
            else:
                self._earlier[name] = change.before.task
                row[COUNTED], row[COUNTED_AT] = AS_IT_WAS, change.before.position
            self._names[name] = None
        if self._in_flight:  # their positions are given again
            self._position = self._tasks.population.state.position
        self._in_flight.clear()
        self.generation += 1

    def erase(self, name: Name) -> None:
        """Take out of the memory what it counts for a task, and forget that the task changed."""
        self.undo()
        population, contribution = self._tasks.population, self._marked(name)
        if contribution is not None:
            change = Change(name, contribution, None)
            left = population.replaced(population.state, [change])
            population.install(population.refitted(left))
        for names in (self._names, self._earlier, self._moves):
            names.pop(name, None)

    def install(self, state: State, start: Start) -> None:
        """Install what was computed for the changes in flight."""
        self._tasks.population.install(state, start)
        self._in_flight.clear()  # it is part of the memory now
        self._learn_scales()

    def _learn_scales(self) -> None:
        """Learn the features' scales, once, and count all tasks anew where they are far apart."""
        tasks, population = self._tasks, self._tasks.population
        if population.scales_known or population.state.rounds < scaling.ROUNDS_TO_LEARN:
            return
        population.scales_known = True
        names = [*tasks.slots, *tasks.finished.numbers]
        marked = ((name, self._marked(name)) for name in names)
        counted = [Change(name, None, each) for name, each in marked if each is not None]
        parts = [each.after.task for each in counted if each.after is not None]
        if len(parts) < population.state.n_tasks:
            return  # tasks of logs are not kept: their scales are those of the log
        squares = np.sum([np.diagonal(part.gram) for part in parts], 0)
        found = scaling.far_apart(squares / math.fsum(float(part.count) for part in parts))
        if found is not None:
            population.learn_scales(found, tasks.feature_names.all)
            population.install(population.replaced(population.state, counted))
            for name in list(tasks.slots):
                self.move(name)
