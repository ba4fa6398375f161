"""Labels and types: what an application passes is taken for what it is, or refused by name."""

from fractions import Fraction
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.live.state import fingerprint

import headstart as hs
from headstart.live.inputs import read_mask

FEATURES = {"price": [1.0, 2.0, 3.0], "age": [0.0, 0.5, 1.0]}
WEIGHTS = np.array([1.0, 0.0])  # what Greedy goes by: the largest price wins


def greedy(dimension: int = 2, **settings: Any) -> hs.MetaBandit:
    prior = hs.priors.Fixed(bias=np.eye(dimension)[0], regularization=1.0)
    return hs.MetaBandit(
        dimension=dimension, policy=hs.policies.Greedy(), prior=prior, seed=0, **settings
    )


@pytest.mark.parametrize(
    ("index", "best"),
    [
        ([501, 502, 503], 503),
        ([2, 1, 0], 0),  # an integer index in another order
        (["a", "b", "c"], "c"),
        (pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)]), ("y", 1)),
        (pd.to_datetime(["2024-01-01", "2024-01-02", "2024-01-03"]), pd.Timestamp("2024-01-03")),
    ],
    ids=["integers", "other order", "strings", "tuples", "dates"],
)
def test_the_index_of_a_frame_holds_the_arms_ids(index: Any, best: object) -> None:
    frame = pd.DataFrame(FEATURES, index=index)
    for arms in (frame, hs.Catalogue(frame)):
        decision = greedy().decide("user", arms)
        assert (decision.arm, decision.arm_index) == (best, 2)
        assert not isinstance(decision.arm, np.generic)
    ranked = greedy().decide("user", frame, n=3)
    assert [decision.arm for decision in ranked] == frame.index.tolist()[::-1]


def test_rows_of_a_polars_frame_are_the_arms() -> None:
    decision = greedy().decide("user", pl.DataFrame(FEATURES))
    assert (decision.arm, decision.arm_index) == (2, 2)
    with pytest.raises(ValueError, match="numeric columns, got 'title' of type String"):
        greedy().decide("user", pl.DataFrame({"price": [1.0], "title": ["x"]}))
    assert hs.Catalogue(pl.DataFrame(FEATURES)).feature_names == ("price", "age")
    mixed = pl.DataFrame({"price": [1, 2], "new": [True, False]})
    assert hs.Catalogue(mixed).items.features.tolist() == [[1.0, 1.0], [2.0, 0.0]]


@pytest.mark.parametrize(
    "column",
    [
        ["x", "y", "z"],
        pd.to_datetime(["2024-01-01"] * 3),
        pd.Categorical([1, 2, 3]),
        [1 + 2j, 0, 0],
        pd.array(["x", "y", "z"], dtype="string"),
    ],
    ids=["text", "dates", "categories", "complex", "string"],
)
def test_columns_that_are_no_numbers_are_refused_by_name(column: Any) -> None:
    frame = pd.DataFrame({"price": [1.0, 2.0, 3.0], "title": column})
    bandit = greedy()
    for call in (bandit.decide, bandit.propensities):
        with pytest.raises(ValueError, match="numeric columns, got 'title'"):
            call("user", frame)
    with pytest.raises(ValueError, match="numeric columns, got 'title'"):
        hs.Catalogue(frame)
    assert bandit.tasks() == []


def test_nullable_columns_are_numbers_unless_a_value_is_missing() -> None:
    frame = pd.DataFrame({"price": pd.array([1, 2, 3], dtype="Int64"), "new": [True, False, True]})
    assert greedy().decide("user", frame).arm == 2
    frame.loc[1, "price"] = pd.NA
    with pytest.raises(ValueError, match=r"finite, got nan at index \(1, 0\)"):
        greedy().decide("user", frame)


def test_ids_of_a_frame_are_different() -> None:
    frame = pd.DataFrame(FEATURES, index=[7, 8, 7])
    with pytest.raises(ValueError, match="different ids, got 7 more than once"):
        greedy().decide("user", frame)


def test_columns_are_found_by_name() -> None:
    frame = pd.DataFrame(FEATURES | {"title": ["x", "y", "z"]}, index=[501, 502, 503])
    bandit = greedy(feature_names=["price", "age"])
    assert bandit.decide("user", frame).arm == 503
    turned = frame[["age", "title", "price"]]
    np.testing.assert_array_equal(
        bandit.decide("user", turned).scores, bandit.decide("user", frame).scores
    )
    with pytest.raises(ValueError, match=r"must have a column 'price', got \['age', 'title'\]"):
        bandit.decide("user", frame[["age", "title"]])
    # Without names, the first frame that is decided on has them.
    learning = greedy()
    with pytest.raises(ValueError, match="numeric"):
        learning.decide("user", turned)
    learning.decide("user", frame[["price", "age"]])
    assert learning.decide("user", turned).arm == 503
    # Numbers are no names, and arms may come as an array again.
    plain = pd.DataFrame(frame[["price", "age"]].to_numpy(), index=frame.index)
    assert bandit.decide("user", plain).arm == 503
    assert bandit.decide("user", plain.to_numpy()).arm == 2


def test_a_catalogue_has_the_features_of_the_bandit() -> None:
    frame = pd.DataFrame(FEATURES | {"title": ["x", "y", "z"]}, index=[501, 502, 503])
    bandit = greedy(feature_names=["price", "age"])
    assert bandit.decide("user", hs.Catalogue(frame, feature_names=["price", "age"])).arm == 503
    wrong = hs.Catalogue(frame[["age", "price"]])
    with pytest.raises(ValueError, match="in this order, got"):
        bandit.decide("new", wrong)
    assert bandit.tasks() == ["user"]
    wrong.add(frame[["price", "age"]].set_axis([1, 2, 3]))
    np.testing.assert_array_equal(wrong.items.features[:3], wrong.items.features[3:])


@pytest.mark.parametrize("names", ["ab", ["a"], ["a", "a"], ["a", 1], ["a", ""]])
def test_feature_names_are_d_different_strings(names: Any) -> None:
    with pytest.raises(ValueError, match="feature_names must be"):
        hs.MetaBandit(dimension=2, feature_names=names)


def test_numpy_s_integers_name_tasks() -> None:
    bandit, arms = greedy(), np.eye(2)
    seven: Any = np.int64(7)
    others: Any = np.array([7, 8]), np.uint8(9), np.int64(8)
    first = bandit.decide(seven, arms)
    again = bandit.decide(seven, arms)
    many = bandit.decide_many(others[0], arms)
    bandit.observe(others[1], arms[0], 1.0)
    bandit.decide(np.str_("seven"), arms)
    for name in [first.task, again.task, *many.tasks, *bandit.tasks()[:3]]:
        assert type(name) is int
    assert bandit.tasks() == [7, 8, 9, "seven"]
    assert type(bandit.tasks()[3]) is str
    assert bandit.task(seven).n_pending == 3
    assert bandit.propensities(others[2], arms).sum() == 1.0
    bandit.finish(seven)
    assert bandit.tasks() == [8, 9, "seven"]


@pytest.mark.parametrize("name", [True, False, np.True_, 1.0, 0.0, np.float64(1.0), None, (1,), []])
@pytest.mark.parametrize("opened", [True, False])
def test_what_only_equals_a_name_is_none(name: Any, opened: bool) -> None:
    bandit, arms = greedy(), np.eye(2)
    if opened:
        bandit.decide(1, arms)
        bandit.decide(0, arms)
    before = fingerprint(bandit)
    calls: list[Any] = [
        lambda: bandit.decide(name, arms),
        lambda: bandit.decide(name, arms, n=1),
        lambda: bandit.decide_many([name], arms),
        lambda: bandit.decide_many([0, name], arms),
        lambda: bandit.propensities(name, arms),
        lambda: bandit.observe(name, arms[0], 1.0),
        lambda: bandit.task(name),
        lambda: bandit.finish(name),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="string or an integer, got"):
            call()
    assert fingerprint(bandit) == before


@pytest.mark.parametrize("value", [True, np.True_, 1, np.int8(1), np.float32(1), Fraction(1)])
def test_rewards_may_be_booleans_and_any_numbers(value: Any) -> None:
    bandit, arms = greedy(), np.eye(2)
    bandit.reward(bandit.decide("one", arms).id, value)
    bandit.reward_many(bandit.decide_many(["two"], arms).ids, np.array([value]))
    bandit.observe("three", arms[0], value)
    for name in ("one", "two", "three"):
        np.testing.assert_array_equal(bandit.task(name).estimate.statistics.moment, [1.0, 0.0])


HUGE = 10**400


@pytest.mark.parametrize("huge", [HUGE, -HUGE, 10**5000], ids=["10⁴⁰⁰", "−10⁴⁰⁰", "10⁵⁰⁰⁰"])
def test_numbers_that_no_float_holds_are_refused(huge: Any) -> None:
    bandit, arms = greedy(), np.eye(2)
    waiting = bandit.decide("user", arms).id
    before = fingerprint(bandit)
    calls: list[Any] = [
        lambda: bandit.reward(waiting, huge),
        lambda: bandit.reward(waiting, 1.0, weight=huge),
        lambda: bandit.reward_many([waiting], [huge]),
        lambda: bandit.reward_many([waiting], [1.0], huge),
        lambda: bandit.observe("user", [huge, 0.0], 1.0),
        lambda: bandit.observe("user", [1.0, 0.0], huge),
        lambda: bandit.decide("user", [[huge, 0.0]]),
        lambda: bandit.decide("user", {"a": [huge, 0.0]}),
        lambda: bandit.decide_many(["user"], [[huge, 0.0]]),
        lambda: hs.Catalogue([[huge, 0.0]]),
    ]
    for call in calls:
        with pytest.raises(ValueError, match="must"):
            call()
    assert fingerprint(bandit) == before


@pytest.mark.parametrize("text", ["1", b"1", "2024-01-01"])
def test_text_is_no_number(text: Any) -> None:
    bandit = greedy()
    waiting = bandit.decide("user", np.eye(2)).id
    for call in (
        lambda: bandit.decide("user", [[text, text]]),
        lambda: bandit.reward_many([waiting], [text]),
        lambda: (
            bandit.observe("user", np.array([text, text], dtype="M8[D]"), 1.0)
            if "-" in str(text)
            else bandit.observe("user", [text, text], 1.0)
        ),
    ):
        with pytest.raises(ValueError, match="array of numbers"):
            call()


def test_the_interval_of_one_vector_is_two_floats() -> None:
    bandit, arms = greedy(), np.eye(2)
    bandit.observe("user", arms[0], 1.0)
    view = bandit.task("user")
    lows, highs = view.interval(arms)
    for k in range(2):
        low, high = view.interval(arms[k])
        assert (type(low), type(high)) == (float, float)
        assert (low, high) == (lows[k], highs[k])
    assert view.interval([1.0, 0.0]) == (lows[0], highs[0])
    with pytest.raises(ValueError, match="shape"):
        view.interval([1.0])


def test_propensities_take_a_catalogue() -> None:
    bandit = greedy()
    catalogue = hs.Catalogue({"tea": [1.0, 0.0], "milk": [2.0, 0.0], "rum": [2.0, 1.0]})
    assert bandit.propensities("user", catalogue).tolist() == [0.0, 0.5, 0.5]
    catalogue.remove("rum")
    assert bandit.propensities("user", catalogue).tolist() == [0.0, 1.0]
    assert bandit.propensities("user", catalogue, mask={"tea"}).tolist() == [1.0, 0.0]
    assert bandit.tasks() == []


MENU = {"tea": [3.0, 0.0], "milk": [2.0, 0.0], "rum": [1.0, 0.0]}
ITEMS = pd.DataFrame(MENU, index=["x", "y"]).T


@pytest.mark.parametrize(
    ("mask", "best"),
    [
        ([False, True, True], "milk"),
        ([0, 1, 1], "milk"),
        (np.array([0, 0, 1], dtype=np.uint8), "rum"),
        ((False, False, True), "rum"),
        (pd.Series([False, True, True]).to_numpy(), "milk"),
        ({"milk", "rum"}, "milk"),
        (frozenset(["rum"]), "rum"),
        (["rum", "milk"], "milk"),
        (np.array(["rum"]), "rum"),
        (pd.Series(["rum", "milk"]), "milk"),
        ({"tea": 0, "milk": 1, "rum": 1, "gin": 1}, "milk"),
        (pd.Series({"rum": True, "milk": False, "tea": False}), "rum"),
        (pd.Series({"rum": True, "milk": False, "tea": False}, dtype="boolean"), "rum"),
        ({"tea": 1, "milk": 1}.keys(), "tea"),
    ],
    ids=range(14),
)
@pytest.mark.parametrize("arms", [MENU, ITEMS, hs.Catalogue(MENU)], ids=["map", "frame", "items"])
def test_a_mask_is_booleans_or_ids(arms: Any, mask: Any, best: str) -> None:
    decision = greedy().decide("user", arms, mask=mask)
    assert decision.arm == best
    allowed = decision.scores > -np.inf
    np.testing.assert_array_equal(allowed, read_mask(mask, 3, list(MENU)))


def test_a_set_is_always_ids_and_a_list_of_0_and_1_never() -> None:
    """Arms that are called 1 and 0, in this order."""
    arms = {1: [1.0, 0.0], 0: [2.0, 0.0]}
    assert greedy().decide("user", arms, mask={1}).arm == 1
    assert greedy().decide("user", arms, mask=[1, 0]).arm == 1  # the first alone
    assert greedy().decide("user", arms, mask=[0, 1]).arm == 0
    assert greedy().decide("user", arms, mask={0, 1}).arm == 0
    # An array's arms are called by their indices.
    array = np.array([[3.0, 0.0], [2.0, 0.0], [1.0, 0.0]])
    assert greedy().decide("user", array, mask={2, 1}).arm == 1


@pytest.mark.parametrize(
    ("mask", "message"),
    [
        ([True, False], r"shape \(K,\) = \(3,\)"),
        ([0.0, 1.0, 1.0], "ids of the arms, got 0.0"),
        (["gin"], "ids of the arms, got 'gin'"),
        ({"gin"}, "ids of the arms, got 'gin'"),
        ([["tea"]], r"ids of the arms, got \['tea'\]"),
        ("tea", "booleans or 0 and 1"),
        (1, "booleans or 0 and 1"),
        ([0, 0, 0], "at least one arm"),
        (set(), "at least one arm"),
        ([], "at least one arm"),
        ({"tea": True}, "every arm, got none for 'milk'"),
        ({"tea": 2, "milk": 0, "rum": 0}, "other values"),
        ([0, 1, 2], "ids of the arms, got 0"),
    ],
    ids=range(13),
)
def test_other_masks_are_refused(mask: Any, message: str) -> None:
    bandit = greedy()
    before = fingerprint(bandit)
    with pytest.raises(ValueError, match=message):
        bandit.decide("user", MENU, mask=mask)
    assert fingerprint(bandit) == before


def test_arms_without_ids_take_no_list_of_ids() -> None:
    with pytest.raises(ValueError, match="or a set of ids"):
        greedy().decide("user", np.eye(2), mask=[0])


@given(st.lists(st.booleans(), min_size=1, max_size=6).filter(any))
def test_all_ways_to_write_a_mask_agree(allowed: list[bool]) -> None:
    ids = [f"arm-{i}" for i in range(len(allowed))]
    chosen = [key for key, yes in zip(ids, allowed, strict=True) if yes]
    ways: list[Any] = [
        allowed, list(map(int, allowed)), np.array(allowed), set(chosen), chosen,
        dict(zip(ids, allowed, strict=True)), pd.Series(allowed, index=ids)[::-1],
        dict.fromkeys(chosen).keys(),
    ]  # fmt: skip
    for mask in ways:
        np.testing.assert_array_equal(read_mask(mask, len(ids), ids), allowed)


def test_numbers_about_a_task_count_in_every_call() -> None:
    def bandit() -> hs.MetaBandit:
        made = hs.MetaBandit(dimension=2, prior=hs.priors.Hierarchical(n_about=1), seed=0)
        for i in range(8):
            decision = made.decide(i, np.eye(2), about=[i / 8])
            made.reward(decision.id, i / 8)
        return made

    calls: list[Any] = [
        lambda b: b.decide("ann", np.eye(2), about=[0.5]),
        lambda b: b.decide_many(["ann", "bob"], np.eye(2), about=[[0.5], [0.25]]),
        lambda b: b.observe("ann", [1.0, 0.0], 1.0, about=[0.5]),
    ]
    for call in calls:
        one = bandit()
        call(one)
        assert one.task("ann").about == [0.5]
    one = bandit()
    before = one.propensities("ann", np.eye(2), about=[0.5])
    assert "ann" not in one.tasks()
    np.testing.assert_array_equal(before, bandit().propensities("ann", np.eye(2), about=[0.5]))
    for wrong in ([0.5, 0.5], [[0.5]], [[0.5], [0.5], [0.5]], [{"age": 3}, None]):
        with pytest.raises(ValueError, match="about"):
            one.decide_many(["ann", "bob"], np.eye(2), about=wrong)
    with pytest.raises(ValueError, match="about"):
        one.decide("ann", np.eye(2), about={"age": 3})
