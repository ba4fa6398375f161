"""Memory: what all tasks have taught, which of them to count again, and tasks that start."""

import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import n_about
from headstart.kernels import state as columns
from headstart.live._item_effects import ItemEffects
from headstart.live._population import Change, Contribution, Population, Start, State
from headstart.live._rows import (
    AS_IT_IS,
    AS_IT_WAS,
    COUNTED,
    COUNTED_AT,
    FIRST_PENDING,
    NONE,
    NOT_COUNTED,
    PRIOR_TASKS,
    TO_COUNT,
)
from headstart.live._tasks import Tasks
from headstart.live.decision import TaskView
from headstart.live.explanation import Explanation
from headstart.live.inputs import Name

# A prior of up to this many features is computed within a call.
_MOST_AT_ONCE = 128


def _ask_nothing() -> None:
    """Without a thread there is nothing to ask."""


class Memory:
    """The memory over the tasks of a bandit: each counts once, in its present or an earlier state.

    With refresh "inline" it comes up to date when a task opens. With "background" a thread does it
    (`Refresher`): it collects changes under the bandit's lock, computes without it, and installs
    the result under it. Until then the changes are in flight.
    """

    def __init__(self, tasks: Tasks, population: Population) -> None:
        self.tasks = tasks
        self.population = population
        tasks.n_about = tasks.n_about or n_about(population.estimator)
        settings = tasks.settings
        self.inline = settings.refresh == "inline"
        # Whether the rows hold the current estimates between calls.
        self.estimate_is_kept = not population.bias_moves and settings.discount == 1.0
        # Whether one compiled call is all that a decision or a reward needs.
        self.one_call = self.estimate_is_kept and settings.idle_seconds is None
        # Ordered, so that the first is found without a search past those taken before.
        self._changed: OrderedDict[Name, None] = OrderedDict()
        self._earlier: dict[Name, TaskStatistics] = {}  # of tasks counted in an old state
        self._in_flight: dict[Name, Change] = {}
        self._moves: OrderedDict[Name, None] = OrderedDict()
        self.generation = 0  # raised when anything but the thread replaces the memory
        # Asks the thread to refresh, where there is one.
        self.request: Callable[[], None] = _ask_nothing

    # Tasks that start.

    def opened(self, names: Sequence[Name], *, keep: bool = True) -> "Opened":
        """A context with the slots of tasks, which it opens if needed.

        It closes the tasks that it opened if the context fails, and without `keep` in any case.
        """
        return Opened(self, names, keep)

    def start(self, name: Name) -> int:
        """The slot of a task that is about to be used; opens it if needed."""
        slot = self.tasks.slots.get(name)
        if slot is None:
            finished = name in self.tasks.finished
            slot = self.tasks.reopen(name) if finished else self._open_new(name)
        self.tasks.note_use(name, slot)
        self.move_bias(slot)
        return slot

    def _open_new(self, name: Name) -> int:
        if not self.inline:
            if self._changed:
                self.request()
        elif self.population.is_due(len(self._changed)):
            self.bring_up_to_date()
        population, about = self.population, self.tasks.abouts.get(name)
        start = population.start_with(about)
        if not start.is_finite:
            raise ValueError(
                "the prior must be finite and positive definite: the memory's sums are out of range"
            )
        slot = self.tasks.open(name, start.row)
        self.tasks.rows[slot, FIRST_PENDING] = NONE
        self.tasks.rows[slot, PRIOR_TASKS] = population.state.n_tasks
        return slot

    @contextmanager
    def knowing(self, name: Name, about: ArrayLike, *, keep: bool = True) -> Iterator[None]:
        """Note the side information (p,) of a task for a call; taken back if the call fails.

        The first side information of a task counts. An open task moves to the resulting prior, in
        this call already. Without `keep`, it is taken back in any case.
        """
        tasks = self.tasks
        if tasks.n_about == 0:
            raise ValueError(
                f"side information needs a prior that uses it, got {self.population.estimator!r}"
            )
        array = checks.about("about", about, (), tasks.n_about)
        if name in tasks.abouts:
            yield
            return
        if name in tasks:
            self._note_about(name)
        slot = tasks.slots.get(name)
        before = None if slot is None else tasks.rows[slot].copy()
        tasks.abouts[name] = array
        try:
            if slot is not None and n_about(self.population.estimator):
                state, contribution = self.population.state, self.contribution(name)
                start, n_others = self.population.starting_from_others(state, contribution, array)
                self.rebase(name, start, n_others)
            yield
        except BaseException:
            keep = False
            raise
        finally:
            if not keep:
                del tasks.abouts[name]
                if slot is not None:
                    tasks.rows[slot] = before

    def knowing_if(self, name: Name, about: Floats | None) -> AbstractContextManager[None]:
        """`knowing`, if there is side information."""
        return nullcontext() if about is None else self.knowing(name, about)

    def _note_about(self, name: Name) -> None:
        """Note that a task must be counted again because its side information became known."""
        row = self.tasks.row(name)
        if row[COUNTED] == AS_IT_IS:
            self._earlier[name] = self.tasks.statistics(name)
            row[COUNTED] = AS_IT_WAS
            self.note(name)

    def move_bias(self, slot: int) -> None:
        """If the bias moves, set it from the memory and the task's own rewards."""
        if self.population.bias_moves:
            self._move_bias(self.tasks.names[slot], self.tasks.rows[slot])

    def _move_bias(self, name: Name, row: Floats) -> None:
        contribution, statistics = self.contribution(name), self.tasks.statistics(name)
        self.tasks.layout.move(row, self.population.bias_with(contribution, statistics))

    # Tasks that learn.

    def note_change(self, slot: int) -> None:
        """Note that a task is about to learn, which outdates its contribution to the memory."""
        name, row = self.tasks.names[slot], self.tasks.rows[slot]
        if row[COUNTED] == AS_IT_IS:
            self._earlier[name] = self.tasks.statistics(name)
        row[COUNTED] = TO_COUNT if row[COUNTED] == NOT_COUNTED else AS_IT_WAS
        self.note(name)
        if self.population.is_outdated(row[PRIOR_TASKS], counted=_is_counted(row)):
            self.move(name)

    def note(self, name: Name) -> None:
        """Note that a task must be counted again."""
        self._changed[name] = None
        if not self.inline:
            self.request()

    def revise(self, slot: int) -> None:
        """Revise a task's prior by everything other tasks have taught since it began."""
        tasks, row = self.tasks, self.tasks.rows[slot]
        if _is_counted(row):
            # The memory holds the task's own rewards, which must not count as prior knowledge too.
            self.move(tasks.names[slot])
            return
        start = self.population.start
        if start.components is None:
            tasks.layout.state(row).scalars[0, columns.REVISION] = columns.NEVER
        elif start.is_finite:
            degrees_of_freedom = float(start.prior.noise_degrees_of_freedom)
            tasks.layout.revise(row, start.components, degrees_of_freedom)

    def move(self, name: Name) -> None:
        """Give an open task the prior that all others teach by now, without its own part."""
        if self.inline:
            about, state = self.tasks.abouts.get(name), self.population.state
            contribution = self.contribution(name)
            self.rebase(name, *self.population.starting_from_others(state, contribution, about))
        else:
            self._moves[name] = None
            self.request()

    def catch_up(self, slot: int) -> None:
        """Give a task that is about to be used the newest prior, if its own is old.

        If the prior is large, this is left to the thread, if there is one.
        """
        row, population = self.tasks.rows[slot], self.population
        if row[PRIOR_TASKS] >= population.oldest:
            return
        name = self.tasks.names[slot]
        if self.inline or self.tasks.dimension <= _MOST_AT_ONCE:
            start = population.start_with(self.tasks.abouts.get(name))
            self.rebase(name, start, population.state.n_tasks - int(_is_counted(row)))
        else:
            self.move(name)

    def catch_up_all(self, slots: Integers) -> None:
        """`catch_up`, for many tasks."""
        if self.population.oldest > 0.0:
            for slot in slots[self.tasks.rows[slots, PRIOR_TASKS] < self.population.oldest]:
                self.catch_up(int(slot))

    def next_move(self) -> Name | None:
        """Take a task off the list of those that wait for a newer prior."""
        while self._moves:
            name, _ = self._moves.popitem(last=False)
            if name in self.tasks.slots:
                return name
        return None

    def rebase(self, name: Name, start: Start, n_tasks: int) -> None:
        """Give an open task another prior, learned from this many other tasks."""
        tasks, slot = self.tasks, self.tasks.slots[name]
        if start.is_finite:
            row = tasks.layout.rebased(tasks.rows[slot], start.prior, start.components)
            tasks.rows[slot] = row
            tasks.pending.forget_numbers(tasks.rows[slot])
            tasks.rows[slot, PRIOR_TASKS] = n_tasks

    # What is counted.

    @property
    def n_waiting(self) -> int:
        """How many tasks have changed and are not in flight."""
        return len(self._changed)

    def contribution(self, name: Name) -> Contribution | None:
        """What the memory counts for a task."""
        if name in self._in_flight:
            return self._in_flight[name].before
        return self._marked(name)

    def _marked(self, name: Name) -> Contribution | None:
        """What the memory will count for a task once the changes in flight are installed."""
        row = self.tasks.row(name)
        position = float(row[COUNTED_AT])
        if row[COUNTED] == AS_IT_IS:
            return Contribution(self.tasks.statistics(name), position)
        if row[COUNTED] == AS_IT_WAS:
            return Contribution(self._earlier[name], position)
        return None

    def bring_up_to_date(self) -> None:
        """Count every task in its present state, now."""
        self.undo()
        self.population.count(self.collect(len(self._changed)))
        self._clear_in_flight()
        self.generation += 1
        self._count_again_if_due()

    def collect(self, limit: int) -> list[Change]:
        """Up to `limit` changes, which are in flight from now on."""
        changes = []
        for _ in range(min(limit, len(self._changed))):
            name, _ = self._changed.popitem(last=False)
            before = self._marked(name)
            change = self.population.change(name, before, self.tasks.statistics(name))
            self._earlier.pop(name, None)
            row = self.tasks.row(name)
            if change.after is None:
                row[COUNTED] = NOT_COUNTED
            else:
                row[COUNTED], row[COUNTED_AT] = AS_IT_IS, change.after.position
            if change.before is not None or change.after is not None:
                changes.append(change)
                # The memory counts what it counted before the first of them.
                first = self._in_flight.get(name, change)
                self._in_flight[name] = replace(change, before=first.before)
            else:
                self.tasks.drop_empty(name)
        return changes

    def undo(self) -> None:
        """Take back the changes in flight, which the memory never got."""
        for name, change in self._in_flight.items():
            row = self.tasks.row(name)
            if change.before is None:
                row[COUNTED] = TO_COUNT
                self._earlier.pop(name, None)
            else:
                self._earlier[name] = change.before.task
                row[COUNTED], row[COUNTED_AT] = AS_IT_WAS, change.before.position
            self._changed[name] = None
        self._in_flight.clear()
        self.generation += 1

    def install(self, state: State, start: Start, effects: ItemEffects | None) -> None:
        """Install the memory that was computed for the changes in flight."""
        self.population.install(state, start, effects)
        self._clear_in_flight()
        self._count_again_if_due()

    def _clear_in_flight(self) -> None:
        """Note that the changes in flight are in the memory, except for tasks without rewards."""
        gone = [name for name, change in self._in_flight.items() if change.after is None]
        self._in_flight.clear()
        for name in gone:
            self.tasks.drop_empty(name)

    def _count_again_if_due(self) -> None:
        """Count everything again to learn scales, once, or if the sums have too few digits left.

        If the scales are far apart, all open tasks move.
        """
        population = self.population
        worn = population.state.is_worn and not self.tasks.n_from_logs
        if not (population.wants_scales or worn):
            return
        marked = ((name, self._marked(name)) for name in self.tasks.all_names())
        counted = {name: contribution for name, contribution in marked if contribution is not None}
        if population.wants_scales and population.learn_scales(
            counted, self.tasks.feature_names.all
        ):
            for name in list(self.tasks.slots):
                self.move(name)
        elif worn:
            population.recount(counted)

    def forget(self, name: Name) -> None:
        """Forget a task, what it has pending, and what the memory counts for it."""
        tasks = self.tasks
        slot = tasks.reopen(name) if name in tasks.finished else tasks.slot(name)
        for place in tasks.pending.of(tasks.rows[slot]):
            tasks.pending.drop(tasks.rows, place)
        self.undo()
        contribution = self._marked(name)
        if contribution is not None:
            self.population.install(self.population.take_out([contribution]))
        for names in (self._changed, self._earlier, self._moves):
            names.pop(name, None)
        tasks.close(name)
        tasks.abouts.pop(name, None)
        tasks.items.drop(name)
        self.bring_up_to_date()

    def adopt(self, open_rows: Mapping[Name, Floats], finished: Mapping[Name, Floats]) -> None:
        """Take tasks with their rows. They count already, except those on the list to count."""
        self.tasks.adopt(open_rows, finished)
        for name in (*open_rows, *finished):
            if self.tasks.row(name)[COUNTED] == TO_COUNT:
                self.note(name)

    def has_half_life_of(self, settings: Mapping[str, Any]) -> bool:
        """Whether the memory has the half-life of these settings."""
        return bool(settings["half_life_seconds"] == self.tasks.settings.half_life_seconds)

    def change_half_life(self, before: Mapping[str, Any]) -> None:
        """Change the half-life: at this moment, every task keeps the weight it has.

        A task of weight 2^(−a) gets the position P − aH for the new half-life H. If H is infinite,
        all kept tasks weigh 1 again.
        """
        population = self.population
        old = before["half_life_seconds"] or math.inf
        new = self.tasks.settings.half_life_seconds or math.inf
        end, now = population.state.position, population.position_now()
        population.install(replace(population.state, position=now))
        for name in self.tasks.all_names():
            row = self.tasks.row(name)
            if row[COUNTED] != AS_IT_IS:
                continue
            age = (end - row[COUNTED_AT]) / old
            if math.isfinite(new):
                row[COUNTED_AT] = now - age * new
            else:
                task = self.tasks.statistics(name)
                parts = [(task, -(2.0**-age)), (task, 1.0)]
                population.install(population.summed(population.state, parts))
                row[COUNTED_AT] = now

    # What is known of tasks.

    def view(self, name: Name) -> TaskView:
        """What is known of a task, open or finished; a finished one is not opened."""
        tasks = self.tasks
        if name not in tasks:
            raise ValueError(f"task must be the name of an open or a finished task, got {name!r}")
        slot = tasks.slots.get(name)
        row = tasks.layout.reopened(tasks.finished.row(name)) if slot is None else tasks.rows[slot]
        if self.population.bias_moves:
            self._move_bias(name, row)
        scalars = row[tasks.layout.scalars]
        return TaskView(
            task=name,
            estimate=tasks.layout.estimate(row),
            n_rewards=int(scalars[columns.REWARDS]),
            n_pending=tasks.pending.n_waiting(row),
            noise_scale=float(scalars[columns.NOISE_SCALE]),
            feature_names=tasks.feature_names.all,
            groups=tasks.feature_names.groups,
            about=tasks.abouts.get(name),
            effects=self.population.item_effects,
        )

    def explain(self, decision: str, arm: Hashable | None) -> Explanation:
        """What a task's estimate says about the arm of its pending decision."""
        tasks = self.tasks
        place = tasks.place(decision)
        if place == NONE:
            raise ValueError(f"decision must be pending to be explained, got {decision!r}")
        x, item = tasks.pending.features[place].copy(), tasks.pending.items.get(place)
        view = self.view(tasks.names[tasks.pending.owner(place)])
        return view.explained(x, item if arm is None else arm, item)


def _is_counted(row: Floats) -> bool:
    return row[COUNTED] in (AS_IT_IS, AS_IT_WAS)


class Opened:
    """`Memory.opened`."""

    def __init__(self, memory: Memory, names: Sequence[Name], keep: bool) -> None:
        self._memory = memory
        self._names = names
        self._keep = keep
        self._new: list[Name] = []

    def __enter__(self) -> Integers:
        """The slots (n,)."""
        memory, names = self._memory, self._names
        open_slots = memory.tasks.slots
        if memory.one_call:
            try:
                return np.fromiter(map(open_slots.__getitem__, names), np.int64, len(names))
            except KeyError:
                pass  # some are new
        slots = np.empty(len(names), dtype=np.int64)
        try:
            for i, name in enumerate(names):
                new = name not in open_slots
                slots[i] = memory.start(name)
                if new:
                    self._new.append(name)
        except BaseException:
            self._close()
            raise
        return slots

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is not None or not self._keep:
            self._close()

    def _close(self) -> None:
        # A task that was finished before is finished again; an unknown one is removed.
        for name in self._new:
            self._memory.tasks.finish(name)
