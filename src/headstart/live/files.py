"""Files: a bandit as one .npz file of plain arrays and a JSON header; nothing in it is code."""

import io
import json
from collections.abc import Mapping
from dataclasses import dataclass, fields
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from headstart import checks, specs
from headstart.arrays import Floats
from headstart.atomic import atomic_write
from headstart.features import Features
from headstart.interfaces import Memory as Arrays
from headstart.live._counted import Contribution
from headstart.live._item_effects import FIRST, ItemSums, id_from, id_to
from headstart.live._memory import Memory
from headstart.live._pending import Held, owner_of_finished
from headstart.live._population import State
from headstart.live._rows import check_rows
from headstart.live._uniforms import UniformStream
from headstart.live.inputs import Name

# Incremented when the meaning of a file changes.
FORMAT = 1


STATE_NUMBERS = tuple(
    field.name for field in fields(State) if field.name not in ("memory", "items")
)


def write_arrays(
    file: IO[bytes], header: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]]
) -> None:
    """Write arrays and a header of plain data."""
    encoded = np.frombuffer(json.dumps(header).encode(), dtype=np.uint8)
    np.savez(file, header=encoded, **arrays)  # type: ignore[arg-type]


def read_arrays(
    file: Path | IO[bytes], what: str
) -> tuple[dict[str, Any], dict[str, NDArray[np.generic]]]:
    """The header and the arrays that `write_arrays` wrote."""
    try:
        with np.load(file, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
    except (BadZipFile, ValueError, EOFError) as error:
        raise ValueError(f"{what}, got {error}") from error
    try:
        return dict(json.loads(arrays.pop("header").tobytes())), arrays
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(f"{what}, got one without header") from error


def state_header(state: State) -> dict[str, Any]:
    """The part of a header about a memory: its weights, and the ids of items."""
    numbers = {name: getattr(state, name) for name in STATE_NUMBERS}
    return numbers | {"items": [id_to(item) for item in state.items.rows] if state.items else []}


def state_arrays(state: State) -> dict[str, NDArray[np.generic]]:
    """The arrays of a memory, by their names in a file."""
    arrays: dict[str, NDArray[np.generic]] = {}
    arrays |= {f"memory.{name}": np.asarray(array) for name, array in state.memory.items()}
    return arrays | (state.items.arrays() if state.items else {})


def read_state(
    header: Mapping[str, Any], arrays: Mapping[str, NDArray[np.generic]], empty: Arrays, d: int
) -> State:
    """The memory of a file, which must have the shapes of an empty one of the prior."""
    numbers = {name: header[name] for name in STATE_NUMBERS}
    checks.floats("the state", list(numbers.values()))
    ids = header["items"]
    items = ItemSums.of(arrays, ids, d) if ids else None
    return State(read_memory(arrays, empty), **numbers, items=items)


def read_memory(arrays: Mapping[str, NDArray[np.generic]], empty: Arrays) -> Arrays:
    """The memory of a file, which must have the shapes of an empty one of the prior."""
    memory = {}
    for name, array in empty.items():
        called = f"memory.{name}"
        stored = arrays.get(called)
        if stored is None or not _fits(stored.shape, np.shape(array)):
            raise ValueError(f"the prior does not fit the saved memory, which has no {name}")
        memory[name] = checks.floats(called, np.asarray(stored, dtype=np.float64))
    return memory


def _fits(shape: tuple[int, ...], empty: tuple[int, ...]) -> bool:
    """Whether an array has the shape of an empty one, in which axes of 0 and 1 have room to grow.

    An axis has room only if the array is of stored tasks, which are none in an empty memory.
    """
    if 0 not in empty[:1]:
        return shape == empty
    return len(shape) == len(empty) and all(
        size == least or least <= 1 for size, least in zip(shape, empty, strict=True)
    )


@dataclass(frozen=True)
class Saved:
    """The content of a file."""

    header: Mapping[str, Any]
    arrays: Mapping[str, NDArray[np.generic]]

    @classmethod
    def read(cls, file: Path | IO[bytes]) -> "Saved":
        """Read a file, and check that `save` wrote it."""
        name = file if isinstance(file, Path) else "the file"
        header, arrays = read_arrays(file, f"{name} must be a file that save wrote")
        if header.get("format") != FORMAT:
            raise ValueError(
                f"{name} must have format {FORMAT}, which this version of headstart reads, "
                f"got {header.get('format')!r}"
            )
        return cls(header, arrays)

    @classmethod
    def of(
        cls, memory: Memory, stream: UniformStream, policy: object, schema: Features | None
    ) -> "Saved":
        """The content of a bandit's file."""
        file = io.BytesIO()
        write(file, memory, stream, policy, schema)
        file.seek(0)
        return cls.read(file)

    def arguments(self, *, resume: bool, **changes: Any) -> dict[str, Any]:
        """The arguments of a `MetaBandit` with this content and some changes."""
        header = self.header
        settings: dict[str, Any] = dict(header["settings"])
        features = self.features(changes.pop("features"))
        if features is None:
            numbers = {"dimension": header["dimension"], "feature_names": header["feature_names"]}
            settings |= numbers
        if header["refresh_by_seed"]:
            # As for a new bandit, except that a resumed run keeps its mode.
            inline = settings.pop("refresh") == "inline"
            if resume and inline and changes["seed"] is None:
                changes["seed"] = 0  # the random numbers come from the file
        settings |= changes
        for name, package in (("policy", "policies"), ("prior", "priors")):
            if settings[name] is None:
                settings[name] = specs.rebuild(header[name], package, where=name)
        return {"features": features, **settings}

    def features(self, given: Features | None) -> Features | None:
        """The schema of the file. A given one must be the same, except for unsettled numbers."""
        stored = self.header["features"]
        if stored is None:
            if given is not None:
                raise ValueError(
                    "the saved bandit's features are numbers, so leave features out; "
                    f"got {checks.short(given)}"
                )
            return None
        own = Features.from_plain(stored)
        if given is not None and given.settled_as(own) != own.settled_as(given):
            raise ValueError(
                "features must be the same as in the file (read them with Features.from_plain), "
                f"got {checks.short(given)}"
            )
        return own

    def common_features(self, schema: Features | None) -> Features | None:
        """The common schema of this bandit and another, to merge them."""
        stored = self.header["features"]
        if stored is None and schema is None:
            return None
        if stored is not None and schema is not None:
            theirs = Features.from_plain(stored)
            common = schema.settled_as(theirs)
            if common == theirs.settled_as(schema):
                return common
        raise ValueError(
            "bandits must have the same features to be merged, with the same mean and scale of "
            "their numbers: give both the settled features of one"
        )

    def stream(self) -> UniformStream:
        """The stream of uniform numbers, at its saved place."""
        return UniformStream.resumed(str(self.header["generator"]), self._floats("drawn"))

    def restore(self, memory: Memory) -> None:
        """Restore the memory, the tasks and their decisions."""
        header, population = self.header, memory.population
        population.scales, population.scales_known = self._scales()
        state = self._state(memory)
        population.install(
            state, population.starting_from(state.memory), population.effects_of(state)
        )
        memory.tasks.n_from_logs = header["n_from_logs"]
        memory.tasks.settled.values.update(header["settled"])
        memory.tasks.unsettled = dict(header["unsettled"])
        self._restore_tasks(memory)
        if not memory.has_half_life_of(header["settings"]):
            memory.change_half_life(header["settings"])

    def merge_into(self, memory: Memory) -> None:
        """Add the memory, the tasks and the pending decisions to those of another bandit."""
        header, population, tasks = self.header, memory.population, memory.tasks
        self._check_mergeable(memory)
        memory.bring_up_to_date()
        state = self._state(memory)
        scales, scales_known = self._scales()
        if state.n_tasks and population.state.n_tasks:
            ones = np.ones(tasks.dimension)
            theirs, ours = (ones if each is None else each for each in (scales, population.scales))
            if not np.array_equal(theirs, ours):
                raise ValueError(
                    "bandits must have the same scales of features to be merged, "
                    f"got {ours.tolist()} and {theirs.tolist()}"
                )
        elif state.n_tasks:
            population.scales = scales
        population.scales_known = population.scales_known or scales_known
        population.install(population.merged(population.state, state))
        tasks.n_from_logs += header["n_from_logs"]
        tasks.settled.note_all(header["settled"].items())
        self._restore_tasks(memory)
        tasks.pending.sort()
        memory.generation += 1

    def _check_mergeable(self, memory: Memory) -> None:
        header, tasks = self.header, memory.tasks
        if header["dimension"] != tasks.dimension:
            raise ValueError(
                f"bandits must have the same dimension to be merged, got {tasks.dimension} "
                f"and {header['dimension']}"
            )
        prior = specs.describe(memory.population.estimator, "priors").plain()
        if header["prior"] != prior:
            raise ValueError(
                f"bandits must have the same prior to be merged, got {prior} and {header['prior']}"
            )
        both = [name for name in [*header["tasks"], *header["finished"]] if name in tasks]
        if both:
            raise ValueError(
                f"bandits must have different tasks to be merged, got {len(both)} that both have, "
                f"such as {both[0]!r}"
            )
        if not memory.has_half_life_of(header["settings"]):
            raise ValueError("bandits must have the same half-life to be merged")

    def _restore_tasks(self, memory: Memory) -> None:
        """Open and keep the tasks, with their pending decisions."""
        header, tasks = self.header, memory.tasks
        names: list[Name] = [*header["tasks"], *header["finished"]]
        rows, finished = self._rows("rows"), self._rows("finished")
        shape = (len(header["tasks"]), tasks.layout.length)
        checks.shape("rows", rows, shape, "(tasks, numbers)")
        shape = (len(header["finished"]), tasks.layout.finished_length)
        checks.shape("finished", finished, shape, "(tasks, numbers)")
        tasks.abouts.update((name, np.array(about)) for name, about in header["abouts"])
        tasks.adopt(
            dict(zip(header["tasks"], rows, strict=True)),
            dict(zip(header["finished"], finished, strict=True)),
        )
        self._restore_items(memory)
        positions = self._floats("positions").tolist()
        for name, position in zip(header["counted"], positions, strict=True):
            tasks.counted.set(name, Contribution(tasks.statistics(name), position))
        owners, features = self.arrays["owners"].tolist(), self._floats("pending_features")
        # Without a deadline no times were noted; a new deadline counts from now.
        timed = header["settings"]["deadline_seconds"] is not None
        now = 0.0 if tasks.pending.clock is None else tasks.pending.clock()
        times = self._floats("times").tolist() if timed else [now] * len(owners)
        items = map(id_from, self.header["pending_items"])
        held = map(Held, features, times, self._floats("provisional"), items)
        for decision, i, each in zip(header["pending"], owners, held, strict=True):
            tasks.adopt_decision(names[i], decision, each)

    def _restore_items(self, memory: Memory) -> None:
        """Restore what tasks counted by item."""
        of_tasks, tasks = self.header["task_items"], memory.tasks
        rows, start = self._floats("task_items"), 0
        n = sum(len(ids) for _, ids in of_tasks)
        checks.shape("task_items", rows, (n, FIRST + tasks.dimension), "(items, d + 2)")
        for name, ids in of_tasks:
            own = rows[start : start + len(ids)]
            tasks.items.adopt(name, dict(zip(map(id_from, ids), own, strict=True)))
            start += len(ids)

    def _state(self, memory: Memory) -> State:
        """The memory with its weights; it must fit the prior."""
        dimension = memory.tasks.dimension
        empty = memory.population.estimator.empty(dimension)
        return read_state(self.header["state"], self.arrays, empty, dimension)

    def _scales(self) -> tuple[Floats | None, bool]:
        scales = self.header["scales"]
        return None if scales is None else np.array(scales), bool(self.header["scales_known"])

    def _floats(self, name: str) -> Floats:
        return checks.floats(name, np.asarray(self.arrays[name], dtype=np.float64))

    def _rows(self, name: str) -> Floats:
        return check_rows(name, np.asarray(self.arrays[name], dtype=np.float64))


def save(
    path: Path | IO[bytes],
    memory: Memory,
    stream: UniformStream,
    policy: object,
    schema: Features | None,
) -> None:
    """Write the file atomically, readable by its owner only: it holds the names of tasks."""
    if not isinstance(path, Path):
        write(path, memory, stream, policy, schema)
        return
    with atomic_write(path, mode=0o600) as part, part.open("wb") as file:
        write(file, memory, stream, policy, schema)


def write(
    file: IO[bytes],
    memory: Memory,
    stream: UniformStream,
    policy: object,
    schema: Features | None,
) -> None:
    """Write the content of a file, with a memory that is up to date."""
    memory.bring_up_to_date()
    tasks, population = memory.tasks, memory.population
    # A loaded bandit explores by the present mean task; so must this one.
    population.install(population.state, population.start, population.item_effects)
    slots = np.fromiter(tasks.slots.values(), np.int64, len(tasks.slots))
    numbers = np.fromiter(tasks.finished.numbers.values(), np.int64, len(tasks.finished))
    owners = [*slots.tolist(), *map(owner_of_finished, numbers.tolist())]
    index = {owner: i for i, owner in enumerate(owners)}
    pending, state, scales = tasks.pending, population.state, population.scales
    places = pending.oldest_first()
    generator, drawn = stream.saved()
    of_tasks = {name: tasks.items.of(name) for name in tasks.all_names() if name in tasks.items}
    item_rows = [row for rows in of_tasks.values() for row in rows.values()]
    items = map(pending.items.get, places)
    header = {
        "format": FORMAT,
        "dimension": tasks.dimension,
        "settings": tasks.settings.plain(),
        "refresh_by_seed": tasks.settings.refresh_by_seed,
        "features": None if schema is None else schema.plain(),
        "feature_names": tasks.feature_names.known,
        "policy": specs.describe(policy, "policies").plain(),
        "prior": specs.describe(population.estimator, "priors").plain(),
        "state": state_header(state),
        "scales": None if scales is None else scales.tolist(),
        "scales_known": population.scales_known,
        "abouts": [(name, about.tolist()) for name, about in tasks.abouts.items()],
        "n_from_logs": tasks.n_from_logs,
        "tasks": list(tasks.slots),
        "finished": list(tasks.finished.numbers),
        "counted": list(tasks.counted),
        "pending": [pending.decision(place) for place in places],
        "pending_items": [None if item is None else id_to(item) for item in items],
        "task_items": [(name, list(map(id_to, rows))) for name, rows in of_tasks.items()],
        "settled": tasks.settled.values,
        "unsettled": tasks.unsettled,
        "generator": generator,
    }
    arrays = {
        "rows": tasks.rows[slots],
        "finished": tasks.finished.rows[numbers],
        "owners": np.array([index[pending.owner(place)] for place in places], dtype=np.int64),
        "pending_features": pending.features[places],
        "positions": np.array([tasks.counted.position(name) for name in tasks.counted]),
        "times": pending.times[places],
        "provisional": pending.provisional[places],
        "task_items": np.reshape(item_rows, (-1, FIRST + tasks.dimension)),
        "drawn": drawn,
        **state_arrays(state),
    }
    write_arrays(file, header, arrays)
