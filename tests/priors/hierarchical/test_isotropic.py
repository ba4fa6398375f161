"""The mean task for every λ and ρ, from an eigendecomposition: the same as from dense inverses."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.arrays import Floats
from headstart.priors.hierarchical.grid import Weights
from headstart.priors.hierarchical.isotropic import Posterior
from headstart.priors.hierarchical.sums import Sums


def _sums(rng: np.random.Generator, lead: int, size: int, dimension: int, rank: int) -> Sums:
    """M̃ of a rank, and a w̃ that it can have."""
    roots = rng.standard_normal((lead, size, dimension, rank)) * 10.0 ** rng.uniform(-2, 2, rank)
    information = roots @ roots.mT
    ridges = (information @ rng.standard_normal((lead, size, dimension, 1)))[..., 0]
    empty = Sums.zeros(dimension, size, (lead,))
    return replace(
        empty,
        information=information,
        ridges=ridges,
        count=np.ones(lead),
        sum_of_squares=np.ones(lead),
    )


def _inverses(information: Floats, ratios: Floats) -> Floats:
    """(M̃ + eI)⁻¹ for every e, (R, G, P, d, d)."""
    identity = np.eye(information.shape[-1])
    shifted = information[:, :, None] + ratios[..., None, None] * identity
    return np.asarray(np.linalg.inv(shifted), dtype=np.float64)


def _close(found: Floats, expected: Floats, rtol: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


@given(dimension=st.integers(1, 20), missing=st.integers(0, 20), seed=st.integers(0, 2**32 - 1))
def test_the_deviance_is_that_of_dense_inverses(dimension: int, missing: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    sums = _sums(rng, 2, 3, dimension, max(dimension - missing, 0))
    ratios = 10.0 ** rng.uniform(-2, 3, (3, 4))
    inverses = _inverses(sums.information, ratios)
    explained = np.einsum("rga,rgpab,rgb->rgp", sums.ridges, inverses, sums.ridges)
    # Large residuals, so that what is explained is a part of them that has digits.
    total = 2.0 * (1.0 + explained.max())
    sums = replace(sums, residual=np.full(sums.residual.shape, total))
    posterior = Posterior(sums, np.ones((2, 3)), ratios)
    _close(posterior.noise_variance, total - explained, 1e-9)
    identity = np.eye(dimension)
    determinants = np.linalg.slogdet(
        identity + sums.information[:, :, None] / ratios[..., None, None]
    ).logabsdet
    _close(posterior.deviance, determinants + np.log(total - explained), 1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 20, 70])
@pytest.mark.parametrize("missing", [0, 2])
def test_the_next_task_is_the_average_over_all_ratios(dimension: int, missing: int) -> None:
    rng = np.random.default_rng((dimension, missing))
    sums = _sums(rng, 2, 3, dimension, max(dimension - missing, 0))
    ratios = 10.0 ** rng.uniform(-1, 3, (3, 4))
    shares, scales = rng.random((2, 3, 4)), rng.random((2, 3, 4))
    shares[:, 1] = scales[:, 1] = 0.0
    shares /= shares.sum((-2, -1), keepdims=True)
    weights = Weights(shares, scales, np.ones(2), np.full(2, 0.5))
    found = Posterior(sums, np.ones((2, 3)), ratios).next_task(weights)
    inverses = _inverses(sums.information, ratios)
    means = (inverses @ sums.ridges[:, :, None, :, None])[..., 0]
    expected = np.einsum("rgp,rgpa->ra", shares, means)
    _close(found.mean, expected, 1e-8)
    gaps = means - expected[:, None, None]
    within = np.einsum("rgp,rgpab->rab", scales, inverses)
    of_mean = within + np.einsum("rgp,rgpa,rgpb->rab", shares, gaps, gaps)
    _close(found.mean_covariance, of_mean, 1e-7)
    _close(found.covariance, of_mean + 0.5 * np.eye(dimension), 1e-7)


@pytest.mark.parametrize("dimension", [20, 70])
def test_a_replication_depends_on_itself_alone(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    sums = _sums(rng, 3, 2, dimension, dimension)
    ratios, shares = np.ones((2, 2)), np.full((3, 2, 2), 0.25)

    def next_task(part: slice) -> tuple[Floats, Floats]:
        own = Sums(**{name: array[part].copy() for name, array in sums.to_memory().items()})
        n = len(own.count)
        weights = Weights(shares[part], shares[part], np.ones(n), np.ones(n))
        found = Posterior(own, np.ones((n, 2)), ratios).next_task(weights)
        return found.mean, found.covariance

    whole = next_task(slice(0, 3))
    for i in range(3):
        for found, expected in zip(next_task(slice(i, i + 1)), whole, strict=True):
            np.testing.assert_array_equal(found[0], expected[i])


def test_directions_without_data_keep_the_prior() -> None:
    # M̃ = 0 along an axis: there h is 0 with covariance τ²/e, whatever rounding does elsewhere.
    sums = Sums.zeros(3, 1, (1,))
    sums.information[0, 0, :2, :2] = 1e9
    one = np.ones((1, 1, 1))
    weights = Weights(one, one, np.ones(1), np.ones(1))
    found = Posterior(sums, np.ones((1, 1)), np.full((1, 1), 1e-9)).next_task(weights)
    np.testing.assert_array_equal(found.mean, 0.0)
    assert found.mean_covariance[0, 2, 2] == pytest.approx(1e9)
    assert np.isfinite(found.mean_covariance).all()
