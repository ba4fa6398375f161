"""Decision sets: one liked item among disliked ones, sampled uniformly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rated import as_table, random_table

from headstart.datasets.table import RatingTable
from headstart.environments.ratings.decision_sets import DecisionSets


def _sets(table: RatingTable, n_arms: int, unrated: bool) -> DecisionSets:
    return DecisionSets(
        table=table, n_arms=n_arms, liked=4.0, disliked=3.0, unrated_disliked=unrated
    )


@given(st.integers(0, 1000), st.integers(2, 6), st.booleans(), st.floats(0.2, 0.9))
def test_a_set_has_exactly_one_liked_item(
    seed: int, n_arms: int, unrated: bool, density: float
) -> None:
    table = random_table(users=8, items=12, density=density, seed=seed)
    matrix = table.matrix().toarray()
    sets = _sets(table, n_arms, unrated)
    rng = np.random.default_rng(seed)
    for user in sets.eligible:
        items = sets.sample(int(user), rng.random((20, 2 * n_arms)))
        assert items.shape == (20, n_arms)
        assert all(len(set(row)) == n_arms for row in items)
        ratings = matrix[user][items]
        assert ((ratings >= 4).sum(1) == 1).all()
        assert ((ratings <= 3).sum(1) == n_arms - 1).all()
        # A rating of 0 is one that was never given.
        assert unrated or (ratings > 0).all()


@given(st.integers(0, 1000), st.integers(2, 6), st.booleans())
def test_exactly_the_users_with_such_items_are_eligible(
    seed: int, n_arms: int, unrated: bool
) -> None:
    table = random_table(users=8, items=9, density=0.3, seed=seed)
    expected = []
    for user, row in enumerate(table.matrix().toarray()):
        disliked = (row <= 3).sum() if unrated else ((row > 0) & (row <= 3)).sum()
        if (row >= 4).any() and disliked >= n_arms - 1:
            expected.append(user)
    assert list(_sets(table, n_arms, unrated).eligible) == expected


@pytest.mark.parametrize("unrated", [False, True])
def test_items_and_positions_are_uniform(unrated: bool) -> None:
    # One user, two liked items (0, 1), four disliked (2 to 5), two never rated (6, 7).
    rows = [(0, 0, 4), (0, 1, 5), (0, 2, 1), (0, 3, 2), (0, 4, 3), (0, 5, 3), (1, 6, 1), (1, 7, 1)]
    n, n_arms = 30_000, 4
    sets = _sets(as_table(rows), n_arms, unrated)
    items = sets.sample(0, np.random.default_rng(0).random((n, 2 * n_arms)))
    counts = np.bincount(items.ravel(), minlength=8) / n
    disliked = 6 if unrated else 4
    expected = np.array([1 / 2] * 2 + [3 / disliked] * disliked + [0.0] * (6 - disliked))
    # Five standard errors of a proportion.
    assert (np.abs(counts - expected) <= 5 * np.sqrt(0.25 / n)).all()
    assert (counts[expected == 0] == 0).all()
    liked_at = np.bincount((items <= 1).argmax(1), minlength=n_arms) / n
    assert (np.abs(liked_at - 1 / n_arms) <= 5 * np.sqrt(0.25 / n)).all()
