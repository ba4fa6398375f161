"""A full covariance of tasks, fitted to the latest tasks by expectation-maximisation."""

from dataclasses import dataclass, fields
from typing import ClassVar

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors.hierarchical.isotropic import IsotropicFit
from headstart.priors.hierarchical.normal import Normal, regularization_from
from headstart.priors.hierarchical.recent import RecentTasks

# The steps of a fit, which continues where the last fit ended.
_EM_STEPS = 8


@dataclass(frozen=True, eq=False)
class FullFit:
    """The fitted Σ₀ (…, d, d) and s² (…); zero until they are fitted."""

    # The number of tasks needed before the covariance is fitted.
    MIN_TASKS: ClassVar[int] = 5

    covariance: Floats
    noise: Floats
    fitted_at: Floats  # (…), the number of tasks seen when it was fitted

    @classmethod
    def zeros(cls, dimension: int, lead: tuple[int, ...]) -> "FullFit":
        """Nothing fitted."""
        return cls(np.zeros((*lead, dimension, dimension)), np.zeros(lead), np.zeros(lead))

    @classmethod
    def from_memory(cls, memory: Memory) -> "FullFit":
        """The fit among the arrays of a memory."""
        return cls(**{field.name: memory[field.name] for field in fields(cls)})

    def to_memory(self) -> dict[str, Floats]:
        """The fit as named arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    @property
    def structured(self) -> Booleans:
        """Where a covariance is fitted, (…)."""
        return np.asarray(self.noise > 0.0)

    def refitted(self, recent: RecentTasks, due: Booleans, isotropic: IsotropicFit) -> "FullFit":
        """Σ₀ and s² fitted again where due, (…), from the last fit or from τ²I and s².

        Σ₀ shrinks to the isotropic fit's τ²I, and h to 0 with its κ².
        """
        variances = isotropic.expected()
        task = variances.task
        tasks, weights = recent.statistics()
        begun = self.structured[due]
        initial = task[due][..., None, None] * np.eye(tasks.dimension)
        covariance = np.where(begun[..., None, None], self.covariance[due], initial)
        variance = np.where(begun, self.noise[due], variances.noise[due])
        part = checks.trusted(
            TaskStatistics,
            gram=tasks.gram[due],
            moment=tasks.moment[due],
            count=tasks.count[due],
            sum_of_squares=tasks.sum_of_squares[due],
        )
        for _ in range(_EM_STEPS):
            covariance, variance = em_step(
                part,
                covariance,
                variance,
                mean_variance=variances.mean[due],
                task_variance=task[due],
                weights=weights[due],
            )
            variance = np.maximum(variance, np.finfo(np.float64).tiny)
        fit = FullFit(self.covariance.copy(), self.noise.copy(), self.fitted_at.copy())
        fit.covariance[due], fit.noise[due] = covariance, variance
        fit.fitted_at[due] = recent.seen[due]
        return fit

    def next_task(
        self, recent: RecentTasks, isotropic: IsotropicFit, whole: Normal, side: Floats | None
    ) -> Normal:
        """The next task under the full covariance; `whole` where it is not fitted yet."""
        ready = self.structured & (recent.present > 0)
        if not ready.any():
            return whole
        placeholder = np.eye(whole.mean.shape[-1])
        covariance = np.where(ready[..., None, None], self.covariance, placeholder)
        variance = np.where(ready, self.noise, 1.0)
        tasks, weights = recent.statistics()
        mean, mean_covariance = estimate_mean(
            tasks, covariance, variance, np.where(ready, isotropic.expected().mean, 1.0), weights
        )
        normal = Normal(mean, covariance + mean_covariance, variance, mean_covariance)
        return normal.where(ready, whole)


def estimate_mean(
    tasks: TaskStatistics,
    covariance: Floats,
    noise: Floats,
    mean_variance: Floats,
    weights: Floats,
) -> tuple[Floats, Floats]:
    """H (…, d) and S̄ (…, d, d) by generalised least squares over tasks (…, W), given Σ₀ and s².

    A_j = ΛM_jV_j, a_j = ΛM_jb_j, S̄ = (ΣA_j/s² + I/κ²)⁻¹, h = S̄ Σa_j/s², with weights (…, W) in the
    sums. A task without data adds nothing.
    """
    regularization, inverse = _ridge_inverses(tasks, covariance, noise)
    share = weights[..., None, None]
    information = (share * (regularization[..., None, :, :] @ inverse @ tasks.gram)).sum(-3)
    moments = (share * (inverse @ tasks.moment[..., None])).sum(-3)
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
    weights: Floats,
) -> tuple[Floats, Floats]:
    """One step of expectation-maximisation for Σ₀ and s², over tasks (…, W).

    Σ₀ shrinks towards τ²I with the weight of ν = d tasks (an inverse Wishart prior). With
    u = M(b − Vh), G = MV and K = MΛ:
    Σ₀ ← [ντ²I + Σ(uuᵀ + s²M + GS̄Gᵀ)]/(ν + N),
    s² ← Σ[q − 2mᵀb + mᵀVm + tr V(s²M + KS̄Kᵀ)]/Σ T, m = h + u.
    """
    mean, mean_covariance = estimate_mean(tasks, covariance, noise, mean_variance, weights)
    regularization, inverse = _ridge_inverses(tasks, covariance, noise)
    h, s_bar = mean[..., None, :], mean_covariance[..., None, :, :]
    gap = tasks.moment - (tasks.gram @ h[..., None])[..., 0]
    u = (inverse @ gap[..., None])[..., 0]
    g, k = inverse @ tasks.gram, inverse @ regularization[..., None, :, :]
    own = noise[..., None, None, None] * inverse
    present = np.where(tasks.count > 0, weights, 0.0)
    scatter = u[..., :, None] * u[..., None, :] + own + g @ s_bar @ g.mT
    weight = float(tasks.dimension)
    total = (present[..., None, None] * scatter).sum(-3)
    total += weight * task_variance[..., None, None] * np.eye(tasks.dimension)
    total /= (weight + present.sum(-1))[..., None, None]
    m = h + u
    fitted = (tasks.gram @ m[..., None])[..., 0]
    error = tasks.sum_of_squares + (m * (fitted - 2.0 * tasks.moment)).sum(-1)
    error += (tasks.gram * (own + k @ s_bar @ k.mT)).sum((-2, -1))
    rounds = np.maximum((weights * tasks.count).sum(-1), 1e-300)
    return (total + total.mT) / 2.0, (weights * error).sum(-1) / rounds


def _ridge_inverses(
    tasks: TaskStatistics, covariance: Floats, noise: Floats
) -> tuple[Floats, Floats]:
    """Λ = s²Σ₀⁻¹, (…, d, d), and M_j = (V_j + Λ)⁻¹, (…, W, d, d)."""
    regularization = regularization_from(covariance, noise)
    inverse = np.linalg.inv(tasks.gram + regularization[..., None, :, :])
    return regularization, np.asarray(inverse, dtype=np.float64)
