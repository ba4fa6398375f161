"""Memory: what all tasks have taught, which of them to count again, and tasks that start."""

import itertools
import math
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import replace
from types import TracebackType
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks
from headstart.arrays import Floats, Integers
from headstart.interfaces import n_about
from headstart.kernels import state as columns
from headstart.live._item_effects import ItemEffects
from headstart.live._population import Change, Population, Start, State
from headstart.live._rows import FIRST_PENDING, NONE, PRIOR_REWARDS, PRIOR_TASKS
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
    (`Refresher`): it reads the tasks that changed under the bandit's lock, computes without it, and
    installs the result and what now counts of those tasks under it. Until then nothing has changed.
    """

    def __init__(self, tasks: Tasks, population: Population) -> None:
        self.tasks = tasks
        self.population = population
        settings = tasks.settings
        self.inline = settings.refresh == "inline"
        # Whether the rows hold the current estimates between calls.
        self.estimate_is_kept = not population.bias_moves and settings.discount == 1.0
        # Whether one compiled call is all that a decision or a reward needs.
        self.one_call = self.estimate_is_kept and settings.idle_seconds is None
        self._moves: OrderedDict[Name, None] = OrderedDict()
        self._refresh = 0  # how many refreshes have begun
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
            if self.tasks.changed:
                self.request()
        elif self.population.is_due(len(self.tasks.changed)):
            self.bring_up_to_date()
        population, about = self.population, self.tasks.abouts.get(name)
        start = population.start_with(about)
        if not start.is_finite:
            raise ValueError(
                "the prior must be finite and positive definite: the memory's sums are out of range"
            )
        slot = self.tasks.open(name, start.row)
        self.tasks.rows[slot, FIRST_PENDING] = NONE
        self._note_prior(slot, population.state.n_tasks)
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
        if name in tasks.counted:
            self.note(name)
        slot = tasks.slots.get(name)
        before = None if slot is None else tasks.rows[slot].copy()
        tasks.abouts[name] = array
        try:
            if slot is not None and n_about(self.population.estimator):
                state, contribution = self.population.state, tasks.counted.get(name)
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

    def move_bias(self, slot: int) -> None:
        """If the bias moves, set it from the memory and the task's own rewards."""
        if self.population.bias_moves:
            self._move_bias(self.tasks.names[slot], self.tasks.rows[slot])

    def _move_bias(self, name: Name, row: Floats) -> None:
        contribution, statistics = self.tasks.counted.get(name), self.tasks.statistics(name)
        self.tasks.layout.move(row, self.population.bias_with(contribution, statistics))

    # Tasks that learn.

    def is_counted(self, name: Name) -> bool:
        """Whether the memory counts a task."""
        return name in self.tasks.counted

    def note(self, name: Name) -> None:
        """Note that a task has changed since it was counted."""
        self.tasks.changed[name] = self._refresh
        if not self.inline:
            self.request()

    def note_all(self, slots: Sequence[int]) -> None:
        """`note`, for the tasks in some slots."""
        names = self.tasks.names
        self.tasks.changed.update(dict.fromkeys([names[slot] for slot in slots], self._refresh))
        if not self.inline and slots:
            self.request()

    def revise(self, slot: int) -> None:
        """Revise a task's prior by everything other tasks have taught since it began."""
        tasks, row = self.tasks, self.tasks.rows[slot]
        if self.is_counted(tasks.names[slot]):
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
            contribution = self.tasks.counted.get(name)
            self.rebase(name, *self.population.starting_from_others(state, contribution, about))
        else:
            self._moves[name] = None
            self.request()

    def catch_up(self, slot: int) -> None:
        """Give a task that is about to be used the newest prior, if its own is old.

        If the prior is large, this is left to the thread, if there is one.
        """
        row, population = self.tasks.rows[slot], self.population
        if (
            row[PRIOR_TASKS] >= population.oldest
            and row[PRIOR_REWARDS] >= population.oldest_rewards
        ):
            return
        name = self.tasks.names[slot]
        counted = self.is_counted(name)
        if not population.has_many:
            if population.is_outdated(row, counted=counted, own=self._own(name)):
                self.move(name)
        elif self.inline or self.tasks.dimension <= _MOST_AT_ONCE:
            start = population.start_with(self.tasks.abouts.get(name))
            self.rebase(name, start, population.state.n_tasks - int(counted))
        else:
            self.move(name)

    def catch_up_all(self, slots: Integers) -> None:
        """`catch_up`, for many tasks."""
        if self.population.oldest > 0.0:
            fewer = self.tasks.rows[slots, PRIOR_TASKS] < self.population.oldest
            fewer |= self.tasks.rows[slots, PRIOR_REWARDS] < self.population.oldest_rewards
            for slot in slots[fewer]:
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
            self._note_prior(slot, n_tasks)

    def _note_prior(self, slot: int, n_tasks: int) -> None:
        """Note from how many other tasks and rewards the prior of a task was learned."""
        own = self._own(self.tasks.names[slot])
        self.tasks.rows[slot, PRIOR_TASKS] = n_tasks
        self.tasks.rows[slot, PRIOR_REWARDS] = self.population.rewards(own)

    def _own(self, name: Name) -> float:
        """The weight of a task's rewards in the memory."""
        counted = self.tasks.counted
        return self.population.own(*counted.numbers(name)[:2]) if name in counted else 0.0

    # What is counted.

    @property
    def is_busy(self) -> bool:
        """Whether tasks wait to be counted, or for a newer prior."""
        return bool(self.tasks.changed or self._moves)

    def bring_up_to_date(self) -> None:
        """Count every task in its present state, now."""
        self.generation += 1
        changes = self.changes(list(self.tasks.changed))
        self.population.count(changes)
        self.tasks.changed.clear()
        self._note_counted(changes)

    def begin_refresh(self, limit: int) -> list[Name]:
        """Up to `limit` tasks that have changed. They wait until `install`."""
        self._refresh += 1
        return list(itertools.islice(self.tasks.changed, limit))

    def changes(self, names: Iterable[Name]) -> list[Change]:
        """What should count of some tasks, as they are now, instead of what counts."""
        tasks, change = self.tasks, self.population.change
        return [change(name, tasks.counted.get(name), tasks.statistics(name)) for name in names]

    def install(
        self, changes: Sequence[Change], state: State, start: Start, effects: ItemEffects | None
    ) -> None:
        """Install the memory with these changes; a task that changed since it began waits again."""
        self.population.install(state, start, effects)
        for change in changes:
            if self.tasks.changed[change.name] < self._refresh:
                del self.tasks.changed[change.name]
        self._note_counted(changes)

    def _note_counted(self, changes: Iterable[Change]) -> None:
        for change in changes:
            self.tasks.counted.set(change.name, change.after)
            if change.after is None:
                self.tasks.drop_empty(change.name)
        self._count_again_if_due()

    def _count_again_if_due(self) -> None:
        """Count everything again to learn scales, once, or if the sums have too few digits left.

        If the scales are far apart, all open tasks move.
        """
        population = self.population
        worn = population.state.is_worn and not self.tasks.n_from_logs
        if not (population.wants_scales or worn):
            return
        counted = self.tasks.counted.all()
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
        contribution = tasks.counted.get(name)
        if contribution is not None:
            self.population.install(self.population.take_out([contribution]))
            tasks.counted.set(name, None)
        for names in (tasks.changed, self._moves):
            names.pop(name, None)
        tasks.close(name)
        tasks.abouts.pop(name, None)
        tasks.items.drop(name)
        self.bring_up_to_date()

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
        counted = self.tasks.counted
        for name in counted:
            age = (end - counted.position(name)) / old
            if math.isfinite(new):
                counted.move(name, now - age * new)
            else:
                task = self.tasks.statistics(name)
                parts = [(task, -(2.0**-age)), (task, 1.0)]
                population.install(population.summed(population.state, parts))
                counted.move(name, now)

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
