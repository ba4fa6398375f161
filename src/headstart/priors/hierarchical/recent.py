"""RecentTasks: the latest tasks in thin form, to which covariances are fitted."""

from dataclasses import dataclass, fields, replace

import numpy as np

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors.hierarchical.sums import Spectrum

# The latest tasks are stored up to this many, as long as their designs have at most this many
# numbers; but at least the latest 64 in any case.
_MOST_TASKS, _MOST_NUMBERS, _LEAST_TASKS = 256, 80_000, 64
# The most rewards of a thin task: of more directions, those with most data count.
MAX_DIRECTIONS = 64
# Eigenvalues of V below this share of the largest are rounding errors.
_NEGLIGIBLE = 1e-12


@dataclass(frozen=True, eq=False)
class RecentTasks:
    """The latest W tasks, and the number of tasks ever seen (…).

    They are stored because no statistics of a fixed size determine how tasks differ: each task's
    design matters. With V = U diag(v) Uᵀ, a task is as informative as R = min(d, 64) rewards of the
    features diag(√v)Uᵀ, (R, d), together with a sum of squares of pure noise. R is the largest that
    any of them needs.
    """

    designs: Floats  # (…, W, R, d), diag(√v)Uᵀ; rows of zeros where there is no data
    moments: Floats  # (…, W, d)
    counts: Floats  # (…, W)
    sums_of_squares: Floats  # (…, W)
    residuals: Floats  # (…, W), of rewards from their least squares fit
    freedoms: Floats  # (…, W), the residuals' degrees of freedom
    weights: Floats  # (…, W), how much each task counts; 0 where there is none
    abouts: Floats  # (…, W, p), side information
    seen: Floats  # (…)
    arrivals: Floats  # (…, W), the task's number on arrival, from 1; 0 for no task

    @classmethod
    def zeros(cls, dimension: int, lead: tuple[int, ...], *, n_about: int = 0) -> "RecentTasks":
        """No tasks."""
        none = np.zeros((*lead, 0))
        return cls(
            designs=np.zeros((*lead, 0, 1, dimension)),
            moments=np.zeros((*lead, 0, dimension)),
            counts=none,
            sums_of_squares=none,
            residuals=none,
            freedoms=none,
            weights=none,
            abouts=np.zeros((*lead, 0, n_about)),
            seen=np.zeros(lead),
            arrivals=none,
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
        """The most tasks of this size that are stored."""
        numbers = self.designs.shape[-2] * self.designs.shape[-1]
        return int(np.clip(_MOST_NUMBERS // numbers, _LEAST_TASKS, _MOST_TASKS))

    def with_tasks(self, tasks: TaskStatistics, weight: float, spectrum: Spectrum) -> "RecentTasks":
        """With more tasks (…, k), the latest last; the oldest ones go if there are too many.

        A task without rewards changes nothing.
        """
        arrived = tasks.count > 0.0
        number = self.seen[..., None] + np.cumsum(arrived, -1)
        about = np.zeros((*tasks.lead, 0)) if tasks.about is None else tasks.about
        added = {
            **thin(tasks, spectrum),
            "moments": tasks.moment,
            "counts": tasks.count,
            "sums_of_squares": tasks.sum_of_squares,
            "weights": np.where(arrived, weight, 0.0),
            "abouts": about[..., : self.abouts.shape[-1]],
            "arrivals": np.where(arrived, number, 0.0),
        }
        return self._joined(added, seen=self.seen + arrived.sum(-1))

    def without_tasks(self, tasks: TaskStatistics) -> "RecentTasks":
        """Without the tasks (…, k) that have these statistics, if they are still stored."""
        gone = np.zeros(self.weights.shape, dtype=bool)
        for k in range(tasks.count.shape[-1]):
            same = (self.moments == tasks.moment[..., k, None, :]).all(-1) & ~gone
            same &= (self.counts == tasks.count[..., k, None]) & (self.weights > 0.0)
            same &= self.sums_of_squares == tasks.sum_of_squares[..., k, None]
            gone |= same & (np.cumsum(same, -1) == 1)
        kept = _without_seen(self.to_memory())
        for name, array in kept.items():
            kept[name] = np.where(gone[(..., *(None,) * (array.ndim - gone.ndim))], 0.0, array)
        return replace(self, **kept)._latest()

    def around(self, centre: Floats) -> "RecentTasks":
        """The tasks with rewards less what this weight (…, d) gives; Σq stays."""
        given = self.designs.mT @ (self.designs @ centre[..., None, :, None])
        return replace(self, moments=self.moments - given[..., 0])

    def scaled(self, factor: float) -> "RecentTasks":
        """Every task counts `factor` times as much."""
        return replace(self, weights=factor * self.weights)

    def merged(self, other: "RecentTasks") -> "RecentTasks":
        """The latest tasks of both, counted back from the latest task of each."""
        seen = self.seen + other.seen
        one, two = (
            {
                **tasks.to_memory(),
                # Half a place keeps the order of two tasks that are equally old.
                "arrivals": np.where(
                    tasks.arrivals > 0.0,
                    (seen - tasks.seen - behind)[..., None] + tasks.arrivals,
                    0.0,
                ),
            }
            for tasks, behind in ((self, 0.0), (other, 0.5))
        )
        return replace(self, **_without_seen(one))._joined(_without_seen(two), seen)

    def _joined(self, added: dict[str, Floats], seen: Floats) -> "RecentTasks":
        """The stored and the added tasks, the latest of them if there are too many."""
        axis = self.weights.ndim - 1
        rows = max(self.designs.shape[-2], added["designs"].shape[-2])
        arrays = {
            name: np.concatenate([_widened(getattr(self, name), rows, name), part], axis)
            for name, array in added.items()
            for part in (_widened(array, rows, name),)
        }
        return RecentTasks(**arrays, seen=np.asarray(seen))._latest()

    def _latest(self) -> "RecentTasks":
        """The latest tasks that are stored, in order, without empty places."""
        most = min(int(self.present.max(initial=0)), self.capacity)
        order = np.argsort(self.arrivals, -1, kind="stable")
        latest = order[..., order.shape[-1] - most :]
        arrays = _without_seen(self.to_memory())
        for name, array in arrays.items():
            index = latest[(..., *(None,) * (array.ndim - latest.ndim))]
            arrays[name] = np.take_along_axis(array, index, latest.ndim - 1)
        return replace(self, **arrays)


def _without_seen(arrays: dict[str, Floats]) -> dict[str, Floats]:
    return {name: array for name, array in arrays.items() if name != "seen"}


def _widened(array: Floats, rows: int, name: str) -> Floats:
    """Designs (…, R, d) with rows of zeros after their own; other arrays as they are."""
    if name != "designs" or array.shape[-2] == rows:
        return array
    wide = np.zeros((*array.shape[:-2], rows, array.shape[-1]))
    wide[..., : array.shape[-2], :] = array
    return wide


def thin(task: TaskStatistics, spectrum: Spectrum) -> dict[str, Floats]:
    """The thin form of tasks (…): designs (…, R, d), residuals and their degrees of freedom (…)."""
    values, vectors = spectrum
    known = values > np.maximum(_NEGLIGIBLE * values[..., -1:], 0.0)
    values = np.where(known, values, 0.0)
    rotated = spectrum.rotated(task.moment)
    explained = np.where(known, rotated**2 / np.where(known, values, 1.0), 0.0).sum(-1)
    n_rows = int(np.clip(known.sum(-1).max(initial=1), 1, MAX_DIRECTIONS))
    rows = np.sqrt(values)[..., :, None] * vectors.mT
    return {
        "designs": np.ascontiguousarray(rows[..., ::-1, :][..., :n_rows, :]),
        "residuals": np.maximum(task.sum_of_squares - explained, 0.0),
        "freedoms": np.maximum(task.count - known.sum(-1), 0.0),
    }
