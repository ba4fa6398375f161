"""A full covariance of tasks, fitted to the latest of them by expectation-maximisation."""

from dataclasses import dataclass, fields, replace

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors._regularization import regularization_from
from headstart.priors.hierarchical.normal import Normal

# The number of tasks that are stored, the number needed before the covariance is fitted, and the
# steps taken after every task, each from where the last fit ended.
CAPACITY = 64
_MIN_TASKS = 5
_EM_STEPS = 8


@dataclass(frozen=True, eq=False)
class RecentTasks:
    """The latest tasks (…, W), the current fit, and the number of tasks ever seen (…).

    Stored because a full Σ₀ has no sufficient statistics of a fixed size: each task's design
    matters.
    """

    grams: Floats  # (…, W, d, d)
    moments: Floats  # (…, W, d)
    counts: Floats  # (…, W)
    sums_of_squares: Floats  # (…, W)
    covariance: Floats  # (…, d, d), Σ₀; zero until it is fitted
    noise: Floats  # (…), s²
    seen: Floats  # (…)
    arrivals: (
        Floats  # (…, W), the number that a task had when it came, from 1; 0 where there is none
    )

    @classmethod
    def zeros(cls, dimension: int, lead: tuple[int, ...]) -> "RecentTasks":
        """No tasks."""
        return cls(
            grams=np.zeros((*lead, CAPACITY, dimension, dimension)),
            moments=np.zeros((*lead, CAPACITY, dimension)),
            counts=np.zeros((*lead, CAPACITY)),
            sums_of_squares=np.zeros((*lead, CAPACITY)),
            covariance=np.zeros((*lead, dimension, dimension)),
            noise=np.zeros(lead),
            seen=np.zeros(lead),
            arrivals=np.zeros((*lead, CAPACITY)),
        )

    @classmethod
    def from_memory(cls, memory: Memory) -> "RecentTasks":
        """The recent tasks among the arrays of a memory."""
        return cls(**{field.name: memory[field.name] for field in fields(cls)})

    def to_memory(self) -> dict[str, Floats]:
        """The recent tasks as named arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def fitted(self) -> Booleans:
        """Where a covariance has been fitted, (…)."""
        return np.asarray((self.present >= _MIN_TASKS) & (self.noise > 0.0))

    @property
    def present(self) -> Floats:
        """How many tasks are stored, (…)."""
        return np.asarray((self.arrivals > 0.0).sum(-1), dtype=np.float64)

    @property
    def statistics(self) -> TaskStatistics:
        """The slots that any replication has filled, as statistics (…, W)."""
        filled = np.flatnonzero((self.arrivals > 0.0).any(tuple(range(self.arrivals.ndim - 1))))
        width = int(filled.max(initial=-1)) + 1
        return checks.trusted(
            TaskStatistics,
            gram=self.grams[..., :width, :, :],
            moment=self.moments[..., :width, :],
            count=self.counts[..., :width],
            sum_of_squares=self.sums_of_squares[..., :width],
        )

    def with_task(
        self, task: TaskStatistics, task_variance: Floats, mean_variance: Floats, noise: Floats
    ) -> "RecentTasks":
        """One more task, in place of the oldest if all slots are filled, and Σ₀ fitted anew.

        Σ₀ starts at the isotropic fit's τ²I and shrinks to it; h shrinks to 0 with its κ². A task
        without rewards changes nothing.
        """
        arrived = task.count > 0
        stored = self._stored(task, arrived)
        ready = (stored.present >= _MIN_TASKS) & (noise > 0.0)
        moved = ready & arrived
        if not moved.any():
            return stored
        began = ready & self.fitted
        initial = np.where(ready, task_variance, 1.0)[..., None, None] * np.eye(task.dimension)
        covariance = np.where(began[..., None, None], self.covariance, initial)
        variance = np.where(began, self.noise, np.where(ready, noise, 1.0))
        tasks = stored.statistics
        for _ in range(_EM_STEPS):
            covariance, variance = em_step(
                tasks,
                covariance,
                variance,
                mean_variance=np.where(ready, mean_variance, 1.0),
                task_variance=np.where(ready, task_variance, 1.0),
            )
            variance = np.maximum(variance, np.finfo(np.float64).tiny)
        # Elsewhere the fit stays as it was.
        return replace(
            stored,
            covariance=np.where(moved[..., None, None], covariance, self.covariance),
            noise=np.where(moved, variance, self.noise),
        )

    def _stored(self, task: TaskStatistics, arrived: Booleans) -> "RecentTasks":
        """The task in a slot of its own or in that of the oldest, where it has rewards, (…)."""
        oldest = self.arrivals.argmin(-1)[..., None]
        slot = (np.arange(CAPACITY) == oldest) & arrived[..., None]
        return replace(
            self,
            grams=np.where(slot[..., None, None], task.gram[..., None, :, :], self.grams),
            moments=np.where(slot[..., None], task.moment[..., None, :], self.moments),
            counts=np.where(slot, task.count[..., None], self.counts),
            sums_of_squares=np.where(slot, task.sum_of_squares[..., None], self.sums_of_squares),
            seen=self.seen + arrived,
            arrivals=np.where(slot, (self.seen + 1.0)[..., None], self.arrivals),
        )

    def without_task(self, task: TaskStatistics) -> "RecentTasks":
        """The tasks without one that has these statistics, if it is still stored."""
        same = (self.moments == task.moment[..., None, :]).all(-1) & (self.arrivals > 0.0)
        same &= self.counts == task.count[..., None]
        same &= self.sums_of_squares == task.sum_of_squares[..., None]
        slot = same & (np.cumsum(same, -1) == 1)
        return replace(
            self,
            grams=np.where(slot[..., None, None], 0.0, self.grams),
            moments=np.where(slot[..., None], 0.0, self.moments),
            counts=np.where(slot, 0.0, self.counts),
            sums_of_squares=np.where(slot, 0.0, self.sums_of_squares),
            arrivals=np.where(slot, 0.0, self.arrivals),
        )

    def merged(self, other: "RecentTasks") -> "RecentTasks":
        """The latest tasks of both, and the fit of the one that has seen more."""
        # Both count back from their latest task.
        ages = [each.seen[..., None] - each.arrivals for each in (self, other)]
        stored = [each.arrivals > 0.0 for each in (self, other)]
        age = np.concatenate(
            [np.where(*each, np.inf) for each in zip(stored, ages, strict=True)], -1
        )
        chosen = np.argsort(age, -1, kind="stable")[..., :CAPACITY]
        seen = self.seen + other.seen
        kept = np.take_along_axis(age, chosen, -1)
        more = self.seen >= other.seen

        def both(name: str, axis: int) -> Floats:
            joined = np.concatenate([getattr(self, name), getattr(other, name)], axis)
            index = chosen[(..., *[None] * (-axis - 1))]
            return np.take_along_axis(joined, index, axis)

        return RecentTasks(
            grams=both("grams", -3),
            moments=both("moments", -2),
            counts=both("counts", -1),
            sums_of_squares=both("sums_of_squares", -1),
            covariance=np.where(more[..., None, None], self.covariance, other.covariance),
            noise=np.where(more, self.noise, other.noise),
            seen=seen,
            arrivals=np.where(np.isfinite(kept), seen[..., None] - np.arange(CAPACITY), 0.0),
        )

    def next_task(self, isotropic: Normal, mean_variance: Floats) -> Normal:
        """The next task under the full covariance; `isotropic` where that is not fitted yet."""
        ready = self.fitted
        if not ready.any():
            return isotropic
        placeholder = np.eye(isotropic.mean.shape[-1])
        covariance = np.where(ready[..., None, None], self.covariance, placeholder)
        variance = np.where(ready, self.noise, 1.0)
        mean, mean_covariance = estimate_mean(
            self.statistics, covariance, variance, np.where(ready, mean_variance, 1.0)
        )
        return Normal(mean, covariance + mean_covariance, variance).where(ready, isotropic)


def estimate_mean(
    tasks: TaskStatistics, covariance: Floats, noise: Floats, mean_variance: Floats
) -> tuple[Floats, Floats]:
    """H (…, d) and S̄ (…, d, d) by generalised least squares over tasks (…, W), given Σ₀ and s².

    A_j = ΛM_jV_j, a_j = ΛM_jb_j, S̄ = (ΣA_j/s² + I/κ²)⁻¹, h = S̄ Σa_j/s². A task without data adds
    nothing.
    """
    regularization, inverse = _ridge_inverses(tasks, covariance, noise)
    information = (regularization[..., None, :, :] @ inverse @ tasks.gram).sum(-3)
    moments = (inverse @ tasks.moment[..., None]).sum(-3)
    moments = (regularization @ moments)[..., 0]
    precision = information / noise[..., None, None]
    precision = (precision + precision.mT) / 2.0
    precision += np.eye(tasks.dimension) / mean_variance[..., None, None]
    mean_covariance = np.linalg.inv(precision)
    mean = (mean_covariance @ (moments / noise[..., None])[..., None])[..., 0]
    return mean, mean_covariance


def em_step(
    tasks: TaskStatistics,
    covariance: Floats,
    noise: Floats,
    *,
    mean_variance: Floats,
    task_variance: Floats,
) -> tuple[Floats, Floats]:
    """One step of expectation-maximisation for Σ₀ and s², over tasks (…, W).

    Σ₀ shrinks towards τ²I with the weight of ν = d tasks (an inverse Wishart prior). With
    u = M(b − Vh), G = MV and K = MΛ:
    Σ₀ ← [ντ²I + Σ(uuᵀ + s²M + GS̄Gᵀ)]/(ν + N),
    s² ← Σ[q − 2mᵀb + mᵀVm + tr V(s²M + KS̄Kᵀ)]/Σ T, m = h + u.
    """
    mean, mean_covariance = estimate_mean(tasks, covariance, noise, mean_variance)
    regularization, inverse = _ridge_inverses(tasks, covariance, noise)
    h, s_bar = mean[..., None, :], mean_covariance[..., None, :, :]
    gap = tasks.moment - (tasks.gram @ h[..., None])[..., 0]
    u = (inverse @ gap[..., None])[..., 0]
    g, k = inverse @ tasks.gram, inverse @ regularization[..., None, :, :]
    own = noise[..., None, None, None] * inverse
    present = (tasks.count > 0).astype(np.float64)
    scatter = u[..., :, None] * u[..., None, :] + own + g @ s_bar @ g.mT
    weight = float(tasks.dimension)
    total = (present[..., None, None] * scatter).sum(-3)
    total += weight * task_variance[..., None, None] * np.eye(tasks.dimension)
    total /= (weight + present.sum(-1))[..., None, None]
    m = h + u
    fitted = (tasks.gram @ m[..., None])[..., 0]
    error = tasks.sum_of_squares + (m * (fitted - 2.0 * tasks.moment)).sum(-1)
    error += (tasks.gram * (own + k @ s_bar @ k.mT)).sum((-2, -1))
    rounds = np.maximum(tasks.count.sum(-1), 1.0)
    return (total + total.mT) / 2.0, error.sum(-1) / rounds


def _ridge_inverses(
    tasks: TaskStatistics, covariance: Floats, noise: Floats
) -> tuple[Floats, Floats]:
    """Λ = s²Σ₀⁻¹, (…, d, d), and M_j = (V_j + Λ)⁻¹, (…, W, d, d)."""
    regularization = regularization_from(covariance, noise)
    inverse = np.linalg.inv(tasks.gram + regularization[..., None, :, :])
    return regularization, np.asarray(inverse, dtype=np.float64)
