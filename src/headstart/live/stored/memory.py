"""StoredMemory: what all tasks say about the next, as bytes and back."""

import io
import json
from dataclasses import dataclass, fields, replace
from zipfile import BadZipFile

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.live.decision import Learned
from headstart.live.memory.population import Population, Start, State
from headstart.live.stored.model import Model

_NUMBERS = tuple(each.name for each in fields(State) if each.name != "memory")


@dataclass(frozen=True, kw_only=True, eq=False)
class StoredMemory:
    """A memory over tasks with what it weighs, and the scales of its features."""

    state: State
    scales: Floats | None = None  # (d,)
    scales_known: bool = False

    @classmethod
    def empty(cls, model: Model) -> "StoredMemory":
        """The memory of no task."""
        return cls.of(model.tasks().population)

    @classmethod
    def of(cls, population: Population) -> "StoredMemory":
        """The memory of a population."""
        return cls(
            state=population.state, scales=population.scales, scales_known=population.scales_known
        )

    def install(self, population: Population, start: Start | None = None) -> None:
        """Have a population go on with this memory, and with the start that it gives."""
        population.scales, population.scales_known = self.scales, self.scales_known
        population.install(self.state, start)

    @property
    def position(self) -> float:
        """Up to which all tasks have been discounted."""
        return self.state.position

    def merged(self, others: "list[StoredMemory]", model: Model) -> "StoredMemory":
        """The memory of the tasks of this one and of others, in the same scales."""
        found = self
        population = model.tasks().population
        for other in others:
            same = _same(found.scales, other.scales)
            if not found.state.n_tasks and (same or not found.scales_known):
                found = replace(other, state=population.discounted(other.state, found.position))
                continue
            if not same:
                raise ValueError("memories must have the same feature scales to be merged")
            state = population.merged(found.state, other.state)
            known = found.scales_known or other.scales_known
            found = StoredMemory(state=state, scales=found.scales, scales_known=known)
        return found

    def start(self, model: Model) -> Start:
        """What a task starts from, by this memory."""
        population = model.tasks().population
        self.install(population)
        return population.start

    def learned(self, model: Model) -> Learned:
        """The prior in numbers."""
        state = self.state
        return Learned.from_prior(
            self.start(model).prior, n_tasks=state.n_tasks, weight=state.weight
        )

    def to_bytes(self) -> bytes:
        """As a file of plain arrays and a JSON header; nothing in it is code."""
        header = {name: getattr(self.state, name) for name in _NUMBERS}
        header["scales"] = None if self.scales is None else self.scales.tolist()
        header["scales_known"] = self.scales_known
        arrays = {f"memory.{name}": np.asarray(a) for name, a in self.state.memory.items()}
        arrays["header"] = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
        file = io.BytesIO()
        np.savez(file, **arrays)  # type: ignore[arg-type]
        return file.getvalue()

    @classmethod
    def from_bytes(cls, content: bytes, model: Model) -> "StoredMemory":
        """The memory that `to_bytes` wrote, which must be one of the model's prior."""
        try:
            with np.load(io.BytesIO(content), allow_pickle=False) as file:
                arrays = {name: file[name] for name in file.files}
            header = json.loads(arrays.pop("header").tobytes())
        except (BadZipFile, ValueError, EOFError, KeyError) as error:
            raise ValueError(f"the memory must be one that was stored, got {error}") from error
        memory = {}
        for name, empty in model.prior.empty(model.dimension).items():
            found = arrays.get(f"memory.{name}")
            if found is None or found.shape != np.shape(empty):
                raise ValueError(f"the prior must fit the memory, which has no such {name}")
            memory[name] = checks.floats(name, found)
        scales = header["scales"]
        return cls(
            state=State(memory, **{name: header[name] for name in _NUMBERS}),
            scales=None if scales is None else np.array(scales),
            scales_known=bool(header["scales_known"]),
        )


def _same(one: Floats | None, other: Floats | None) -> bool:
    if one is None or other is None:
        return one is other
    return bool(np.array_equal(one, other))
