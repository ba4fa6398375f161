"""Attributes in live use: the same, bit for bit, as the numbers that they become."""

import copy
import os
import pickle
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.live.state import assert_alike, fingerprint, memory_state

import headstart as hs

SHOP = hs.Features(
    item=[
        hs.Number("price", mean=10.0, scale=5.0, missing=True),
        hs.Category("brand", levels=["acme", "zeta"]),
        hs.Tags("tags", buckets=4),
    ],
    context=[hs.Category("device", levels=["phone"]), hs.Number("hour", period=24)],
    about=[hs.Category("country", levels=["NL", "DE"])],
    cross=[("device", "brand"), ("country", "brand")],
)
ITEMS: dict[str, dict[str, Any]] = {
    "tea": {"price": 3, "brand": "acme", "tags": ["hot", "green"]},
    "milk": {"price": 2.5, "brand": "zeta", "tags": []},
    "rum": {"price": None, "brand": "other", "tags": ["strong"]},
    "gin": {"price": 25, "brand": None, "tags": ["strong", "dry"]},
}
CONTEXTS: list[dict[str, Any] | None] = [
    None,
    {"device": "phone", "hour": 21},
    {"device": "desktop"},
    {"hour": 9.5},
]
ABOUT = {"country": "NL"}


def _arms(features: Any, context: Any, about: Any) -> Any:
    """The numbers of the items."""
    items = features.encode_items(ITEMS).matrix
    return features.arms(items, features.encode_context(context), features.encode_about(about))


def _frame() -> pd.DataFrame:
    return pd.DataFrame.from_dict(ITEMS, orient="index")


FORMS: dict[str, Callable[[], Any]] = {
    "dicts by id": lambda: ITEMS,
    "dicts in a list": lambda: list(ITEMS.values()),
    "pandas": _frame,
    "polars": lambda: pl.DataFrame(list(ITEMS.values())),
    "catalogue": lambda: hs.Catalogue(ITEMS, features=SHOP),
    "catalogue of a frame": lambda: hs.Catalogue(_frame(), features=SHOP),
}


def _pair(**settings: Any) -> tuple[hs.MetaBandit, hs.MetaBandit]:
    """A bandit with a schema, and one for the same features in numbers."""
    prior = hs.priors.Hierarchical(n_about=SHOP.n_about)
    numbers = hs.MetaBandit(dimension=SHOP.dimension, prior=prior, scales=None, seed=0, **settings)
    return hs.MetaBandit(features=SHOP, prior=prior, seed=0, **settings), numbers


@pytest.mark.parametrize("form", FORMS)
@settings(max_examples=10)
@given(
    rounds=st.lists(
        st.tuples(st.integers(0, 4), st.sampled_from(CONTEXTS), st.booleans()), max_size=12
    )
)
def test_attributes_do_what_their_numbers_do(form: str, rounds: list[Any]) -> None:
    raw, numbers = _pair()
    items, told = FORMS[form](), set()
    for user, context, paid in rounds:
        about = {"country": ["NL", "DE", "FR", None, "NL"][user]}
        first = user not in told
        told.add(user)
        arms, z = _arms(SHOP, context, about), SHOP.encode_about(about)
        one = raw.decide(user, items, context=context, about=about)
        other = numbers.decide(user, arms, about=z if first else None)
        assert one.arm_index == other.arm_index
        assert one.scores.tobytes() == other.scores.tobytes()
        assert one.propensity == other.propensity
        has_ids = form not in ("dicts in a list", "polars")
        assert one.arm == (list(ITEMS)[one.arm_index] if has_ids else one.arm_index)
        chances = raw.propensities(user, items, context=context)
        assert chances.tobytes() == numbers.propensities(user, arms).tobytes()
        found, expected = raw.explain(one), numbers.explain(other)
        assert found.contributions.tobytes() == expected.contributions.tobytes()
        assert (found.mean, found.interval) == (expected.mean, expected.interval)
        if paid:
            raw.reward(one.id, float(one.arm_index))
            numbers.reward(other.id, float(one.arm_index))
    assert fingerprint(raw, ids=False) == fingerprint(numbers, ids=False)


@pytest.mark.parametrize("policy", [hs.policies.BayesUCB(), hs.policies.Thompson()])
def test_many_decisions_do_what_their_numbers_do(policy: Any) -> None:
    raw, numbers = _pair(policy=policy)
    users, abouts = ["ann", "bob", "eve"], [{"country": "NL"}, None, {"country": "DE"}]
    items = hs.Catalogue(ITEMS, features=SHOP)
    for user, about in zip(users, abouts, strict=True):
        x = _arms(SHOP, None, about)[0]
        raw.observe(user, ITEMS["tea"], 1.0, about=about)
        numbers.decide(user, x[None], about=SHOP.encode_about(about))
        numbers.observe(user, x, 1.0)
        raw.decide(user, x[None])  # features in numbers go on to work
    contexts = CONTEXTS[:3]
    for context in (contexts, CONTEXTS[1]):
        each = context if isinstance(context, list) else [context] * 3
        arms = [_arms(SHOP, one, about) for one, about in zip(each, abouts, strict=True)]
        some = raw.decide_many(users, items, context=context)
        others = numbers.decide_many(users, np.stack(arms))
        assert some.scores.tobytes() == others.scores.tobytes()
        assert some.arm_indices.tolist() == others.arm_indices.tolist()
        assert some.arms == tuple(list(ITEMS)[i] for i in others.arm_indices)
        raw.reward_many(some.ids, [1.0, 0.0, 0.5])
        numbers.reward_many(others.ids, [1.0, 0.0, 0.5])
    sets: list[Any] = [ITEMS, list(ITEMS.values())[:2], items]
    some = raw.decide_many(users, sets, mask=[["gin"], None, {"tea"}])
    assert some.arms[0] == "gin"
    assert some.arms[1] in (0, 1)
    assert some.arms[2] == "tea"


def test_items_that_nothing_changes_keep_their_scores_in_a_catalogue() -> None:
    features = hs.Features(item=SHOP.item, cross=[("price", "brand")])
    bandit = hs.MetaBandit(features=features, seed=0)
    catalogue = hs.Catalogue(ITEMS, features=features)
    rng = np.random.default_rng(0)
    for step in range(30):
        if step == 10:
            catalogue.add({"ale": {"price": 4, "brand": "acme"}})
            catalogue.change("tea", {"price": 5, "brand": "zeta"})
            catalogue.remove("rum")
        items = {
            **ITEMS,
            "tea": {"price": 5, "brand": "zeta"},
            "ale": {"price": 4, "brand": "acme"},
        }
        items.pop("rum")
        decision = bandit.decide("ann", catalogue)
        dense = bandit.decide("ann", items if step >= 10 else ITEMS)
        assert set(catalogue.ids) == set(items if step >= 10 else ITEMS)
        np.testing.assert_allclose(decision.scores, dense.scores, rtol=1e-9)
        bandit.reward(decision.id, float(rng.normal()))


def test_items_leave_and_join_a_catalogue_with_context() -> None:
    bandit = hs.MetaBandit(features=SHOP, seed=0)
    catalogue, context = hs.Catalogue(ITEMS, features=SHOP), CONTEXTS[1]
    catalogue.remove("tea")
    catalogue.change("gin", ITEMS["milk"])
    assert catalogue.add({"tea": ITEMS["rum"]}) == ["tea"]
    decision = bandit.decide("ann", catalogue, context=context)
    now = {**ITEMS, "gin": ITEMS["milk"], "new": ITEMS["rum"]}
    del now["tea"]
    same = bandit.decide("ann", now, context=context)
    np.testing.assert_array_equal(decision.scores, same.scores)
    assert bandit.decide("ann", catalogue, context=context, mask=["tea"]).arm_index == 3
    best = bandit.decide("ann", catalogue, context=context, n=4)
    assert {each.arm for each in best} == set(ITEMS)
    with pytest.raises(ValueError, match="must be new items"):
        catalogue.add({"tea": ITEMS["tea"]})
    with pytest.raises(ValueError, match="bandit with its features"):
        hs.MetaBandit(dimension=SHOP.dimension).decide("ann", catalogue)


def test_what_is_known_of_a_task_is_what_was_told_first() -> None:
    bandit = hs.MetaBandit(features=SHOP, seed=0)
    first = bandit.decide("ann", ITEMS, about=ABOUT)
    again = bandit.decide("ann", ITEMS, about={"country": "DE"})
    without = bandit.decide("ann", ITEMS)
    assert first.scores.tobytes() == again.scores.tobytes() == without.scores.tobytes()
    tea = bandit.decide("ann", ITEMS, mask=["tea"])
    assert "country = NL × brand = acme" in {group.text for group in bandit.explain(tea).groups}
    about = bandit.task("ann").about
    assert about is not None
    np.testing.assert_array_equal(about, SHOP.encode_about(ABOUT))
    # A probability is only looked at.
    bandit.propensities("bob", ITEMS, about=ABOUT)
    assert bandit.tasks() == ["ann"]
    bandit.observe("bob", ITEMS["tea"], 1.0)
    assert bandit.task("bob").about is None


def test_a_task_told_of_late_is_counted_as_one_told_of_at_once() -> None:
    """Without crosses, features do not depend on what is known of the task."""
    features = hs.Features(item=SHOP.item, about=[hs.Number("age", mean=40.0, scale=10.0)])
    rng = np.random.default_rng(0)
    late, at_once = (hs.MetaBandit(features=features, seed=0) for _ in range(2))
    for user in range(30):
        about = {"age": float(rng.integers(20, 60))}
        rewards = rng.normal((about["age"] - 40) / 20, 0.1, size=4)
        for bandit in (late, at_once):
            for i, (item, reward) in enumerate(zip(ITEMS.values(), rewards, strict=True)):
                bandit.observe(user, item, reward, about=about if bandit is at_once else None)
                if user % 3 == 0 and i == 1:
                    bandit.learned()  # it is counted, as one of which nothing is known in `late`
            if user % 2:
                bandit.finish(user)
            bandit.cancel(bandit.decide(user, ITEMS, about=about).id)
    late.learned()
    at_once.learned()
    one, other = memory_state(late), memory_state(at_once)
    assert one.n_tasks == other.n_tasks == 30
    for name in ("count", "information", "ridges", "abouts", "moments", "counts"):  # not the fit
        np.testing.assert_allclose(one.memory[name], other.memory[name], atol=1e-12)
    new = [bandit.decide("new", ITEMS, about={"age": 55}).scores for bandit in (late, at_once)]
    np.testing.assert_allclose(new[0], new[1], atol=0.05)  # fits end where they are good enough


def test_a_prior_may_leave_out_what_is_known_of_tasks(caplog: pytest.LogCaptureFixture) -> None:
    bandit = hs.MetaBandit(features=SHOP, prior=hs.priors.Pooled(), seed=0)
    decision = bandit.decide("ann", ITEMS, about=ABOUT, mask=["tea"])
    assert any("country = NL" in group.text for group in bandit.explain(decision).groups)
    with pytest.raises(ValueError, match=f"n_about = {SHOP.n_about}"):
        hs.MetaBandit(features=SHOP, prior=hs.priors.Hierarchical(n_about=2))
    uncrossed = hs.Features(item=SHOP.item, about=SHOP.about)
    cases = [(uncrossed, SHOP.n_about), (SHOP, 0), (hs.Features(item=SHOP.item), 0)]
    for features, n_about in cases:  # as side information, by its crosses, and without tasks'
        prior = hs.MetaBandit(features=features).prior
        assert isinstance(prior, hs.priors.Hierarchical)
        assert prior.n_about == n_about
    caplog.clear()
    hs.MetaBandit(features=uncrossed, prior=hs.priors.Hierarchical(n_about=uncrossed.n_about))
    assert caplog.text == ""
    hs.MetaBandit(features=uncrossed, prior=hs.priors.Hierarchical())
    for attribute in uncrossed.about:  # is named
        assert attribute.name in caplog.text


# Numbers without mean and scale.

OPEN = hs.Features(
    item=[hs.Number("price"), hs.Number("size")],
    context=[hs.Number("hour"), hs.Number("load")],
    about=[hs.Number("age")],
)


def test_items_that_differ_settle_their_numbers_at_once() -> None:
    bandit = hs.MetaBandit(features=OPEN, seed=0)
    items = [{"price": 10, "size": 1}, {"price": 30, "size": 1}]
    bandit.decide("ann", items)
    assert bandit.features is not None
    assert bandit.features.item == (hs.Number("price", mean=20.0, scale=10.0), hs.Number("size"))
    bandit.decide("bob", [{"price": 1000}])
    assert bandit.features.attributes["price"] == hs.Number("price", mean=20.0, scale=10.0)


def test_no_number_has_the_scale_of_a_single_value() -> None:
    """A first temperature of 0.5 made 25 into 49, for good."""
    bandit = hs.MetaBandit(features=OPEN, seed=0)
    rng = np.random.default_rng(0)
    hours, ages = rng.uniform(0, 24, 40), rng.uniform(20, 70, 40)
    hours[0] = 0.5
    items = [{"price": 10}, {"price": 30}]
    for i in range(29):
        context, about = {"hour": hours[i]}, {"age": ages[i]}
        decision = bandit.decide(i, items, context=context, about=about)
        assert bandit.explain(decision).features[2] == 0.0  # missing, until it has a scale
        bandit.decide(i, items, about=about)  # a task counts once
        bandit.propensities(i, items, context=context)  # decides nothing
    assert bandit.features is not None
    assert bandit.features.open == {"size", "hour", "load", "age"}
    bandit.decide(29, items, context={"hour": hours[29]}, about={"age": ages[29]})
    found = bandit.features.attributes
    assert found["hour"] == hs.Number("hour", mean=hours[:30].mean(), scale=hours[:30].std())
    assert found["age"] == hs.Number("age", mean=ages[:30].mean(), scale=ages[:30].std())
    assert bandit.features.open == {"size", "load"}


def test_values_that_settle_a_number_later_are_part_of_the_file(tmp_path: Path) -> None:
    file = tmp_path / "bandit.npz"
    bandit = hs.MetaBandit(features=OPEN, seed=0)
    for hour in range(30):
        bandit.decide("ann", [{"price": 10}], context={"hour": hour})
        bandit.save(file)
        bandit = hs.MetaBandit.load(file)
    assert bandit.features is not None
    assert bandit.features.open == {"size", "load", "age"}
    assert bandit.features.attributes["hour"].mean == 14.5  # type: ignore[union-attr]


def test_decisions_go_on_while_a_log_is_read() -> None:
    """The log is read again if a decision has settled other numbers meanwhile."""
    features = hs.Features(item=[hs.Number("price")])
    bandit = hs.MetaBandit(features=features, seed=0)
    log = pd.DataFrame({"task": ["a", "b"] * 20, "price": np.arange(40.0), "reward": 1.0})
    thread_decided: list[bool] = []

    def decide(*_: int) -> None:
        if not thread_decided:
            thread = threading.Thread(
                target=lambda: bandit.decide("ann", [{"price": 100}, {"price": 300}])
            )
            thread.start()
            thread.join(60)
            thread_decided.append(not thread.is_alive())

    bandit.fit(log, progress=decide)
    assert thread_decided == [True]
    assert bandit.features == features.settled(items=[{"price": 100}, {"price": 300}])
    other = hs.MetaBandit(features=bandit.features, seed=0).fit(log)
    np.testing.assert_allclose(bandit.next_prior().bias, other.next_prior().bias)


def test_numbers_stay_open_where_a_call_fails() -> None:
    bandit = hs.MetaBandit(features=OPEN, seed=0)
    items = [{"price": 10}, {"price": 30}]
    with pytest.raises(ValueError, match="n must be"):
        bandit.decide("ann", items, n=3)
    with pytest.raises(ValueError, match="hour"):
        bandit.decide("ann", items, context={"hour": "late"})
    sets: list[Any] = [items, [{"price": "dear"}]]
    with pytest.raises(ValueError, match="price"):
        bandit.decide_many(["ann", "bob"], sets)
    assert bandit.features == OPEN
    assert bandit.tasks() == []


def test_catalogues_and_bandits_settle_alike() -> None:
    items = {"tea": {"price": 10, "size": 2}, "rum": {"price": 30, "size": 4}}
    catalogue = hs.Catalogue(items, features=OPEN)
    bandit = hs.MetaBandit(features=OPEN, seed=0)
    bandit.decide("ann", catalogue)
    assert isinstance(bandit.features, hs.Features)
    assert bandit.features.item == OPEN.settled(items=items).item
    # A bandit that was settled before has the items encoded in its own numbers.
    other = hs.MetaBandit(features=OPEN, seed=0)
    other.decide("ann", [{"price": 5, "size": 5}, {"price": 6, "size": 6}])
    catalogue = hs.Catalogue(items, features=OPEN)
    catalogue.change("tea", {"price": 11})
    catalogue.add({"gin": {"price": 40}})
    direct = {"tea": {"price": 11}, "rum": items["rum"], "gin": {"price": 40}}
    found, expected = other.decide("ann", catalogue), other.decide("ann", direct)
    assert found.scores.tobytes() == expected.scores.tobytes()
    assert found.arm == list(direct)[expected.arm_index]
    # From then on it is of this bandit.
    with pytest.raises(ValueError, match="features of the bandit"):
        bandit.decide("ann", catalogue)
    with pytest.raises(ValueError, match="features of the bandit"):
        other.decide("ann", hs.Catalogue(ITEMS, features=SHOP))


# Explanations and names.


def test_explanations_speak_of_attributes() -> None:
    """Λ = I, one reward of 1 for x = (1, 0, 0, 1): ŵ = x/3."""
    features = hs.Features(item=[hs.Category("brand", levels=["acme", "zeta"]), hs.Flag("new")])
    prior = hs.priors.Fixed.zero()
    bandit = hs.MetaBandit(features=features, prior=prior, seed=0)
    bandit.observe("ann", {"brand": "acme"}, 1.0)
    decision = bandit.decide("ann", {"tea": {"brand": "acme", "new": True}})
    found = bandit.explain(decision)
    assert [(group.name, group.text) for group in found.groups] == [
        ("brand", "brand = acme"),
        ("constant", "constant"),
        ("new", "new"),
    ]
    ratio = found.groups[0].contribution
    np.testing.assert_allclose([each.contribution for each in found.groups], [ratio, ratio, 0])
    np.testing.assert_allclose(sum(each.contribution for each in found.groups), found.mean)
    assert f"brand = acme: {ratio:+.4g}" in str(found)
    view = bandit.task("ann")
    assert str(view.explain({"brand": "acme", "new": True}, arm="tea")) == str(found)
    low, high = view.interval({"brand": "acme", "new": True})
    np.testing.assert_allclose((low, high), found.interval)
    with pytest.raises(ValueError, match="context"):
        view.explain([1.0, 0.0, 0.0, 0.0, 1.0], context={"hour": 3})
    assert bandit.learned().feature_names == features.columns
    assert hs.MetaBandit(dimension=2).learned().feature_names == ("x1", "x2")


# Bad input.

BAD: dict[str, tuple[dict[str, Any], str]] = {
    "an unknown attribute": ({"arms": [{"prise": 3}]}, "prise"),
    "a wrong type": ({"arms": [{"price": "dear"}]}, "price"),
    "a flag for a number": ({"arms": [{"price": True}]}, "price"),
    "infinity": ({"arms": [{"price": float("inf")}]}, "price"),
    "a huge number": ({"arms": [{"price": 10**400}]}, "price"),
    "an object for a level": ({"arms": [{"brand": object()}]}, "brand"),
    "nested data": ({"arms": [{"price": {"amount": 3}}]}, "price.amount"),
    "a surrogate": ({"arms": [{"brand": "\ud800"}]}, "brand"),
    "a megabyte of text": ({"arms": [{"brand": "x" * 1_000_000}]}, "brand"),
    "too many tags": ({"arms": [{"tags": [str(i) for i in range(1000)]}]}, "tags"),
    "one of many": ({"arms": [{"price": 3}, {"price": "dear"}]}, "price"),
    "no items": ({"arms": []}, "arms"),
    "no items by id": ({"arms": {}}, "arms"),
    "a frame without a column": ({"arms": pd.DataFrame({"price": [1.0]})}, "brand"),
    "ids that are not different": (
        {"arms": pd.concat([_frame(), _frame()])},
        "different ids",
    ),
    "a context of another schema": ({"context": {"weather": "rain"}}, "weather"),
    "a context that is none": ({"context": "phone"}, "context"),
    "an attribute of tasks in the context": ({"context": {"country": "NL"}}, "country"),
    "a bad context": ({"context": {"hour": "late"}}, "hour"),
    "a bad about": ({"about": {"country": object()}}, "country"),
    "an unknown about": ({"about": {"land": "NL"}}, "land"),
    "side information in numbers": ({"about": [1.0, 0.0, 0.0]}, "about"),
    "numbers of another size": ({"arms": np.ones((2, 3))}, "shape"),
    "a context with numbers": (
        {"arms": np.ones((2, SHOP.dimension)), "context": {"hour": 3}},
        "context",
    ),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_attributes_change_nothing(case: str) -> None:
    told, named = BAD[case]
    arms, call = told.get("arms", ITEMS), {k: v for k, v in told.items() if k != "arms"}
    bandit = hs.MetaBandit(features=SHOP, seed=0)
    bandit.reward(bandit.decide("ann", ITEMS, about=ABOUT).id, 1.0)
    before = fingerprint(bandit)
    for task in ("ann", "new"):
        with pytest.raises(ValueError, match=named) as caught:
            bandit.decide(task, arms, **call)
        assert "\n" not in str(caught.value)
        assert len(str(caught.value)) < 500
    assert fingerprint(bandit) == before
    assert bandit.tasks() == ["ann"]


@pytest.mark.parametrize("item", [{"prise": 3}, {"price": "dear"}, [1.0, 2.0], "tea"])
def test_bad_observations_change_nothing(item: Any) -> None:
    bandit = hs.MetaBandit(features=SHOP, seed=0)
    with pytest.raises(ValueError, match=r"prise|price|features"):
        bandit.observe("ann", item, 1.0, about=ABOUT)
    assert bandit.tasks() == []
    with pytest.raises(ValueError, match="hour"):
        bandit.observe("ann", ITEMS["tea"], 1.0, context={"hour": "late"})


def test_bandits_of_numbers_take_no_attributes() -> None:
    bandit = hs.MetaBandit(dimension=2, seed=0)
    with pytest.raises(ValueError, match="context"):
        bandit.decide("ann", np.eye(2), context={"hour": 3})
    with pytest.raises(ValueError, match="about"):
        bandit.observe("ann", [1.0, 0.0], 1.0, about={"age": 3})
    with pytest.raises(ValueError, match="bandit with features"):
        bandit.decide("ann", ITEMS)
    with pytest.raises(ValueError, match="not both"):
        hs.MetaBandit(dimension=2, features=SHOP)
    with pytest.raises(ValueError, match="neither"):
        hs.MetaBandit()
    with pytest.raises(ValueError, match="must be hs"):
        hs.MetaBandit(features=3)  # type: ignore[arg-type]


# Files and copies.


def _used(features: Any = SHOP) -> hs.MetaBandit:
    bandit = hs.MetaBandit(features=features, seed=0)
    for user in range(6):
        about = {"country": ["NL", "DE", "FR"][user % 3]} if user else None
        for context in CONTEXTS:
            decision = bandit.decide(user, ITEMS, context=context, about=about)
            bandit.reward(decision.id, float(decision.arm_index))
        bandit.decide(user, ITEMS)
    bandit.finish(3)
    return bandit


def test_a_schema_is_part_of_the_file(tmp_path: Path) -> None:
    bandit = _used()
    bandit.save(tmp_path / "bandit.npz")
    loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", resume=True)
    assert loaded.features == SHOP
    assert fingerprint(loaded) == fingerprint(bandit)
    call: dict[str, Any] = {"context": CONTEXTS[1], "about": {"country": "DE"}}
    for user in (0, 3, "new"):
        one, other = (each.decide(user, ITEMS, **call) for each in (bandit, loaded))
        assert one.scores.tobytes() == other.scores.tobytes()
        assert str(bandit.explain(one)) == str(loaded.explain(other))
    assert hs.MetaBandit.load(tmp_path / "bandit.npz", features=SHOP).features == SHOP
    with pytest.raises(ValueError, match="features must be the same as in the file"):
        hs.MetaBandit.load(tmp_path / "bandit.npz", features=hs.Features(item=SHOP.item[:1]))
    numbers = hs.MetaBandit(dimension=2)
    numbers.save(tmp_path / "numbers.npz")
    with pytest.raises(ValueError, match="leave features out"):
        hs.MetaBandit.load(tmp_path / "numbers.npz", features=SHOP)


def test_settled_numbers_are_part_of_the_file(tmp_path: Path) -> None:
    bandit = hs.MetaBandit(features=OPEN, seed=0)
    bandit.decide("ann", [{"price": 10}, {"price": 30}])
    bandit.save(tmp_path / "bandit.npz")
    for again in (None, OPEN):
        loaded = hs.MetaBandit.load(tmp_path / "bandit.npz", features=again)
        assert loaded.features == bandit.features
    for other in (pickle.loads(pickle.dumps(bandit)), copy.deepcopy(bandit)):
        assert other.features == bandit.features


def test_bandits_with_the_same_features_are_merged() -> None:
    here, there = _used(), hs.MetaBandit(features=SHOP, seed=1)
    there.observe("eve", ITEMS["tea"], 1.0, about=ABOUT)
    here.merge(there)
    both = hs.MetaBandit(features=SHOP, seed=0)
    assert_alike(
        here.task("eve").estimate.parameter.tolist(), there.task("eve").estimate.parameter.tolist()
    )
    assert here.task("eve").about is not None
    with pytest.raises(ValueError, match="same features"):
        both.merge(hs.MetaBandit(dimension=SHOP.dimension))
    # Numbers that one of them has settled are those of both.
    one, other = (hs.MetaBandit(features=OPEN, seed=seed) for seed in (0, 1))
    other.decide("ann", [{"price": 3}, {"price": 5}])
    one.merge(other)
    assert one.features == other.features
    third = hs.MetaBandit(features=OPEN, seed=2)
    third.decide("bob", [{"price": 30}, {"price": 50}])
    before = fingerprint(third)
    with pytest.raises(ValueError, match="mean and scale"):
        third.merge(one)
    assert fingerprint(third) == before


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs fork")
@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_fork_goes_on_with_what_is_known() -> None:
    bandit = _used()
    catalogue = hs.Catalogue(ITEMS, features=SHOP)
    expected = bandit.decide(1, catalogue, context=CONTEXTS[1]).scores.tobytes()
    read, write = os.pipe()
    child = os.fork()
    if child == 0:  # pragma: no cover - in the child
        try:
            found = bandit.decide(1, catalogue, context=CONTEXTS[1], about={"country": "DE"})
            os.write(write, found.scores.tobytes())
        finally:
            os._exit(0)
    os.waitpid(child, 0)
    os.close(write)
    with os.fdopen(read, "rb") as file:
        assert file.read() == expected


def test_a_log_of_items_is_evaluated_as_its_numbers() -> None:
    rng = np.random.default_rng(0)
    n, ids = 200, list(ITEMS)
    tasks = [f"user-{i // 10}" for i in range(n)]
    contexts = [CONTEXTS[i] for i in rng.integers(len(CONTEXTS), size=n)]
    abouts = [{"country": ["NL", "DE"][i // 10 % 2]} if i % 10 == 0 else None for i in range(n)]
    choices = [ids[i] for i in rng.integers(len(ids), size=n)]
    rewards = [float(choice == "tea") for choice in choices]
    log = hs.LoggedDecisions.from_items(
        SHOP,
        tasks=tasks,
        items=ITEMS,
        contexts=contexts,
        abouts=abouts,
        choices=choices,
        rewards=rewards,
        propensities=np.full(n, 1 / len(ids)),
    )
    assert [ids[i] for i in log.choices] == choices
    i = 57
    expected = _arms(SHOP, contexts[i], abouts[50])
    assert log.arms[i].tobytes() == expected.tobytes()
    raw = hs.MetaBandit(features=SHOP, policy=hs.policies.Thompson(), exploration=0.5, seed=0)
    found = hs.evaluate_logged(raw, log)
    assert found.self_normalised.mean > np.mean(rewards)
    assert raw.task("user-3").about is not None
    other = hs.MetaBandit(features=OPEN, policy=hs.policies.Uniform(), seed=0)
    with pytest.raises(ValueError, match="the bandit's own"):
        hs.evaluate_logged(other, log)
    open_log = hs.LoggedDecisions.from_items(
        OPEN,
        tasks=["ann"] * 50,
        items=[{"price": 1}, {"price": 3}],
        choices=[i % 2 for i in range(50)],
        rewards=np.zeros(50),
        propensities=np.full(50, 0.5),
    )
    hs.evaluate_logged(other, open_log)
    assert other.features == open_log.features == OPEN.settled(items=[{"price": 1}, {"price": 3}])
    with pytest.raises(ValueError, match="contexts"):
        hs.LoggedDecisions.from_items(
            OPEN, tasks=["ann"], items=[{}], choices=[0], contexts=[], rewards=[0], propensities=[1]
        )


@pytest.mark.parametrize("seed", [0, None])
def test_what_is_told_late_of_a_task_counts_in_that_decision(seed: int | None) -> None:
    """A visitor who logs in on the second page, with attributes that no cross has."""
    features = hs.Features(
        item=[hs.Category("brand", levels=["a", "b"])],
        about=[hs.Category("country", levels=["NL", "DE"])],
    )
    bandit = hs.MetaBandit(features=features, seed=seed)
    rng = np.random.default_rng(0)
    for user in range(120):
        country, likes = (("NL", "a"), ("DE", "b"))[user % 2]
        for brand in ("a", "b") * 3:
            click = float(rng.random() < (0.8 if brand == likes else 0.1))
            bandit.observe(user, {"brand": brand}, click, about={"country": country})
    bandit.next_prior()  # all of them are counted
    items = {"A": {"brand": "a"}, "B": {"brand": "b"}}
    bandit.decide("late", items)
    late = bandit.decide("late", items, about={"country": "DE"}).scores
    early = bandit.decide("early", items, about={"country": "DE"}).scores
    np.testing.assert_allclose(late, early, rtol=1e-6)
    assert late[1] > late[0] + 0.3
    with pytest.raises(ValueError, match="pirce"):
        bandit.decide("fails", {"A": {"pirce": 1}}, about={"country": "NL"})
    np.testing.assert_allclose(bandit.decide("late", items).scores, late, rtol=1e-6)
