"""A normal belief about the next task, and what can be made of two of them."""

from dataclasses import dataclass

import numpy as np

from headstart.arrays import Booleans, Floats


@dataclass(frozen=True, eq=False)
class Normal:
    """A task's mean (…, d) and covariance (…, d, d), and the variance of the noise (…)."""

    mean: Floats
    covariance: Floats
    noise: Floats

    @property
    def size(self) -> Floats:
        """The mean variance of a coordinate, (…)."""
        trace = np.trace(self.covariance, axis1=-2, axis2=-1)
        return np.asarray(trace / self.mean.shape[-1])

    def mixed(self, other: "Normal") -> "Normal":
        """The moments of the two, half and half."""
        gap = (self.mean - other.mean) / 2.0
        between = gap[..., :, None] * gap[..., None, :]
        return Normal(
            (self.mean + other.mean) / 2.0,
            (self.covariance + other.covariance) / 2.0 + between,
            (self.noise + other.noise) / 2.0,
        )

    def stranger(self) -> "Normal":
        """A task of the size that tasks have, of which nothing else is known, not even its sign.

        E wwᵀ of the tasks believed in, and as much again spread over all directions: it may lie
        along the mean task, or anywhere.
        """
        moment = self.covariance + self.mean[..., :, None] * self.mean[..., None, :]
        dimension = self.mean.shape[-1]
        size = np.trace(moment, axis1=-2, axis2=-1) / dimension
        even = size[..., None, None] * np.eye(dimension)
        return Normal(np.zeros_like(self.mean), even + moment, self.noise)

    def where(self, known: Booleans, otherwise: "Normal") -> "Normal":
        """The belief itself where it is known, (…), and else the other."""
        return Normal(
            np.where(known[..., None], self.mean, otherwise.mean),
            np.where(known[..., None, None], self.covariance, otherwise.covariance),
            np.where(known, self.noise, otherwise.noise),
        )

    def times(self, units: Floats) -> "Normal":
        """The belief about Dw, with D diagonal, (…, d)."""
        turned = units[..., :, None] * units[..., None, :]
        return Normal(units * self.mean, turned * self.covariance, self.noise)
