"""A full covariance of tasks, fitted to the latest of them by expectation-maximisation."""

from dataclasses import dataclass, fields

import numpy as np

from headstart.arrays import Booleans, Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors.hierarchical.normal import Normal

# The tasks that are kept, the number that must be there before the covariance is fitted, and the
# steps taken after every task, each from where the last fit ended.
WINDOW = 64
_LEAST = 5
_STEPS = 8


@dataclass(frozen=True, eq=False)
class Window:
    """The latest tasks in a ring (…, W), the fit so far, and the number of tasks ever seen (…).

    Kept because a full Σ₀ has no sufficient statistics of a fixed size: each task's design matters.
    """

    grams: Floats  # (…, W, d, d)
    moments: Floats  # (…, W, d)
    counts: Floats  # (…, W)
    sums_of_squares: Floats  # (…, W)
    covariance: Floats  # (…, d, d), Σ₀; zero until it is fitted
    noise: Floats  # (…), s²
    seen: Floats  # (…)

    @classmethod
    def zeros(cls, dimension: int, lead: tuple[int, ...]) -> "Window":
        """No tasks."""
        return cls(
            grams=np.zeros((*lead, WINDOW, dimension, dimension)),
            moments=np.zeros((*lead, WINDOW, dimension)),
            counts=np.zeros((*lead, WINDOW)),
            sums_of_squares=np.zeros((*lead, WINDOW)),
            covariance=np.zeros((*lead, dimension, dimension)),
            noise=np.zeros(lead),
            seen=np.zeros(lead),
        )

    @classmethod
    def of(cls, memory: Memory) -> "Window":
        """Read it back from a memory."""
        return cls(**{field.name: memory[field.name] for field in fields(cls)})

    def as_memory(self) -> dict[str, Floats]:
        """As named arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def fitted(self) -> Booleans:
        """Where there are tasks enough for a covariance of their own, (…)."""
        return np.asarray((self.seen >= _LEAST) & (self.noise > 0.0))

    def plus(
        self, task: TaskStatistics, task_variance: Floats, mean_variance: Floats, noise: Floats
    ) -> dict[str, Floats]:
        """The window after one more task, the oldest gone if it was full, and Σ₀ fitted anew.

        τ², κ² and s² of the isotropic fit are where Σ₀ starts, what it shrinks to, and what h does.
        """
        arrived = task.count > 0
        slot = (np.arange(WINDOW) == self.seen[..., None] % WINDOW) & arrived[..., None]
        kept = {
            "grams": np.where(slot[..., None, None], task.gram[..., None, :, :], self.grams),
            "moments": np.where(slot[..., None], task.moment[..., None, :], self.moments),
            "counts": np.where(slot, task.count[..., None], self.counts),
            "sums_of_squares": np.where(slot, task.sum_of_squares[..., None], self.sums_of_squares),
        }
        seen = self.seen + arrived
        ready = (seen >= _LEAST) & (noise > 0.0)
        began = ready & self.fitted
        blank = np.where(ready, task_variance, 1.0)[..., None, None] * np.eye(task.dimension)
        covariance = np.where(began[..., None, None], self.covariance, blank)
        scale = np.where(began, self.noise, np.where(ready, noise, 1.0))
        tasks = _filled(kept, seen)
        moved = ready & arrived
        if moved.any():
            for _ in range(_STEPS):
                covariance, scale = improve(
                    tasks,
                    covariance,
                    scale,
                    mean_variance=np.where(ready, mean_variance, 1.0),
                    task_variance=np.where(ready, task_variance, 1.0),
                )
                scale = np.maximum(scale, np.finfo(np.float64).tiny)
        # A task without rewards leaves the fit where it was, wherever others took their steps.
        fit = {
            "covariance": np.where(moved[..., None, None], covariance, self.covariance),
            "noise": np.where(moved, scale, self.noise),
            "seen": seen,
        }
        return kept | fit

    def refine(self, isotropic: Normal, mean_variance: Floats) -> Normal:
        """The next task under the full covariance; as given where that is not fitted yet."""
        ready = self.fitted
        if not ready.any():
            return isotropic
        blank = np.eye(isotropic.mean.shape[-1])
        own = np.where(ready[..., None, None], self.covariance, blank)
        scale = np.where(ready, self.noise, 1.0)
        tasks = _filled(self.as_memory(), self.seen)
        h, spread = mean_of(tasks, own, scale, np.where(ready, mean_variance, 1.0))
        return Normal(h, own + spread, scale).where(ready, isotropic)


def _filled(kept: Memory, seen: Floats) -> TaskStatistics:
    """The slots that any replication has filled, as statistics (…, W)."""
    width = int(min(seen.max(initial=0.0), WINDOW))
    return TaskStatistics(
        gram=kept["grams"][..., :width, :, :],
        moment=kept["moments"][..., :width, :],
        count=kept["counts"][..., :width],
        sum_of_squares=kept["sums_of_squares"][..., :width],
    )


def mean_of(
    tasks: TaskStatistics, covariance: Floats, noise: Floats, mean_variance: Floats
) -> tuple[Floats, Floats]:
    """H (…, d) and S̄ (…, d, d) by generalised least squares over tasks (…, W), given Σ₀ and s².

    A_j = ΛM_jV_j, a_j = ΛM_jb_j, S̄ = (ΣA_j/s² + I/κ²)⁻¹, h = S̄ Σa_j/s². A task without data adds
    nothing.
    """
    regularization, inverse = _shrinkers(tasks, covariance, noise)
    information = (regularization[..., None, :, :] @ inverse @ tasks.gram).sum(-3)
    moments = (inverse @ tasks.moment[..., None]).sum(-3)
    moments = (regularization @ moments)[..., 0]
    precision = information / noise[..., None, None]
    precision = (precision + precision.mT) / 2.0
    precision += np.eye(tasks.dimension) / mean_variance[..., None, None]
    spread = np.linalg.inv(precision)
    return (spread @ (moments / noise[..., None])[..., None])[..., 0], spread


def improve(
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
    mean, spread = mean_of(tasks, covariance, noise, mean_variance)
    regularization, inverse = _shrinkers(tasks, covariance, noise)
    h, apart = mean[..., None, :], spread[..., None, :, :]
    gap = tasks.moment - (tasks.gram @ h[..., None])[..., 0]
    u = (inverse @ gap[..., None])[..., 0]
    shares, kept = inverse @ tasks.gram, inverse @ regularization[..., None, :, :]
    own = noise[..., None, None, None] * inverse
    seen = (tasks.count > 0).astype(np.float64)
    scatter = u[..., :, None] * u[..., None, :] + own + shares @ apart @ shares.mT
    weight = float(tasks.dimension)
    total = (seen[..., None, None] * scatter).sum(-3)
    total += weight * task_variance[..., None, None] * np.eye(tasks.dimension)
    total /= (weight + seen.sum(-1))[..., None, None]
    m = h + u
    fitted = (tasks.gram @ m[..., None])[..., 0]
    error = tasks.sum_of_squares + (m * (fitted - 2.0 * tasks.moment)).sum(-1)
    error += (tasks.gram * (own + kept @ apart @ kept.mT)).sum((-2, -1))
    rounds = np.maximum(tasks.count.sum(-1), 1.0)
    return (total + total.mT) / 2.0, error.sum(-1) / rounds


def _shrinkers(tasks: TaskStatistics, covariance: Floats, noise: Floats) -> tuple[Floats, Floats]:
    """Λ = s²Σ₀⁻¹, (…, d, d), and M_j = (V_j + Λ)⁻¹, (…, W, d, d)."""
    regularization = noise[..., None, None] * np.linalg.inv(covariance)
    regularization = (regularization + regularization.mT) / 2.0
    inverse = np.linalg.inv(tasks.gram + regularization[..., None, :, :])
    return regularization, np.asarray(inverse, dtype=np.float64)
