"""The algebra of tasks w_j ~ N(h, τ²I) with h ~ N(0, κ²I): sums over tasks, and their evidence.

Written in λ = s²/τ² and ρ = s²/κ², which a change of the rewards' unit leaves alone. All that the
completed tasks say is a handful of sums for every λ, so λ runs over a grid, and what is kept does
not grow with the number of tasks. Shapes: … leading axes, G values of λ, P values of ρ.
"""

from dataclasses import dataclass, fields

import numpy as np

from headstart.arrays import Floats
from headstart.core.statistics import TaskStatistics
from headstart.interfaces import Memory
from headstart.priors.hierarchical.normal import Normal


@dataclass(frozen=True, eq=False)
class Sums:
    """Over tasks, with M_j = (V_j + λI)⁻¹, for every λ on the grid.

    information (…, G, d, d) is Σ M_j V_j = Σ (I − λM_j); ridges (…, G, d) is Σ M_j b_j, the sum of
    the estimates that AVG averages; log_determinant (…, G) is Σ log det(I + V_j/λ); residual
    (…, G) is Σ (q_j − b_jᵀM_j b_j); count and sum_of_squares (…) are Σ T_j and Σ q_j.
    """

    information: Floats
    ridges: Floats
    log_determinant: Floats
    residual: Floats
    count: Floats
    sum_of_squares: Floats

    @classmethod
    def zeros(cls, dimension: int, size: int, lead: tuple[int, ...]) -> "Sums":
        """The sums over no task."""
        return cls(
            information=np.zeros((*lead, size, dimension, dimension)),
            ridges=np.zeros((*lead, size, dimension)),
            log_determinant=np.zeros((*lead, size)),
            residual=np.zeros((*lead, size)),
            count=np.zeros(lead),
            sum_of_squares=np.zeros(lead),
        )

    @classmethod
    def of(cls, memory: Memory) -> "Sums":
        """Read them back from a memory."""
        return cls(**{field.name: memory[field.name] for field in fields(cls)})

    def as_memory(self) -> dict[str, Floats]:
        """As named arrays."""
        return {field.name: getattr(self, field.name) for field in fields(self)}

    def plus(self, task: TaskStatistics, regularization: Floats) -> "Sums":
        """The sums with one more task, for the λ's (…, G), through one eigendecomposition.

        V is never inverted: with V = U diag(v) Uᵀ, MV = U diag(v/(v + λ)) Uᵀ, fewer rounds than
        features or not.
        """
        values, vectors = np.linalg.eigh(task.gram)
        values = np.maximum(values, 0.0)[..., None, :]
        basis = vectors[..., None, :, :]
        turned = (vectors.mT @ task.moment[..., None])[..., None, :, 0]
        ridge = regularization[..., None]
        inverse = 1.0 / (values + ridge)
        shares = values * inverse
        shrunk = turned * inverse
        return Sums(
            information=self.information + (basis * shares[..., None, :]) @ basis.mT,
            ridges=self.ridges + (basis @ shrunk[..., None])[..., 0],
            log_determinant=self.log_determinant + np.log1p(values / ridge).sum(-1),
            residual=self.residual + (task.sum_of_squares[..., None] - (turned * shrunk).sum(-1)),
            count=self.count + task.count,
            sum_of_squares=self.sum_of_squares + task.sum_of_squares,
        )


class Posterior:
    """What the sums say about h, s² and the next task, for every λ (…, G) and every e = ρ/λ (G, P).

    With information = Q diag(m) Qᵀ and a = Qᵀ ridges, everything is a sum over d coordinates:
    h = Q (a/(m + e)), its covariance τ² Q diag(1/(m + e)) Qᵀ. The same in all units of the reward.
    """

    def __init__(self, sums: Sums, regularization: Floats, ratios: Floats) -> None:
        self._sums = sums
        self._ridge = regularization
        values, self._basis = np.linalg.eigh(sums.information)
        self._values = np.maximum(values, 0.0)[..., None, :]
        self._turned = (self._basis.mT @ sums.ridges[..., None])[..., None, :, 0]
        self._ratios = ratios[..., None]
        self._spread = 1.0 / (self._values + self._ratios)
        explained = (self._turned**2 * self._spread).sum(-1)
        bracket = sums.residual[..., None] - regularization[..., None] * explained
        # A difference of two sums of squares, never below their rounding error.
        floor = 1e-13 * sums.sum_of_squares[..., None, None]
        self._bracket = np.maximum(bracket, floor)

    @property
    def noise_variance(self) -> Floats:
        """The most likely s², (…, G, P)."""
        count = np.maximum(self._sums.count, 1.0)
        return np.asarray(self._bracket / count[..., None, None])

    @property
    def deviance(self) -> Floats:
        """−2 log p(all rewards | λ, ρ) at the most likely s², (…, G, P), less n(1 + log 2π).

        n log s² + Σ log det(I + V_j/λ) + log det(I + information/e); h is integrated out, which is
        what restricted maximum likelihood does under a flat prior of h. Integrating s² out over
        ds²/s² gives the same, up to a constant.
        """
        variance = self.noise_variance
        count = self._sums.count[..., None, None]
        fit = count * np.log(np.where(variance > 0.0, variance, 1.0))
        mean = np.log1p(self._values / self._ratios).sum(-1)
        return np.asarray(fit + self._sums.log_determinant[..., None] + mean)

    def mean(self) -> Floats:
        """H, the best linear unbiased estimate of the mean task, shrunk by ρ, (…, G, P, d)."""
        turned = self._turned * self._spread
        return np.asarray(turned @ self._basis.mT)

    def spread(self) -> Floats:
        """The covariance of h in units of τ², (information + eI)⁻¹, of shape (…, G, P, d, d)."""
        basis = self._basis[..., None, :, :]
        return np.asarray((basis * self._spread[..., None, :]) @ basis.mT)

    def next_task(self, weights: Floats) -> Normal:
        """The moments of the next task, and the noise variance, under weights (…, G, P).

        Given λ and ρ the task is N(h, Σ₀ + S̄) with Σ₀ + S̄ = τ² (I + (information + eI)⁻¹); the
        spread of h between the values of λ and ρ comes on top.
        """
        turned = self._turned * self._spread
        mean = (self._basis @ (weights[..., None] * turned).sum(-2)[..., None])[..., 0].sum(-2)
        scale = weights * self.noise_variance / self._ridge[..., None]
        diagonal = (scale[..., None] * (1.0 + self._spread)).sum(-2)
        # Centred before squaring: h may be large and its spread small.
        gap = turned - (self._basis.mT @ mean[..., None, :, None])[..., None, :, 0]
        within = (weights[..., None] * gap).mT @ gap
        within += diagonal[..., None] * np.eye(mean.shape[-1])
        covariance = (self._basis @ within @ self._basis.mT).sum(-3)
        noise = (weights * self.noise_variance).sum((-2, -1))
        return Normal(mean, np.asarray((covariance + covariance.mT) / 2.0), np.asarray(noise))
