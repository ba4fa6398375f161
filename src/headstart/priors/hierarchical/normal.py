"""Normal: a normal distribution of the next task, its noise, and the resulting prior."""

from dataclasses import dataclass, replace

import numpy as np

from headstart import checks
from headstart.arrays import Booleans, Floats
from headstart.core.prior import Mixture, Prior

# The prior probability of the outlier component: an outlier takes evidence of a hundred to one.
_OUTLIER_PROBABILITY = 0.01


@dataclass(frozen=True, eq=False)
class Normal:
    """A task's mean (…, d) and covariance (…, d, d), and the variance of the noise (…).

    `mean_covariance` (…, d, d) is the part of the covariance that is the mean's own uncertainty.
    """

    mean: Floats
    covariance: Floats
    noise_variance: Floats
    mean_covariance: Floats

    @property
    def average_variance(self) -> Floats:
        """The mean variance of a coordinate, (…)."""
        trace = np.trace(self.covariance, axis1=-2, axis2=-1)
        return np.asarray(trace / self.mean.shape[-1])

    def moved(self, by: Floats) -> "Normal":
        """The normal around another mean."""
        return replace(self, mean=self.mean + by)

    def moment_matched(self, other: "Normal") -> "Normal":
        """The normal with the moments of an equal mixture of the two."""
        gap = (self.mean - other.mean) / 2.0
        between = gap[..., :, None] * gap[..., None, :]
        return Normal(
            (self.mean + other.mean) / 2.0,
            (self.covariance + other.covariance) / 2.0 + between,
            (self.noise_variance + other.noise_variance) / 2.0,
            (self.mean_covariance + other.mean_covariance) / 2.0 + between,
        )

    def outlier(self) -> "Normal":
        """The outlier component, N(0, E wwᵀ + I·E‖w‖²/d): tasks of this size in any direction.

        E wwᵀ alone would favour the direction of the mean task and its opposite; the second term is
        equally large and isotropic.
        """
        second_moment = self.covariance + self.mean[..., :, None] * self.mean[..., None, :]
        dimension = self.mean.shape[-1]
        size = np.trace(second_moment, axis1=-2, axis2=-1) / dimension
        isotropic = size[..., None, None] * np.eye(dimension)
        covariance = isotropic + second_moment
        return Normal(np.zeros_like(self.mean), covariance, self.noise_variance, covariance)

    def where(self, condition: Booleans, otherwise: "Normal") -> "Normal":
        """Take this one where the condition (…) holds, and the other elsewhere."""
        return Normal(
            np.where(condition[..., None], self.mean, otherwise.mean),
            np.where(condition[..., None, None], self.covariance, otherwise.covariance),
            np.where(condition, self.noise_variance, otherwise.noise_variance),
            np.where(condition[..., None, None], self.mean_covariance, otherwise.mean_covariance),
        )

    def prior(self, *, noise_degrees_of_freedom: Floats, mixture: Mixture) -> Prior:
        """The prior of a task with this distribution."""
        return Prior.trusted(
            self.mean,
            regularization_from(self.covariance, self.noise_variance),
            noise_scale=np.sqrt(self.noise_variance),
            noise_degrees_of_freedom=noise_degrees_of_freedom,
            mixture=mixture,
            mean_covariance=self.mean_covariance / self.noise_variance[..., None, None],
        )


def mixture(lower: Normal, upper: Normal, outlier: Normal, components_differ: Booleans) -> Mixture:
    """The mixture of two equally likely normals and an outlier."""
    normals, half = (lower, upper, outlier), (1.0 - _OUTLIER_PROBABILITY) / 2.0
    lead = outlier.noise_variance.shape
    weights = [np.full(lead, share) for share in (half, half, _OUTLIER_PROBABILITY)]
    return checks.trusted(
        Mixture,
        bias=np.stack([normal.mean for normal in normals], -2),
        covariance=np.stack([normal.covariance for normal in normals], -3),
        noise_scale=np.sqrt(np.stack([normal.noise_variance for normal in normals], -1)),
        weights=np.stack(weights, -1),
        components_differ=components_differ,
    )


def regularization_from(covariance: Floats, noise_variance: Floats | float) -> Floats:
    """Λ = s²Σ⁻¹, (…, d, d), exactly symmetric, of Σ (…, d, d) and s² (…)."""
    scale = np.asarray(noise_variance, dtype=np.float64)[..., None, None]
    regularization = scale * np.linalg.inv(covariance)
    return np.asarray((regularization + regularization.mT) / 2.0)
