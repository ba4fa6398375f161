"""The mean task by tridiagonal reductions: the same as with dense inverses."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart.arrays import Floats
from headstart.kernels import average_mean, explain, reduce

# Reduced by reflections, and by an eigendecomposition.
SMALL, LARGE = 20, 70


def _sums(
    rng: np.random.Generator, shape: tuple[int, int, int], rank: int
) -> tuple[Floats, Floats]:
    """M̃ (R, G, d, d) of a rank, and a w̃ that it can have, (R, G, d)."""
    roots = rng.standard_normal((*shape, rank)) * 10.0 ** rng.uniform(-2, 2, rank)
    information = roots @ roots.mT
    return information, (information @ rng.standard_normal((*shape, 1)))[..., 0]


def _inverses(information: Floats, ratios: Floats) -> Floats:
    """(M̃ + eI)⁻¹ for every e, (R, G, P, d, d)."""
    identity = np.eye(information.shape[-1])
    shifted = information[:, :, None] + ratios[..., None, None] * identity
    return np.asarray(np.linalg.inv(shifted), dtype=np.float64)


def _close(found: Floats, expected: Floats, rtol: float) -> None:
    np.testing.assert_allclose(found, expected, rtol=rtol, atol=rtol * np.abs(expected).max())


@given(
    dimension=st.integers(1, SMALL),
    missing=st.integers(0, SMALL),
    seed=st.integers(0, 2**32 - 1),
)
def test_it_explains_what_dense_inverses_explain(dimension: int, missing: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    information, ridges = _sums(rng, (2, 3, dimension), max(dimension - missing, 0))
    ratios = 10.0 ** rng.uniform(-2, 3, (3, 4))
    determinants, explained = explain(reduce(information, ridges), ratios)
    inverses = _inverses(information, ratios)
    identity = np.eye(dimension)
    expected = np.linalg.slogdet(identity + information[:, :, None] / ratios[..., None, None])[1]
    _close(determinants, expected, 1e-9)
    _close(explained, np.einsum("rga,rgpab,rgb->rgp", ridges, inverses, ridges), 1e-9)


@pytest.mark.parametrize("dimension", [1, 2, 3, SMALL, LARGE])
@pytest.mark.parametrize("missing", [0, 2])
def test_its_moments_are_those_over_all_ratios(dimension: int, missing: int) -> None:
    rng = np.random.default_rng((dimension, missing))
    information, ridges = _sums(rng, (2, 3, dimension), max(dimension - missing, 0))
    ratios = 10.0 ** rng.uniform(-1, 3, (3, 4))
    shares, scales = rng.random((2, 3, 4)), rng.random((2, 3, 4))
    shares[0, 1] = scales[0, 1] = 0.0
    shares /= shares.sum((-2, -1), keepdims=True)
    mean, covariance = average_mean(reduce(information, ridges), ratios, shares, scales)
    inverses = _inverses(information, ratios)
    means = (inverses @ ridges[:, :, None, :, None])[..., 0]
    expected = np.einsum("rgp,rgpa->ra", shares, means)
    _close(mean, expected, 1e-8)
    gaps = means - expected[:, None, None]
    within = np.einsum("rgp,rgpab->rab", scales, inverses)
    _close(covariance, within + np.einsum("rgp,rgpa,rgpb->rab", shares, gaps, gaps), 1e-7)


@pytest.mark.parametrize("dimension", [SMALL, LARGE])
def test_a_replication_depends_on_itself_alone(dimension: int) -> None:
    rng = np.random.default_rng(dimension)
    information, ridges = _sums(rng, (3, 2, dimension), dimension)
    ratios, shares = np.ones((2, 2)), np.full((3, 2, 2), 0.25)
    whole = average_mean(reduce(information, ridges), ratios, shares, shares)
    for i in range(3):
        part = slice(i, i + 1)
        alone = reduce(information[part].copy(), ridges[part].copy())
        for found, expected in zip(
            average_mean(alone, ratios, shares[part].copy(), shares[part].copy()),
            whole,
            strict=True,
        ):
            np.testing.assert_array_equal(found[0], expected[i])


def test_directions_without_data_keep_the_prior() -> None:
    # M̃ = 0 along an axis: there h is 0 with covariance τ²/e, whatever rounding does to pivots.
    information = np.zeros((1, 1, 3, 3))
    information[0, 0, :2, :2] = 1e9 * np.array([[1.0, 1.0], [1.0, 1.0]])
    ratios, one = np.full((1, 1), 1e-9), np.ones((1, 1, 1))
    mean, covariance = average_mean(reduce(information, np.zeros((1, 1, 3))), ratios, one, one)
    np.testing.assert_array_equal(mean, 0.0)
    assert covariance[0, 2, 2] == pytest.approx(1e9)
    assert np.isfinite(covariance).all()
