"""Files of formats 1 and 2, in terms of format 3."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from headstart.kernels.state import NEVER
from headstart.live._layout import NONE

_Arrays = dict[str, NDArray[np.generic]]

# What classes and arrays of a memory were called.
_CLASSES = {
    "Credible": "BayesUCB",
    "FromVariance": "Corollary2",
    "OneModel": "SingleModel",
    "Split": "NormBound",
}
_MEMORY = {"memory.energy": "memory.sum_of_squares", "memory.energies": "memory.sums_of_squares"}


def to_format_3(header: Mapping[str, Any], arrays: _Arrays) -> tuple[dict[str, object], _Arrays]:
    """The header and the arrays of a file of format 1 or 2, in terms of format 3.

    Format 1 had no prior revision. Format 2 ended a row with the time of last use and when the
    prior is revised; format 3 has them the other way round, and then the first pending decision.
    """
    settings = dict(header["settings"])
    settings["idle_seconds"] = settings.pop("idle")
    upgraded = {name: value for name, value in header.items() if name != "finished"}
    upgraded |= {
        "settings": settings,
        "n_finished": header["finished"],
        "policy": _upgrade_spec(header["policy"]),
        "prior": _upgrade_spec(header["prior"]),
    }
    renamed = {_MEMORY.get(name, name): array for name, array in arrays.items()}
    rows = np.asarray(renamed.pop("state"), dtype=np.float64)
    if header["format"] == 1:
        rows = np.pad(rows, ((0, 0), (0, 1)), constant_values=NEVER)
    rows = np.pad(rows, ((0, 0), (0, 1)), constant_values=NONE)
    rows[:, [-3, -2]] = rows[:, [-2, -3]]
    return upgraded, renamed | {"rows": rows}


def _upgrade_spec(table: object) -> object:
    """A policy or a prior as plain data, in today's names."""
    if isinstance(table, list):
        return [_upgrade_spec(value) for value in table]
    if not isinstance(table, Mapping):
        return table
    new = {name: _upgrade_spec(value) for name, value in table.items()}
    if "class" in new:
        new["class"] = _CLASSES.get(str(new["class"]), new["class"])
    if new.get("class") == "BayesUCB" and "z" in new and new["z"] is None:
        new["z"] = "growing"
    if "radius_of" in new:
        new["fixed_bias"] = new.pop("radius_of") == "mixture"
    return new
