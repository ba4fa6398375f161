"""A prior in parts: several opinions about the next task, for its own rewards to decide between."""

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from headstart import checks

Floats = NDArray[np.float64]

# Parts whose mean variances differ by more than this are worth telling apart in every task; else
# only in a task that startles.
_WIDE = 2.0


@dataclass(frozen=True, eq=False)
class Mixture:
    """Normal priors N(h, Σ) of a task, C of them, with their chances; the last one is a stranger's.

    Shapes: bias (…, C, d), covariance (…, C, d, d), noise_scale (…, C), weights (…, C). The last
    part is for a task like none before. It comes in whole, once it is more likely than not, and
    until then not at all; the others are blended.
    """

    bias: Floats
    covariance: Floats
    noise_scale: Floats
    weights: Floats

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

    @cached_property
    def wide(self) -> NDArray[np.bool_]:
        """Where the parts, but for the stranger, are worth telling apart in every task, (…)."""
        size = np.trace(self.covariance, axis1=-2, axis2=-1)[..., :-1]
        return np.asarray(size.max(-1) > _WIDE * size.min(-1))

    def flat(self, size: int) -> tuple[Floats, Floats, Floats, Floats]:
        """Biases, covariances, noise scales and weights with one leading axis, for kernels."""
        n_parts, dimension = self.bias.shape[-2:]
        return (
            np.ascontiguousarray(self.bias).reshape(size, n_parts, dimension),
            np.ascontiguousarray(self.covariance).reshape(size, n_parts, dimension, dimension),
            np.ascontiguousarray(self.noise_scale).reshape(size, n_parts),
            np.ascontiguousarray(self.weights).reshape(size, n_parts),
        )
