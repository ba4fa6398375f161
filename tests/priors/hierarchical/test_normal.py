"""Λ = s²Σ⁻¹, with leading axes or a single noise variance."""

import numpy as np

from headstart.priors.hierarchical.normal import regularization_from


def test_regularization_by_hand() -> None:
    covariance = np.array([[2.0, 1.0], [1.0, 1.0]])  # inverse [[1, −1], [−1, 2]]
    np.testing.assert_allclose(
        regularization_from(covariance, 3.0), [[3.0, -3.0], [-3.0, 6.0]], rtol=1e-12
    )


def test_regularization_is_exactly_symmetric_and_independent_along_leading_axes() -> None:
    root = np.random.default_rng(0).standard_normal((2, 3, 5, 5))
    covariance, noise = root @ root.mT + np.eye(5), np.arange(1.0, 7.0).reshape(2, 3)
    found = regularization_from(covariance, noise)
    np.testing.assert_array_equal(found, found.mT)
    for i in np.ndindex(2, 3):
        own = regularization_from(covariance[i], float(noise[i]))
        np.testing.assert_array_equal(found[i], own)
