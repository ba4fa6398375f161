"""Prior: where a task starts, and Mixture: components that its own rewards decide between.

Every array may carry leading axes `…`; their entries are independent.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from numpy.typing import ArrayLike

from headstart import checks, kernels
from headstart.arrays import Booleans, Floats
from headstart.core.statistics import TaskStatistics
from headstart.habits import hinted
from headstart.kernels import Components, state


@dataclass(frozen=True, eq=False)
class Mixture:
    """C normal priors N(h, Σ) of a task, with their weights.

    The last component is for a task unlike all before. It is ignored until it is more likely than
    not; then it alone becomes the revised prior. The others are moment-matched.

    Parameters
    ----------
    bias : ndarray of shape (…, C, d)
        The means h.
    covariance : ndarray of shape (…, C, d, d)
        The covariances Σ.
    noise_scale : ndarray of shape (…, C)
        The standard deviations of a reward.
    weights : ndarray of shape (…, C)
        The probabilities of the components.
    components_differ : ndarray of bool of shape (…)
        If true, every task revises its prior; if false, only a task with surprising rewards does.

    Examples
    --------
    >>> mixture = hs.Mixture(
    ...     bias=np.zeros((2, 1)),
    ...     covariance=np.array([[[0.1]], [[10.0]]]),
    ...     noise_scale=np.ones(2),
    ...     weights=np.array([0.9, 0.1]),
    ...     components_differ=np.array(True),
    ... )
    >>> mixture.bias.shape
    (2, 1)
    """

    bias: Floats
    covariance: Floats
    noise_scale: Floats
    weights: Floats
    components_differ: Booleans

    def __post_init__(self) -> None:
        bias = checks.floats("the mixture's bias", self.bias)
        if bias.ndim < 2 or bias.shape[-2] < 2:
            raise ValueError(
                f"the mixture's bias must be (…, C, d) with C above 1, got {bias.shape}"
            )
        covariance = checks.floats("the mixture's covariance", self.covariance)
        expected = (*bias.shape, bias.shape[-1])
        checks.shape("the mixture's covariance", covariance, expected, "(…, C, d, d)")
        checks.positive_definite("the mixture's covariance", covariance)
        for name in ("noise_scale", "weights"):
            value = checks.floats(f"the mixture's {name}", getattr(self, name))
            checks.shape(f"the mixture's {name}", value, bias.shape[:-1], "(…, C)")
            if not (value > 0).all():
                raise ValueError(f"the mixture's {name} must be above 0, got {value.min()}")
        differ = np.asarray(self.components_differ)
        if differ.dtype != np.bool_ or differ.shape != bias.shape[:-2]:
            raise ValueError(
                f"components_differ must be booleans of shape (…) = {bias.shape[:-2]}, "
                f"got {differ.dtype} of shape {differ.shape}"
            )
        object.__setattr__(self, "components_differ", differ)

    def components(self) -> Components:
        """The components with one leading axis, for kernels."""
        size, (n, dimension) = math.prod(self.bias.shape[:-2]), self.bias.shape[-2:]
        return Components(
            biases=np.ascontiguousarray(self.bias).reshape(size, n, dimension),
            covariances=np.ascontiguousarray(self.covariance).reshape(
                size, n, dimension, dimension
            ),
            noise_scales=np.ascontiguousarray(self.noise_scale).reshape(size, n),
            weights=np.ascontiguousarray(self.weights).reshape(size, n),
        )


@hinted
@dataclass(frozen=True, eq=False)
class Prior:
    """Where a task starts: a bias h and a regularization Λ, w ~ N(h, s²Λ⁻¹).

    With `noise_degrees_of_freedom` it is a normal-inverse-gamma prior of w and s².

    Parameters
    ----------
    bias : ndarray of shape (…, d)
        h.
    regularization : ndarray of shape (…) or (…, d, d)
        λ for Λ = λI, or Λ, symmetric and positive definite. Without leading axes it applies to all
        of the bias's.
    noise_scale : ndarray of shape (…), default 1
        The standard deviation of a reward, s.
    noise_degrees_of_freedom : ndarray of shape (…), default ∞
        How many rewards s is worth; ∞ if s is given rather than learned.
    mixture : Mixture, optional
        Several components that the task's own rewards decide between: after its 1st, 2nd, 4th, 8th,
        … reward the task continues from the `revised` prior.
    mean_covariance : ndarray of shape (…, d, d), optional
        The part of Λ⁻¹ that is the uncertainty of the mean task: exploring it serves all tasks to
        come, the rest serves this one alone.

    Examples
    --------
    >>> prior = hs.Prior(bias=np.array([1.0, 0.0]), regularization=np.array(4.0))
    >>> prior.dimension, prior.isotropic
    (2, True)
    """

    bias: Floats
    regularization: Floats
    noise_scale: Floats = field(default_factory=lambda: np.ones(()))
    noise_degrees_of_freedom: Floats = field(default_factory=lambda: np.full((), np.inf))
    mixture: Mixture | None = None
    mean_covariance: Floats | None = None

    def __post_init__(self) -> None:
        bias = checks.floats("bias", self.bias)
        if bias.ndim == 0:
            raise ValueError(f"bias must have shape (…, d), got the single number {bias}")
        lead, dimension = bias.shape[:-1], bias.shape[-1]
        given = _along(checks.floats("regularization", self.regularization), bias)
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
        for name in ("noise_scale", "noise_degrees_of_freedom"):
            value = _along(np.asarray(getattr(self, name), dtype=np.float64), bias)
            checks.shape(name, value, lead, "(…)")
            if not (value >= 0).all():
                raise ValueError(f"{name} must be at least 0, got {value.min()}")
            object.__setattr__(self, name, value)
        if self.mixture is not None:
            self._check_mixture(self.mixture)
        if self.mean_covariance is not None:
            covariance = checks.floats("mean_covariance", self.mean_covariance)
            checks.shape("mean_covariance", covariance, (*lead, dimension, dimension), "(…, d, d)")
            object.__setattr__(self, "mean_covariance", covariance)

    def _check_mixture(self, mixture: Mixture) -> None:
        shape = mixture.bias.shape
        expected = (*self.lead, shape[-2], self.dimension)
        checks.shape("the mixture's bias", mixture.bias, expected, "(…, C, d)")
        if self.isotropic:
            raise ValueError("regularization must be (…, d, d) if a mixture is given")
        if not np.isfinite(self.noise_degrees_of_freedom).all():
            raise ValueError("noise_degrees_of_freedom must be finite if a mixture is given")

    @classmethod
    def trusted(
        cls,
        bias: Floats,
        regularization: Floats,
        *,
        noise_scale: Floats | float = 1.0,
        noise_degrees_of_freedom: Floats | float = np.inf,
        mixture: Mixture | None = None,
        mean_covariance: Floats | None = None,
    ) -> Prior:
        """A prior whose arrays are right by construction, without checks."""
        return checks.trusted(
            cls,
            bias=np.ascontiguousarray(bias),
            regularization=_along(np.asarray(regularization, dtype=np.float64), bias),
            noise_scale=_along(np.asarray(noise_scale, dtype=np.float64), bias),
            noise_degrees_of_freedom=_along(np.asarray(noise_degrees_of_freedom), bias),
            mixture=mixture,
            mean_covariance=mean_covariance,
        )

    @classmethod
    def zero(
        cls, dimension: int, *, regularization: ArrayLike, lead: tuple[int, ...] = ()
    ) -> Prior:
        """The prior with h = 0 and λ or Λ of shape (…) or (…, d, d)."""
        return cls(np.zeros((*lead, dimension)), np.asarray(regularization, dtype=np.float64))

    @classmethod
    def normal(cls, mean: ArrayLike, covariance: ArrayLike, *, noise_scale: float = 1.0) -> Prior:
        """The prior w ~ N(mean, covariance), for rewards whose noise has a known scale s.

        Parameters
        ----------
        mean : array_like of shape (…, d)
            h.
        covariance : array_like of shape (d, d) or (…, d, d)
            Σ, symmetric and positive definite: Λ = s²Σ⁻¹.
        noise_scale : float, default 1.0
            s.

        Returns
        -------
        Prior

        Examples
        --------
        >>> prior = hs.Prior.normal([1.0, 0.0], [[0.25, 0.0], [0.0, 1.0]], noise_scale=0.5)
        >>> prior.regularization
        array([[1.  , 0.  ],
               [0.  , 0.25]])
        """
        bias = checks.floats("mean", mean)
        given = checks.floats("covariance", covariance)
        dimension = bias.shape[-1] if bias.ndim else 1
        if given.shape not in {(dimension, dimension), (*bias.shape, dimension)}:
            raise ValueError(
                f"covariance must have shape (d, d) = {(dimension, dimension)}, got {given.shape}"
            )
        checks.positive_definite("covariance", given)
        scale = checks.positive("noise_scale", noise_scale)
        inverse = np.linalg.inv(given)
        return cls(bias, scale**2 * (inverse + inverse.mT) / 2.0, np.asarray(scale))

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
        """Λh, of shape (…, d): what the prior adds to the moment."""
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

    def revised(self, statistics: TaskStatistics) -> Prior:
        """The prior that a task's statistics support: the moments of the updated mixture.

        Without a mixture, the prior itself.
        """
        if self.mixture is None:
            return self
        components = self.mixture.components()
        posterior = self._component_weights(components, statistics)
        size, dimension = math.prod(self.lead), self.dimension
        bias, regularization = np.empty((size, dimension)), np.empty((size, dimension, dimension))
        scale = np.empty(size)
        for i, weights in enumerate(posterior):
            scale[i], _ = kernels.moment_match(components, i, weights, bias[i], regularization[i])
        return replace(
            self,
            bias=bias.reshape(self.bias.shape),
            regularization=regularization.reshape(self.regularization.shape),
            noise_scale=scale.reshape(self.lead),
        )

    def _component_weights(self, components: Components, statistics: TaskStatistics) -> Floats:
        """The weights (R, C) of R priors' components after a task's rewards."""
        dimension = self.dimension
        scalars = self.initial_scalars()
        scalars[..., state.COUNT] = statistics.count
        scalars[..., state.SUM_OF_SQUARES] = statistics.sum_of_squares
        scalars = scalars.reshape(-1, state.N_SCALARS)
        grams = statistics.gram.reshape(-1, dimension, dimension)
        moments = statistics.moment.reshape(-1, dimension)
        found = [
            kernels.component_posterior(scalars, i, gram, moment, components, i)
            for i, (gram, moment) in enumerate(zip(grams, moments, strict=True))
        ]
        return np.reshape(found, components.weights.shape)

    def initial_scalars(self) -> Floats:
        """The scalars of a task without rewards, (…, N_SCALARS), as far as the prior has them."""
        scalars = np.zeros((*self.lead, state.N_SCALARS))
        scalars[..., state.PRIOR_NOISE_SCALE] = self.noise_scale
        scalars[..., state.NOISE_DEGREES_OF_FREEDOM] = self.noise_degrees_of_freedom
        scalars[..., state.REVISION] = state.NEVER
        if self.isotropic:
            scalars[..., state.LARGEST_EIGENVALUE] = self.regularization
        if self.mixture is not None:
            scalars[..., state.REVISION] = np.where(
                self.mixture.components_differ, state.ALWAYS, state.IF_SURPRISING
            )
        return scalars


def _along(value: Floats, bias: Floats) -> Floats:
    """A number or (d, d) matrix repeated over the leading axes of the bias; others unchanged."""
    lead, dimension = bias.shape[:-1], bias.shape[-1]
    if value.ndim == 0:
        return np.full(lead, value)
    if value.shape == (dimension, dimension) and lead and value.shape != lead:
        return np.tile(value, (*lead, 1, 1))
    return value
