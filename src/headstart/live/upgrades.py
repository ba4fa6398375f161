"""Files of earlier formats, in terms of the current one."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.live.tasks.layout import upgrade_rows

# Raised when the meaning of a file changes; every version reads all formats up to its own.
FORMAT = 4

Arrays = dict[str, NDArray[np.generic]]

# What classes and arrays of a memory were called.
_CLASSES = {
    "Credible": "BayesUCB",
    "FromVariance": "Corollary2",
    "OneModel": "SingleModel",
    "Split": "NormBound",
}
_MEMORY = {"memory.energy": "memory.sum_of_squares", "memory.energies": "memory.sums_of_squares"}
# An id was a place in 26 bits, and how often that had been used.
_PLACE_BITS = 26


def upgraded(header: Mapping[str, Any], arrays: Arrays) -> tuple[Mapping[str, Any], Arrays]:
    """The header and the arrays of a file, in terms of the current format."""
    version = header["format"]
    if version < 3:
        header, arrays = _to_format_3(header, arrays)
    if version < 4:
        header, arrays = _to_format_4(header, arrays, version)
    return header, arrays


def _to_format_4(
    header: Mapping[str, Any], arrays: Arrays, version: int
) -> tuple[dict[str, Any], Arrays]:
    """Finished tasks, settled decisions and ids that are strings are new in format 4."""
    arrays = dict(arrays)
    n_tasks = int(header["n_finished"])
    rows = upgrade_rows(np.asarray(arrays["rows"], dtype=np.float64), version, n_tasks)
    places, uses = arrays.pop("places").tolist(), arrays.pop("uses").tolist()
    arrays.pop("free")
    memory = {name: array for name, array in arrays.items() if name.startswith("memory.")}
    # The latest came first. Ids were integers; applications may pass them as strings.
    order = slice(None, None, -1)
    ids = [str(uses[place] << _PLACE_BITS | place) for place in places][order]
    rounds = float(memory["memory.count"]) if "memory.count" in memory else 0.0
    squares = float(memory.get("memory.sum_of_squares", np.array(0.0)))
    new = {name: value for name, value in header.items() if name != "n_finished"} | {
        "settings": dict(header["settings"]) | {"scales": None, "refresh": "inline"},
        "state": {
            "position": float(n_tasks),
            "n_tasks": n_tasks,
            "weight": float(n_tasks),
            "rounds": rounds,
            "squares": squares,
        },
        "feature_names": None,
        "scales": None,
        "scales_known": True,
        "sides": [],
        "n_from_logs": n_tasks,
        "finished": [],
        "pending": ids,
        "settled": {},
    }
    length = rows.shape[1] - _square(rows.shape[1])
    arrays |= {
        "rows": rows,
        "finished": np.zeros((0, length)),
        "owners": arrays["owners"][order],
        "kept": arrays["kept"][order],
        "times": np.zeros(len(ids)),
    }
    return new, arrays


def _square(length: int) -> int:
    """D² of a row of 2d² + 4d + 17 numbers."""
    return (int(math.sqrt((length - 15) / 2) + 0.5) - 1) ** 2


def _to_format_3(header: Mapping[str, Any], arrays: Arrays) -> tuple[dict[str, Any], Arrays]:
    """Format 3 has other names."""
    settings = dict(header["settings"])
    settings["idle_seconds"] = settings.pop("idle")
    new = {name: value for name, value in header.items() if name != "finished"}
    new |= {
        "settings": settings,
        "n_finished": header["finished"],
        "policy": upgrade_spec(header["policy"]),
        "prior": upgrade_spec(header["prior"]),
    }
    renamed = {_MEMORY.get(name, name): array for name, array in arrays.items()}
    return new, renamed | {"rows": renamed.pop("state")}


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
