"""Mixture: a prior with several components, for the task's own rewards to decide between."""

import math
from dataclasses import dataclass

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.kernels import Components


@dataclass(frozen=True, eq=False)
class Mixture:
    """Normal priors N(h, Σ) of a task, C of them, with their weights; the last one is for outliers.

    Shapes: bias (…, C, d), covariance (…, C, d, d), noise_scale (…, C), weights (…, C). The last
    component is for a task like none before. Once it is more likely than not, it alone becomes the
    revised prior, and until then it is ignored; the others are moment-matched. Where
    `components_differ`, (…), every task revises its prior; elsewhere only one with surprising
    rewards.

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
