import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from headstart import theory


def grams(seed: int, n: int, t: int, d: int) -> np.ndarray:
    x = np.random.default_rng(seed).normal(size=(n, t, d))
    return np.asarray(x.swapaxes(-1, -2) @ x)


def test_misalignment_by_hand() -> None:
    # Diagonal grams: V_j Ṽ⁻¹ is diagonal, entries v_ji / Σ v_ji; the largest counts.
    v = np.array([np.diag([1.0, 9.0]), np.diag([3.0, 1.0])])
    np.testing.assert_allclose(theory.misalignment(v), [0.9, 0.75])
    np.testing.assert_allclose(theory.misalignment(np.tile(np.eye(2), (5, 1, 1))), 0.2)


@given(n=st.integers(1, 5), t=st.integers(1, 5), seed=st.integers(0, 1000))
def test_misalignment_by_the_definition(n: int, t: int, seed: int) -> None:
    v = grams(seed, n, t, 3)
    inverse = np.linalg.pinv(v.sum(0), rcond=1e-10)
    expected = [np.linalg.svd(each @ inverse)[1][0] for each in v]
    np.testing.assert_allclose(theory.misalignment(v), expected, rtol=1e-6)


def test_a_singular_pool_has_a_pseudo_inverse() -> None:
    v = np.array([np.diag([2.0, 0.0]), np.diag([2.0, 0.0])])
    np.testing.assert_allclose(theory.misalignment(v), 0.5)
    assert theory.smallest_global_eigenvalue(v) == 0.0


def test_weighted_deviation_by_hand() -> None:
    # H̄ = (2, 0) with weights 1: both tasks at distance 2 from it, σ = 0.9 and 0.75.
    v = np.array([np.diag([1.0, 9.0]), np.diag([3.0, 1.0])])
    w = np.array([[0.0, 0.0], [4.0, 0.0]])
    np.testing.assert_allclose(theory.weighted_deviation(w, v, [1.0, 1.0]), [1.8, 1.5])


@given(n=st.integers(1, 6), t=st.integers(1, 6), seed=st.integers(0, 1000))
def test_the_smallest_eigenvalue_is_superadditive(n: int, t: int, seed: int) -> None:
    v = grams(seed, n, t, 3)
    each, pooled = theory.smallest_eigenvalues(v), theory.smallest_global_eigenvalue(v)
    assert pooled >= each.sum() - 1e-9 >= n * each.min() - 2e-9


def test_leading_axes_are_independent() -> None:
    v = np.stack([grams(s, 4, 3, 3) for s in range(6)]).reshape(2, 3, 4, 3, 3)
    np.testing.assert_allclose(theory.misalignment(v)[1, 2], theory.misalignment(v[1, 2]))
    whole = theory.shared_basis(v)
    one = theory.shared_basis(v[1, 2])
    np.testing.assert_allclose(whole.off_diagonal[1, 2], one.off_diagonal)
    np.testing.assert_allclose(whole.commutator[1, 2], one.commutator)


@given(n=st.integers(1, 5), seed=st.integers(0, 1000))
def test_assumption_2_holds_for_a_shared_basis(n: int, seed: int) -> None:
    rng = np.random.default_rng(seed)
    basis = np.linalg.qr(rng.normal(size=(4, 4))).Q
    v = np.stack([basis @ np.diag(rng.integers(0, 9, 4).astype(float)) @ basis.T for _ in range(n)])
    shared = theory.shared_basis(v)
    assert shared.off_diagonal < 1e-12
    assert shared.commutator < 1e-12
    assert (theory.misalignment(v) <= 1 + 1e-9).all()


def test_a_degenerate_pool_does_not_hide_the_basis() -> None:
    basis = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2))).Q
    v = np.stack([basis @ np.diag(values) @ basis.T for values in ([2.0, 1.0], [1.0, 2.0])])
    np.testing.assert_allclose(v.sum(0), 3 * np.eye(2), atol=1e-12)
    assert theory.shared_basis(v).off_diagonal < 1e-12


def test_assumption_2_measured_by_hand_where_it_fails() -> None:
    # Two rank-one grams at 45°: VW − WV = ½[[0, 1], [−1, 0]], of norm 1/√2; norms 1 and 1.
    u = np.array([1.0, 1.0]) / np.sqrt(2.0)
    v = np.array([np.diag([1.0, 0.0]), np.outer(u, u)])
    shared = theory.shared_basis(v)
    assert shared.commutator == pytest.approx(1 / np.sqrt(2.0))
    # No basis puts less than this off the diagonals of both.
    turns = np.linspace(0, np.pi, 2001)
    best = min(
        sum(2 * (q.T @ each @ q)[0, 1] ** 2 for each in v) / 2
        for q in (np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) for a in turns)
    )
    assert best - 1e-6 <= shared.off_diagonal <= 1.2 * best


def test_no_data_is_aligned() -> None:
    shared = theory.shared_basis(np.zeros((3, 2, 2)))
    assert shared.off_diagonal == 0.0
    assert shared.commutator == 0.0


def test_bad_grams_are_named() -> None:
    with pytest.raises(ValueError, match="grams must have shape"):
        theory.misalignment(np.eye(2))
