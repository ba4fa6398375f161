"""Prior: where a task starts from.

Every array may carry leading axes `…`; what lies along them is independent.
"""

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks, kernels
from headstart.arrays import Floats
from headstart.core.mixture import Mixture
from headstart.core.statistics import TaskStatistics


@dataclass(frozen=True, eq=False)
class Prior:
    """Where a task starts and how firmly it is held there: a bias h and a regularization Λ.

    Shapes: bias (…, d); regularization (…) for λI, or (…, d, d), symmetric and positive definite.
    A regularization without leading axes serves all of the bias's. The
    noise has scale s, (…), and that counts as much as this number of rounds, (…): ∞ where s is
    given and not learned. Together they are a normal-inverse-gamma prior of w and s².

    A `mixture` holds other opinions, for the task's own rewards to decide between: after its 1st,
    2nd, 4th, 8th, … reward the task goes on from what `revised` makes of them.
    """

    bias: Floats
    regularization: Floats
    noise_scale: Floats = field(default_factory=lambda: np.ones(()))
    noise_degrees_of_freedom: Floats = field(default_factory=lambda: np.full((), np.inf))
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
        if not np.isfinite(self.noise_degrees_of_freedom).all():
            raise ValueError("noise_degrees_of_freedom must be finite where a mixture is given")

    def _check_noise(self) -> None:
        for name in ("noise_scale", "noise_degrees_of_freedom"):
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
    def largest_eigenvalue(self) -> Floats:
        """The largest eigenvalue of Λ, of shape (…): λ itself when isotropic."""
        if self.isotropic:
            return self.regularization
        return np.asarray(np.linalg.eigvalsh(self.regularization)[..., -1])

    def prior_moment(self, bias: Floats) -> Floats:
        """Λh, of shape (…, d): what the prior adds to the moment when it stands at h."""
        if self.isotropic:
            return np.asarray(self.regularization[..., None] * bias)
        return np.asarray((self.regularization @ bias[..., None])[..., 0])

    def distance(self, parameter: Floats) -> Floats:
        """‖w − h‖ in the norm of Λ, of shape (…); √λ ‖w − h‖ when isotropic."""
        gap = parameter - self.bias
        return np.asarray(np.sqrt(np.maximum((gap * self.prior_moment(gap)).sum(-1), 0.0)))

    @cached_property
    def learns_noise(self) -> bool:
        """Whether any noise scale moves with the task's rewards."""
        return bool(np.isfinite(self.noise_degrees_of_freedom).any())

    def revised(self, statistics: TaskStatistics) -> "Prior":
        """The prior that a task's statistics speak for: the mixture with its chances after them.

        The prior itself where there is no mixture.
        """
        if self.mixture is None:
            return self
        bias, regularization, scale = self.mixture.after(statistics, self.noise_degrees_of_freedom)
        return replace(self, bias=bias, regularization=regularization, noise_scale=scale)

    def noise_after(self, surprise: Floats, rounds: Floats | int) -> Floats:
        """The noise scale after T rounds, (…): `kernels.noise_after`."""
        if not self.learns_noise:
            return self.noise_scale
        noise = np.empty(self.lead)
        counts = np.array(np.broadcast_to(rounds, self.lead), dtype=np.float64)
        kernels.noises_after(
            self.noise_scale.reshape(-1),
            self.noise_degrees_of_freedom.reshape(-1),
            np.ascontiguousarray(surprise).reshape(-1),
            counts.reshape(-1),
            noise.reshape(-1),
        )
        return noise
