"""Attributes and their levels in the words of the pages."""

import numpy as np

import headstart as hs
from headstart.service.dashboard.attributes import Words

FEATURES = hs.Features(
    item=[
        hs.Number("price", mean=10.0, scale=5.0),
        hs.Category("brand", levels=["acme", "zeta"]),
        hs.Category("maker", buckets=4),
    ],
    context=[hs.Category("device", levels=["phone"])],
    cross=[("device", "brand")],
)
ITEM = {"price": 20.0, "brand": "acme", "maker": "ember"}


def test_columns_are_called_by_attribute_and_level() -> None:
    words = Words(FEATURES, [ITEM, {"maker": "dune"}]).columns
    assert len(words) == FEATURES.dimension
    assert words[:4] == ["price", "brand = acme", "brand = zeta", "brand other"]
    assert any("ember" in name for name in words[4:8])  # a level that is hashed
    assert "device = phone × brand = acme" in words
    assert words[-1] == "constant"


def test_what_is_there_of_an_item_is_shown_as_it_was_given() -> None:
    x = FEATURES.encode(ITEM, {"device": "phone"})
    found = Words(FEATURES).groups(x, ITEM)
    assert [text for text, _ in found] == [
        "price = 20",
        "brand = acme",
        "maker = ember",
        "device = phone",
        "device = phone × brand = acme",
        "constant",
    ]
    assert sorted(i for _, columns in found for i in columns) == list(range(FEATURES.dimension))


def test_an_item_that_has_changed_since_is_not_used() -> None:
    x = FEATURES.encode(ITEM, {"device": "phone"})
    texts = [text for text, _ in Words(FEATURES).groups(x, {**ITEM, "price": 1.0})]
    assert "price = 1" not in texts
    assert texts[:2] == ["price", "brand = acme"]


def test_missing_attributes_are_no_part_of_a_decision() -> None:
    found = Words(FEATURES).groups(np.asarray(FEATURES.encode({})), {})
    assert [text for text, _ in found] == ["constant"]
