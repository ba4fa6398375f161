"""The algebra everything rests on: a prior, and the ridge estimate of it and of statistics.

Every array may carry leading axes `…`; what lies along them is independent.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike, NDArray

from headstart import checks, kernels
from headstart.mixture import Mixture
from headstart.outlook import Outlook, confidence_radius
from headstart.statistics import TaskStatistics

Floats = NDArray[np.float64]


@dataclass(frozen=True, eq=False)
class Prior:
    """Where a task starts and how firmly it is held there: a bias h and a regularization Λ.

    Shapes: bias (…, d); regularization (…) for λI, or (…, d, d), symmetric and positive definite.
    A regularization without leading axes serves all of the bias's. The
    noise has scale s, (…), and that counts as much as this number of rounds, (…): ∞ where s is
    given and not learned. Together they are a normal-inverse-gamma prior of w and s².

    A `mixture` holds other opinions, for the task's own rewards to decide between: after its 1st,
    2nd, 4th, 8th, … reward the task goes on from what `reconsidered` makes of them.
    """

    bias: Floats
    regularization: Floats
    noise_scale: Floats = field(default_factory=lambda: np.ones(()))
    noise_rounds: Floats = field(default_factory=lambda: np.full((), np.inf))
    mixture: Mixture | None = None

    def __post_init__(self) -> None:
        bias = checks.floats("bias", self.bias)
        if bias.ndim == 0:
            raise ValueError(f"bias must have shape (…, d), got the single number {bias}")
        lead, dimension = bias.shape[:-1], bias.shape[-1]
        given = checks.floats("regularization", self.regularization)
        if given.ndim == 0:
            given = np.full(lead, given)
        elif given.shape == (dimension, dimension) and lead:
            given = np.tile(given, (*lead, 1, 1))
        if given.shape == lead:
            if (given <= 0).any():
                raise ValueError(f"regularization must be above 0, got {given.min()}")
        elif given.shape == (*lead, dimension, dimension):
            checks.positive_definite("regularization", given)
        else:
            raise ValueError(
                f"regularization must be a number, (…) = {lead} or (…, d, d) = "
                f"{(*lead, dimension, dimension)}, got shape {given.shape}"
            )
        object.__setattr__(self, "bias", bias)
        object.__setattr__(self, "regularization", given)
        self._check_noise()
        if self.mixture is not None:
            self._check_mixture(self.mixture)

    def _check_mixture(self, mixture: Mixture) -> None:
        shape = mixture.bias.shape
        checks.shape(
            "the mixture's bias", mixture.bias, (*self.lead, shape[-2], self.dimension), ""
        )
        if self.isotropic:
            raise ValueError("regularization must be (…, d, d) where a mixture is given")
        if not np.isfinite(self.noise_rounds).all():
            raise ValueError("noise_rounds must be finite where a mixture is given")

    def _check_noise(self) -> None:
        for name in ("noise_scale", "noise_rounds"):
            value = np.asarray(getattr(self, name), dtype=np.float64)
            value = np.full(self.lead, value) if value.ndim == 0 else value
            checks.shape(name, value, self.lead, "(…)")
            if not (value >= 0).all():
                raise ValueError(f"{name} must be at least 0, got {value.min()}")
            object.__setattr__(self, name, value)

    @classmethod
    def zero(
        cls, dimension: int, *, regularization: ArrayLike, lead: tuple[int, ...] = ()
    ) -> "Prior":
        """The prior of somebody who knows nothing: h = 0."""
        return cls(np.zeros((*lead, dimension)), np.asarray(regularization, dtype=np.float64))

    @property
    def dimension(self) -> int:
        """The number of features, d."""
        return int(self.bias.shape[-1])

    @property
    def lead(self) -> tuple[int, ...]:
        """The leading axes."""
        return self.bias.shape[:-1]

    @property
    def isotropic(self) -> bool:
        """Whether Λ = λI."""
        return self.regularization.ndim == len(self.lead)

    @cached_property
    def log_determinant(self) -> Floats:
        """Log det Λ, of shape (…)."""
        if self.isotropic:
            return np.asarray(self.dimension * np.log(self.regularization))
        return np.asarray(np.linalg.slogdet(self.regularization).logabsdet)

    @cached_property
    def strength(self) -> Floats:
        """The largest eigenvalue of Λ, of shape (…): λ itself when isotropic."""
        if self.isotropic:
            return self.regularization
        return np.asarray(np.linalg.eigvalsh(self.regularization)[..., -1])

    def pull(self, bias: Floats) -> Floats:
        """Λh, of shape (…, d): what the prior adds to the moment when it stands at h."""
        if self.isotropic:
            return np.asarray(self.regularization[..., None] * bias)
        return np.asarray((self.regularization @ bias[..., None])[..., 0])

    def distance(self, parameter: Floats) -> Floats:
        """‖w − h‖ in the norm of Λ, of shape (…); √λ ‖w − h‖ when isotropic."""
        gap = parameter - self.bias
        return np.asarray(np.sqrt(np.maximum((gap * self.pull(gap)).sum(-1), 0.0)))

    @cached_property
    def learns_noise(self) -> bool:
        """Whether any noise scale moves with the task's rewards."""
        return bool(np.isfinite(self.noise_rounds).any())

    def reconsidered(self, statistics: TaskStatistics) -> "Prior":
        """The prior that a task's statistics speak for: the mixture with its chances after them.

        The prior itself where there is no mixture.
        """
        if self.mixture is None:
            return self
        bias, regularization, scale = self.mixture.after(statistics, self.noise_rounds)
        return replace(self, bias=bias, regularization=regularization, noise_scale=scale)

    def noise_after(self, surprise: Floats, rounds: Floats | int) -> Floats:
        """The noise scale after T rounds, (…): `kernels.noise_after`."""
        if not self.learns_noise:
            return self.noise_scale
        noise = np.empty(self.lead)
        counts = np.array(np.broadcast_to(rounds, self.lead), dtype=np.float64)
        kernels.noises_after(
            self.noise_scale.reshape(-1),
            self.noise_rounds.reshape(-1),
            np.ascontiguousarray(surprise).reshape(-1),
            counts.reshape(-1),
            noise.reshape(-1),
        )
        return noise


@dataclass(frozen=True, eq=False)
class RidgeEstimate:
    """Statistics read through a prior: ŵ = (V + Λ)⁻¹(b + Λh), Eq. 5, and its uncertainty."""

    statistics: TaskStatistics
    prior: Prior

    def __post_init__(self) -> None:
        moment, bias = self.statistics.moment, self.prior.bias
        checks.shape("the prior's bias", bias, moment.shape, "that of the moment")

    @cached_property
    def precision(self) -> Floats:
        """V + Λ, of shape (…, d, d)."""
        if self.prior.isotropic:
            ridge = self.prior.regularization[..., None, None] * np.eye(self.prior.dimension)
            return np.asarray(self.statistics.gram + ridge)
        return self.statistics.gram + self.prior.regularization

    @cached_property
    def _factorised(self) -> tuple[Floats, Floats]:
        lead, dimension = self.prior.lead, self.prior.dimension
        inverse = np.empty((*lead, dimension, dimension))
        total = np.empty(lead)
        nothing = np.zeros((1, 1))
        for i in np.ndindex(lead):
            total[i] = kernels.factorise(inverse[i], self.precision[i], nothing)
        return inverse, total - self.prior.log_determinant

    @property
    def inverse(self) -> Floats:
        """(V + Λ)⁻¹, of shape (…, d, d)."""
        return self._factorised[0]

    @property
    def log_determinant(self) -> Floats:
        """Log det(I + Λ⁻¹V), of shape (…): how much the data has told, in nats times two."""
        return self._factorised[1]

    @cached_property
    def parameter(self) -> Floats:
        """ŵ, of shape (…, d)."""
        target = self.statistics.moment + self.prior.pull(self.prior.bias)
        return np.asarray(np.linalg.solve(self.precision, target[..., None])[..., 0])

    @cached_property
    def surprise(self) -> Floats:
        """Σ (yₜ − xₜᵀŵₜ)²/(1 + ‖xₜ‖²), each prediction made before its reward, of shape (…).

        It equals min over w of Σ(y − xᵀw)² + ‖w − h‖² in Λ's norm: s² times the chi-square of all
        rewards under the prior.
        """
        w, data = self.parameter, self.statistics
        fitted = (data.gram @ w[..., None])[..., 0]
        residual = data.energy + (w * (fitted - 2.0 * data.moment)).sum(-1)
        return np.asarray(np.maximum(residual, 0.0) + self.prior.distance(w) ** 2)

    @property
    def noise_scale(self) -> Floats:
        """The scale of the noise, prior and data together, of shape (…)."""
        return self.prior.noise_after(self.surprise, self.statistics.count)

    def predict(self, arms: ArrayLike) -> Floats:
        """xᵀŵ for arms (…, K, d), of shape (…, K)."""
        return np.asarray((self._arms(arms) @ self.parameter[..., None])[..., 0])

    def widths(self, arms: ArrayLike) -> Floats:
        """‖x‖ in the norm of (V + Λ)⁻¹ for arms (…, K, d), of shape (…, K)."""
        features = self._arms(arms)
        squares = ((features @ self.inverse) * features).sum(-1)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def read(self, arms: ArrayLike) -> Outlook:
        """All that a policy needs in order to choose among arms (…, K, d)."""
        features = self._arms(arms)
        return Outlook(
            projections=features @ self.inverse,
            predictions=self.predict(features),
            widths=self.widths(features),
            log_determinant=self.log_determinant,
            bias=self.prior.bias,
            strength=self.prior.strength,
            inverse=self.inverse,
            noise_scale=self.noise_scale,
            count=self.statistics.count,
        )

    def radius(
        self, *, noise_scale: float, failure_probability: float, bias_error: ArrayLike
    ) -> Floats:
        """The radius of Theorem 1 for ‖h − w*‖ = bias_error, of shape (…)."""
        return confidence_radius(
            self.log_determinant,
            noise_scale=noise_scale,
            failure_probability=failure_probability,
            pull=np.sqrt(self.prior.strength) * np.asarray(bias_error, dtype=np.float64),
        )

    def distance(self, parameter: ArrayLike) -> Floats:
        """‖w − ŵ‖ in the norm of V + Λ for w (…, d), (…): what a radius is held against."""
        gap = checks.floats("parameter", parameter) - self.parameter
        squares = (gap * (self.precision @ gap[..., None])[..., 0]).sum(-1)
        return np.asarray(np.sqrt(np.maximum(squares, 0.0)))

    def contains(
        self, parameter: ArrayLike, *, noise_scale: float, failure_probability: float
    ) -> NDArray[np.bool_]:
        """Whether w (…, d) lies in the confidence set of Theorem 1, of shape (…).

        The theorem has w* inside its own radius; it is read as an inequality on w.
        """
        w = checks.floats("parameter", parameter)
        radius = confidence_radius(
            self.log_determinant,
            noise_scale=noise_scale,
            failure_probability=failure_probability,
            pull=self.prior.distance(w),
        )
        return np.asarray(self.distance(w) <= radius)

    def _arms(self, arms: ArrayLike) -> Floats:
        features = checks.floats("arms", arms)
        n_arms = features.shape[-2] if features.ndim > 1 else 1
        expected = (*self.prior.lead, n_arms, self.prior.dimension)
        checks.shape("arms", features, expected, "(…, K, d)")
        if n_arms == 0:
            raise ValueError("arms must hold at least one arm, got none")
        return features
