"""A prior in parts: several opinions about the next task, for its own rewards to decide between."""

import math
from dataclasses import dataclass

import numpy as np

from headstart import checks, kernels
from headstart.arrays import Booleans, Floats
from headstart.core.statistics import TaskStatistics


@dataclass(frozen=True, eq=False)
class Mixture:
    """Normal priors N(h, Σ) of a task, C of them, with their chances; the last one is a stranger's.

    Shapes: bias (…, C, d), covariance (…, C, d, d), noise_scale (…, C), weights (…, C). The last
    component is for a task like none before. It is taken whole once it is more likely than not,
    and until then not at all; the others are moment-matched. Where `components_differ`, (…), every
    task revises its prior; elsewhere only one with surprising rewards.
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
        components_differ = np.asarray(self.components_differ)
        if components_differ.dtype != np.bool_ or components_differ.shape != bias.shape[:-2]:
            raise ValueError(
                f"components_differ must be booleans of shape (…) = {bias.shape[:-2]}, "
                f"got {components_differ.dtype} of shape {components_differ.shape}"
            )
        object.__setattr__(self, "components_differ", components_differ)

    def flat(self) -> tuple[Floats, Floats, Floats, Floats]:
        """Biases, covariances, noise scales and weights with one leading axis, for kernels."""
        size, (n_parts, dimension) = math.prod(self.bias.shape[:-2]), self.bias.shape[-2:]
        return (
            np.ascontiguousarray(self.bias).reshape(size, n_parts, dimension),
            np.ascontiguousarray(self.covariance).reshape(size, n_parts, dimension, dimension),
            np.ascontiguousarray(self.noise_scale).reshape(size, n_parts),
            np.ascontiguousarray(self.weights).reshape(size, n_parts),
        )

    def after(
        self, statistics: TaskStatistics, noise_degrees_of_freedom: Floats
    ) -> tuple[Floats, Floats, Floats]:
        """The h, Λ and s that a task's statistics speak for; s counts so many rounds, (…)."""
        lead, dimension = self.bias.shape[:-2], self.bias.shape[-1]
        biases, covariances, scales, weights = self.flat()
        size = len(biases)
        grams = statistics.gram.reshape(size, dimension, dimension)
        moments = statistics.moment.reshape(size, dimension)
        sums_of_squares, counts = (
            statistics.sum_of_squares.reshape(size),
            statistics.count.reshape(size),
        )
        rounds = noise_degrees_of_freedom.reshape(size)
        bias, regularization, scale = np.empty_like(moments), np.empty_like(grams), np.empty(size)
        for i in range(size):
            data = (
                grams[i],
                moments[i],
                float(sums_of_squares[i]),
                float(counts[i]),
                float(rounds[i]),
            )
            parts = (biases[i], covariances[i], scales[i])
            chances = kernels.weigh(*data, *parts, weights[i])
            scale[i], _ = kernels.blend(*parts, chances, bias[i], regularization[i])
        return (
            bias.reshape(*lead, dimension),
            regularization.reshape(*lead, dimension, dimension),
            scale.reshape(lead),
        )
