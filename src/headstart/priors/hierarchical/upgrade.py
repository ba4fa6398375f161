"""Memories of earlier versions, as they are in saved files."""

import numpy as np

from headstart import checks
from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors.hierarchical import grid
from headstart.priors.hierarchical.estimator import Hierarchical
from headstart.priors.hierarchical.recent import thin

_SUMS = ("information", "ridges", "log_determinant", "residual")
# Steps of a quarter decade; now they are half a decade.
_OLD_SIZE = 2 * len(grid.LAMBDAS) - 1


def upgrade_memory(memory: Memory, estimator: Hierarchical | None = None) -> Memory:
    """A memory of `Hierarchical` in today's arrays.

    The grid of λ had twice as many points, and stored tasks were grams. What the estimator stores
    and the memory lacks is empty: a fit to the latest tasks then begins with the next ones.
    """
    found = {name: np.asarray(array) for name, array in memory.items()}
    lead = found["count"].shape
    if found["residual"].shape[-1] == _OLD_SIZE:
        for name in _SUMS:
            axis = len(lead)
            found[name] = np.ascontiguousarray(
                np.take(found[name], np.arange(0, _OLD_SIZE, 2), axis)
            )
    if "grams" in found:
        found |= _stored(found)
        del found["grams"]
    if estimator is not None:
        today = estimator.empty(found["ridges"].shape[-1], lead)
        found = {name: found.get(name, array) for name, array in today.items()}
    return found


def _stored(memory: Memory) -> dict[str, Floats]:
    """Tasks that were stored as grams, in thin form."""
    counts, seen = memory["counts"], memory["seen"]
    tasks: TaskStatistics = checks.trusted(
        TaskStatistics,
        gram=memory["grams"],
        moment=memory["moments"],
        count=counts,
        sum_of_squares=memory["sums_of_squares"],
    )
    slots = np.arange(counts.shape[-1])
    # The latest task is in the slot of its number, modulo the number of slots.
    ages = np.mod(seen[..., None] - 1.0 - slots, len(slots))
    present = counts > 0
    arrivals = memory.get("arrivals", np.maximum(seen[..., None] - ages, 1.0))
    return thin(tasks, memory["moments"].shape[-1]) | {
        "weights": present.astype(np.float64),
        "sides": np.zeros((*counts.shape, 0)),
        "arrivals": np.where(present, arrivals, 0.0),
        "fitted_at": np.where(memory["noise"] > 0.0, seen, 0.0),
    }
