"""Saving: a bandit as one .npz file of plain arrays and a JSON header; nothing in it is code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from headstart import checks, specs
from headstart.arrays import Floats
from headstart.atomic import atomic_write
from headstart.live.engine.layout import upgrade_rows
from headstart.live.engine.tasks import Tasks
from headstart.live.engine.uniforms import UniformStream

# Raised when the meaning of a file changes; every version reads all formats up to its own.
FORMAT = 3

Arrays = dict[str, NDArray[np.generic]]

# What classes and arrays of a memory were called.
_CLASSES = {
    "Credible": "BayesUCB",
    "FromVariance": "Corollary2",
    "OneModel": "SingleModel",
    "Split": "NormBound",
}
_MEMORY = {"memory.energy": "memory.sum_of_squares", "memory.energies": "memory.sums_of_squares"}


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
    """Write the file atomically."""
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
    """Read a file, check that `save` wrote it, and convert it to the current format."""
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
        header, arrays = _to_format_3(header, arrays)
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
            raise ValueError(f"the prior must fit the file, whose memory has no such {name}")
        memory[name] = checks.floats(f"memory.{name}", array)
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


def _to_format_3(header: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, object], Arrays]:
    """The header and the arrays of a file of format 1 or 2, in terms of format 3."""
    settings = dict(header["settings"])
    settings["idle_seconds"] = settings.pop("idle")
    upgraded = {name: value for name, value in header.items() if name != "finished"}
    upgraded |= {
        "settings": settings,
        "n_finished": header["finished"],
        "policy": upgrade_spec(header["policy"]),
        "prior": upgrade_spec(header["prior"]),
    }
    renamed = {_MEMORY.get(name, name): array for name, array in arrays.items()}
    rows = upgrade_rows(np.asarray(renamed.pop("state"), dtype=np.float64), header["format"])
    return upgraded, renamed | {"rows": rows}


def upgrade_spec(table: object) -> object:
    """A policy or a prior as plain data, in today's names."""
    if isinstance(table, list):
        return [upgrade_spec(value) for value in table]
    if not isinstance(table, Mapping):
        return table
    new = {name: upgrade_spec(value) for name, value in table.items()}
    if "class" in new:
        new["class"] = _CLASSES.get(str(new["class"]), new["class"])
    if new.get("class") == "BayesUCB" and "z" in new and new["z"] is None:
        new["z"] = "growing"
    if "radius_of" in new:
        new["fixed_bias"] = new.pop("radius_of") == "mixture"
    return new
