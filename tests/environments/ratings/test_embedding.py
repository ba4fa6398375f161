"""Vectors of users and items: the truncated SVD, its scalings, its sign."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rated import as_table, random_table

from headstart.environments.ratings.embedding import embed


@given(st.integers(0, 1000), st.integers(1, 6))
def test_inner_products_are_the_best_of_their_rank(seed: int, dimension: int) -> None:
    table = random_table(users=12, items=9, seed=seed)
    matrix = table.matrix().toarray()
    left, values, right = np.linalg.svd(matrix, full_matrices=False)
    best = (left[:, :dimension] * values[:dimension]) @ right[:dimension]
    for features in ("users-scaled", "items-scaled"):
        vectors = embed(table, dimension, "raw", features, False)
        np.testing.assert_allclose(vectors.users @ vectors.items.T, best, atol=1e-8)


def test_the_scaling_goes_where_it_is_said() -> None:
    table = random_table()
    values = np.linalg.svd(table.matrix().toarray(), compute_uv=False)[:4]
    by_user = embed(table, 4, "raw", "users-scaled", False)
    by_item = embed(table, 4, "raw", "items-scaled", False)
    np.testing.assert_allclose(by_user.items.T @ by_user.items, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(by_item.users.T @ by_item.users, np.eye(4), atol=1e-10)
    np.testing.assert_allclose(np.linalg.norm(by_user.users, axis=0), values)
    np.testing.assert_allclose(np.linalg.norm(by_item.items, axis=0), values)


def test_the_sign_is_that_of_the_largest_entry() -> None:
    items = embed(random_table(seed=4), 5, "raw", "users-scaled", False).items
    assert (items[np.abs(items).argmax(0), np.arange(5)] > 0).all()


def test_unit_arms_keep_their_direction() -> None:
    table = random_table()
    plain = embed(table, 4, "raw", "users-scaled", False)
    unit = embed(table, 4, "raw", "users-scaled", True)
    np.testing.assert_allclose(np.linalg.norm(unit.items, axis=1), 1.0)
    length = np.linalg.norm(plain.items, axis=1, keepdims=True)
    np.testing.assert_allclose(unit.items * length, plain.items, atol=1e-12)
    np.testing.assert_array_equal(unit.users, plain.users)


def test_log_is_the_svd_of_logged_ratings() -> None:
    rows = [(u, i, u * i % 7 + 1) for u in range(8) for i in range(6)]
    vectors = embed(as_table(rows), 5, "log", "users-scaled", False)
    logged = np.log1p([[u * i % 7 + 1 for i in range(6)] for u in range(8)])
    left, values, right = np.linalg.svd(logged, full_matrices=False)
    best = (left[:, :5] * values[:5]) @ right[:5]
    np.testing.assert_allclose(vectors.users @ vectors.items.T, best, atol=1e-8)


def test_impossible_embeddings_are_refused() -> None:
    with pytest.raises(ValueError, match=r"dimension must be below .* 12 and 9 .* got 9"):
        embed(random_table(users=12, items=9, density=1.0), 9, "raw", "users-scaled", False)
    table = as_table([(u, i, -1) for u in range(4) for i in range(4)])
    with pytest.raises(ValueError, match="ratings must be above -1 for transform 'log', got -1"):
        embed(table, 2, "log", "users-scaled", False)
