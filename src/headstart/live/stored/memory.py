"""StoredMemory: the memory, and what each task adds to it, as bytes and back."""

import copy
import io
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from headstart.arrays import Floats, floats, packed
from headstart.interfaces import Policy, PriorEstimator
from headstart.live import _logs
from headstart.live._counted import Contribution
from headstart.live._item_effects import (
    ItemEffects,
    ItemRows,
    items_of,
    read_rows,
    rows_bytes,
)
from headstart.live._memory import Memory
from headstart.live._population import Population, Start, State
from headstart.live._rows import Layout
from headstart.live._tasks import Tasks
from headstart.live.decision import Learned
from headstart.live.files import (
    read_arrays,
    read_state,
    state_arrays,
    state_header,
    write_arrays,
)
from headstart.live.inputs import FeatureNames
from headstart.live.settings import Settings
from headstart.logs import LogReading
from headstart.progress import Progress


def task_bytes(finished: Floats, items: ItemRows) -> bytes:
    """A task as bytes: its row without the inverse, and what it counts by item."""
    return packed(finished) + rows_bytes(items)


def read_task(content: bytes, layout: Layout) -> tuple[Floats, ItemRows]:
    """The row and the items of a task that `task_bytes` wrote."""
    size = 8 * layout.finished_length
    if len(content) < size:
        raise ValueError(f"the state of a task must have {size} bytes or more, got {len(content)}")
    return floats(content[:size]), read_rows(content[size:], layout.dimension)


def contribution_bytes(contribution: Contribution, n_about: int) -> bytes:
    """What the memory counts for a task: its numbers, and its items."""
    return packed(contribution.numbers(n_about)) + rows_bytes(items_of(contribution.task))


def read_contribution(content: bytes, dimension: int, n_about: int) -> Contribution:
    """The contribution that `contribution_bytes` wrote."""
    end = 8 * Contribution.length(dimension, n_about)
    items = read_rows(content[end:], dimension)
    return Contribution.of(floats(content[:end]), items, dimension, n_about)


@dataclass(frozen=True, kw_only=True, eq=False)
class Model:
    """What a bandit is made of, without its data: a policy, a prior and settings for d features.

    unknown_about: the side information (p,) of a task about which nothing is known; None if every
    task must have some, or the prior takes none.
    """

    dimension: int
    policy: Policy
    prior: PriorEstimator
    settings: Settings
    feature_names: FeatureNames
    unknown_about: Floats | None = None

    @cached_property
    def _empty(self) -> Population:
        return Population(self.dimension, self.prior, self.settings)

    def check_storable(self) -> None:
        """Raise if the tasks of this model cannot be stored."""
        if self._empty.bias_moves:
            raise ValueError(
                f"prior must not move its bias within a task to be stored, got {self.prior!r}"
            )

    def prepare(self) -> None:
        """Compute what tasks start from without a memory: it takes 0.7 s at d = 1,000."""
        _ = self._empty.start  # which is kept

    def population(self, memory: "StoredMemory | None" = None) -> Population:
        """A population with this memory, or with an empty one."""
        population = copy.copy(self._empty)
        if memory is not None:
            memory.install(population)
        return population


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredMemory:
    """A memory over tasks with its weights, and the scales of its features."""

    state: State
    scales: Floats | None = None  # (d,)
    scales_known: bool = False

    @classmethod
    def empty(cls, model: Model) -> "StoredMemory":
        """The memory of no task."""
        return cls.of(model.population())

    @classmethod
    def of(cls, population: Population) -> "StoredMemory":
        """The memory of a population."""
        return cls(
            state=population.state, scales=population.scales, scales_known=population.scales_known
        )

    def install(
        self,
        population: Population,
        start: Start | None = None,
        effects: ItemEffects | None = None,
    ) -> None:
        """Have a population continue with this memory, its start and its effects."""
        population.scales, population.scales_known = self.scales, self.scales_known
        population.install(self.state, start, effects)

    @property
    def position(self) -> float:
        """The position up to which all tasks have been discounted."""
        return self.state.position

    def merged(self, others: "list[StoredMemory]", model: Model) -> "StoredMemory":
        """Merge this memory with others of the same scales."""
        both = self
        population = model.population() if others else None
        for other in others:
            assert population is not None
            same = _same(both.scales, other.scales)
            if not both.state.n_tasks and (same or not both.scales_known):
                both = replace(other, state=population.discounted(other.state, both.position))
                continue
            if not same:
                raise ValueError("memories must have the same feature scales to be merged")
            both = StoredMemory(
                state=population.merged(both.state, other.state),
                scales=both.scales,
                scales_known=both.scales_known or other.scales_known,
            )
        return both

    def start(self, model: Model) -> Start:
        """What a task starts from, by this memory."""
        return model.population(self).start

    def effects(self, model: Model) -> ItemEffects | None:
        """The effects of items, by this memory."""
        return model.population(self).item_effects

    def learned(self, model: Model, start: Start | None = None) -> Learned:
        """The prior in numbers; `start` may be given if it is known."""
        prior = (self.start(model) if start is None else start).prior
        return Learned.from_prior(
            prior,
            n_tasks=self.state.n_tasks,
            weight=self.state.weight,
            names=model.feature_names.all,
        )

    def to_bytes(self) -> bytes:
        """As a file of plain arrays and a JSON header; nothing in it is code."""
        header = state_header(self.state)
        header["scales"] = None if self.scales is None else self.scales.tolist()
        header["scales_known"] = self.scales_known
        file = io.BytesIO()
        write_arrays(file, header, state_arrays(self.state))
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, model: Model) -> "StoredMemory":
        """The memory that `to_bytes` wrote; it must fit the model's prior."""
        header, arrays = read_arrays(io.BytesIO(content), "the memory must be one that was stored")
        empty, scales = model.prior.empty(model.dimension), header["scales"]
        return cls(
            state=read_state(header, arrays, empty, model.dimension),
            scales=None if scales is None else np.array(scales),
            scales_known=bool(header["scales_known"]),
        )


def memory_of_log(
    model: Model,
    reading: LogReading,
    *,
    beside: StoredMemory | None = None,
    counted: Progress | None = None,
) -> StoredMemory:
    """The memory of a log's tasks: the memory of a new `MetaBandit` after `fit`.

    beside: a memory to merge it with later. Both use its scales if it has any, else the log's.
    Calls `counted` with the number of tasks counted.
    """
    population = model.population()
    if beside is not None and beside.scales_known:
        population.scales, population.scales_known = beside.scales, True
    memory = Memory(Tasks(population, model.feature_names), population)
    _logs.count(memory, reading, _logs.read(memory, reading), keep=False, counted=counted)
    return replace(StoredMemory.of(population), scales_known=True)


def _same(one: Floats | None, other: Floats | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))
