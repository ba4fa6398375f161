"""Tables of ratings: encoding, filtering, and what is refused."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rated import as_table, random_table

from headstart.datasets.table import RatingTable

rows = st.lists(
    st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(1, 5)),
    min_size=1,
    max_size=60,
    unique_by=lambda row: row[:2],
)


@given(rows)
def test_encoding_loses_nothing(given_rows: list[tuple[int, int, int]]) -> None:
    table = as_table(given_rows)
    back = zip(
        table.user_names[table.users], table.item_names[table.items], table.ratings, strict=True
    )
    assert [tuple(map(int, row)) for row in back] == given_rows
    assert table.matrix().sum() == sum(rating for _, _, rating in given_rows)


@given(rows, st.integers(0, 4), st.integers(0, 4))
def test_filter_is_items_then_users_once(
    given_rows: list[tuple[int, int, int]], least_item: int, least_user: int
) -> None:
    popular = [row for row in given_rows if sum(r[1] == row[1] for r in given_rows) >= least_item]
    expected = [row for row in popular if sum(r[0] == row[0] for r in popular) >= least_user]
    table = as_table(given_rows)
    if not expected:
        with pytest.raises(ValueError, match="leaves none of the"):
            table.filtered(item_ratings=least_item, user_ratings=least_user)
        return
    filtered = table.filtered(item_ratings=least_item, user_ratings=least_user)
    pairs = zip(
        filtered.user_names[filtered.users], filtered.item_names[filtered.items], strict=True
    )
    assert [tuple(map(int, pair)) for pair in pairs] == [row[:2] for row in expected]
    assert np.bincount(filtered.users).min() >= least_user
    # No name without a rating.
    assert set(filtered.users) == set(range(filtered.shape[0]))
    assert set(filtered.items) == set(range(filtered.shape[1]))


@given(rows, st.integers(0, 4))
def test_filtering_by_items_alone_is_idempotent(
    given_rows: list[tuple[int, int, int]], least: int
) -> None:
    table = as_table(given_rows)
    try:
        once = table.filtered(item_ratings=least, user_ratings=0)
    except ValueError:
        return
    twice = once.filtered(item_ratings=least, user_ratings=0)
    np.testing.assert_array_equal(once.ratings, twice.ratings)
    assert once.shape == twice.shape


def test_filtering_by_both_is_not_idempotent() -> None:
    # Item 1 has two ratings until user 2, with one rating, goes: the paper filters once.
    table = as_table([(1, 1, 5), (2, 1, 5), (1, 2, 4), (3, 2, 4), (3, 3, 4), (1, 3, 4)])
    once = table.filtered(item_ratings=2, user_ratings=2)
    assert once.shape == (2, 3)
    assert once.filtered(item_ratings=2, user_ratings=2).shape == (2, 2)


def test_names_may_be_text() -> None:
    table = RatingTable.from_columns(
        np.array(["b", "a", "b"], dtype=object),
        np.array(["x", "x", "y"]),
        np.array([1, 2, 3]),
        source="test",
    )
    assert list(table.user_names) == ["a", "b"]
    assert list(table.users) == [1, 0, 1]


@pytest.mark.parametrize(
    ("users", "items", "ratings", "message"),
    [
        ([1, 1], [2, 2], [3, 4], "line 8: user 1 rated item 2 already in line 7"),
        ([1, 1], [2, 3], [3, np.nan], "line 8: the rating must be a finite number, got .*nan"),
        ([1, 1], [2, 3], ["3", "many"], "line 8: the rating must be a finite number, got .*many"),
        ([1.0, np.nan], [2, 3], [3, 4], "line 8: the user must not be empty"),
        ([1, 1], ["a", ""], [3, 4], "line 8: the item must not be empty"),
        (np.array(["a", None], dtype=object), [2, 3], [3, 4], "line 8: the user must not be"),
        (np.array(["a", 1], dtype=object), [2, 3], [3, 4], "all be numbers or all be text"),
        ([], [], [], "must hold at least one rating"),
        ([1], [2, 3], [3, 4], "equally many users"),
    ],
)
def test_what_is_wrong_is_named(
    users: object, items: object, ratings: object, message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        RatingTable.from_columns(
            np.asarray(users), np.asarray(items), np.asarray(ratings),
            source="f", unit="line", first=7,
        )  # fmt: skip


def test_the_same_filter_is_computed_once() -> None:
    table = random_table()
    assert table.filtered(item_ratings=3, user_ratings=2) is table.filtered(
        item_ratings=3, user_ratings=2
    )
