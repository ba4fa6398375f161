"""Saving: a bandit as one .npz file of plain arrays and a JSON header; nothing in it is code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from headstart import checks, specs
from headstart.arrays import Floats
from headstart.atomic import atomic_write
from headstart.interfaces import Memory
from headstart.live.deciding.uniforms import UniformStream
from headstart.live.decision import Name
from headstart.live.memory import half_lives
from headstart.live.memory.population import State
from headstart.live.tasks.adoption import adopt, adopt_decision
from headstart.live.tasks.all_tasks import Tasks
from headstart.live.tasks.layout import check_rows
from headstart.live.tasks.pending import owner
from headstart.live.upgrades import FORMAT, upgraded

Arrays = dict[str, NDArray[np.generic]]

_STATE = ("position", "n_tasks", "weight", "rounds", "squares")


@dataclass(frozen=True)
class Saved:
    """The content of a file, in terms of the current format."""

    header: Mapping[str, Any]
    arrays: Arrays

    def policy(self) -> object:
        """The policy, built anew."""
        return specs.rebuild(self.header["policy"], "policies", where="policy")

    def prior(self) -> object:
        """The prior estimator, built anew."""
        return specs.rebuild(self.header["prior"], "priors", where="prior")

    def floats(self, name: str) -> Floats:
        """An array of finite floats."""
        return checks.floats(name, np.asarray(self.arrays[name], dtype=np.float64))

    def rows(self, name: str) -> Floats:
        """The rows of tasks."""
        return check_rows(name, np.asarray(self.arrays[name], dtype=np.float64))

    def stream(self) -> UniformStream:
        """The stream of uniform numbers, where it was."""
        return UniformStream.resumed(str(self.header["generator"]), self.floats("drawn"))


def save(path: Path | IO[bytes], tasks: Tasks, stream: UniformStream, policy: object) -> None:
    """Write the file atomically, readable by its owner only: it holds the names of tasks."""
    if not isinstance(path, Path):
        write(path, tasks, stream, policy)
        return
    with atomic_write(path, mode=0o600) as part, part.open("wb") as file:
        write(file, tasks, stream, policy)


def write(file: IO[bytes], tasks: Tasks, stream: UniformStream, policy: object) -> None:
    """Write the content of a file, with a memory that is up to date."""
    tasks.changes.bring_up_to_date()
    # A loaded bandit reads catalogues anew; so does this one, and both score alike.
    tasks.catalogue_scores.clear()
    slots = np.fromiter(tasks.slots.values(), np.int64, len(tasks.slots))
    numbers = np.fromiter(tasks.finished.numbers.values(), np.int64, len(tasks.finished))
    owners = {slot: i for i, slot in enumerate(slots.tolist())}
    owners |= {-2 - number: len(slots) + i for i, number in enumerate(numbers.tolist())}
    pending, state = tasks.pending, tasks.population.state
    places = pending.oldest_first()
    generator, drawn = stream.saved()
    scales = tasks.population.scales
    header = {
        "format": FORMAT,
        "dimension": tasks.dimension,
        "settings": tasks.settings.plain(),
        "refresh_by_seed": tasks.settings.refresh_by_seed,
        "feature_names": tasks.feature_names.known,
        "policy": specs.describe(policy, "policies").plain(),
        "prior": specs.describe(tasks.population.estimator, "priors").plain(),
        "state": {name: getattr(state, name) for name in _STATE},
        "scales": None if scales is None else scales.tolist(),
        "scales_known": tasks.population.scales_known,
        "sides": [(name, side.tolist()) for name, side in tasks.sides.items()],
        "n_from_logs": tasks.n_from_logs,
        "tasks": list(tasks.slots),
        "finished": list(tasks.finished.numbers),
        "pending": [pending.decision(place) for place in places],
        "settled": tasks.settled.values,
        "generator": generator,
    }
    arrays = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "rows": tasks.rows[slots],
        "finished": tasks.finished.rows[numbers],
        "owners": np.array([owners[owner(pending, place)] for place in places], dtype=np.int64),
        "kept": pending.kept[places],
        "times": pending.times[places],
        "drawn": drawn,
        **{f"memory.{name}": np.asarray(array) for name, array in state.memory.items()},
    }
    np.savez(file, **arrays)  # type: ignore[arg-type]


def read(file: Path | IO[bytes]) -> Saved:
    """Read a file, check that `save` wrote it, and convert it to the current format."""
    name = file if isinstance(file, Path) else "the file"
    try:
        with np.load(file, allow_pickle=False) as content:
            arrays = {name: content[name] for name in content.files}
    except (BadZipFile, ValueError, EOFError) as error:
        raise ValueError(f"{name} must be a file that save wrote, got {error}") from error
    try:
        header = json.loads(arrays.pop("header").tobytes())
        version = header["format"]
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"{name} must be a file that save wrote, got one without header"
        ) from error
    if not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise ValueError(
            f"{name} has format {version}, and this version of headstart reads 1 to {FORMAT}"
        )
    return Saved(*upgraded(header, arrays))


def restore(saved: Saved, tasks: Tasks) -> None:
    """Put the memory, the tasks and their decisions where they were."""
    header = saved.header
    scales = header["scales"]
    population = tasks.population
    population.scales = None if scales is None else np.array(scales)
    population.scales_known = bool(header["scales_known"])
    population.install(state_of(saved, tasks))
    tasks.n_from_logs = header["n_from_logs"]
    tasks.settled.values.update(header["settled"])
    restore_tasks(saved, tasks)
    if not half_lives.same(header["settings"], tasks):
        half_lives.change(tasks, header["settings"])


def state_of(saved: Saved, tasks: Tasks) -> State:
    """The memory of a file, with what it weighs."""
    numbers = saved.header["state"]
    checks.floats("the state", [numbers[name] for name in _STATE])
    return State(memory_of(saved, tasks), **numbers)


def memory_of(saved: Saved, tasks: Tasks) -> Memory:
    """The memory of a file, which must be one of the prior's."""
    prefix = "memory."
    arrays = {
        name.removeprefix(prefix): checks.floats(name, np.asarray(array, dtype=np.float64))
        for name, array in saved.arrays.items()
        if name.startswith(prefix)
    }
    memory = {}
    for name, empty in tasks.population.state.memory.items():
        if name not in arrays or arrays[name].shape != np.shape(empty):
            raise ValueError(f"the prior must fit the file, whose memory has no such {name}")
        memory[name] = arrays[name]
    return memory


def restore_tasks(saved: Saved, tasks: Tasks) -> None:
    """Open and keep the tasks of a file, with their pending decisions."""
    header = saved.header
    names: list[Name] = [*header["tasks"], *header["finished"]]
    rows, finished = saved.rows("rows"), saved.rows("finished")
    shape = (len(header["tasks"]), tasks.layout.length)
    checks.shape("rows", rows, shape, "(tasks, numbers)")
    shape = (len(header["finished"]), tasks.layout.finished_length)
    checks.shape("finished", finished, shape, "(tasks, numbers)")
    tasks.sides.update((name, np.array(side)) for name, side in header["sides"])
    adopt(
        tasks,
        dict(zip(header["tasks"], rows, strict=True)),
        dict(zip(header["finished"], finished, strict=True)),
    )
    owners = saved.arrays["owners"].tolist()
    given = zip(header["pending"], owners, saved.floats("kept"), saved.floats("times"), strict=True)
    # Without a deadline no times were noted; one that is given now counts from now.
    timed = header["settings"].get("deadline_seconds") is not None
    now = 0.0 if tasks.pending.clock is None else tasks.pending.clock()
    for decision, i, kept, time in given:
        adopt_decision(tasks, names[i], decision, kept, float(time) if timed else now)
