"""StoredTasks: decide and learn for tasks whose rows another store keeps."""

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from headstart import kernels
from headstart.arrays import Booleans, Floats, Integers
from headstart.core.statistics import TaskStatistics
from headstart.intervals import quantile
from headstart.kernels import state as columns
from headstart.kernels.compilation import compiled
from headstart.live._chooser import Choices, Chooser
from headstart.live._decision_sets import DecisionSet, batch_of
from headstart.live._item_effects import ItemEffects, itemized
from headstart.live._memory import Memory
from headstart.live._population import Population, Start
from headstart.live._rewards import Counts, Rewards
from headstart.live._rows import FIRST_PENDING, NONE, Layout, task_state
from headstart.live._tasks import Tasks
from headstart.live._uniforms import UniformStream
from headstart.live.decision import TaskView
from headstart.live.inputs import Name, too_large
from headstart.live.outcomes import Outcome
from headstart.live.stored.memory import Model, StoredMemory, read_task, task_bytes


class Chosen(NamedTuple):
    """The choices for n tasks, and why: the parts of each mean xᵀŵ by feature."""

    indices: Integers  # (n,), of the chosen arms
    propensities: Floats  # (n,); nan where they are not known
    features: Floats  # (n, d)
    means: Floats  # (n,)
    halves: Floats  # (n,), half of the 95 % intervals
    from_prior: Floats  # (n, d), xᵢhᵢ
    from_rewards: Floats  # (n, d), xᵢ(ŵᵢ − hᵢ)
    effects: Sequence[float | None]  # (n,), of the items themselves; None without items


class Counted(NamedTuple):
    """A reward that a task counts, and its number among the task's."""

    value: float
    weight: float
    number: int


class _CountedElsewhere(Memory):
    """A memory whose tasks are counted by `recount`: all of them, or cold none."""

    def __init__(self, tasks: Tasks, population: Population, *, cold: bool) -> None:
        super().__init__(tasks, population)
        self._cold = cold

    def is_counted(self, name: Name) -> bool:
        return not self._cold

    def note(self, name: Name) -> None:
        pass

    def catch_up(self, slot: int) -> None:
        if self.population.has_many:  # else `recount` does
            super().catch_up(slot)


class StoredTasks:
    """Some tasks of a store, by number: a cache of rows that can decide and learn.

    A task is loaded from the bytes of its state or opened from the installed memory; after it has
    learned, store its `state`. Nothing here changes the memory: `recount` does that, and gives
    tasks a newer prior if their rewards ask for one. With `cold`, tasks keep the prior they started
    with; each revises it by itself, which takes O(d³) within `learn`.
    """

    def __init__(self, model: Model, *, cold: bool = False) -> None:
        self.model = model
        model.check_storable()
        population = model.population()
        self._tasks = Tasks(population, model.feature_names)
        self._tasks.unknown_about = model.unknown_about
        self._memory = _CountedElsewhere(self._tasks, population, cold=cold)
        stream = UniformStream(np.random.default_rng())
        self._chooser = Chooser(model.policy, self._memory, stream)
        self._rewards = Rewards(self._memory)

    def __contains__(self, task: object) -> bool:
        return task in self._tasks.slots

    def __len__(self) -> int:
        return len(self._tasks.slots)

    @property
    def row_bytes(self) -> int:
        """How much memory one task takes."""
        return 8 * self._tasks.layout.length

    @property
    def allocated_bytes(self) -> int:
        """How much memory all rows take, including those of dropped tasks."""
        return int(self._tasks.rows.nbytes)

    def install(
        self,
        memory: StoredMemory,
        start: Start | None = None,
        effects: ItemEffects | None = None,
    ) -> None:
        """Start tasks from this memory from now on.

        `memory.start` and `memory.effects` may be given with it, both together.
        """
        memory.install(self._memory.population, start, effects)

    def open(self, task: int, about: Floats | None = None) -> None:
        """Open a new task, with side information (p,) if there is any."""
        if about is not None:
            self._tasks.abouts[task] = about
        self._memory.start(task)

    def load(self, task: int, state: bytes, *, about: Floats | None = None) -> None:
        """Load a stored task."""
        layout = self._tasks.layout
        finished, items = read_task(state, layout)
        new = not layout.has_learned(finished)
        row = layout.reopened(finished, self._memory.population.start.row if new else None)
        row[FIRST_PENDING] = NONE
        self.drop(task)
        self._tasks.open(task, row)
        self._tasks.items.adopt(task, items)
        if about is not None:
            self._tasks.abouts[task] = about

    def know(self, task: int, about: Floats) -> None:
        """Note the side information (p,) of a task that was opened without any."""
        self._tasks.abouts[task] = about

    def drop(self, task: int) -> None:
        """Drop a task; the store has it."""
        if task in self._tasks.slots:
            self._tasks.close(task)
            self._tasks.items.drop(task)
            self._tasks.abouts.pop(task, None)

    def state(self, task: int) -> bytes:
        """The bytes to store for a task."""
        tasks, layout = self._tasks, self._tasks.layout
        finished = layout.finished(tasks.rows[tasks.slots[task]])
        return task_bytes(finished, tasks.items.of(task))

    def view(self, task: int) -> TaskView:
        """What is known of a task."""
        return self._memory.view(task)

    def choose(self, tasks: Sequence[int], arms: Sequence[DecisionSet]) -> Chosen:
        """One arm for each of n tasks; a task may occur more than once."""
        slots, batch = self._slots(tasks), batch_of(arms)
        choices = self._chooser.choose_batch(slots, batch)
        ids = [
            one.id(index) if one.are_items else None
            for one, index in zip(arms, choices.indices.tolist(), strict=True)
        ]
        return self._explained(slots, choices, batch.features(choices.indices), ids)

    def choose_ranked(self, task: int, arms: DecisionSet, n: int) -> Chosen:
        """The best n arms for one task."""
        slots = self._slots([task])
        choices = self._chooser.choose_ranked(slots, arms, n)
        ids = [arms.id(i) if arms.are_items else None for i in choices.indices.tolist()]
        features = arms.features[choices.indices]
        return self._explained(slots.repeat(n), choices, features, ids)

    def propensities(self, task: int, arms: DecisionSet) -> Floats:
        """The probability (K,) with which each arm would be chosen for a task."""
        return self._chooser.propensities_in(int(self._slots([task])[0]), arms)

    def explain(
        self,
        tasks: Sequence[int],
        arms: Sequence[DecisionSet],
        indices: Sequence[int],
        propensities: Sequence[float],
    ) -> Chosen:
        """Choices that were made elsewhere, with their expected rewards; one for each task."""
        slots, batch = self._slots(tasks), batch_of(arms)
        self._memory.catch_up_all(slots)
        choices = Choices(np.array(indices, dtype=np.int64), np.array(propensities), ())
        features = batch.features(choices.indices)
        ids = [one.id(i) if one.are_items else None for one, i in zip(arms, indices, strict=True)]
        chosen = self._explained(slots, choices, features, ids)
        if not np.isfinite(chosen.means + chosen.halves).all():
            raise too_large("arms", features)
        return chosen

    def learn(
        self, task: int, features: Floats, value: float, weight: float, item: str | None = None
    ) -> Outcome:
        """Learn a reward of features (d,), and count it for an item of the catalogue if given."""
        return self._rewards.observe(task, features, value, weight, item)

    def replace(
        self,
        task: int,
        features: Floats,
        before: Counted,
        value: float,
        weight: float,
        item: str | None = None,
    ) -> Outcome:
        """Have a task count another reward for features (d,): PAID, or OUT_OF_RANGE.

        item: the catalogue's item that the reward counts for.
        """
        later = self._tasks.scalar(self._tasks.slots[task], columns.REWARDS) - before.number
        fade = self.model.settings.discount ** max(later, 0.0)
        counts = Counts(before.value, before.weight, fade, before.number)
        return self._rewards.replace(task, features, counts, value, weight, item)

    def taken_moves(self) -> list[int]:
        """The tasks that have come to need a newer prior since the last call."""
        tasks = []
        while (task := self._memory.next_move()) is not None:
            tasks.append(int(task))
        return tasks

    def _slots(self, tasks: Sequence[int]) -> Integers:
        return np.array([self._tasks.slots[task] for task in tasks], dtype=np.int64)

    def _explained(
        self,
        slots: Integers,
        choices: Choices,
        features: Floats,
        items: Sequence[Hashable | None],
    ) -> Chosen:
        rows, layout = self._tasks.rows, self._tasks.layout
        means, widths = np.empty((2, len(slots)))
        _estimate(rows, slots, features, means, widths)
        scales = rows[slots, layout.scalars][:, columns.NOISE_SCALE]
        bias, parameter = rows[slots, layout.bias], rows[slots, layout.parameter]
        of_items = [None if item is None else 0.0 for item in items]
        effects = self._memory.population.item_effects
        if effects is not None and any(item is not None for item in items):
            there: Booleans = np.array([item is not None for item in items])
            offsets, variances = effects.read(features, items)
            means, widths = (
                means + there * offsets,
                np.sqrt(np.maximum(widths**2 + there * variances, 0.0)),
            )
            shift = there[:, None] * effects.shift
            bias, parameter = bias + shift, parameter + shift
            of_items = [None if item is None else effects.effect(item) for item in items]
        return Chosen(
            choices.indices,
            choices.propensities,
            features,
            means,
            quantile(np.inf) * scales * widths,
            features * bias,
            features * (parameter - bias),
            of_items,
        )


@compiled
def _estimate(
    rows: Floats, slots: Integers, features: Floats, means: Floats, widths: Floats
) -> None:
    """xᵀŵ and ‖x‖ in the norm of (V + Λ)⁻¹, for one x of each of n tasks."""
    n, dimension = features.shape
    u = np.empty(dimension)
    for i in range(n):
        state = task_state(rows[slots[i]], dimension)
        kernels.project(state, 0, features[i], u)
        mean, square = 0.0, 0.0
        for a in range(dimension):
            mean += features[i, a] * state.parameter[0, a]
            square += features[i, a] * u[a]
        means[i], widths[i] = mean, np.sqrt(max(square, 0.0))


def statistics_of(state: bytes, dimension: int) -> TaskStatistics:
    """The statistics of a stored task, including its items."""
    layout = Layout(dimension)
    row, items = read_task(state, layout)
    return itemized(layout.finished_statistics(row), items)
