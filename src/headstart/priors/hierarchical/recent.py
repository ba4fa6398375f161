"""RecentTasks: the latest tasks in thin form, to which covariances are fitted."""

from dataclasses import dataclass, fields, replace

import numpy as np

from headstart.arrays import Booleans, Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors.hierarchical.sums import Spectrum

# How many tasks are stored; more if side information is to be learned from them.
CAPACITY = 64
CAPACITY_WITH_SIDE = 256
# The most rewards of a thin task: of more directions, those with most data count.
MAX_DIRECTIONS = 64
# Eigenvalues of V below this share of the largest are rounding errors.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class RecentTasks:
    """The latest tasks (…, W), and the number of tasks ever seen (…).

    They are stored because no statistics of a fixed size determine how tasks differ: each task's
    design matters. With V = U diag(v) Uᵀ, a task is as informative as R = min(d, 64) rewards of the
    features diag(√v)Uᵀ, (R, d), together with a sum of squares of pure noise.
    """

    designs: Floats  # (…, W, R, d), diag(√v)Uᵀ; rows of zeros where there is no data
    moments: Floats  # (…, W, d)
    counts: Floats  # (…, W)
    sums_of_squares: Floats  # (…, W)
    residuals: Floats  # (…, W), of rewards from their least squares fit
    freedoms: Floats  # (…, W), the residuals' degrees of freedom
    weights: Floats  # (…, W), how much each task counts; 0 where there is none
    sides: Floats  # (…, W, p), side information
    seen: Floats  # (…)
    arrivals: Floats  # (…, W), the task's number on arrival, from 1; 0 for no task

    @classmethod
    def zeros(cls, dimension: int, lead: tuple[int, ...], *, n_side: int = 0) -> "RecentTasks":
        """No tasks."""
        stored = (*lead, CAPACITY_WITH_SIDE if n_side else CAPACITY)
        directions = min(dimension, MAX_DIRECTIONS)
        return cls(
            designs=np.zeros((*stored, directions, dimension)),
            moments=np.zeros((*stored, dimension)),
            counts=np.zeros(stored),
            sums_of_squares=np.zeros(stored),
            residuals=np.zeros(stored),
            freedoms=np.zeros(stored),
            weights=np.zeros(stored),
            sides=np.zeros((*stored, n_side)),
            seen=np.zeros(lead),
            arrivals=np.zeros(stored),
        )

    @classmethod
    def from_memory(cls, memory: Memory) -> "RecentTasks":
        """The recent tasks among the arrays of a memory."""
        return cls(**{field.name: memory[field.name] for field in fields(cls)})

    def to_memory(self) -> dict[str, Floats]:
        """The recent tasks as named arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def present(self) -> Floats:
        """How many tasks are stored, (…)."""
        return np.asarray((self.weights > 0.0).sum(-1), dtype=np.float64)

    @property
    def capacity(self) -> int:
        """How many tasks can be stored, W."""
        return int(self.counts.shape[-1])

    def with_task(
        self, task: TaskStatistics, weight: float, spectrum: Spectrum | None = None
    ) -> "RecentTasks":
        """With one more task, which replaces the oldest if all slots are filled.

        A task without rewards changes nothing.
        """
        arrived = task.count > 0
        oldest = np.where(self.weights > 0.0, self.arrivals, 0.0).argmin(-1)[..., None]
        slot = (np.arange(self.capacity) == oldest) & arrived[..., None]
        side = np.zeros((*task.lead, 0)) if task.side is None else task.side
        return self._set(
            slot,
            thin(task, self.designs.shape[-2], spectrum)
            | {
                "moments": task.moment,
                "counts": task.count,
                "sums_of_squares": task.sum_of_squares,
                "weights": np.full(task.lead, weight),
                "sides": side[..., : self.sides.shape[-1]],
                "arrivals": self.seen + 1.0,
            },
            seen=self.seen + arrived,
        )

    def without_task(self, task: TaskStatistics) -> "RecentTasks":
        """Without the task that has these statistics, if it is still stored."""
        same = (self.moments == task.moment[..., None, :]).all(-1) & (self.weights > 0.0)
        same &= self.counts == task.count[..., None]
        same &= self.sums_of_squares == task.sum_of_squares[..., None]
        slot = same & (np.cumsum(same, -1) == 1)
        lead, (rows, dimension) = self.seen.shape, self.designs.shape[-2:]
        nothing = {
            "designs": np.zeros((*lead, rows, dimension)),
            "moments": np.zeros((*lead, dimension)),
            "sides": np.zeros((*lead, self.sides.shape[-1])),
        }
        scalars = ("counts", "sums_of_squares", "residuals", "freedoms", "weights", "arrivals")
        return self._set(slot, nothing | {name: np.zeros(lead) for name in scalars}, self.seen)

    def _set(self, slot: Booleans, values: dict[str, Floats], seen: Floats) -> "RecentTasks":
        """The values (…, own axes) in the slots (…, W) that are marked."""
        where = np.nonzero(slot)
        arrays = {name: getattr(self, name).copy() for name in values}
        for name, value in values.items():
            arrays[name][where] = value[where[:-1]]
        return replace(self, seen=np.asarray(seen), **arrays)

    def scaled(self, factor: float) -> "RecentTasks":
        """Every task counts `factor` times as much."""
        return replace(self, weights=factor * self.weights)

    def merged(self, other: "RecentTasks") -> "RecentTasks":
        """The latest tasks of both."""
        # Both count back from their latest task.
        pair = (self, other)
        age = np.concatenate(
            [
                np.where(tasks.weights > 0.0, tasks.seen[..., None] - tasks.arrivals, np.inf)
                for tasks in pair
            ],
            -1,
        )
        chosen = np.argsort(age, -1, kind="stable")[..., : self.capacity]
        seen = self.seen + other.seen
        arrays = {}
        for name in (field.name for field in fields(self) if field.name != "seen"):
            one, two = (getattr(tasks, name) for tasks in pair)
            axis = self.weights.ndim - 1
            index = chosen[(..., *(None,) * (one.ndim - self.weights.ndim))]
            arrays[name] = np.take_along_axis(np.concatenate([one, two], axis), index, axis)
        order = seen[..., None] - np.arange(self.capacity)
        arrivals = np.where(arrays.pop("arrivals") > 0.0, order, 0.0)
        return RecentTasks(
            **arrays, arrivals=np.where(arrays["weights"] > 0.0, arrivals, 0.0), seen=seen
        )


def thin(
    task: TaskStatistics, directions: int, spectrum: Spectrum | None = None
) -> dict[str, Floats]:
    """The thin form of tasks (…): designs (…, R, d), residuals and their degrees of freedom (…)."""
    values, vectors = Spectrum.of(task) if spectrum is None else spectrum
    known = values > np.maximum(_NEGLIGIBLE * values[..., -1:], 0.0)
    values = np.where(known, values, 0.0)
    rotated = (vectors.mT @ task.moment[..., None])[..., 0]
    explained = np.where(known, rotated**2 / np.where(known, values, 1.0), 0.0).sum(-1)
    rows = np.sqrt(values)[..., :, None] * vectors.mT
    return {
        "designs": np.ascontiguousarray(rows[..., ::-1, :][..., :directions, :]),
        "residuals": np.maximum(task.sum_of_squares - explained, 0.0),
        "freedoms": np.maximum(task.count - known.sum(-1), 0.0),
    }
