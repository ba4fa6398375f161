"""Saving: a bandit as one .npz file of plain arrays and a JSON header; nothing in it is code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from headstart import checks, specs
from headstart.arrays import Floats
from headstart.atomic import atomic_write
from headstart.live import _upgrade
from headstart.live._tasks import Tasks
from headstart.live._uniforms import UniformStream

# Raised when the meaning of a file changes; every version reads all formats up to its own.
FORMAT = 3

Arrays = Mapping[str, NDArray[np.generic]]


@dataclass(frozen=True)
class Saved:
    """The content of a file, in terms of the current format."""

    header: Mapping[str, object]
    arrays: Arrays

    def number(self, name: str) -> int:
        """An integer of the header."""
        value = self.header[name]
        assert isinstance(value, int)
        return value

    def settings(self) -> dict[str, object]:
        """The header's settings of the constructor."""
        value = self.header["settings"]
        assert isinstance(value, dict)
        return value

    def policy(self) -> object:
        """The policy, built anew."""
        return specs.rebuild(self.header["policy"], "policies", where="policy")

    def prior(self) -> object:
        """The prior estimator, built anew."""
        return specs.rebuild(self.header["prior"], "priors", where="prior")

    def floats(self, name: str) -> Floats:
        """An array of floats."""
        return np.asarray(self.arrays[name], dtype=np.float64)


def save(
    path: Path, tasks: Tasks, stream: UniformStream, policy: object, settings: Mapping[str, object]
) -> None:
    """Write everything, or nothing."""
    slots = np.fromiter(tasks.slots.values(), np.int64, len(tasks.slots))
    places = [tasks.pending.of(tasks.rows[slot]) for slot in slots]
    flat = np.array([place for own in places for place in own], dtype=np.int64)
    generator, drawn = stream.saved()
    uses, free = tasks.pending.saved()
    header = {
        "format": FORMAT,
        "dimension": tasks.dimension,
        "settings": dict(settings),
        "policy": specs.describe(policy, "policies").plain(),
        "prior": specs.describe(tasks.estimator, "priors").plain(),
        "n_finished": tasks.n_finished,
        "tasks": list(tasks.slots),
        "generator": generator,
    }
    arrays = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "rows": tasks.rows[slots],
        "places": flat,
        "uses": uses,
        "free": free,
        "owners": np.repeat(np.arange(len(slots)), [len(own) for own in places]),
        "kept": tasks.pending.kept[flat],
        "drawn": drawn,
        **{f"memory.{name}": np.asarray(array) for name, array in tasks.memory.items()},
    }
    with atomic_write(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read(path: Path) -> Saved:
    """Read a file whole, check that it is one of ours, and bring it to the current format."""
    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file.files}
    except (BadZipFile, ValueError, EOFError) as error:
        raise ValueError(f"{path} must be a file that save wrote, got {error}") from error
    try:
        header = json.loads(arrays.pop("header").tobytes())
        version = header["format"]
    except (KeyError, ValueError, TypeError) as error:
        raise ValueError(
            f"{path} must be a file that save wrote, got one without header"
        ) from error
    if not isinstance(version, int) or not 1 <= version <= FORMAT:
        raise ValueError(
            f"{path} has format {version}, and this version of headstart reads 1 to {FORMAT}"
        )
    if version < FORMAT:
        header, arrays = _upgrade.to_format_3(header, arrays)
    return Saved(header, arrays)


def restore(saved: Saved, tasks: Tasks) -> None:
    """Put the memory, the open tasks and their decisions where they were."""
    rows, names = saved.floats("rows"), saved.header["tasks"]
    assert isinstance(names, list)
    checks.shape("rows", rows, (len(names), tasks.layout.length), "(tasks, numbers)")
    memory = {}
    for name, empty in tasks.memory.items():
        array = saved.arrays.get(f"memory.{name}")
        if array is None or array.shape != np.shape(empty):
            raise ValueError(
                f"the prior must fit the file, whose memory has no {name} like its own"
            )
        memory[name] = np.asarray(array, dtype=np.float64)
    tasks.restore(memory, saved.number("n_finished"))
    slots = [tasks.open(name, row) for name, row in zip(names, rows, strict=True)]
    owners = [slots[owner] for owner in saved.arrays["owners"].tolist()]
    tasks.pending.restore(
        tasks.rows,
        np.asarray(saved.arrays["uses"], dtype=np.int64),
        saved.arrays["free"].tolist(),
        list(zip(saved.arrays["places"].tolist(), owners, strict=True)),
        saved.floats("kept"),
    )
