"""Saving: a bandit as one .npz file of plain arrays and a JSON header; nothing in it is code."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from zipfile import BadZipFile

import numpy as np
from numpy.typing import NDArray

from headstart import checks, specs
from headstart.atomic import atomic_write
from headstart.live._layout import NEVER, row_length
from headstart.live._tasks import Lifecycle
from headstart.live._uniforms import Luck

# Raised when the meaning of a file changes; every version reads all formats up to its own. Format 1
# had no second thoughts: the last scalar of a task was missing.
FORMAT = 2

# What arrays of a memory were called in files of formats 1 and 2.
_OLD = {"sum_of_squares": "energy", "sums_of_squares": "energies"}

# What classes were called there.
_OLD_CLASSES = {
    "Credible": "BayesUCB",
    "FromVariance": "Corollary2",
    "OneModel": "SingleModel",
    "Split": "NormBound",
}


@dataclass(frozen=True)
class Saved:
    """What a file says."""

    header: Mapping[str, object]
    arrays: Mapping[str, NDArray[np.generic]]

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
        return self._rebuilt("policy", "policies")

    def prior(self) -> object:
        """The prior estimator, built anew."""
        return self._rebuilt("prior", "priors")

    def _rebuilt(self, name: str, package: str) -> object:
        table = self.header[name]
        if self.number("format") <= 2:
            table = upgrade(table)
        return specs.rebuild(table, package, where=name)


def save(
    path: Path, tasks: Lifecycle, luck: Luck, policy: object, settings: Mapping[str, object]
) -> None:
    """Write everything, or nothing."""
    store = tasks.store
    slots = np.fromiter(store.slots.values(), np.int64, len(store.slots))
    places = [store.pending.of(int(store.heads[slot])) for slot in slots]
    flat = np.array([place for own in places for place in own], dtype=np.int64)
    generator, drawn = luck.saved()
    uses, free = store.pending.saved()
    header = {
        "format": FORMAT,
        "dimension": store.dimension,
        "settings": dict(settings),
        "policy": specs.describe(policy, "policies").plain(),
        "prior": specs.describe(tasks.estimator, "priors").plain(),
        "finished": tasks.finished,
        "tasks": list(store.slots),
        "generator": generator,
    }
    arrays = {
        "header": np.frombuffer(json.dumps(header).encode(), dtype=np.uint8),
        "state": store.state[slots],
        "places": flat,
        "uses": uses,
        "free": free,
        "owners": np.repeat(np.arange(len(slots)), [len(own) for own in places]),
        "kept": store.pending.kept[flat],
        "drawn": drawn,
        **{f"memory.{name}": np.asarray(array) for name, array in tasks.memory.items()},
    }
    with atomic_write(path) as part, part.open("wb") as file:
        np.savez(file, **arrays)  # type: ignore[arg-type]


def read(path: Path) -> Saved:
    """Read a file whole, and check that it is one of ours."""
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
    return Saved(header, arrays)


def restore(saved: Saved, tasks: Lifecycle) -> None:
    """Put the memory, the open tasks and their decisions where they were."""
    store, state = tasks.store, np.asarray(saved.arrays["state"], dtype=np.float64)
    if saved.number("format") == 1:
        state = np.pad(state, ((0, 0), (0, 1)), constant_values=NEVER)
    names = saved.header["tasks"]
    assert isinstance(names, list)
    checks.shape("state", state, (len(names), row_length(store.dimension)), "(tasks, numbers)")
    memory = {}
    for name, blank in tasks.memory.items():
        array = saved.arrays.get(f"memory.{name}", saved.arrays.get(f"memory.{_OLD.get(name)}"))
        if array is None or array.shape != np.shape(blank):
            raise ValueError(
                f"the prior must fit the file, whose memory has no {name} like its own"
            )
        memory[name] = np.asarray(array, dtype=np.float64)
    tasks.restore(memory, saved.number("finished"))
    slots = [store.open(name, row) for name, row in zip(names, state, strict=True)]
    owners = [slots[owner] for owner in saved.arrays["owners"].tolist()]
    store.pending.restore(
        store.heads,
        np.asarray(saved.arrays["uses"], dtype=np.int64),
        saved.arrays["free"].tolist(),
        list(zip(saved.arrays["places"].tolist(), owners, strict=True)),
        np.asarray(saved.arrays["kept"], dtype=np.float64),
    )


def upgrade(table: object) -> object:
    """A policy or prior as files of formats 1 and 2 describe it, in today's names."""
    if isinstance(table, list):
        return [upgrade(value) for value in table]
    if not isinstance(table, Mapping):
        return table
    new = {name: upgrade(value) for name, value in table.items()}
    if "class" in new:
        new["class"] = _OLD_CLASSES.get(str(new["class"]), new["class"])
    if new.get("class") == "BayesUCB" and "z" in new and new["z"] is None:
        new["z"] = "growing"
    if "radius_of" in new:
        new["fixed_bias"] = new.pop("radius_of") == "mixture"
    return new
