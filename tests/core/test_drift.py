"""A running inverse stays a faithful cache: a million updates, λ from 1e-6 to 1e6."""

from collections.abc import Iterator

import numpy as np
import pytest
from numpy.typing import NDArray

from headstart.arrays import Floats
from headstart.core.prior import Prior
from headstart.core.ridge import RidgeEstimate
from headstart.core.running import RunningEstimate

pytestmark = pytest.mark.slow

Long = NDArray[np.longdouble]

DIMENSION, POOL = 20, 997
REGULARIZATIONS = np.array([1e-6, 1e-3, 1.0, 1e3, 1e6])

# Feature vectors are drawn once and repeated; their number is prime, so that repeats do not
# coincide with blocks and refactorisations.
MARKS = (1, 2, 5, 10, 19, 20, 21, 50, 200, 999, 1_000, 4_999, 20_000)
LATE = (99_999, 100_000, 499_999, 999_499, 999_999, 1_000_000)


def _features(kind: str) -> Floats:
    rng = np.random.default_rng(0)
    x = rng.standard_normal((POOL, DIMENSION))
    if kind == "few directions":
        x = rng.standard_normal((POOL, 3)) @ rng.standard_normal((3, DIMENSION))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    if kind == "badly scaled":
        x *= np.logspace(-3, 3, DIMENSION)
    return x


def _walk(x: Floats, marks: tuple[int, ...]) -> Iterator[tuple[int, RunningEstimate, Prior]]:
    """Update all λ at once, and yield at the marks."""
    prior = Prior.zero(DIMENSION, regularization=REGULARIZATIONS, lead=REGULARIZATIONS.shape)
    running = RunningEstimate(prior)
    features = np.ascontiguousarray(np.broadcast_to(x[:, None], (POOL, 5, DIMENSION)))
    rewards = np.ascontiguousarray(np.broadcast_to(x.sum(1)[:, None], (POOL, 5)))
    done = 0
    for mark in marks:
        for t in range(done, mark):
            running.observe(features[t % POOL], rewards[t % POOL])
        done = mark
        yield mark, running, prior


def _distance(one: Floats, two: Floats) -> Floats:
    """The relative Frobenius distance, (5,)."""
    return np.asarray(np.linalg.norm(one - two, axis=(-2, -1)) / np.linalg.norm(two, axis=(-2, -1)))


def _assert_faithful(kind: str, marks: tuple[int, ...]) -> None:
    for mark, running, prior in _walk(_features(kind), marks):
        assert (np.linalg.eigvalsh(running.inverse)[:, 0] > 0).all(), mark
        fresh = RidgeEstimate(running.statistics, prior)
        assert (_distance(running.inverse, fresh.inverse) < 1e-6).all(), mark
        np.testing.assert_array_equal(running.inverse, running.inverse.mT)
        # The log-determinant is a sum of as many logarithms as there were steps.
        gap = np.abs(running.summary.log_determinant - fresh.log_determinant)
        assert (gap < 1e-8 * (1 + fresh.log_determinant)).all(), mark


@pytest.mark.parametrize("kind", ["plain", "badly scaled"])
def test_running_inverse_is_a_fresh_factorisation(kind: str) -> None:
    _assert_faithful(kind, MARKS)


@pytest.mark.nightly
def test_running_inverse_after_a_million_updates() -> None:
    _assert_faithful("plain", (*MARKS, *LATE))


def _exact_inverse(precision: Long) -> Long:
    """By Cholesky in extended precision, where NumPy has no linear algebra."""
    size = len(precision)
    scale = 1 / np.sqrt(np.diag(precision))
    matrix = precision * scale[:, None] * scale
    factor, root = np.zeros_like(matrix), np.zeros_like(matrix)
    for a in range(size):
        for b in range(a + 1):
            rest = matrix[a, b] - (factor[a, :b] * factor[b, :b]).sum()
            factor[a, b] = np.sqrt(rest) if a == b else rest / factor[b, b]
        root[a] = (np.eye(size)[a] - (factor[a, :a, None] * root[:a]).sum(0)) / factor[a, a]
    return np.asarray((root.T @ root) * scale[:, None] * scale)


def _exact(x: Floats, rounds: int) -> Long:
    """(V + λI)⁻¹ for every λ, (5, d, d), in extended precision."""
    long = x.astype(np.longdouble)
    part = long[: rounds % POOL]
    gram = (rounds // POOL) * (long.T @ long) + part.T @ part
    eye = np.eye(DIMENSION, dtype=np.longdouble)
    return np.stack([_exact_inverse(gram + np.longdouble(s) * eye) for s in REGULARIZATIONS])


@pytest.mark.skipif(
    float(np.finfo(np.longdouble).eps) > 1e-18, reason="long double is no longer than double here"
)
@pytest.mark.parametrize("late", [(), pytest.param((99_999, 299_999), marks=pytest.mark.nightly)])
def test_widths_stay_right_where_features_span_few_directions(late: tuple[int, ...]) -> None:
    """Three directions of twenty are ever seen, as with three fixed arms.

    There V's rounding, ε T/3, is added to λ: no method that stores V in double precision has the
    unseen directions better than to ε T/λ. The seen ones are small beside them: 3/T against 1/λ,
    and rounding at the size of the latter adds up between refactorisations, over 50 d steps.
    """
    x = _features("few directions")
    away = np.random.default_rng(1).standard_normal((20, DIMENSION))
    arms = np.concatenate([x[:30], away])
    for mark, running, _ in _walk(x, (*MARKS, *late)):
        assert (np.linalg.eigvalsh(running.inverse)[:, 0] > 0).all(), mark
        exact = ((arms @ _exact(x, mark)) * arms).sum(-1)
        found = ((arms @ running.inverse) * arms).sum(-1)
        error = np.abs(np.asarray(found / exact, dtype=np.float64) - 1).max(1)
        bound = 1e-10 + 100 * np.finfo(np.float64).eps * mark / REGULARIZATIONS
        assert (error < bound).all(), (mark, error / bound)
