"""Features: what each kind of attribute becomes, and that all ways to numbers give the same."""

import math
import pickle
from datetime import date, datetime
from typing import Any

import mmh3
import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.features.schemas import CONTEXT, ITEM, TASK, WIDE, rows

import headstart as hs


def _bits(array: np.ndarray[Any, Any]) -> bytes:
    return array.tobytes()


def _named(features: hs.Features, x: np.ndarray[Any, Any]) -> dict[str, float]:
    """The columns that are not 0, up to the rounding of sines."""
    pairs = zip(features.columns, x.tolist(), strict=True)
    return {name: value for name, value in pairs if abs(value) > 1e-15}


def _item(attribute: Any, value: object) -> dict[str, float]:
    features = hs.Features(item=[attribute])
    found = _named(features, features.encode({attribute.name: value}))
    assert found.pop("constant") == 1.0
    return found


@pytest.mark.parametrize(
    ("attribute", "value", "expected"),
    [
        (hs.Number("price"), 3, {"price": 3.0}),
        (hs.Number("price", mean=1.0, scale=4.0), 3, {"price": 0.5}),
        (hs.Number("price", mean=1.0, scale=4.0), None, {}),
        (hs.Number("price", mean=1.0, scale=4.0, missing=True), math.nan, {"price missing": 1.0}),
        (hs.Number("price", bins=[10, 20]), 9.99, {"price < 10": 1.0}),
        (hs.Number("price", bins=[10, 20]), 10, {"10 ≤ price < 20": 1.0}),
        (hs.Number("price", bins=[10, 20]), 20.0, {"price ≥ 20": 1.0}),
        (hs.Number("hour", period=24), 6, {"hour sine": 1.0}),
        (hs.Number("hour", period=24), 36, {"hour cosine": -1.0}),
        (hs.Category("brand", levels=["a", "b"]), "b", {"brand=b": 1.0}),
        (hs.Category("brand", levels=["a", "b"]), "c", {"brand other": 1.0}),
        (hs.Category("brand", levels=["a", "b"], missing=True), "", {"brand missing": 1.0}),
        (hs.Category("brand", levels=["1", "2"]), 2, {"brand=2": 1.0}),
        (hs.Category("brand", levels=["1", "2"]), 2.0, {"brand=2": 1.0}),
        (hs.Category("brand", levels=["true"]), True, {"brand=true": 1.0}),
        (hs.Tags("tags", levels=["a", "b"]), ["a"], {"tags=a": 1.0}),
        (hs.Tags("tags", levels=["a", "b"]), [], {}),
        (hs.Tags("tags", levels=["a", "b"], missing=True), None, {"tags missing": 1.0}),
        (hs.Vector("v", 2), [0.5, -1], {"v[0]": 0.5, "v[1]": -1.0}),
        (hs.Flag("new"), True, {"new": 1.0}),
        (hs.Flag("new"), 0, {}),
        (hs.Date("at", parts=["weekday"]), "2024-05-01", {"at=Wednesday": 1.0}),
        (hs.Date("at", parts=["weekday"]), 0, {"at=Thursday": 1.0}),
        (hs.Date("at", parts=["weekday"]), -1, {"at=Wednesday": 1.0}),
        (hs.Date("at", parts=["month"]), date(2024, 12, 31), {"at=December": 1.0}),
        (hs.Date("at", parts=["hour"]), datetime(2024, 5, 1, 6), {"at hour sine": 1.0}),
        (hs.Date("at", parts=["hour"]), "2024-05-01T08:00:00+02:00", {"at hour sine": 1.0}),
    ],
)  # fmt: skip
def test_what_a_value_becomes(attribute: Any, value: object, expected: dict[str, float]) -> None:
    assert _item(attribute, value) == pytest.approx(expected)


def test_several_tags_share_one_unit_of_length() -> None:
    tags = hs.Tags("tags", levels=["a", "b"])
    each = 1 / math.sqrt(3)
    found = _item(tags, ["a", "b", "c", "a"])
    assert found == {"tags=a": each, "tags=b": each, "tags other": each}
    for text in ("a|b|c", "a;b;c;a", "a, b, c"):
        assert _item(tags, text) == found
    assert _item(tags, "a|b, c") == _item(tags, ["a", "b, c"])


def test_a_logarithm_is_odd_and_almost_linear_below_one() -> None:
    price = hs.Number("price", log=True)
    assert _item(price, math.e - 1)["price"] == pytest.approx(1.0, abs=2**-30)
    assert _item(price, 1 - math.e)["price"] == pytest.approx(-1.0, abs=2**-30)
    assert _item(price, 0.001)["price"] == pytest.approx(0.001, rel=1e-3)


def test_a_hashed_level_is_where_murmur_hash_puts_it() -> None:
    brand = hs.Category("brand", buckets=32)
    column = mmh3.hash("brand=Čapek".encode(), signed=False) % 32
    assert _item(brand, "Čapek") == {f"brand#{column}": 1.0}


def test_columns_are_item_context_crosses_and_the_constant() -> None:
    features = hs.Features(
        item=[hs.Number("price"), hs.Category("brand", levels=["acme"])],
        context=[hs.Flag("phone")],
        about=[hs.Category("country", levels=["NL"])],
        cross=[("phone", "brand"), ("price", "country")],
    )
    assert features.columns == (
        "price", "brand=acme", "brand other", "phone", "phone × brand=acme", "phone × brand other",
        "price × country=NL", "price × country other", "constant",
    )  # fmt: skip
    assert features.dimension == 9
    assert features.group_names == (
        "price", "brand", "phone", "phone × brand", "price × country", "constant",
    )  # fmt: skip
    assert features.groups == (0, 1, 1, 2, 3, 3, 4, 4, 5)
    assert features.about_columns == ("country=NL", "country other")
    assert features.n_about == 2
    x = features.encode({"price": 3, "brand": "acme"}, {"phone": True}, {"country": "BE"})
    assert _named(features, x) == {
        "price": 3.0,
        "brand=acme": 1.0,
        "phone": 1.0,
        "phone × brand=acme": 1.0,
        "price × country other": 3.0,
        "constant": 1.0,
    }


def test_a_cross_that_is_too_wide_is_hashed() -> None:
    features = hs.Features(
        item=[hs.Category("brand", levels=["a", "b"])],
        context=[hs.Category("device", buckets=86)],
        cross=[("device", "brand")],
    )
    x = features.encode({"brand": "a"}, {"device": "phone"})
    device = f"device#{mmh3.hash(b'device=phone', signed=False) % 86}"
    column = mmh3.hash(f"{device} × brand=a".encode(), signed=False) % 256
    assert _named(features, x) == {
        "brand=a": 1.0,
        device: 1.0,
        f"device × brand#{column}": 1.0,
        "constant": 1.0,
    }


def _by_hand(item: Any, context: Any, about: Any) -> list[float]:
    """x from the columns of each attribute, one product after another."""
    parts = (("item", item), ("context", context), ("about", about))
    found: dict[str, dict[str, float]] = {}
    for part, row in parts:
        for one in getattr(WIDE, part):
            alone = hs.Features(item=[one])
            encoded = alone.encode({one.name: row.get(one.name)}).tolist()
            found[one.name] = dict(zip(alone.columns[:-1], encoded, strict=False))
    alone_in_x = [one.name for one in (*WIDE.item, *WIDE.context)]
    x = [value for name in alone_in_x for value in found[name].values()]
    for left, right in WIDE.cross:
        pairs = [(a, b) for a in found[left] for b in found[right]]
        products = [found[left][a] * found[right][b] for a, b in pairs]
        if len(products) > 256:
            hashed = [0.0] * 256
            for (a, b), product in zip(pairs, products, strict=True):
                hashed[mmh3.hash(f"{a} × {b}", signed=False) % 256] += product
            products = hashed
        x += [product + 0.0 for product in products]
    return [*x, 1.0]


@given(item=rows(ITEM), context=rows(CONTEXT), about=rows(TASK))
def test_one_row_is_what_its_attributes_say(item: Any, context: Any, about: Any) -> None:
    x = WIDE.encode(item, context, about)
    assert x.tolist() == _by_hand(item, context, about)


@given(items=st.lists(rows(ITEM), min_size=1, max_size=4), context=rows(CONTEXT), about=rows(TASK))
def test_arms_are_the_rows_one_by_one(items: Any, context: Any, about: Any) -> None:
    encoded = WIDE.encode_items(items)
    arms = WIDE.arms(encoded.matrix, WIDE.encode_context(context), WIDE.encode_about(about))
    one_by_one = np.array([WIDE.encode(item, context, about) for item in items])
    assert _bits(arms) == _bits(one_by_one)


@given(log=st.lists(st.tuples(rows(ITEM), rows(CONTEXT), rows(TASK)), min_size=1, max_size=5))
def test_a_log_is_its_rows_one_by_one(log: Any) -> None:
    names = [*ITEM, *CONTEXT, *TASK]
    merged = [{**item, **context, **about} for item, context, about in log]
    x, z = WIDE.encode_log({name: [row.get(name) for row in merged] for name in names})
    np.testing.assert_allclose(x, [WIDE.encode(*row) for row in log], 1e-13, 1e-13)
    about = [WIDE.encode_about(about) for _, _, about in log]
    np.testing.assert_allclose(z, about, 1e-13, 1e-13)


@pytest.mark.parametrize("hour", [-0.0, -1e-30, 24.0, 12.0])
def test_a_circle_ends_where_it_begins_in_a_row_and_in_a_log(hour: float) -> None:
    features = hs.Features(item=[hs.Number("hour", period=24)])
    x, _ = features.encode_log({"hour": [hour]})
    expected = np.array([0.0, -1.0 if hour == 12.0 else 1.0, 1.0])
    np.testing.assert_allclose(x[0], expected, atol=1e-15)
    np.testing.assert_allclose(features.encode({"hour": hour}), expected, atol=1e-15)


def test_an_item_and_a_user_may_have_attributes_of_one_name() -> None:
    gender = hs.Category("gender", levels=["f", "m"])
    features = hs.Features(
        item=[gender, hs.Number("price")],
        about=[gender, hs.Number("price")],
        cross=[("about.gender", "item.gender")],
    )
    names = ("item.gender=f", "item.gender=m", "item.gender other", "item.price")
    assert features.columns[:4] == names
    assert features.about_columns[0] == "about.gender=f"
    items = {"shirt": {"gender": "m", "price": 10}, "skirt": {"gender": "f", "price": 30}}
    settled = features.settled(items=items, about=[{"price": 1}, {"price": 3}])
    assert (settled.item[1].mean, settled.about[1].mean) == (20, 2)  # type: ignore[union-attr]
    x = settled.encode(items["shirt"], about={"gender": "f", "price": 3})
    assert _named(settled, x) == {
        "item.gender=m": 1.0,
        "item.price": -1.0,
        "about.gender=f × item.gender=m": 1.0,
        "constant": 1.0,
    }
    assert hs.Features.from_json(settled.to_json()) == settled
    frame = settled.encode_items(pd.DataFrame.from_dict(items, orient="index"))
    assert _bits(frame.matrix[0]) == _bits(x[:4])
    log = {"item.gender": ["m"], "item.price": [10], "about.gender": ["f"], "about.price": [3]}
    from_log, z = settled.encode_log(log)
    assert _bits(from_log[0]) == _bits(x)
    assert _bits(z[0]) == _bits(settled.encode_about({"gender": "f", "price": 3}))
    bandit = hs.MetaBandit(features=features, seed=0)
    bandit.decide("ann", items, about={"gender": "f", "price": 3})
    assert bandit.features is not None
    assert bandit.features.open == {"about.price"}
    bandit.fit(pd.DataFrame(log | {"task": "bob", "reward": 1.0}))
    assert bandit.n_finished == 1
    with pytest.raises(ValueError, match="attributes of gender, price, got"):
        settled.encode({"item.gender": "m"})
    with pytest.raises(ValueError, match="'gender' twice"):
        hs.Features(item=[gender, gender])


def test_json_and_plain_data_come_back_as_they_were() -> None:
    assert hs.Features.from_json(WIDE.to_json()) == WIDE
    assert hs.Features.from_plain(WIDE.plain()) == WIDE
    assert pickle.loads(pickle.dumps(WIDE)) == WIDE
    assert hash(hs.Features.from_json(WIDE.to_json())) == hash(WIDE)


def test_numbers_are_settled_once() -> None:
    features = hs.Features(
        item=[hs.Number("price"), hs.Number("size", mean=1.0, scale=2.0)],
        context=[hs.Number("age")],
        about=[hs.Number("income", log=True)],
    )
    assert not features.is_settled
    items = [{"price": 10, "size": 5}, {"price": 30}, {}]
    some = features.settled(items=items, context=[{"age": 7}])
    assert some.item == (hs.Number("price", mean=20.0, scale=10.0), features.item[1])
    assert some.context == (hs.Number("age", mean=7.0, scale=7.0),)
    assert not some.is_settled
    both = some.settled(items=[{"price": 1000}], about={"income": [1000.0, 100.0]})
    assert both.item == some.item
    assert both.is_settled
    z = np.array([both.encode_about({"income": income}) for income in (100, 1000)])
    np.testing.assert_allclose(z, [[-1], [1]], atol=1e-8)
